/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for single nodes. Prepared kernels are kept by node and shapes. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/memory.h"
#include "engine/program/interpret_parts.h"
#include "kernels/launch.h"
#include "kernels/packing.h"
#include "tensor/tensor.h"

enum { MAX_KEPT = 4096 };
static const double SHORT_NS = 3000; /* one thread runs shorter work */

/* A node at certain shapes; kernel NULL: no kernel accepts them. */
typedef struct prepared {
    const kernel *kernel;
    kernel_plan plan;
    double cost_ns;
    struct prepared *next;
} prepared;

/* ---- Choosing a kernel ---------------------------------------------------------------------- */

bool interpret_is_constant(const pgy_value *v)
{
    if (!v) return false;
    if (v->producer) return node_is(v->producer, "Constant") && node_constant(v->producer);
    return v->initializer && !v->graph->parent && !level_of(v->graph)->is_function;
}

/* Describes the problem; false: kernels do not support this node at these shapes. */
static bool describe_use(call *c, const op_value *outputs)
{
    const op_node *node = c->node;
    kernel_problem *u = &c->problem;
    *u = (kernel_problem){
        .node = node, .input_count = node->input_count, .output_count = node->output_count};
    for (size_t i = 0; i < node->input_count; i++) {
        const op_tensor *t = &c->inputs[i];
        if (t->sequence || (t->value && t->dtype == PGY_STRING)) return false;
        if (!t->value) continue;
        u->inputs[i] = (kernel_tensor){.dtype = t->dtype,
                                       .rank = (int32_t)pgy_tensor_rank(t->value),
                                       .shape = pgy_tensor_shape(t->value)};
    }
    for (size_t i = 0; i < node->output_count; i++) {
        int64_t shape[PGY_MAX_RANK];
        if (!c->wanted[i]) continue;
        if (outputs[i].sequence || outputs[i].dtype == PGY_STRING ||
            !interpret_shape_of(shape, &outputs[i]))
            return false;
        const size_t rank = (size_t)outputs[i].rank;
        int64_t *kept = arena_alloc_array(&c->memory, rank, sizeof *kept);
        if (!kept) return false;
        memcpy(kept, shape, rank * sizeof *kept);
        u->outputs[i] =
            (kernel_tensor){.dtype = outputs[i].dtype, .rank = outputs[i].rank, .shape = kept};
    }
    return true;
}

static bool is_linear(const kernel_problem *u)
{
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].layout != KERNEL_LINEAR) return false;
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].layout != KERNEL_LINEAR) return false;
    return true;
}

static void choose(prepared *p, const call *c)
{
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for(interpret_domain_of(c->n), c->n->op_type, i);
        if (!k) return;
        if (k->device) continue; /* interpreted values are on the host */
        kernel_problem problem = c->problem;
        double cost = 0;
        if (!kernel_accept(k, &problem, &cost) || !is_linear(&problem)) continue;
        if (p->kernel && cost >= p->cost_ns) continue;
        p->kernel = k;
        p->cost_ns = cost;
    }
}

/* ---- Kept kernels --------------------------------------------------------------------------- */

/* Appends a number to a key, six bits to a byte, so that no byte is zero. */
static void append_number(str *key, uint64_t v)
{
    do str_append_char(key, (char)(0x40 | (v & 63) | (v > 63 ? 0x80 : 0)));
    while (v >>= 6);
}

static void append_tensors(str *key, const kernel_tensor *t, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        append_number(key, (uint64_t)t[i].dtype);
        append_number(key, (uint64_t)t[i].rank);
        for (int32_t d = 0; d < t[i].rank; d++) append_number(key, (uint64_t)t[i].shape[d]);
    }
}

void interpret_forget_kernels(interpreter *it)
{
    for (prepared *p = it->all, *next; p; p = next) {
        next = p->next;
        kernel_plan_deinit(&p->plan);
        mem_free(p);
    }
    it->all = NULL;
    strmap_deinit(&it->kept);
}

static pgy_status prepare(prepared *p, call *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->problem.input_count; i++) {
        if (!c->inputs[i].value || !interpret_is_constant(c->n->inputs[i])) continue;
        st = interpret_declared(c, i, err);
        if (!st) c->problem.inputs[i].data = pgy_tensor_data(c->declared[i]);
    }
    if (!st) choose(p, c);
    if (st || !p->kernel) return st;
    kernel_problem problem = c->problem;
    double cost;
    if (!kernel_accept(p->kernel, &problem, &cost))
        return node_error(c->n, err, PGY_E_INTERNAL,
                          "its kernel refuses a problem that it accepted before");
    st = kernel_prepare(&p->plan, p->kernel, &problem, err);
    return st ? pgy_error_prefix(err, st, "%s '%s': ", c->n->op_type, c->node->name) : PGY_OK;
}

static pgy_status find(prepared **out, call *c, pgy_error *err)
{
    interpreter *it = c->it;
    str key = {0};
    append_number(&key, (uint64_t)(uintptr_t)c->n);
    append_tensors(&key, c->problem.inputs, c->problem.input_count);
    append_tensors(&key, c->problem.outputs, c->problem.output_count);
    prepared *p = key.failed ? NULL : strmap_get(&it->kept, str_text(&key));
    pgy_status st = key.failed ? interpret_no_memory(err) : PGY_OK;
    if (!st && !p) {
        if (it->kept.count >= MAX_KEPT) interpret_forget_kernels(it);
        p = mem_calloc(1, sizeof *p);
        st = p ? prepare(p, c, err) : interpret_no_memory(err);
        if (!st && !strmap_put(&it->kept, str_text(&key), p)) st = interpret_no_memory(err);
        if (st && p) {
            kernel_plan_deinit(&p->plan);
            mem_free(p);
        } else if (p) {
            p->next = it->all;
            it->all = p;
        }
    }
    str_deinit(&key);
    if (!st) *out = p;
    return st;
}

/* ---- Running a kernel ----------------------------------------------------------------------- */

static pgy_status run_job(call *c, const prepared *p, void **tensors, pgy_error *err)
{
    interpreter *it = c->it;
    const size_t threads = it->team && p->cost_ns >= SHORT_NS ? team_size(it->team) : 1;
    const size_t workspace = (p->plan.workspace_bytes + 63) / 64 * 64;
    launch l = launch_of(p->kernel, &p->plan, (uint32_t)threads);
    l.scratch_stride = (p->plan.scratch_bytes + 63) / 64 * 64;
    pgy_status st = interpret_hold_memory(it, workspace + l.scratch_stride * threads + 64, err);
    if (st) return st;
    kernel_bad_index bad = {0};
    char text[KERNEL_FAULT_BYTES];
    l.run.tensors = tensors;
    l.run.bad = &bad;
    l.run.workspace = it->memory;
    l.scratch = (char *)it->memory + workspace;
    it->kernel_runs++;
    const pgy_status fault = l.run.parts > 1 ? launch_on_team(&l, it->team) : launch_alone(&l);
    st = cancel_check_after(fault, err);
    if (!st || st == PGY_E_CANCELLED) return st;
    kernel_fault_print(text, st, &bad);
    return pgy_error_set(err, st, "%s '%s': %s", c->n->op_type, c->node->name, text);
}

static pgy_status run_kernel(call *c, const prepared *p, op_tensor *outputs, pgy_error *err)
{
    const kernel_problem *u = &c->problem;
    void *tensors[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS] = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < u->input_count; i++) {
        if (!c->inputs[i].value || (p->plan.packed_inputs >> i & 1)) continue;
        st = interpret_declared(c, i, err);
        if (!st) tensors[i] = pgy_tensor_data(c->declared[i]);
    }
    for (size_t i = 0; !st && i < u->output_count; i++) {
        if (!u->outputs[i].dtype) continue;
        st = interpret_create_output(outputs, i, c, &u->outputs[i], err);
        if (!st) tensors[u->input_count + i] = pgy_tensor_data(outputs[i].value);
    }
    if (!st) st = run_job(c, p, tensors, err);
    for (size_t i = 0; st && i < u->output_count; i++) op_tensor_release(&outputs[i]);
    return st;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* Nodes within functions are excluded: their attributes may change from call to call. */
bool interpret_can_have_kernel(const call *c)
{
    const node_box *box = node_box_of(c->n);
    return c->node->input_count && c->node->input_count <= KERNEL_MAX_INPUTS &&
           c->node->output_count <= KERNEL_MAX_OUTPUTS && !c->n->subgraph_count && !box->has_refs &&
           kernel_for(interpret_domain_of(c->n), c->n->op_type, 0);
}

pgy_status interpret_try_kernel(bool *done, call *c, op_tensor *outputs, pgy_error *err)
{
    const op_value *foreseen = NULL;
    prepared *p = NULL;
    c->declared = arena_alloc_array(&c->memory, c->node->input_count, sizeof *c->declared);
    if (!c->declared) return interpret_no_memory(err);
    pgy_status st = op_foresee(&foreseen, c->node, c->inputs, c->wanted, c->host, &c->memory, err);
    if (st || !describe_use(c, foreseen)) return st;
    st = find(&p, c, err);
    if (!st && p->kernel) {
        st = run_kernel(c, p, outputs, err);
        *done = true;
    }
    for (size_t i = 0; i < c->node->input_count; i++) pgy_tensor_release(c->declared[i]);
    return st;
}

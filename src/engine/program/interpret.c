/* SPDX-License-Identifier: Apache-2.0 */
/* The reference executor runs the nodes, and this table of operators gives each node a kernel for
 * the shapes of its inputs. Prepared kernels are kept by node and shapes. Without a kernel the
 * definition runs on copies in storage types, and floats are then rounded to the declared type. */
#include "engine/program/interpret.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/memory.h"
#include "base/system.h"
#include "kernels/finder.h"
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

struct interpreter {
    execute_operators operators;
    team *team;
    strmap kept;   /* maps a key of node and shapes to the prepared kernel */
    prepared *all; /* list of all prepared kernels */
    void *memory;  /* workspace, then scratch of each thread */
    size_t memory_bytes;
    uint64_t kernel_runs;
    const atomic_int *failed; /* not PGY_OK: the run must end; may be NULL */
    const interpreter_watch *watch;
    arena spare;            /* of the node that ran last, for the next one */
    interpreter_room *room; /* may be NULL */
    void *room_user;
};

/* A running node. */
typedef struct call {
    interpreter *it;
    pgy_node *n;
    const op_node *node;
    const op_tensor *inputs;
    const bool *wanted;
    const op_host *host;
    arena memory;
    pgy_tensor **declared; /* for each input: the tensor in its declared type */
    kernel_problem problem;
} call;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while interpreting");
}

/* Weights in a mapped file may have any address; vector loads and conversions need alignment. */
static pgy_status align(pgy_tensor **t, pgy_error *err)
{
    pgy_tensor *from = *t, *moved = NULL;
    if (pgy_tensor_dtype(from) == PGY_STRING || (uintptr_t)pgy_tensor_data(from) % 16 == 0)
        return PGY_OK;
    const pgy_status st = tensor_create_raw(&moved, pgy_tensor_dtype(from), pgy_tensor_rank(from),
                                            pgy_tensor_shape(from), err);
    if (st) return st;
    memcpy(pgy_tensor_data(moved), pgy_tensor_data(from), pgy_tensor_size_bytes(from));
    pgy_tensor_release(from);
    *t = moved;
    return PGY_OK;
}

/* ---- Nodes without a kernel ----------------------------------------------------------------- */

static pgy_status widen(op_tensor *out, const call *c, size_t i, pgy_error *err)
{
    const op_tensor *t = &c->inputs[i];
    const bool narrow = i < 32 && (c->node->def->narrow_inputs >> i & 1) && t->value &&
                        pgy_tensor_dtype(t->value) == PGY_F32;
    op_tensor made = *t;
    if (!t->value || narrow) {
        *out = op_tensor_retain(t);
        return PGY_OK;
    }
    pgy_tensor *aligned = pgy_tensor_retain(t->value);
    pgy_status st = align(&aligned, err);
    if (!st) st = op_to_storage(&made.value, aligned, err);
    pgy_tensor_release(aligned);
    if (!st) *out = made;
    return st;
}

static pgy_status round_output(op_tensor *t, pgy_error *err)
{
    return pgy_dtype_is_float(t->dtype) ? op_tensor_settle(t, err) : PGY_OK;
}

static pgy_status run_definition(call *c, op_tensor *outputs, pgy_error *err)
{
    const op_node *node = c->node;
    op_host host = *c->host;
    pgy_status st = PGY_OK;
    op_tensor *in = arena_alloc_array(&c->memory, node->input_count, sizeof *in);
    if (!in) return no_memory(err);
    for (size_t i = 0; !st && i < node->input_count; i++) st = widen(&in[i], c, i, err);
    /* Within a node floats keep their storage types, as in a reference step of a program. */
    for (size_t i = 0; i < node->input_count; i++)
        host.model_precision |= in[i].value && in[i].dtype == PGY_BF16;
    if (!st) st = op_run(node, in, outputs, c->wanted, &host, err);
    for (size_t i = 0; i < node->input_count; i++) op_tensor_release(&in[i]);
    for (size_t i = 0; !st && i < node->output_count; i++) st = round_output(&outputs[i], err);
    return st;
}

/* ---- Views ---------------------------------------------------------------------------------- */

/* A view has the same elements in another shape and copies nothing. */
static bool is_view(const call *c)
{
    static const char *const VIEWS[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"};
    if (!c->inputs[0].value || c->node->output_count != 1 || !c->wanted[0]) return false;
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (node_is(c->n, VIEWS[i])) return true;
    return false;
}

/* Reads the inferred shape; false: some dimension is unknown. */
static bool shape_of(int64_t *shape, const op_value *v)
{
    if (!v->dtype || v->rank < 0 || v->rank > PGY_MAX_RANK) return false;
    for (int32_t i = 0; i < v->rank; i++) {
        if (!dim_is_const(v->dims[i])) return false;
        shape[i] = v->dims[i].value;
    }
    return true;
}

static pgy_status run_view(bool *done, call *c, op_tensor *outputs, pgy_error *err)
{
    const op_value *foreseen = NULL;
    int64_t shape[PGY_MAX_RANK];
    op_tensor made = {.dtype = c->inputs[0].dtype};
    pgy_status st = op_foresee(&foreseen, c->node, c->inputs, c->wanted, c->host, &c->memory, err);
    if (st || foreseen->dtype != made.dtype || !shape_of(shape, foreseen)) return st;
    st = pgy_tensor_reshape(&made.value, c->inputs[0].value, (size_t)foreseen->rank, shape, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", c->n->op_type, c->node->name);
    outputs[0] = made;
    *done = true;
    return PGY_OK;
}

/* ---- Choosing a kernel ---------------------------------------------------------------------- */

/* Weights of the top graph and values of Constant nodes do not change between runs. */
static bool is_constant(const pgy_value *v)
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
        if (outputs[i].sequence || outputs[i].dtype == PGY_STRING || !shape_of(shape, &outputs[i]))
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

static const char *domain_of(const pgy_node *n)
{
    return domain_is_default(n->domain) ? "" : n->domain;
}

static void choose(prepared *p, const call *c)
{
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for(domain_of(c->n), c->n->op_type, i);
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

static void forget_all(interpreter *it)
{
    for (prepared *p = it->all, *next; p; p = next) {
        next = p->next;
        kernel_plan_deinit(&p->plan);
        mem_free(p);
    }
    it->all = NULL;
    strmap_deinit(&it->kept);
}

static pgy_status in_declared(call *c, size_t i, pgy_error *err);

static pgy_status prepare(prepared *p, call *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->problem.input_count; i++) {
        if (!c->inputs[i].value || !is_constant(c->n->inputs[i])) continue;
        st = in_declared(c, i, err);
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
    pgy_status st = key.failed ? no_memory(err) : PGY_OK;
    if (!st && !p) {
        if (it->kept.count >= MAX_KEPT) forget_all(it);
        p = mem_calloc(1, sizeof *p);
        st = p ? prepare(p, c, err) : no_memory(err);
        if (!st && !strmap_put(&it->kept, str_text(&key), p)) st = no_memory(err);
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

/* Converts input i from its storage type to its declared type, at an aligned address. */
static pgy_status in_declared(call *c, size_t i, pgy_error *err)
{
    const op_tensor *t = &c->inputs[i];
    pgy_tensor *made = NULL;
    if (c->declared[i] || !t->value) return PGY_OK;
    pgy_status st = op_from_storage(&made, t->value, t->dtype, err);
    if (!st) st = align(&made, err);
    if (st)
        pgy_tensor_release(made);
    else
        c->declared[i] = made;
    return st;
}

/* Grows the single block that holds workspace, then scratch memory of each part. */
static pgy_status hold_memory(interpreter *it, size_t wanted, pgy_error *err)
{
    if (wanted <= it->memory_bytes) return PGY_OK;
    mem_free(it->memory);
    it->memory = mem_alloc_aligned(64, wanted);
    it->memory_bytes = it->memory ? wanted : 0;
    return it->memory ? PGY_OK : no_memory(err);
}

static pgy_status run_job(call *c, const prepared *p, void **tensors, pgy_error *err)
{
    interpreter *it = c->it;
    const size_t threads = it->team && p->cost_ns >= SHORT_NS ? team_size(it->team) : 1;
    const size_t workspace = (p->plan.workspace_bytes + 63) / 64 * 64;
    launch l = launch_of(p->kernel, &p->plan, (uint32_t)threads);
    l.scratch_stride = (p->plan.scratch_bytes + 63) / 64 * 64;
    pgy_status st = hold_memory(it, workspace + l.scratch_stride * l.run.parts + 64, err);
    if (st) return st;
    l.run.tensors = tensors;
    l.run.workspace = it->memory;
    l.scratch = (char *)it->memory + workspace;
    it->kernel_runs++;
    const pgy_status fault = l.run.parts > 1 ? launch_on_team(&l, it->team) : launch_alone(&l);
    st = cancel_check_after(fault, err);
    return st && st != PGY_E_CANCELLED ? pgy_error_set(err, st, "%s '%s': %s", c->n->op_type,
                                                       c->node->name, kernel_fault_text(st))
                                       : st;
}

static void keep(void *data, void *user)
{
    (void)data, (void)user;
}

/* Makes output i, where the caller wants it. */
static pgy_status create_output(op_tensor *outputs, size_t i, const call *c, const kernel_tensor *t,
                                pgy_error *err)
{
    const interpreter *it = c->it;
    op_tensor *out = &outputs[i];
    const uint64_t limit = c->host->max_bytes;
    size_t count = 0, bytes = 0;
    pgy_status st = pgy_shape_count(&count, (size_t)t->rank, t->shape, err);
    if (!st) st = pgy_dtype_size_bytes(&bytes, t->dtype, count, err);
    if (!st && limit && bytes > limit)
        st = pgy_error_set(err, PGY_E_MEMORY, "an output of %zu bytes exceeds %s", bytes,
                           memory_limit_describe_other(limit).text);
    void *room = !st && it->room ? it->room(it->room_user, c->n->outputs[i], t->dtype,
                                            (size_t)t->rank, t->shape)
                                 : NULL;
    if (room)
        st = pgy_tensor_wrap(&out->value, room, t->dtype, (size_t)t->rank, t->shape, keep, NULL,
                             err);
    else if (!st)
        st = tensor_create_raw(&out->value, t->dtype, (size_t)t->rank, t->shape, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", c->n->op_type, c->node->name);
    out->dtype = t->dtype;
    return PGY_OK;
}

static pgy_status run_kernel(call *c, const prepared *p, op_tensor *outputs, pgy_error *err)
{
    const kernel_problem *u = &c->problem;
    void *tensors[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS] = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < u->input_count; i++) {
        if (!c->inputs[i].value || (p->plan.packed_inputs >> i & 1)) continue;
        st = in_declared(c, i, err);
        if (!st) tensors[i] = pgy_tensor_data(c->declared[i]);
    }
    for (size_t i = 0; !st && i < u->output_count; i++) {
        if (!u->outputs[i].dtype) continue;
        st = create_output(outputs, i, c, &u->outputs[i], err);
        if (!st) tensors[u->input_count + i] = pgy_tensor_data(outputs[i].value);
    }
    if (!st) st = run_job(c, p, tensors, err);
    for (size_t i = 0; st && i < u->output_count; i++) op_tensor_release(&outputs[i]);
    return st;
}

/* ---- Operators whose results' sizes depend on data ------------------------------------------ */

/* A node that a finder runs. */
typedef struct finder_use {
    call *c;
    op_tensor *outputs;
} finder_use;

static pgy_status create_found(void **data, void *user, size_t i, pgy_dtype dtype, size_t rank,
                               const int64_t *shape, pgy_error *err)
{
    const finder_use *use = user;
    const kernel_tensor t = {.dtype = dtype, .rank = (int32_t)rank, .shape = shape};
    const pgy_status st = create_output(use->outputs, i, use->c, &t, err);
    if (!st) *data = pgy_tensor_data(use->outputs[i].value);
    return st;
}

static pgy_status lend_memory(void **out, void *user, size_t size_bytes, pgy_error *err)
{
    const finder_use *use = user;
    const pgy_status st = hold_memory(use->c->it, size_bytes + 64, err);
    if (!st) *out = use->c->it->memory;
    return st;
}

static pgy_status fill_call(finder_call *f, call *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->node->input_count; i++) {
        if (!c->inputs[i].value) continue;
        st = in_declared(c, i, err);
        if (!st)
            f->inputs[i] = (kernel_tensor){.dtype = c->inputs[i].dtype,
                                           .rank = (int32_t)pgy_tensor_rank(c->declared[i]),
                                           .shape = pgy_tensor_shape(c->declared[i]),
                                           .data = pgy_tensor_data(c->declared[i])};
    }
    return st;
}

static pgy_status try_finder(bool *done, call *c, const finder *finds, op_tensor *outputs,
                             pgy_error *err)
{
    const op_value *foreseen = NULL;
    finder_use use = {.c = c, .outputs = outputs};
    finder_call f = {.node = c->node,
                     .wanted = c->wanted,
                     .create = create_found,
                     .memory = lend_memory,
                     .user = &use};
    c->declared = arena_alloc_array(&c->memory, c->node->input_count, sizeof *c->declared);
    if (!c->declared) return no_memory(err);
    pgy_status st = op_foresee(&foreseen, c->node, c->inputs, c->wanted, c->host, &c->memory, err);
    if (!st) st = fill_call(&f, c, err);
    if (!st && finds->accept(&f)) {
        st = finds->run(&f, err);
        *done = true;
        c->it->kernel_runs++;
    }
    for (size_t i = 0; i < c->node->input_count; i++) pgy_tensor_release(c->declared[i]);
    for (size_t i = 0; st && i < c->node->output_count; i++) op_tensor_release(&outputs[i]);
    return st;
}

/* The finder of the node, unless an input is no tensor of numbers. */
static const finder *finder_of(const call *c)
{
    const finder *finds = finder_for(domain_of(c->n), c->n->op_type);
    if (!finds || node_box_of(c->n)->has_refs || c->node->input_count > KERNEL_MAX_INPUTS)
        return NULL;
    for (size_t i = 0; i < c->node->input_count; i++)
        if (c->inputs[i].sequence || (c->inputs[i].value && c->inputs[i].dtype == PGY_STRING))
            return NULL;
    return c->node->input_count && c->inputs[0].value ? finds : NULL;
}

/* ---- The operators -------------------------------------------------------------------------- */

/* Nodes within functions are excluded: their attributes may change from call to call. */
static bool can_have_kernel(const call *c)
{
    const node_box *box = node_box_of(c->n);
    return c->node->input_count && c->node->input_count <= KERNEL_MAX_INPUTS &&
           c->node->output_count <= KERNEL_MAX_OUTPUTS && !c->n->subgraph_count && !box->has_refs &&
           kernel_for(domain_of(c->n), c->n->op_type, 0);
}

static pgy_status try_kernel(bool *done, call *c, op_tensor *outputs, pgy_error *err)
{
    const op_value *foreseen = NULL;
    prepared *p = NULL;
    c->declared = arena_alloc_array(&c->memory, c->node->input_count, sizeof *c->declared);
    if (!c->declared) return no_memory(err);
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

static bool is_stopped(const interpreter *it)
{
    return it->failed && atomic_load_explicit(it->failed, memory_order_relaxed);
}

static pgy_status run_quietly(interpreter *it, pgy_node *n, const op_node *node,
                              const op_tensor *inputs, op_tensor *outputs, const bool *wanted,
                              const op_host *host, pgy_error *err)
{
    call c = {.it = it,
              .n = n,
              .node = node,
              .inputs = inputs,
              .wanted = wanted,
              .host = host,
              .memory = it->spare};
    it->spare = (arena){0}; /* a body that the node runs has its own */
    bool done = false;
    pgy_status st = PGY_OK;
    const finder *finds = finder_of(&c);
    if (finds)
        st = try_finder(&done, &c, finds, outputs, err);
    else if (node->input_count && is_view(&c))
        st = run_view(&done, &c, outputs, err);
    else if (can_have_kernel(&c))
        st = try_kernel(&done, &c, outputs, err);
    if (!st && !done) st = run_definition(&c, outputs, err);
    arena_deinit(&it->spare);
    arena_reset(&c.memory);
    it->spare = c.memory;
    return st;
}

static pgy_status show_outputs(const interpreter_watch *w, const pgy_node *n, op_tensor *outputs,
                               pgy_error *err)
{
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < n->output_count; i++)
        if (n->outputs[i]) goes_on = w->show(w->user, n->outputs[i], &outputs[i]);
    if (goes_on) return PGY_OK;
    for (size_t i = 0; i < n->output_count; i++) op_tensor_release(&outputs[i]);
    return pgy_error_set(err, PGY_E_CANCELLED, "the run was cancelled");
}

static pgy_status run_node(pgy_node *n, const op_node *node, const op_tensor *inputs,
                           op_tensor *outputs, const bool *wanted, const op_host *host, void *user,
                           pgy_error *err)
{
    interpreter *it = user;
    const interpreter_watch *w = it->watch;
    if (is_stopped(it) || cancel_requested())
        return pgy_error_set(err, PGY_E_CANCELLED, "the run was cancelled");
    if (!w || n->graph->parent || level_of(n->graph)->is_function)
        return run_quietly(it, n, node, inputs, outputs, wanted, host, err);
    const int64_t start = clock_ns();
    const pgy_status st = run_quietly(it, n, node, inputs, outputs, wanted, host, err);
    if (st) return st;
    if (w->time) w->time(w->user, n, clock_ns() - start);
    return w->show ? show_outputs(w, n, outputs, err) : PGY_OK;
}

void interpreter_stop_by(interpreter *it, const atomic_int *failed)
{
    it->failed = failed;
}

void interpreter_place_by(interpreter *it, interpreter_room *room, void *user)
{
    it->room = room;
    it->room_user = user;
}

void interpreter_watch_by(interpreter *it, const interpreter_watch *watch)
{
    it->watch = watch;
}

pgy_status interpreter_create(interpreter **out, team *t, pgy_error *err)
{
    interpreter *it = mem_calloc(1, sizeof *it);
    if (!it) return no_memory(err);
    it->team = t;
    it->operators = (execute_operators){.run = run_node, .user = it};
    *out = it;
    return PGY_OK;
}

void interpreter_destroy(interpreter *it)
{
    if (!it) return;
    forget_all(it);
    arena_deinit(&it->spare);
    mem_free(it->memory);
    mem_free(it);
}

const execute_operators *interpreter_operators(const interpreter *it)
{
    return &it->operators;
}

uint64_t interpreter_kernel_runs(const interpreter *it)
{
    return it->kernel_runs;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The reference executor runs the nodes, and this table of operators gives each node a kernel for
 * the shapes of its inputs (interpret_kernel.c, interpret_finder.c). Without a kernel the
 * definition runs on copies in storage types, and floats are then rounded to the declared type. */
#include "engine/program/interpret_parts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/system.h"
#include "tensor/tensor.h"

/* ---- Nodes without a kernel ----------------------------------------------------------------- */

/* Does the input become an item of a sequence? */
static bool becomes_item(const call *c, size_t i)
{
    return node_is(c->n, "SequenceConstruct") || (i == 1 && node_is(c->n, "SequenceInsert"));
}

/* A sequence may outlive the memory of values that a loop collects, and that of the caller. */
static pgy_status own_item(op_tensor *t, pgy_error *err)
{
    pgy_tensor *own = NULL;
    if (!tensor_is_borrowed(t->value)) return PGY_OK;
    const pgy_status st = pgy_tensor_copy(&own, pgy_tensor_view(t->value), err);
    if (st) return st;
    pgy_tensor_release(t->value);
    t->value = own;
    return PGY_OK;
}

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
    pgy_status st = interpret_align(&aligned, err);
    if (!st) st = op_to_storage(&made.value, aligned, err);
    pgy_tensor_release(aligned);
    if (st) return st;
    *out = made;
    return becomes_item(c, i) ? own_item(out, err) : PGY_OK;
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
    if (!in) return interpret_no_memory(err);
    for (size_t i = 0; !st && i < node->input_count; i++) st = widen(&in[i], c, i, err);
    /* Within a node floats keep their storage types, as in a reference step of a program. */
    for (size_t i = 0; i < node->input_count; i++)
        host.model_precision |= in[i].value && in[i].dtype == PGY_BF16;
    host.kept = interpret_kept(c);
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

static pgy_status run_view(bool *done, call *c, op_tensor *outputs, pgy_error *err)
{
    const op_value *foreseen = NULL;
    int64_t shape[PGY_MAX_RANK];
    op_tensor made = {.dtype = c->inputs[0].dtype};
    pgy_status st = op_foresee(&foreseen, c->node, c->inputs, c->wanted, c->host, &c->memory, err);
    if (st || foreseen->dtype != made.dtype || !interpret_shape_of(shape, foreseen)) return st;
    st = pgy_tensor_reshape(&made.value, c->inputs[0].value, (size_t)foreseen->rank, shape, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", c->n->op_type, c->node->name);
    outputs[0] = made;
    *done = true;
    return PGY_OK;
}

/* ---- The operators -------------------------------------------------------------------------- */

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
    st = interpret_try_direct(&done, &c, outputs, err);
    const finder *finds = st || done ? NULL : interpret_finder_of(&c);
    if (st || done)
        ;
    else if (finds)
        st = interpret_try_finder(&done, &c, finds, outputs, err);
    else if (node->input_count && is_view(&c))
        st = run_view(&done, &c, outputs, err);
    else if (interpret_can_have_kernel(&c))
        st = interpret_try_kernel(&done, &c, outputs, err);
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
    if (!it) return interpret_no_memory(err);
    it->team = t;
    it->operators = (execute_operators){.run = run_node, .user = it};
    *out = it;
    return PGY_OK;
}

void interpreter_destroy(interpreter *it)
{
    if (!it) return;
    interpret_forget_kernels(it);
    interpret_forget_maps(it);
    interpret_forget_labels(it);
    interpret_forget_kept(it);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose results' sizes depend on data. */
#include "engine/program/interpret_parts.h"

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
    const pgy_status st = interpret_create_output(use->outputs, i, use->c, &t, err);
    if (!st) *data = pgy_tensor_data(use->outputs[i].value);
    return st;
}

static pgy_status lend_memory(void **out, void *user, size_t size_bytes, pgy_error *err)
{
    const finder_use *use = user;
    const pgy_status st = interpret_hold_memory(use->c->it, size_bytes + 64, err);
    if (!st) *out = use->c->it->memory;
    return st;
}

static pgy_status fill_call(finder_call *f, call *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->node->input_count; i++) {
        if (!c->inputs[i].value) continue;
        st = interpret_declared(c, i, err);
        if (!st)
            f->inputs[i] = (kernel_tensor){.dtype = c->inputs[i].dtype,
                                           .rank = (int32_t)pgy_tensor_rank(c->declared[i]),
                                           .shape = pgy_tensor_shape(c->declared[i]),
                                           .data = pgy_tensor_data(c->declared[i])};
    }
    return st;
}

pgy_status interpret_try_finder(bool *done, call *c, const finder *finds, op_tensor *outputs,
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
    if (!c->declared) return interpret_no_memory(err);
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

const finder *interpret_finder_of(const call *c)
{
    const finder *finds = finder_for(interpret_domain_of(c->n), c->n->op_type);
    if (!finds || node_box_of(c->n)->has_refs || c->node->input_count > KERNEL_MAX_INPUTS)
        return NULL;
    for (size_t i = 0; i < c->node->input_count; i++)
        if (c->inputs[i].sequence || (c->inputs[i].value && c->inputs[i].dtype == PGY_STRING))
            return NULL;
    return c->node->input_count && c->inputs[0].value ? finds : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of a draw: its own values where it has some, else the exact ones with weights and inputs
 * rounded to their types. */
#include "where/floor_run.h"

#include <string.h>

#include "base/alloc.h"

void floor_operands_deinit(floor_operands *o)
{
    for (size_t i = 0; o->rounded && i < o->count; i++) op_tensor_release(&o->rounded[i]);
    mem_free(o->rounded);
    mem_free(o->drawn);
}

pgy_status floor_operands_init(floor_operands *o, const pgy_floor *f, const pgy_node *n,
                               const op_tensor *inputs, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *o = (floor_operands){.given = inputs, .count = n->input_count};
    o->rounded = mem_calloc(n->input_count + 1, sizeof *o->rounded);
    o->drawn = mem_calloc(n->input_count + 1, sizeof *o->drawn);
    if (!o->rounded || !o->drawn) return graph_no_memory(err);
    for (size_t i = 0; !st && i < n->input_count; i++) {
        const pgy_dtype type = noise_assumed(inputs[i].dtype, f->options.assume);
        pgy_tensor *rounded = NULL;
        o->rounded[i] = op_tensor_retain(&inputs[i]);
        if (!inputs[i].value || type == inputs[i].dtype || noise_keeps_input(n, i) ||
            floor_draws_has(&f->draws, inputs[i].value))
            continue;
        st = noise_round_nearest(&rounded, inputs[i].value, type, err);
        if (st) break;
        pgy_tensor_release(o->rounded[i].value);
        o->rounded[i].value = rounded;
    }
    return st;
}

static pgy_status draw_sequence(op_tensor *out, const pgy_floor *f, const op_sequence *s, size_t k,
                                pgy_error *err)
{
    pgy_status st = PGY_OK;
    op_sequence *made = op_sequence_create(s->count);
    if (!made) return graph_no_memory(err);
    made->none = s->none;
    made->map = s->map;
    for (size_t i = 0; !st && i < s->count; i++) {
        pgy_tensor *own = NULL;
        made->items[i] = op_tensor_retain(&s->items[i]);
        if (!s->items[i].value) continue;
        st = floor_draws_get(&own, &f->draws, s->items[i].value, k, err);
        if (!own) continue;
        pgy_tensor_release(made->items[i].value);
        made->items[i].value = own;
    }
    *out = (op_tensor){.sequence = made};
    return st;
}

pgy_status floor_operands_draw(floor_operands *o, const pgy_floor *f, size_t k, pgy_error *err)
{
    pgy_status st = PGY_OK;
    memset(o->drawn, 0, o->count * sizeof *o->drawn);
    for (size_t i = 0; !st && i < o->count; i++) {
        pgy_tensor *own = NULL;
        const op_tensor *given = &o->given[i];
        if (given->sequence) {
            st = draw_sequence(&o->drawn[i], f, given->sequence, k, err);
            continue;
        }
        if (given->value) st = floor_draws_get(&own, &f->draws, given->value, k, err);
        o->drawn[i] = own ? (op_tensor){.dtype = given->dtype, .value = own}
                          : op_tensor_retain(&o->rounded[i]);
    }
    return st;
}

void floor_operands_undraw(floor_operands *o)
{
    for (size_t i = 0; o->drawn && i < o->count; i++) op_tensor_release(&o->drawn[i]);
}

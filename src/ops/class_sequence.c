/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of tensors. In shape rules, one element describes what is known of every item; in
 * evaluation, items are references. */
#include "ops/class_sequence.h"

#include "ops/class_loop.h"

pgy_status sequence_element(op_value *out, const op_infer *c, size_t i, pgy_error *err)
{
    const op_value *v = &c->inputs[i];
    if (v->dtype || v->optional || v->map_key)
        return op_error(c->node, err, PGY_E_TYPE, "input %zu must be a sequence, not %s", i,
                        v->optional  ? "an optional"
                        : v->map_key ? "a map"
                                     : "a tensor");
    *out = v->sequence ? *v->sequence : (op_value){.rank = -1};
    if (out->rank == SEQUENCE_NO_ITEMS) out->rank = -1;
    return PGY_OK;
}

pgy_status sequence_set(op_infer *c, size_t i, const op_value *element, pgy_error *err)
{
    op_value *kept = arena_alloc(c->memory, sizeof *kept);
    if (!kept) return rule_no_memory(c->node, err);
    *kept = loop_varying(element);
    if (i < c->node->output_count) c->outputs[i] = (op_value){.rank = -1, .sequence = kept};
    return PGY_OK;
}

pgy_status sequence_input(op_sequence **out, const op_eval *c, size_t i, pgy_error *err)
{
    op_sequence *s = i < c->node->input_count ? c->inputs[i].sequence : NULL;
    if (!s || s->none || s->map)
        return op_error(c->node, err, PGY_E_TYPE, "input %zu must be a sequence", i);
    *out = s;
    return PGY_OK;
}

pgy_status sequence_position(size_t *out, const op_eval *c, size_t i, size_t count, size_t limit,
                             pgy_error *err)
{
    const int64_t *position;
    size_t given;
    pgy_status st = op_eval_ints(c, i, &position, &given, err);
    if (st) return st;
    if (given != 1)
        return op_error(c->node, err, PGY_E_SHAPE, "input %zu (position) has %zu elements, not one",
                        i, given);
    const int64_t at = *position < 0 ? *position + (int64_t)count : *position;
    if (at < 0 || (uint64_t)at >= limit)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "position %lld is out of range for a sequence of %zu items",
                        (long long)*position, count);
    *out = (size_t)at;
    return PGY_OK;
}

void sequence_output(op_eval *c, size_t i, op_sequence *s)
{
    op_tensor result = {.sequence = s};
    loop_set_output(c, i, &result);
}

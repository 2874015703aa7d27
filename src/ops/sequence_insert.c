/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceInsert: a tensor put before the item at a position, at the end by default. */
#include "ops/class_loop.h"
#include "ops/class_sequence.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value element;
    const op_value *item = &c->inputs[1];
    pgy_status st = sequence_element(&element, c, 0, err);
    if (st) return st;
    if (element.dtype && item->dtype && element.dtype != item->dtype)
        return op_error(c->node, err, PGY_E_TYPE,
                        "a tensor of type %s cannot be inserted into a sequence of type %s",
                        pgy_dtype_name(item->dtype), pgy_dtype_name(element.dtype));
    if (!element.dtype) element.dtype = item->dtype;
    const op_value *before = c->inputs[0].sequence;
    if (before && before->rank == SEQUENCE_NO_ITEMS) {
        element.rank = item->rank;
        element.dims = item->dims;
    } else if (element.rank >= 0) {
        loop_merge(c, &element, item, "the items of a sequence differ");
    }
    return sequence_set(c, 0, &element, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_sequence *from;
    pgy_tensor *item;
    pgy_status st = sequence_input(&from, c, 0, err);
    if (!st) st = rule_input(c, 1, &item, err);
    size_t at = st ? 0 : from->count;
    if (!st && op_has_value(c, 2))
        st = sequence_position(&at, c, 2, from->count, from->count + 1, err);
    if (st) return st;
    op_sequence *made = op_sequence_create(from->count + 1);
    if (!made) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < made->count; i++)
        made->items[i] =
            op_tensor_retain(i == at ? &c->inputs[1] : &from->items[i < at ? i : i - 1]);
    sequence_output(c, 0, made);
    return PGY_OK;
}

const op_def OP_sequence_insert[] = {
    SEQUENCE_ROW("SequenceInsert", 11, 2, 3, 0, NULL, infer, eval),
    {0},
};

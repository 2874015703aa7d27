/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceErase: the sequence without the item at a position, the last one by default. */
#include "ops/class_sequence.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value element;
    const pgy_status st = sequence_element(&element, c, 0, err);
    return st ? st : sequence_set(c, 0, &element, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_sequence *from;
    pgy_status st = sequence_input(&from, c, 0, err);
    if (st) return st;
    if (!from->count) return op_error(c->node, err, PGY_E_ARGUMENT, "the sequence is empty");
    size_t at = from->count - 1;
    if (op_has_value(c, 1)) st = sequence_position(&at, c, 1, from->count, from->count, err);
    if (st) return st;
    op_sequence *made = op_sequence_create(from->count - 1);
    if (!made) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < made->count; i++)
        made->items[i] = op_tensor_retain(&from->items[i < at ? i : i + 1]);
    sequence_output(c, 0, made);
    return PGY_OK;
}

const op_def OP_sequence_erase[] = {
    SEQUENCE_ROW("SequenceErase", 11, 1, 2, 0, NULL, infer, eval),
    {0},
};

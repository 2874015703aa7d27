/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceAt: the item of a sequence at a position. */
#include "ops/class_loop.h"
#include "ops/class_sequence.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value element;
    const pgy_status st = sequence_element(&element, c, 0, err);
    if (st) return st;
    c->outputs[0] = element;
    if (element.rank < 0) c->why = "the shape of the items of a sequence is not known";
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_sequence *from;
    size_t at;
    pgy_status st = sequence_input(&from, c, 0, err);
    if (!st) st = sequence_position(&at, c, 1, from->count, from->count, err);
    if (st) return st;
    op_tensor item = op_tensor_retain(&from->items[at]);
    loop_set_output(c, 0, &item);
    return PGY_OK;
}

const op_def OP_sequence_at[] = {
    SEQUENCE_ROW("SequenceAt", 11, 2, 2, 0, NULL, infer, eval),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceLength: the number of items of a sequence. */
#include "ops/class_sequence.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const dim none[1];
    op_value element;
    const pgy_status st = sequence_element(&element, c, 0, err);
    if (!st) op_set_output(c, 0, PGY_I64, 0, none);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_sequence *from;
    pgy_tensor *y;
    pgy_status st = sequence_input(&from, c, 0, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) *op_i64(y) = (int64_t)from->count;
    return st;
}

const op_def OP_sequence_length[] = {
    SEQUENCE_ROW("SequenceLength", 11, 1, 1, 0, NULL, infer, eval),
    {0},
};

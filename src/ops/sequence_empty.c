/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceEmpty: a sequence without items, for tensors of a given type. */
#include "ops/class_sequence.h"

static const op_attr_def ATTRS[] = {
    {"dtype", OP_ATTR_INT, false, "1"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const int64_t code = op_attr_int(c->node, "dtype", 1);
    const op_value element = {.dtype = code > 0 && code < 1000 ? pgy_dtype_from_onnx((int)code)
                                                               : PGY_DTYPE_NONE,
                              .rank = SEQUENCE_NO_ITEMS};
    if (!element.dtype)
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute dtype is %lld, which is not an element type", (long long)code);
    return sequence_set(c, 0, &element, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_sequence *made = op_sequence_create(0);
    if (!made) return rule_no_memory(c->node, err);
    sequence_output(c, 0, made);
    return PGY_OK;
}

const op_def OP_sequence_empty[] = {
    SEQUENCE_ROW("SequenceEmpty", 11, 0, 0, 0, ATTRS, infer, eval),
    {0},
};

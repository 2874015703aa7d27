/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearReduceMean: ReduceMean of quantised tensors; see class_qlinear.h. */
#include "ops/class_qlinear.h"

static const op_attr_def ATTRS[] = {
    {"axes", OP_ATTR_INTS, true, NULL},
    {"keepdims", OP_ATTR_INT, true, NULL},
    {0},
};
static const qlinear_spec SPEC = {"ReduceMean", 13, 0, 1, 3};

const op_def OP_qlinear_reduce_mean[] = {
    QLINEAR_ROW("QLinearReduceMean", 4, 5, 0, ATTRS, &SPEC,
                "T = int8 uint8; data:T, data_scale:float32, ?data_zero_point:T, "
                "reduced_scale:float32, ?reduced_zero_point:T -> reduced:T"),
    {0},
};

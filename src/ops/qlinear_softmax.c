/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearSoftmax: Softmax of quantised tensors; see class_qlinear.h. */
#include "ops/class_qlinear.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {"opset", OP_ATTR_INT, true, NULL},
    {0},
};
static const qlinear_spec SPEC = {"Softmax", 13, 0, 1, 3};

const op_def OP_qlinear_softmax[] = {
    QLINEAR_ROW("QLinearSoftmax", 5, 5, 0, ATTRS, &SPEC,
                "T = int8 uint8; X:T, X_scale:float32, ?x_zero_point:T, y_scale:float32, "
                "y_zero_point:T -> Y:T"),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearLeakyRelu: LeakyRelu of quantised tensors; see class_qlinear.h. */
#include "ops/class_qlinear.h"

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "0.01"},
    {0},
};
static const qlinear_spec SPEC = {"LeakyRelu", 16, 0, 1, 3};

const op_def OP_qlinear_leaky_relu[] = {
    QLINEAR_ROW("QLinearLeakyRelu", 4, 5, 0, ATTRS, &SPEC,
                "T = int8 uint8; X:T, X_scale:float32, ?X_zero_point:T, Y_scale:float32, "
                "?Y_zero_point:T -> Y:T"),
    {0},
};

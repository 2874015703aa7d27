/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearSigmoid: Sigmoid of quantised tensors; see class_qlinear.h. */
#include "ops/class_qlinear.h"

static const qlinear_spec SPEC = {"Sigmoid", 13, 0, 1, 3};

const op_def OP_qlinear_sigmoid[] = {
    QLINEAR_ROW("QLinearSigmoid", 4, 5, 0, NULL, &SPEC,
                "T = int8 uint8; X:T, X_scale:float32, ?X_zero_point:T, Y_scale:float32, "
                "?Y_zero_point:T -> Y:T"),
    {0},
};

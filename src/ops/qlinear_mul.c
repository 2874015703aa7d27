/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearMul: Mul of quantised tensors; see class_qlinear.h. */
#include "ops/class_qlinear.h"

static const qlinear_spec SPEC = {"Mul", 14, 0, 2, 6};

const op_def OP_qlinear_mul[] = {
    QLINEAR_ROW("QLinearMul", 7, 8, 0, NULL, &SPEC,
                "T = int8 uint8; A:T, A_scale:float32, ?A_zero_point:T, B:T, B_scale:float32, "
                "?B_zero_point:T, C_scale:float32, ?C_zero_point:T -> C:T"),
    {0},
};

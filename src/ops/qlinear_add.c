/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearAdd: Add of quantised tensors; see class_qlinear.h. */
#include "ops/class_qlinear.h"

static const qlinear_spec SPEC = {"Add", 14, 0, 2, 6};

const op_def OP_qlinear_add[] = {
    QLINEAR_ROW("QLinearAdd", 7, 8, 0, NULL, &SPEC,
                "T = int8 uint8; A:T, A_scale:float32, ?A_zero_point:T, B:T, B_scale:float32, "
                "?B_zero_point:T, C_scale:float32, ?C_zero_point:T -> C:T"),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearConcat: Concat of quantised tensors; see class_qlinear.h. */
#include "ops/class_qlinear.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, true, NULL},
    {0},
};
static const qlinear_spec SPEC = {"Concat", 13, 2, 0, 0};

const op_def OP_qlinear_concat[] = {
    QLINEAR_ROW("QLinearConcat", 5, 255, OP_VARIADIC_INPUTS, ATTRS, &SPEC,
                "T = int8 uint8; V = int8 uint8 float32; Y_scale:float32, Y_zero_point:T, "
                "~inputs:V -> Y:T"),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Scale: x times a number. An experimental operator of ONNX that models before opset 10 may have.
 */
#include "ops/class_unary.h"

#define NAME scale_f64
#define F(x) (p[0] * (x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = scale_f64, .params = {"scale"}};
static const op_attr_def ATTRS[] = {
    {"scale", OP_ATTR_FLOAT, false, "1"},
    {0},
};

const op_def OP_scale[] = {
    UNARY_ROW_UNTIL("Scale", 10, TYPES_F3, &SPEC, ATTRS),
    {0},
};

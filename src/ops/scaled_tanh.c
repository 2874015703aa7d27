/* SPDX-License-Identifier: Apache-2.0 */
/* ScaledTanh: alpha * tanh(beta * x). An experimental operator of ONNX that models before opset 10
 * may have. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME scaled_tanh_f64
#define F(x) (p[0] * tanh(p[1] * (x)))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = scaled_tanh_f64, .params = {"alpha", "beta"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, true, NULL},
    {"beta", OP_ATTR_FLOAT, true, NULL},
    {0},
};

const op_def OP_scaled_tanh[] = {
    UNARY_ROW_UNTIL("ScaledTanh", 10, TYPES_F3, &SPEC, ATTRS),
    {0},
};

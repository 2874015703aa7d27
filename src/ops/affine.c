/* SPDX-License-Identifier: Apache-2.0 */
/* Affine: alpha * x + beta. An experimental operator of ONNX that models before opset 10 may have.
 */
#include "ops/class_unary.h"

#define NAME affine_f64
#define F(x) (p[0] * (x) + p[1])
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = affine_f64, .params = {"alpha", "beta"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"beta", OP_ATTR_FLOAT, false, "0"},
    {0},
};

const op_def OP_affine[] = {
    UNARY_ROW_UNTIL("Affine", 10, TYPES_F3, &SPEC, ATTRS),
    {0},
};

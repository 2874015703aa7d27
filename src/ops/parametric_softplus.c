/* SPDX-License-Identifier: Apache-2.0 */
/* ParametricSoftplus: alpha * log(1 + exp(beta * x)). An experimental operator of ONNX that models
 * before opset 10 may have. */
#include <math.h>

#include "ops/class_unary.h"

/* log(1 + exp(x)) without overflow. */
static inline double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

#define NAME parametric_softplus_f64
#define F(x) (p[0] * softplus(p[1] * (x)))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = parametric_softplus_f64, .params = {"alpha", "beta"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, true, NULL},
    {"beta", OP_ATTR_FLOAT, true, NULL},
    {0},
};

const op_def OP_parametric_softplus[] = {
    UNARY_ROW_UNTIL("ParametricSoftplus", 10, TYPES_F3, &SPEC, ATTRS),
    {0},
};

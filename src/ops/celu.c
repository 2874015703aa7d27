/* SPDX-License-Identifier: Apache-2.0 */
/* Celu: alpha * (exp(x / alpha) - 1) for negative x. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME celu_f64
#define F(x) ((x) < 0 ? p[0] * expm1((x) / p[0]) : (x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = celu_f64, .params = {"alpha"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1.0"},
    {0},
};

const op_def OP_celu[] = {
    UNARY_ROW_ATTRS("Celu", 12, "float32", &SPEC, ATTRS),
    UNARY_ROW_ATTRS("Celu", 28, TYPES_F4, &SPEC, ATTRS),
    {0},
};

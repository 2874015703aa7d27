/* SPDX-License-Identifier: Apache-2.0 */
/* Selu: gamma * x, and gamma * alpha * (exp(x) - 1) for x <= 0. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME selu_f64
#define F(x) (p[1] * ((x) <= 0 ? p[0] * expm1(x) : (x)))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = selu_f64, .params = {"alpha", "gamma"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1.67326319217681884765625"},
    {"gamma", OP_ATTR_FLOAT, false, "1.05070102214813232421875"},
    {0},
};

const op_def OP_selu[] = {
    UNARY_ROW_ATTRS("Selu", 6, TYPES_F3, &SPEC, ATTRS),
    UNARY_ROW_ATTRS("Selu", 22, TYPES_F4, &SPEC, ATTRS),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Elu: alpha * (exp(x) - 1) for negative x. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME elu_f64
#define F(x) ((x) < 0 ? p[0] * expm1(x) : (x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = elu_f64, .params = {"alpha"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1.0"},
    {0},
};

const op_def OP_elu[] = {
    UNARY_ROW_ATTRS("Elu", 6, TYPES_F3, &SPEC, ATTRS),
    UNARY_ROW_ATTRS("Elu", 22, TYPES_F4, &SPEC, ATTRS),
    {0},
};

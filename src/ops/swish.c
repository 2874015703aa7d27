/* SPDX-License-Identifier: Apache-2.0 */
/* Swish: x * sigmoid(alpha * x). */
#include <math.h>

#include "ops/class_unary.h"

#define NAME swish_f64
#define F(x) ((x) / (1 + exp(-p[0] * (x))))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = swish_f64, .params = {"alpha"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1.0"},
    {0},
};

const op_def OP_swish[] = {
    UNARY_ROW_ATTRS("Swish", 24, TYPES_F4, &SPEC, ATTRS),
    {0},
};

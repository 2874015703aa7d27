/* SPDX-License-Identifier: Apache-2.0 */
/* LeakyRelu: negative values are scaled by alpha. */
#include "ops/class_unary.h"

#define NAME leaky_relu_f64
#define F(x) ((x) < 0 ? p[0] * (x) : (x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = leaky_relu_f64, .params = {"alpha"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "0.01"},
    {0},
};

const op_def OP_leaky_relu[] = {
    UNARY_ROW_ATTRS("LeakyRelu", 6, TYPES_F3, &SPEC, ATTRS),
    UNARY_ROW_ATTRS("LeakyRelu", 16, TYPES_F4, &SPEC, ATTRS),
    {0},
};

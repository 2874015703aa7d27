/* SPDX-License-Identifier: Apache-2.0 */
/* Mish: x * tanh(softplus(x)). */
#include <math.h>

#include "ops/class_unary.h"

/* log(1 + exp(x)) without overflow. */
static inline double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

#define NAME mish_f64
#define F(x) ((x)*tanh(softplus(x)))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = mish_f64};

const op_def OP_mish[] = {
    UNARY_ROW("Mish", 18, TYPES_F3, &SPEC),
    UNARY_ROW("Mish", 22, TYPES_F4, &SPEC),
    {0},
};

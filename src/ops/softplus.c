/* SPDX-License-Identifier: Apache-2.0 */
/* Softplus: log(1 + exp(x)). */
#include <math.h>

#include "ops/class_unary.h"

/* log(1 + exp(x)) without overflow. */
static inline double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

#define NAME softplus_f64
#define F(x) (softplus(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = softplus_f64};

const op_def OP_softplus[] = {
    UNARY_ROW("Softplus", 1, TYPES_F3, &SPEC),
    UNARY_ROW("Softplus", 22, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Exp: e to the power of x. */
#include "ops/class_unary.h"
#include "ops/vmath.h"

static void exp_f64(void *y, const void *x, size_t n, const void *params)
{
    (void)params;
    vmath_exp(y, x, n);
}

static const unary_spec SPEC = {.f64 = exp_f64};

const op_def OP_exp[] = {
    UNARY_ROW("Exp", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Exp", 13, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Tanh: hyperbolic tangent. */
#include "ops/class_unary.h"
#include "ops/vmath.h"

static void tanh_f64(void *y, const void *x, size_t n, const void *params)
{
    (void)params;
    vmath_tanh(y, x, n);
}

static const unary_spec SPEC = {.f64 = tanh_f64};

const op_def OP_tanh[] = {
    UNARY_ROW("Tanh", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Tanh", 13, TYPES_F4, &SPEC),
    {0},
};

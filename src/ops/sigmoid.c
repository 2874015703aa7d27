/* SPDX-License-Identifier: Apache-2.0 */
/* Sigmoid: 1 / (1 + exp(-x)). */
#include "ops/class_unary.h"
#include "ops/vmath.h"

static void sigmoid_f64(void *y, const void *x, size_t n, const void *params)
{
    (void)params;
    vmath_sigmoid(y, x, n);
}

static const unary_spec SPEC = {.f64 = sigmoid_f64};

const op_def OP_sigmoid[] = {
    UNARY_ROW("Sigmoid", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Sigmoid", 13, TYPES_F4, &SPEC),
    {0},
};

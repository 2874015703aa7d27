/* SPDX-License-Identifier: Apache-2.0 */
/* Sigmoid: 1 / (1 + exp(-x)). */
#include <math.h>

#include "ops/class_unary.h"

#define NAME sigmoid_f64
#define F(x) (1 / (1 + exp(-(x))))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = sigmoid_f64};

const op_def OP_sigmoid[] = {
    UNARY_ROW("Sigmoid", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Sigmoid", 13, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Relu: negative values become zero; NaN stays. */
#include "ops/class_unary.h"

#define NAME relu_f64
#define F(x) ((x) < 0 ? 0 : (x))
#include "ops/unary_loop.inc"

#define NAME relu_i64
#define T int64_t
#define F(x) ((x) < 0 ? 0 : (x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = relu_f64, .i64 = relu_i64};

const op_def OP_relu[] = {
    UNARY_ROW("Relu", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Relu", 13, TYPES_F4, &SPEC),
    UNARY_ROW("Relu", 14, TYPES_F4 " " TYPES_SIGNED, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Neg: sign change; the lowest integer stays itself, as in two's complement. */
#include "ops/class_unary.h"

#define NAME neg_f64
#define F(x) (-(x))
#include "ops/unary_loop.inc"

#define NAME neg_i64
#define T int64_t
#define F(x) ((int64_t)(0 - (uint64_t)(x)))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = neg_f64, .i64 = neg_i64, .symbolic = dim_neg};

const op_def OP_neg[] = {
    UNARY_ROW("Neg", 6, TYPES_F3 " " TYPES_SIGNED, &SPEC),
    UNARY_ROW("Neg", 13, TYPES_F4 " " TYPES_SIGNED, &SPEC),
    {0},
};

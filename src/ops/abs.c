/* SPDX-License-Identifier: Apache-2.0 */
/* Abs: magnitude; the lowest integer stays itself, as in two's complement. */
#include <math.h>

#include "ops/class_unary.h"

static dim magnitude(dim_table *t, dim x)
{
    if (rule_is_natural(t, x)) return x;
    return rule_is_negative(x) ? dim_neg(t, x)
                               : dim_unknown(t, "it is the absolute value of a symbolic number");
}

#define NAME abs_f64
#define F(x) (fabs(x))
#include "ops/unary_loop.inc"

#define NAME abs_i64
#define T int64_t
#define F(x) ((x) < 0 ? (int64_t)(0 - (uint64_t)(x)) : (x))
#include "ops/unary_loop.inc"

#define NAME abs_u64
#define T uint64_t
#define F(x) (x)
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {
    .f64 = abs_f64, .i64 = abs_i64, .u64 = abs_u64, .symbolic = magnitude};

const op_def OP_abs[] = {
    UNARY_ROW("Abs", 6, TYPES_N11, &SPEC),
    UNARY_ROW("Abs", 13, TYPES_N12, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Min: smallest of any number of inputs; NaN wins. */
#include <math.h>

#include "ops/class_binary.h"

#define NAME min_f64
#define F(a, b) ((a) < (b) || isnan(a) ? (a) : (b))
#include "ops/binary_loop.inc"

#define NAME min_i64
#define T int64_t
#define F(a, b) ((a) < (b) ? (a) : (b))
#include "ops/binary_loop.inc"

#define NAME min_u64
#define T uint64_t
#define F(a, b) ((a) < (b) ? (a) : (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {
    .f64 = min_f64, .i64 = min_i64, .u64 = min_u64, .symbolic = dim_min};

const op_def OP_min[] = {
    VARIADIC_ROW("Min", 6, TYPES_F3, &SPEC),
    VARIADIC_ROW("Min", 12, TYPES_N11, &SPEC),
    VARIADIC_ROW("Min", 13, TYPES_N12, &SPEC),
    {0},
};

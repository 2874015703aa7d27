/* SPDX-License-Identifier: Apache-2.0 */
/* Max: largest of any number of inputs; NaN wins. */
#include <math.h>

#include "ops/class_binary.h"

#define NAME max_f64
#define F(a, b) ((a) > (b) || isnan(a) ? (a) : (b))
#include "ops/binary_loop.inc"

#define NAME max_i64
#define T int64_t
#define F(a, b) ((a) > (b) ? (a) : (b))
#include "ops/binary_loop.inc"

#define NAME max_u64
#define T uint64_t
#define F(a, b) ((a) > (b) ? (a) : (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {
    .f64 = max_f64, .i64 = max_i64, .u64 = max_u64, .symbolic = dim_max};

const op_def OP_max[] = {
    VARIADIC_ROW("Max", 6, TYPES_F3, &SPEC),
    VARIADIC_ROW("Max", 12, TYPES_N11, &SPEC),
    VARIADIC_ROW("Max", 13, TYPES_N12, &SPEC),
    {0},
};

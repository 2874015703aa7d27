/* SPDX-License-Identifier: Apache-2.0 */
/* Mul: product; integers wrap. */
#include "ops/class_binary.h"

#define NAME mul_f64
#define F(a, b) ((a) * (b))
#include "ops/binary_loop.inc"

#define NAME mul_i64
#define T int64_t
#define F(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#include "ops/binary_loop.inc"

#define NAME mul_u64
#define T uint64_t
#define F(a, b) ((a) * (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {
    .f64 = mul_f64, .i64 = mul_i64, .u64 = mul_u64, .symbolic = dim_mul};

const op_def OP_mul[] = {
    BINARY_ROW("Mul", 7, TYPES_F3 " " TYPES_WIDE, &SPEC),
    BINARY_ROW("Mul", 13, TYPES_F4 " " TYPES_WIDE, &SPEC),
    BINARY_ROW("Mul", 14, TYPES_N12, &SPEC),
    {0},
};

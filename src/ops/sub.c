/* SPDX-License-Identifier: Apache-2.0 */
/* Sub: difference; integers wrap. */
#include "ops/class_binary.h"

#define NAME sub_f64
#define F(a, b) ((a) - (b))
#include "ops/binary_loop.inc"

#define NAME sub_i64
#define T int64_t
#define F(a, b) ((int64_t)((uint64_t)(a) - (uint64_t)(b)))
#include "ops/binary_loop.inc"

#define NAME sub_u64
#define T uint64_t
#define F(a, b) ((a) - (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {
    .f64 = sub_f64, .i64 = sub_i64, .u64 = sub_u64, .symbolic = dim_sub};

const op_def OP_sub[] = {
    BINARY_ROW("Sub", 7, TYPES_F3 " " TYPES_WIDE, &SPEC),
    BINARY_ROW("Sub", 13, TYPES_F4 " " TYPES_WIDE, &SPEC),
    BINARY_ROW("Sub", 14, TYPES_N12, &SPEC),
    {0},
};

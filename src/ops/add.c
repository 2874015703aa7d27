/* SPDX-License-Identifier: Apache-2.0 */
/* Add: sum; integers wrap. */
#include "ops/class_binary.h"

#define NAME add_f64
#define F(a, b) ((a) + (b))
#include "ops/binary_loop.inc"

#define NAME add_i64
#define T int64_t
#define F(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#include "ops/binary_loop.inc"

#define NAME add_u64
#define T uint64_t
#define F(a, b) ((a) + (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {
    .f64 = add_f64, .i64 = add_i64, .u64 = add_u64, .symbolic = dim_add};

const op_def OP_add[] = {
    BINARY_ROW("Add", 7, TYPES_F3 " " TYPES_WIDE, &SPEC),
    BINARY_ROW("Add", 13, TYPES_F4 " " TYPES_WIDE, &SPEC),
    BINARY_ROW("Add", 14, TYPES_N12, &SPEC),
    {0},
};

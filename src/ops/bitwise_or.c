/* SPDX-License-Identifier: Apache-2.0 */
/* BitwiseOr: bits set in either. */
#include "ops/class_binary.h"

#define NAME bitwise_or_i64
#define T int64_t
#define F(a, b) ((a) | (b))
#include "ops/binary_loop.inc"

#define NAME bitwise_or_u64
#define T uint64_t
#define F(a, b) ((a) | (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.i64 = bitwise_or_i64, .u64 = bitwise_or_u64};

const op_def OP_bitwise_or[] = {
    BINARY_ROW("BitwiseOr", 18, TYPES_SIGNED " " TYPES_UNSIGNED, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* BitwiseXor: bits set in one of both. */
#include "ops/class_binary.h"

#define NAME bitwise_xor_i64
#define T int64_t
#define F(a, b) ((a) ^ (b))
#include "ops/binary_loop.inc"

#define NAME bitwise_xor_u64
#define T uint64_t
#define F(a, b) ((a) ^ (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.i64 = bitwise_xor_i64, .u64 = bitwise_xor_u64};

const op_def OP_bitwise_xor[] = {
    BINARY_ROW("BitwiseXor", 18, TYPES_SIGNED " " TYPES_UNSIGNED, &SPEC),
    {0},
};

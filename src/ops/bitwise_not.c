/* SPDX-License-Identifier: Apache-2.0 */
/* BitwiseNot: all bits inverted; the executor drops those above the declared width. */
#include "ops/class_unary.h"

#define NAME bitwise_not_i64
#define T int64_t
#define F(x) (~(x))
#include "ops/unary_loop.inc"

#define NAME bitwise_not_u64
#define T uint64_t
#define F(x) (~(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.i64 = bitwise_not_i64, .u64 = bitwise_not_u64};

const op_def OP_bitwise_not[] = {
    UNARY_ROW("BitwiseNot", 18, TYPES_SIGNED " " TYPES_UNSIGNED, &SPEC),
    {0},
};

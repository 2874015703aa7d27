/* SPDX-License-Identifier: Apache-2.0 */
/* GreaterOrEqual: a >= b. */
#include "ops/class_binary.h"

static dim decide(dim_table *t, dim a, dim b)
{
    if (rule_is_natural(t, dim_sub(t, a, b))) return dim_const(1);
    if (dim_is_positive(dim_sub(t, b, a))) return dim_const(0);
    return dim_unknown(t, "it is not known which of two symbolic numbers is larger");
}

#define NAME greater_or_equal_f64
#define OUT uint8_t
#define F(a, b) ((a) >= (b))
#include "ops/binary_loop.inc"

#define NAME greater_or_equal_i64
#define T int64_t
#define OUT uint8_t
#define F(a, b) ((a) >= (b))
#include "ops/binary_loop.inc"

#define NAME greater_or_equal_u64
#define T uint64_t
#define OUT uint8_t
#define F(a, b) ((a) >= (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.f64 = greater_or_equal_f64,
                                 .i64 = greater_or_equal_i64,
                                 .u64 = greater_or_equal_u64,
                                 .predicate = true,
                                 .symbolic = decide};

const op_def OP_greater_or_equal[] = {
    BINARY_ROW("GreaterOrEqual", 12, TYPES_N11, &SPEC),
    BINARY_ROW("GreaterOrEqual", 16, TYPES_N12, &SPEC),
    {0},
};

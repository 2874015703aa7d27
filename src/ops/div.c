/* SPDX-License-Identifier: Apache-2.0 */
/* Div: quotient. Integers truncate; by zero they give 0, and the lowest integer by -1 wraps, as in
 * NumPy. */
#include "ops/class_binary.h"

static inline int64_t divide(int64_t a, int64_t b)
{
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    return b ? a / b : 0;
}

/* Symbolic quotient: known only if both operands are at least 0, where floor and C's truncation
 * agree. */
static dim quotient(dim_table *t, dim a, dim b)
{
    if (dim_is_const(a) && dim_is_const(b)) return dim_const(divide(a.value, b.value));
    if (rule_is_natural(t, a) && dim_is_positive(b)) return dim_div_floor(t, a, b);
    return dim_unknown(t, "it is a quotient of symbolic numbers that may be negative");
}

#define NAME div_f64
#define F(a, b) ((a) / (b))
#include "ops/binary_loop.inc"

#define NAME div_i64
#define T int64_t
#define F(a, b) (divide(a, b))
#include "ops/binary_loop.inc"

#define NAME div_u64
#define T uint64_t
#define F(a, b) ((b) ? (a) / (b) : 0)
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {
    .f64 = div_f64, .i64 = div_i64, .u64 = div_u64, .symbolic = quotient};

const op_def OP_div[] = {
    BINARY_ROW("Div", 7, TYPES_F3 " " TYPES_WIDE, &SPEC),
    BINARY_ROW("Div", 13, TYPES_F4 " " TYPES_WIDE, &SPEC),
    BINARY_ROW("Div", 14, TYPES_N12, &SPEC),
    {0},
};

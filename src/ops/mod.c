/* SPDX-License-Identifier: Apache-2.0 */
/* Mod: remainder of a floored division (sign of the divisor), or with fmod of a truncated one (sign
 * of the dividend). Integers by zero give 0, as in NumPy. */
#include <math.h>

#include "ops/class_binary.h"

static inline double floored(double a, double b)
{
    const double r = fmod(a, b);
    if (r == 0) return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static inline int64_t truncated_int(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static inline int64_t floored_int(int64_t a, int64_t b)
{
    const int64_t r = truncated_int(a, b);
    return r && (r < 0) != (b < 0) ? r + b : r;
}

#define NAME floored_f64
#define F(a, b) floored(a, b)
#include "ops/binary_loop.inc"

#define NAME floored_i64
#define T int64_t
#define F(a, b) floored_int(a, b)
#include "ops/binary_loop.inc"

#define NAME truncated_f64
#define F(a, b) fmod(a, b)
#include "ops/binary_loop.inc"

#define NAME truncated_i64
#define T int64_t
#define F(a, b) truncated_int(a, b)
#include "ops/binary_loop.inc"

#define NAME remainder_u64
#define T uint64_t
#define F(a, b) ((b) ? (a) % (b) : 0)
#include "ops/binary_loop.inc"

/* Symbolic remainder: known only if both operands are at least 0, where both kinds of division
 * agree. */
static dim remainder_of(dim_table *t, dim a, dim b)
{
    if (rule_is_natural(t, a) && dim_is_positive(b)) return dim_mod(t, a, b);
    return dim_unknown(t, "it is a remainder of symbolic numbers that may be negative");
}

static const binary_spec FLOORED = {
    .f64 = floored_f64, .i64 = floored_i64, .u64 = remainder_u64, .symbolic = remainder_of};
static const binary_spec TRUNCATED = {
    .f64 = truncated_f64, .i64 = truncated_i64, .u64 = remainder_u64};
static const op_attr_def ATTRS[] = {
    {"fmod", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {0},
};

static pgy_status eval(op_eval *c, pgy_error *err)
{
    return binary_eval_with(c, op_attr_int(c->node, "fmod", 0) ? &TRUNCATED : &FLOORED, err);
}

#define ROW(version, accepted)                                                           \
    {                                                                                    \
        .name = "Mod", .domain = "", .since = version, .min_inputs = 2, .max_inputs = 2, \
        .min_outputs = 1, .max_outputs = 1, .attrs = ATTRS, .types = accepted,           \
        .infer = binary_infer, .eval = eval, .user_data = &FLOORED                       \
    }

const op_def OP_mod[] = {
    ROW(10, TYPES_N11),
    ROW(13, TYPES_N12),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Shrink: values within [-lambd, lambd] become zero, others move towards zero by bias. */
#include "ops/class_unary.h"

static inline double shrink(double x, const double *p)
{
    if (x < -p[0]) return x + p[1];
    return x > p[0] ? x - p[1] : 0;
}

#define NAME shrink_f64
#define F(x) (shrink(x, p))
#include "ops/unary_loop.inc"

#define NAME shrink_i64
#define T int64_t
#define F(x) (rule_truncate(shrink((double)(x), p)))
#include "ops/unary_loop.inc"

#define NAME shrink_u64
#define T uint64_t
#define F(x) (rule_truncate_unsigned(shrink((double)(x), p)))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {
    .f64 = shrink_f64, .i64 = shrink_i64, .u64 = shrink_u64, .params = {"lambd", "bias"}};
static const op_attr_def ATTRS[] = {
    {"lambd", OP_ATTR_FLOAT, false, "0.5"},
    {"bias", OP_ATTR_FLOAT, false, "0.0"},
    {0},
};

const op_def OP_shrink[] = {
    UNARY_ROW_ATTRS("Shrink", 9, TYPES_N11, &SPEC, ATTRS),
    {0},
};

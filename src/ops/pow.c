/* SPDX-License-Identifier: Apache-2.0 */
/* Pow: base to the power of an exponent that may have another type. Integer bases with integer
 * exponents are exact and wrap; a negative exponent truncates to 0 unless the base is 1 or -1. */
#include <math.h>

#include "ops/class_binary.h"

static inline uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

static inline int64_t signed_power(int64_t base, int64_t exponent)
{
    if (exponent >= 0) return (int64_t)power((uint64_t)base, (uint64_t)exponent);
    if (base == 1 || (base == -1 && exponent % 2 == 0)) return 1;
    return base == -1 ? -1 : 0;
}

#define NAME general
#define F(a, b) pow(a, b)
#include "ops/binary_loop.inc"

/* Exporters write squares and cubes as one exponent of 2 or 3 for all elements. */
static void f64_f64(void *to, const void *first, size_t a_step, const void *second, size_t b_step,
                    size_t n)
{
    const double exponent = *(const double *)second;
    if (b_step || (exponent != 2 && exponent != 3)) {
        general(to, first, a_step, second, b_step, n);
        return;
    }
    double *restrict y = to;
    const double *restrict x = first;
    if (exponent == 2)
        for (size_t i = 0; i < n; i++) y[i] = x[i * a_step] * x[i * a_step];
    else
        for (size_t i = 0; i < n; i++) y[i] = x[i * a_step] * x[i * a_step] * x[i * a_step];
}

#define NAME f64_i64
#define T2 int64_t
#define F(a, b) pow(a, (double)(b))
#define T double
#include "ops/binary_loop.inc"

#define NAME f64_u64
#define T2 uint64_t
#define F(a, b) pow(a, (double)(b))
#define T double
#include "ops/binary_loop.inc"

#define NAME i64_f64
#define T2 double
#define F(a, b) rule_truncate(pow((double)(a), b))
#define T int64_t
#include "ops/binary_loop.inc"

#define NAME i64_i64
#define F(a, b) signed_power(a, b)
#define T int64_t
#include "ops/binary_loop.inc"

#define NAME i64_u64
#define T2 uint64_t
#define F(a, b) ((int64_t)power((uint64_t)(a), b))
#define T int64_t
#include "ops/binary_loop.inc"

static const binary_spec FLOAT = {.f64 = f64_f64, .i64 = f64_i64, .u64 = f64_u64, .mixed = true};
static const binary_spec INTEGER = {.f64 = i64_f64, .i64 = i64_i64, .u64 = i64_u64, .mixed = true};

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_dtype base = op_storage(c->inputs[0].dtype);
    if (base != PGY_F64 && base != PGY_I64)
        return op_error(c->node, err, PGY_E_TYPE, "a base of type %s is not supported",
                        pgy_dtype_name(c->inputs[0].dtype));
    return binary_eval_with(c, base == PGY_F64 ? &FLOAT : &INTEGER, err);
}

#define ROW(version, accepted)                                                           \
    {                                                                                    \
        .name = "Pow", .domain = "", .since = version, .min_inputs = 2, .max_inputs = 2, \
        .min_outputs = 1, .max_outputs = 1, .types = accepted, .infer = binary_infer,    \
        .eval = eval, .user_data = &FLOAT                                                \
    }

const op_def OP_pow[] = {
    ROW(7, TYPES_F3),
    ROW(12, TYPES_F3 " int32 int64"),
    ROW(13, TYPES_F4 " int32 int64"),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Erf: the error function; results for integers are truncated. */
#include <math.h>

#include "ops/class_unary.h"
#include "ops/vmath.h"

static void erf_f64(void *y, const void *x, size_t n, const void *params)
{
    (void)params;
    vmath_erf(y, x, n);
}

#define NAME erf_i64
#define T int64_t
#define F(x) (rule_truncate(erf((double)(x))))
#include "ops/unary_loop.inc"

#define NAME erf_u64
#define T uint64_t
#define F(x) (rule_truncate_unsigned(erf((double)(x))))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = erf_f64, .i64 = erf_i64, .u64 = erf_u64};

const op_def OP_erf[] = {
    UNARY_ROW("Erf", 9, TYPES_N11, &SPEC),
    UNARY_ROW("Erf", 13, TYPES_F4, &SPEC),
    {0},
};

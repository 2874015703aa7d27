/* SPDX-License-Identifier: Apache-2.0 */
/* Sign: -1, 0 or 1; NaN stays NaN. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME sign_f64
#define F(x) (isnan(x) ? (x) : (double)(((x) > 0) - ((x) < 0)))
#include "ops/unary_loop.inc"

#define NAME sign_i64
#define T int64_t
#define F(x) (((x) > 0) - ((x) < 0))
#include "ops/unary_loop.inc"

#define NAME sign_u64
#define T uint64_t
#define F(x) ((x) > 0)
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = sign_f64, .i64 = sign_i64, .u64 = sign_u64};

const op_def OP_sign[] = {
    UNARY_ROW("Sign", 9, TYPES_N11, &SPEC),
    UNARY_ROW("Sign", 13, TYPES_N12, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Asin: the angle in [-pi/2, pi/2] of a sine. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME asin_f64
#define F(x) (asin(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = asin_f64};

const op_def OP_asin[] = {
    UNARY_ROW("Asin", 7, TYPES_F3, &SPEC),
    UNARY_ROW("Asin", 22, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Sqrt: square root; NaN of negative numbers. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME sqrt_f64
#define F(x) (sqrt(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = sqrt_f64};

const op_def OP_sqrt[] = {
    UNARY_ROW("Sqrt", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Sqrt", 13, TYPES_F4, &SPEC),
    {0},
};

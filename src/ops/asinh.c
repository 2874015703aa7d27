/* SPDX-License-Identifier: Apache-2.0 */
/* Asinh: inverse hyperbolic sine. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME asinh_f64
#define F(x) (asinh(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = asinh_f64};

const op_def OP_asinh[] = {
    UNARY_ROW("Asinh", 9, TYPES_F3, &SPEC),
    UNARY_ROW("Asinh", 22, TYPES_F4, &SPEC),
    {0},
};

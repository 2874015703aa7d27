/* SPDX-License-Identifier: Apache-2.0 */
/* Cos: cosine of an angle in radians. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME cos_f64
#define F(x) (cos(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = cos_f64};

const op_def OP_cos[] = {
    UNARY_ROW("Cos", 7, TYPES_F3, &SPEC),
    UNARY_ROW("Cos", 22, TYPES_F4, &SPEC),
    {0},
};

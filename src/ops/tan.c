/* SPDX-License-Identifier: Apache-2.0 */
/* Tan: tangent of an angle in radians. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME tan_f64
#define F(x) (tan(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = tan_f64};

const op_def OP_tan[] = {
    UNARY_ROW("Tan", 7, TYPES_F3, &SPEC),
    UNARY_ROW("Tan", 22, TYPES_F4, &SPEC),
    {0},
};

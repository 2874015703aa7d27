/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: sine of an angle in radians. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME sin_f64
#define F(x) (sin(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = sin_f64};

const op_def OP_sin[] = {
    UNARY_ROW("Sin", 7, TYPES_F3, &SPEC),
    UNARY_ROW("Sin", 22, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Atan: the angle in [-pi/2, pi/2] of a tangent. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME atan_f64
#define F(x) (atan(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = atan_f64};

const op_def OP_atan[] = {
    UNARY_ROW("Atan", 7, TYPES_F3, &SPEC),
    UNARY_ROW("Atan", 22, TYPES_F4, &SPEC),
    {0},
};

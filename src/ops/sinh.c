/* SPDX-License-Identifier: Apache-2.0 */
/* Sinh: hyperbolic sine. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME sinh_f64
#define F(x) (sinh(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = sinh_f64};

const op_def OP_sinh[] = {
    UNARY_ROW("Sinh", 9, TYPES_F3, &SPEC),
    UNARY_ROW("Sinh", 22, TYPES_F4, &SPEC),
    {0},
};

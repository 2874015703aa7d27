/* SPDX-License-Identifier: Apache-2.0 */
/* Acosh: inverse hyperbolic cosine. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME acosh_f64
#define F(x) (acosh(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = acosh_f64};

const op_def OP_acosh[] = {
    UNARY_ROW("Acosh", 9, TYPES_F3, &SPEC),
    UNARY_ROW("Acosh", 22, TYPES_F4, &SPEC),
    {0},
};

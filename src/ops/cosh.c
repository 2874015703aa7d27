/* SPDX-License-Identifier: Apache-2.0 */
/* Cosh: hyperbolic cosine. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME cosh_f64
#define F(x) (cosh(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = cosh_f64};

const op_def OP_cosh[] = {
    UNARY_ROW("Cosh", 9, TYPES_F3, &SPEC),
    UNARY_ROW("Cosh", 22, TYPES_F4, &SPEC),
    {0},
};

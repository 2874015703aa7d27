/* SPDX-License-Identifier: Apache-2.0 */
/* Exp: e to the power of x. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME exp_f64
#define F(x) (exp(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = exp_f64};

const op_def OP_exp[] = {
    UNARY_ROW("Exp", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Exp", 13, TYPES_F4, &SPEC),
    {0},
};

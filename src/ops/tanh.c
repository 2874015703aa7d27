/* SPDX-License-Identifier: Apache-2.0 */
/* Tanh: hyperbolic tangent. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME tanh_f64
#define F(x) (tanh(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = tanh_f64};

const op_def OP_tanh[] = {
    UNARY_ROW("Tanh", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Tanh", 13, TYPES_F4, &SPEC),
    {0},
};

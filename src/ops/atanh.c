/* SPDX-License-Identifier: Apache-2.0 */
/* Atanh: inverse hyperbolic tangent. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME atanh_f64
#define F(x) (atanh(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = atanh_f64};

const op_def OP_atanh[] = {
    UNARY_ROW("Atanh", 9, TYPES_F3, &SPEC),
    UNARY_ROW("Atanh", 22, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Acos: the angle in [0, pi] of a cosine. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME acos_f64
#define F(x) (acos(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = acos_f64};

const op_def OP_acos[] = {
    UNARY_ROW("Acos", 7, TYPES_F3, &SPEC),
    UNARY_ROW("Acos", 22, TYPES_F4, &SPEC),
    {0},
};

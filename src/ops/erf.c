/* SPDX-License-Identifier: Apache-2.0 */
/* Erf: the error function. The integer types of version 9 have no meaning and are refused. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME erf_f64
#define F(x) (erf(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = erf_f64};

const op_def OP_erf[] = {
    UNARY_ROW("Erf", 9, TYPES_N11, &SPEC),
    UNARY_ROW("Erf", 13, TYPES_F4, &SPEC),
    {0},
};

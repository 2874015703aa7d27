/* SPDX-License-Identifier: Apache-2.0 */
/* Ceil: the next integer towards plus infinity. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME ceil_f64
#define F(x) (ceil(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = ceil_f64};

const op_def OP_ceil[] = {
    UNARY_ROW("Ceil", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Ceil", 13, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Reciprocal: one over x. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME reciprocal_f64
#define F(x) (1 / (x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = reciprocal_f64};

const op_def OP_reciprocal[] = {
    UNARY_ROW("Reciprocal", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Reciprocal", 13, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* IsNaN: which elements are not numbers. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME is_nan_f64
#define OUT uint8_t
#define F(x) (isnan(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = is_nan_f64, .predicate = true};

const op_def OP_is_nan[] = {
    UNARY_ROW("IsNaN", 9, TYPES_F3, &SPEC),
    UNARY_ROW("IsNaN", 13, TYPES_F4, &SPEC),
    UNARY_ROW("IsNaN", 20, TYPES_F8, &SPEC),
    {0},
};

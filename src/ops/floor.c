/* SPDX-License-Identifier: Apache-2.0 */
/* Floor: the next integer towards minus infinity. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME floor_f64
#define F(x) (floor(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = floor_f64};

const op_def OP_floor[] = {
    UNARY_ROW("Floor", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Floor", 13, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* HardSwish: x times x / 6 + 1/2 limited to [0, 1]. */
#include "ops/class_unary.h"

/* t limited to [0, 1]; NaN stays. */
static inline double limit(double t)
{
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

#define NAME hard_swish_f64
#define F(x) ((x)*limit((x) / 6 + 0.5))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = hard_swish_f64};

const op_def OP_hard_swish[] = {
    UNARY_ROW("HardSwish", 14, TYPES_F3, &SPEC),
    UNARY_ROW("HardSwish", 22, TYPES_F4, &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* HardSigmoid: alpha * x + beta, limited to [0, 1]. */
#include "ops/class_unary.h"

/* t limited to [0, 1]; NaN stays. */
static inline double limit(double t)
{
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

#define NAME hard_sigmoid_f64
#define F(x) (limit(p[0] * (x) + p[1]))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = hard_sigmoid_f64, .params = {"alpha", "beta"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "0.2"},
    {"beta", OP_ATTR_FLOAT, false, "0.5"},
    {0},
};

const op_def OP_hard_sigmoid[] = {
    UNARY_ROW_ATTRS("HardSigmoid", 6, TYPES_F3, &SPEC, ATTRS),
    UNARY_ROW_ATTRS("HardSigmoid", 22, TYPES_F4, &SPEC, ATTRS),
    {0},
};

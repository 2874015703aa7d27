/* SPDX-License-Identifier: Apache-2.0 */
/* Round: the nearest integer, halves to even. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME round_f64
#define F(x) (nearbyint(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = round_f64};

const op_def OP_round[] = {
    UNARY_ROW("Round", 11, TYPES_F3, &SPEC),
    UNARY_ROW("Round", 22, TYPES_F4, &SPEC),
    {0},
};

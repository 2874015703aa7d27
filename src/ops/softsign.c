/* SPDX-License-Identifier: Apache-2.0 */
/* Softsign: x / (1 + |x|). */
#include <math.h>

#include "ops/class_unary.h"

#define NAME softsign_f64
#define F(x) ((x) / (1 + fabs(x)))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = softsign_f64};

const op_def OP_softsign[] = {
    UNARY_ROW("Softsign", 1, TYPES_F3, &SPEC),
    UNARY_ROW("Softsign", 22, TYPES_F4, &SPEC),
    {0},
};

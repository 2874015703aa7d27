/* SPDX-License-Identifier: Apache-2.0 */
/* Log: natural logarithm. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME log_f64
#define F(x) (log(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = log_f64};

const op_def OP_log[] = {
    UNARY_ROW("Log", 6, TYPES_F3, &SPEC),
    UNARY_ROW("Log", 13, TYPES_F4, &SPEC),
    {0},
};

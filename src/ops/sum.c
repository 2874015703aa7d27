/* SPDX-License-Identifier: Apache-2.0 */
/* Sum: of any number of inputs. */
#include "ops/class_binary.h"

#define NAME sum_f64
#define F(a, b) ((a) + (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.f64 = sum_f64};

const op_def OP_sum[] = {
    VARIADIC_ROW("Sum", 6, TYPES_F3, &SPEC),
    VARIADIC_ROW("Sum", 13, TYPES_F4, &SPEC),
    {0},
};

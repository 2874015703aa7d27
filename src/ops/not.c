/* SPDX-License-Identifier: Apache-2.0 */
/* Not: logical negation. */
#include "ops/class_unary.h"

static dim negate(dim_table *t, dim x)
{
    return dim_is_const(x) ? dim_const(!x.value)
                           : dim_unknown(t, "it is the negation of an unknown condition");
}

#define NAME not_boolean
#define T uint8_t
#define F(x) (!(x))
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.boolean = not_boolean, .symbolic = negate};

const op_def OP_not[] = {
    UNARY_ROW("Not", 1, "bool", &SPEC),
    {0},
};

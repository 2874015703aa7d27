/* SPDX-License-Identifier: Apache-2.0 */
/* Or: logical disjunction. */
#include "ops/class_binary.h"

#define NAME or_boolean
#define T uint8_t
#define F(a, b) ((a) | (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.boolean = or_boolean};

const op_def OP_or[] = {
    BINARY_ROW("Or", 7, "bool", &SPEC),
    {0},
};

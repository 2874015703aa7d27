/* SPDX-License-Identifier: Apache-2.0 */
/* And: logical conjunction. */
#include "ops/class_binary.h"

#define NAME and_boolean
#define T uint8_t
#define F(a, b) ((a) & (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.boolean = and_boolean};

const op_def OP_and[] = {
    BINARY_ROW("And", 7, "bool", &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Xor: exclusive or of two conditions. */
#include "ops/class_binary.h"

#define NAME xor_boolean
#define T uint8_t
#define F(a, b) ((a) ^ (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.boolean = xor_boolean};

const op_def OP_xor[] = {
    BINARY_ROW("Xor", 7, "bool", &SPEC),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that reach what a processor can do at most, for each level of instructions. */
#ifndef BASE_MACHINE_LOOPS_H
#define BASE_MACHINE_LOOPS_H

#include "base/system.h"

typedef struct machine_loops {
    /* Multiplies and adds in registers. The result depends on every operation. */
    float (*multiply_add)(size_t rounds);
    double round_flops; /* operations of a round */
    /* `count` is a multiple of 256, and the arrays are aligned to 64 bytes. */
    float (*read)(const float *from, size_t count);
    void (*triad)(float *to, const float *a, const float *b, size_t count); /* to = a + b / 2 */
} machine_loops;

const machine_loops *machine_loops_of(cpu_level level);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over tensors blocked by channels, one set for each instruction set. A block fills one
 * vector. */
#ifndef KERNELS_BLOCKED_H
#define KERNELS_BLOCKED_H

#include "kernels/kernel.h"

typedef enum blocked_op {
    BLOCKED_RELU,
    BLOCKED_LEAKY_RELU,   /* slope in args[0] */
    BLOCKED_CLIP,         /* to args[0], args[1] */
    BLOCKED_HARD_SIGMOID, /* args[0] * x + args[1], to [0, 1] */
    BLOCKED_HARD_SWISH,
    BLOCKED_SIGMOID,
    BLOCKED_TANH,
    BLOCKED_ADD,
    BLOCKED_SUB,
    BLOCKED_MUL,
    BLOCKED_DIV,
    BLOCKED_AFFINE /* x * b[0..block) + the next block of b */
} blocked_op;

/* n pixels of one block. Steps are 0 (one block for all pixels) or 1. y may be an operand whose
 * step is 1. */
typedef struct blocked_call {
    uint32_t op;
    float *y;
    const float *a, *b; /* b: of binary operators and BLOCKED_AFFINE */
    size_t a_step, b_step, n;
    const float *args;
} blocked_call;

/* Pooling of one output pixel: taps planes x rows x columns of x, steps in floats. */
typedef struct blocked_window {
    const float *x;
    size_t planes, rows, columns, plane_step, row_step, column_step;
    bool average;
    float divisor;
} blocked_window;

typedef struct blocked_loops {
    size_t block;
    void (*run)(const blocked_call *c);
    void (*pool)(float *y, const blocked_window *w);
} blocked_loops;

extern const blocked_loops blocked_loops_portable, blocked_loops_avx2, blocked_loops_avx512;
const blocked_loops *blocked_loops_of(uint32_t level);
/* Clears lanes [lanes, block) of n pixels: lanes beyond the channels must be 0. */
void blocked_clear(float *y, size_t n, size_t block, size_t lanes);

static inline kernel_layout blocked_layout(size_t block)
{
    return block == 16 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
}

#endif

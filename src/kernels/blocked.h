/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over tensors blocked by channels, one set for each instruction set. A block fills one
 * vector. */
#ifndef KERNELS_BLOCKED_H
#define KERNELS_BLOCKED_H

#include "kernels/kernel.h"
#include "kernels/unroll.h"

typedef enum blocked_op {
    BLOCKED_RELU,
    BLOCKED_LEAKY_RELU,   /* slope in args[0] */
    BLOCKED_CLIP,         /* to the range from args[0] to args[1] */
    BLOCKED_HARD_SIGMOID, /* args[0] * x + args[1], clamped to [0, 1] */
    BLOCKED_HARD_SWISH,
    BLOCKED_SIGMOID,
    BLOCKED_TANH,
    BLOCKED_ADD,
    BLOCKED_SUB,
    BLOCKED_MUL,
    BLOCKED_DIV,
    BLOCKED_AFFINE,     /* scale and shift of each channel: a * b[lane] + b[block + lane] */
    BLOCKED_AFFINE_RELU /* the same, then Relu */
} blocked_op;

/* One operation on n pixels of one block of channels. An operand with step 1 has n pixels; one with
 * step 0 has a single pixel, used for all. y may be an operand whose step is 1. */
typedef struct blocked_call {
    uint32_t op;
    float *y;
    const float *a, *b; /* b: read by binary operators and affine ones only */
    size_t a_step, b_step, n;
    const float *args;
} blocked_call;

/* Pooling window of one output pixel: it covers planes x rows x columns pixels of x. Steps count
 * floats. */
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
    /* Stores the mean of n pixels of a block, then the sum of squares of what they differ from it.
     */
    void (*measure)(float *stats, const float *x, size_t n);
    /* y = (x - mean) * factor + bias for n pixels of a block; `terms` has these three in turn. y
     * may be x. */
    void (*normalize)(float *y, const float *x, size_t n, const float *terms);
} blocked_loops;

extern const blocked_loops blocked_loops_portable, blocked_loops_avx2, blocked_loops_avx512;
const blocked_loops *blocked_loops_of(uint32_t level);
/* Sets lanes [lanes, block) of n pixels to 0, as blocked formats demand of lanes beyond the
 * channels. */
void blocked_clear(float *y, size_t n, size_t block, size_t lanes);

static inline kernel_layout blocked_layout(size_t block)
{
    return block == 16 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and products of quantised bytes as kernels get them. */
#ifndef KERNELS_CUDA_BYTE_SUMS_H
#define KERNELS_CUDA_BYTE_SUMS_H

#include "kernels/byte_loops.h"
#include "kernels/kernel.h"

typedef struct byte_limits {
    int32_t zero, low, high;
} byte_limits;

static inline byte_limits byte_limits_of(const int_finish *f)
{
    return (byte_limits){f->zero, f->low, f->high};
}

/* The same struct as byte_binary in byte_binary.cu. */
typedef struct byte_binary_call {
    double a_scale, b_scale, scale;
    float a_factor, b_factor, slack, margin;
    int32_t a_zero, b_zero;
    uint32_t a_flip, b_flip;
    byte_limits limits;
} byte_binary_call;

/* Reads R, its scale and zero point, and those of the sum, from input r on; R is added to bytes of
 * R's type with the scale and zero point from input `scale` on. False: the kernels cannot. */
bool byte_sum_describe(byte_binary *q, const kernel_problem *u, size_t scale, size_t r);
/* Are zero points and limits in the ranges of bytes, as byte_sum_describe makes them? */
bool byte_sum_is_valid(const byte_binary *q);

/* float32 rounds a factor, a term, and the sum of terms of up to 255 steps. The margin is for sums
 * of byte_rows.cu: each of a's factor, b's, b's term and the sum twice is off by 2^-24 of itself.
 */
static inline byte_binary_call byte_binary_call_of(const byte_binary *q)
{
    const double unit = 0x1p-22, a = q->a_scale / q->scale, b = q->b_scale / q->scale;
    const double slack = q->multiplies ? 0x1p-14 : 256 * (a + b + 1) * unit;
    return (byte_binary_call){.a_scale = q->a_scale,
                              .b_scale = q->b_scale,
                              .scale = q->scale,
                              .a_factor = (float)(q->multiplies ? a * q->b_scale : a),
                              .b_factor = (float)b,
                              .slack = slack < 0.5 ? (float)slack : 0.5f,
                              .margin = (float)(257 * (3 * a + 4 * b) * 0x1p-24),
                              .a_zero = q->a_zero,
                              .b_zero = q->b_zero,
                              .a_flip = q->a_flip,
                              .b_flip = q->b_flip,
                              .limits = byte_limits_of(&q->finish)};
}

#endif

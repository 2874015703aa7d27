/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over quantised bytes, one set for each processor level. Results equal the definition in
 * float64. The loops read int8 as unsigned, offset by 128. */
#ifndef KERNELS_BYTE_LOOPS_H
#define KERNELS_BYTE_LOOPS_H

#include "kernels/int_tile.h"

/* y = round(((a - a_zero) * a_scale op (b - b_zero) * b_scale) / scale) + zero */
typedef struct byte_binary {
    uint32_t multiplies;
    int32_t a_zero, b_zero; /* zero points of the bytes after the flip, so unsigned */
    /* XORed with each byte: 0x80 turns int8 into unsigned bytes, 0 keeps uint8. */
    uint8_t a_flip, b_flip;
    double a_scale, b_scale, scale;
    int_finish finish;
} byte_binary;

/* y = round((sum - less) * x_scale / count / y_scale) + zero: the mean of `count` quantised
 * numbers. */
typedef struct byte_mean {
    int64_t less; /* zero points in the sum */
    double x_scale, count, y_scale;
    int_finish finish;
} byte_mean;

/* Softmax: powers[k] is the exponential of a number that lies k steps below the largest. */
typedef struct byte_softmax {
    double powers[256], scale;
    int_finish finish;
    uint8_t flip;
} byte_softmax;

enum { BYTE_LINES = 256 };

typedef struct byte_loops {
    /* steps[0] of a, steps[1] of b: 1, or 0 for an operand of one element, used for all */
    void (*binary)(uint8_t *y, const uint8_t *a, const uint8_t *b, const uint32_t *steps, size_t n,
                   const byte_binary *q);
    /* The same for rows of up to INT_MAX_COLUMNS elements. Rows of y and b begin `stride` elements
     * apart, rows of a INT_MAX_COLUMNS. y may be b. */
    void (*binary_rows)(uint8_t *y, size_t stride, const uint8_t *a, const uint8_t *b, size_t rows,
                        size_t n, const byte_binary *q);
    void (*map)(uint8_t *y, const uint8_t *x, size_t n, const uint8_t *table);
    void (*max)(uint8_t *y, const uint8_t *x, size_t n, uint8_t flip); /* y = max(x, y) */
    /* sums[i] += x[i] ^ flip */
    void (*add)(int32_t *sums, const uint8_t *x, size_t n, uint8_t flip);
    int64_t (*sum)(const uint8_t *x, size_t n, uint8_t flip);
    /* Of `count` lines: their largest bytes (count at least 1), and sums[i] += the bytes ^ flip
     * (count at most BYTE_LINES). */
    void (*max_of)(uint8_t *y, const uint8_t *const *lines, size_t count, size_t n, uint8_t flip);
    void (*sum_of)(int32_t *sums, const uint8_t *const *lines, size_t count, size_t n,
                   uint8_t flip);
    void (*mean)(uint8_t *y, const int32_t *sums, size_t n, const byte_mean *m);
    /* Of a row, n at least 1; `room` has n numbers, and x may be y. */
    void (*softmax)(uint8_t *y, const uint8_t *x, size_t n, const byte_softmax *q, double *room);
    /* y[i] = c[i] ? a[i] : b[i]; c holds 0 and 1 */
    void (*choose)(uint8_t *y, const uint8_t *c, const uint8_t *a, const uint8_t *b, size_t n);
    uint8_t (*most)(const uint8_t *x, size_t n, uint8_t flip); /* the largest x ^ flip */
    /* Where x[i] ^ flip is larger than best[i] (`last`: not smaller), sets best[i] to it, and
     * place[i] to k. */
    void (*follow)(uint8_t *best, uint8_t *place, const uint8_t *x, size_t n, uint8_t k,
                   uint8_t flip, bool last);
} byte_loops;

extern const byte_loops byte_loops_portable, byte_loops_avx2, byte_loops_avx512;
const byte_loops *byte_loops_of(cpu_level level);

/* One element, by the definition; a and b are unsigned: the caller has applied the flips. */
static inline uint8_t byte_binary_exact(uint8_t a, uint8_t b, const byte_binary *q)
{
    const double x = (double)(a - q->a_zero) * q->a_scale, z = (double)(b - q->b_zero) * q->b_scale;
    const double v = (q->multiplies ? x * z : x + z) / q->scale;
    const double moved = nearbyint(v) + (double)q->finish.zero;
    if (!(moved > (double)q->finish.low)) return (uint8_t)q->finish.low;
    return (uint8_t)(moved < (double)q->finish.high ? (int32_t)moved : q->finish.high);
}

/* Are zero points and limits in the ranges of bytes? Members read from a plan file can have any
 * value. */
static inline bool byte_binary_is_valid(const byte_binary *q)
{
    return q->a_zero >= 0 && q->a_zero < 256 && q->b_zero >= 0 && q->b_zero < 256 &&
           int_finish_is_valid(&q->finish);
}

/* One mean, by the definition. */
static inline uint8_t byte_mean_exact(int64_t sum, const byte_mean *m)
{
    const double total = (double)(sum - m->less) * m->x_scale;
    const double v = nearbyint(total / m->count / m->y_scale) + (double)m->finish.zero;
    if (!(v > (double)m->finish.low)) return (uint8_t)m->finish.low;
    return (uint8_t)(v < (double)m->finish.high ? (int32_t)v : m->finish.high);
}

#endif

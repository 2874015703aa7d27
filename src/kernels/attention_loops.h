/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of attention over keys and values that lie row by row in a cache, one set for each
 * processor level. Strides count elements. */
#ifndef KERNELS_ATTENTION_LOOPS_H
#define KERNELS_ATTENTION_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system.h"

typedef struct attention_loops {
    /* scores[i * width + j] = q[i] . keys[j]; the rows of q are contiguous. */
    void (*score)(float *scores, size_t width, const float *q, size_t rows, const float *keys,
                  size_t step, size_t count, size_t size);
    /* sum[i] += weights[i * width + j] * values[j] for all j; the rows of sum are contiguous. */
    void (*weigh)(float *sum, size_t size, const float *weights, size_t width, size_t rows,
                  const float *values, size_t step, size_t count);
    /* Query rows side by side: a matrix has `columns` columns, one for each query row, which are
     * `lanes` or twice as many.
     * y[i][.] (+)= sum over p < depth of a[i * a_row + p * a_step] * x[p][.] for i < count. */
    size_t lanes, least; /* fewer rows than `least` are faster one by one */
    void (*mix)(float *y, const float *x, size_t columns, size_t count, size_t depth,
                const float *a, size_t a_row, size_t a_step, bool accumulate);
    /* most[.] = the largest of most[.] and x[i][.], i < count; NaN is skipped. */
    void (*largest)(float *most, const float *x, size_t columns, size_t count);
    void (*scale)(float *x, const float *factors, size_t columns, size_t count);
    void (*add)(float *x, const float *y, size_t count);
    /* x[i][c] = -inf unless from[c] <= i < to[c]. */
    void (*close)(float *x, const int32_t *from, const int32_t *to, size_t columns, size_t count);
    /* Rotates `half` pairs: one element from each half of x, or neighbours. y may be x. */
    void (*rotate)(float *y, const float *x, const float *cosines, const float *sines, size_t half,
                   bool interleaved);
} attention_loops;

extern const attention_loops attention_loops_portable, attention_loops_avx2, attention_loops_avx512;
const attention_loops *attention_loops_of(cpu_level level);

#endif

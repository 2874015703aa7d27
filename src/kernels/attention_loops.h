/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of attention over keys and values that lie row by row in a cache, one set for each
 * processor level. Strides count elements. */
#ifndef KERNELS_ATTENTION_LOOPS_H
#define KERNELS_ATTENTION_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/system.h"

typedef struct attention_loops {
    /* scores[i * width + j] = q[i] . keys[j]; the rows of q are contiguous. */
    void (*score)(float *scores, size_t width, const float *q, size_t rows, const float *keys,
                  size_t step, size_t count, size_t size);
    /* sum[i] += weights[i * width + j] * values[j] for all j; the rows of sum are contiguous. */
    void (*weigh)(float *sum, size_t size, const float *weights, size_t width, size_t rows,
                  const float *values, size_t step, size_t count);
    /* Rotates `half` pairs: one element from each half of x, or neighbours. y may be x. */
    void (*rotate)(float *y, const float *x, const float *cosines, const float *sines, size_t half,
                   bool interleaved);
} attention_loops;

extern const attention_loops attention_loops_portable, attention_loops_avx2, attention_loops_avx512;
const attention_loops *attention_loops_of(cpu_level level);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of the product of a matrix and a vector, one set for each processor level. The order of a
 * sum depends on the sizes only. */
#ifndef KERNELS_MATMUL_VECTOR_H
#define KERNELS_MATMUL_VECTOR_H

#include <stddef.h>

#include "base/system.h"

typedef struct matmul_vector_loops {
    /* y[i] = sum over p of m[i * step + p] * v[p] */
    void (*dots)(float *y, const float *m, size_t step, const float *v, size_t count, size_t k);
    /* y[i] = sum over p of m[p * step + i] * v[p] */
    void (*sums)(float *y, const float *m, size_t step, const float *v, size_t count, size_t k);
} matmul_vector_loops;

extern const matmul_vector_loops matmul_vector_portable, matmul_vector_avx2, matmul_vector_avx512;

#endif

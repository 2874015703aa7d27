/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-kernels of the matrix product in float32, one set for each instruction set. A tile of C is
 * the product of rows of A, which are not packed, and a packed panel of B. */
#ifndef KERNELS_MATMUL_TILE_H
#define KERNELS_MATMUL_TILE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/unroll.h"
#include "kernels/vec_math.h"

enum {
    MATMUL_MAX_ROWS = 12,
    MATMUL_MAX_COLUMNS = 32,
    MATMUL_ABREAST = 4,     /* panels that a product of few rows reads side by side */
    MATMUL_ABREAST_ROWS = 3 /* the most rows of such a product */
};

/* C[rows, columns] (+)= A[rows, k] * B[k, columns], and then C *= scale; `columns` is a constant of
 * the set, and `b` holds that many elements for each k. Strides count elements. For each k, the
 * tile fetches memory at `ahead`, which later tiles read, and adds ahead_step bytes to it. */
typedef void (*matmul_tile_function)(size_t k, const float *a, size_t lda, const float *b, float *c,
                                     size_t ldc, bool accumulate, float scale, const char *ahead,
                                     size_t ahead_step);

/* The same without scale for MATMUL_ABREAST panels, which lie `panel` elements from each other. */
typedef void (*matmul_abreast_function)(size_t k, const float *a, size_t lda, const float *b,
                                        size_t panel, float *c, size_t ldc, bool accumulate);

/* Functions are indexed by number of rows, from 1; those of `abreast` and `resident` may be NULL.
 * `resident`: panels abreast that lie in caches, so nothing is fetched ahead. */
typedef struct matmul_tile {
    size_t rows, columns;
    cpu_level level;
    matmul_tile_function run[MATMUL_MAX_ROWS + 1];
    matmul_abreast_function abreast[MATMUL_ABREAST_ROWS + 1], resident[MATMUL_ABREAST_ROWS + 1];
} matmul_tile;

/* Runs a tile whose operands are in the cache. */
static inline void matmul_tile_run(const matmul_tile *t, size_t rows, size_t k, const float *a,
                                   size_t lda, const float *b, float *c, size_t ldc,
                                   bool accumulate)
{
    t->run[rows](k, a, lda, b, c, ldc, accumulate, 1, (const char *)b, 0);
}

/* As matmul_tile_function and matmul_abreast_function, for a B of 16-bit floats. */
typedef void (*matmul_half_function)(size_t k, const float *a, size_t lda, const uint16_t *b,
                                     float *c, size_t ldc, bool accumulate, float scale,
                                     const char *ahead, size_t ahead_step);

typedef void (*matmul_half_abreast_function)(size_t k, const float *a, size_t lda,
                                             const uint16_t *b, size_t panel, float *c, size_t ldc,
                                             bool accumulate);

typedef struct matmul_half_tile {
    matmul_half_function run[MATMUL_MAX_ROWS + 1];
    matmul_half_abreast_function abreast[MATMUL_ABREAST_ROWS + 1];
} matmul_half_tile;

extern const matmul_half_tile matmul_f16_avx2, matmul_f16_avx512, matmul_bf16_avx2,
    matmul_bf16_avx512;

extern const matmul_tile matmul_tile_portable, matmul_tile_avx2, matmul_tile_avx512;

#endif

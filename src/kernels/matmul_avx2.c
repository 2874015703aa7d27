/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product in float32, AVX2 and FMA: tiles of 6 x 16, twelve accumulators. */
#include "kernels/matmul_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC __m256
#define LANES 8
#define NV 2
#define TARGET __attribute__((target("avx2,fma")))
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define SPREAD(p) _mm256_broadcast_ss(p)
#define MADD(x, y, z) _mm256_fmadd_ps(x, y, z)
#define ADD(x, y) _mm256_add_ps(x, y)
#define MUL(x, y) _mm256_mul_ps(x, y)
#define ZERO() _mm256_setzero_ps()
#define MR 1
#define RUN matmul_rows_1
#include "kernels/matmul_tile.inc"
#define MR 2
#define RUN matmul_rows_2
#include "kernels/matmul_tile.inc"
#define MR 3
#define RUN matmul_rows_3
#include "kernels/matmul_tile.inc"
#define MR 4
#define RUN matmul_rows_4
#include "kernels/matmul_tile.inc"
#define MR 5
#define RUN matmul_rows_5
#include "kernels/matmul_tile.inc"
#define MR 6
#define RUN matmul_rows_6
#include "kernels/matmul_tile.inc"
#define MR 1
#define RUN matmul_abreast_1
#include "kernels/matmul_abreast.inc"
#define RESIDENT
#define MR 1
#define RUN matmul_resident_1
#include "kernels/matmul_abreast.inc"

const matmul_tile matmul_tile_avx2 = {
    .rows = 6,
    .columns = 16,
    .level = CPU_AVX2,
    .run = {NULL, matmul_rows_1, matmul_rows_2, matmul_rows_3, matmul_rows_4, matmul_rows_5,
            matmul_rows_6},
    .abreast = {NULL, matmul_abreast_1},
    .resident = {NULL, matmul_resident_1},
};
#endif

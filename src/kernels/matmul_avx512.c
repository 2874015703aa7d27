/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product in float32, AVX-512: tiles of 12 x 32, 24 accumulators. */
#include "kernels/matmul_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC __m512
#define LANES 16
#define NV 2
#define TARGET __attribute__((target("avx512f")))
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define SPREAD(p) _mm512_set1_ps(*(p))
#define MADD(x, y, z) _mm512_fmadd_ps(x, y, z)
#define ADD(x, y) _mm512_add_ps(x, y)
#define MUL(x, y) _mm512_mul_ps(x, y)
#define ZERO() _mm512_setzero_ps()
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
#define MR 7
#define RUN matmul_rows_7
#include "kernels/matmul_tile.inc"
#define MR 8
#define RUN matmul_rows_8
#include "kernels/matmul_tile.inc"
#define MR 9
#define RUN matmul_rows_9
#include "kernels/matmul_tile.inc"
#define MR 10
#define RUN matmul_rows_10
#include "kernels/matmul_tile.inc"
#define MR 11
#define RUN matmul_rows_11
#include "kernels/matmul_tile.inc"
#define MR 12
#define RUN matmul_rows_12
#include "kernels/matmul_tile.inc"
#define MR 1
#define RUN matmul_abreast_1
#include "kernels/matmul_abreast.inc"
#define MR 2
#define RUN matmul_abreast_2
#include "kernels/matmul_abreast.inc"
#define MR 3
#define RUN matmul_abreast_3
#include "kernels/matmul_abreast.inc"
#define RESIDENT
#define MR 1
#define RUN matmul_resident_1
#include "kernels/matmul_abreast.inc"
#define MR 2
#define RUN matmul_resident_2
#include "kernels/matmul_abreast.inc"
#define MR 3
#define RUN matmul_resident_3
#include "kernels/matmul_abreast.inc"

const matmul_tile matmul_tile_avx512 = {
    .rows = 12,
    .columns = 32,
    .level = CPU_AVX512,
    .run = {NULL, matmul_rows_1, matmul_rows_2, matmul_rows_3, matmul_rows_4, matmul_rows_5,
            matmul_rows_6, matmul_rows_7, matmul_rows_8, matmul_rows_9, matmul_rows_10,
            matmul_rows_11, matmul_rows_12},
    .abreast = {NULL, matmul_abreast_1, matmul_abreast_2, matmul_abreast_3},
    .resident = {NULL, matmul_resident_1, matmul_resident_2, matmul_resident_3},
};
#endif

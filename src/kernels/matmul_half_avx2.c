/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product in float32 with B of 16-bit floats, AVX2 and F16C: tiles of 6 x 16. Loads from B
 * widen it. */
#include "kernels/matmul_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC __m256
#define LANES 8
#define NV 2
#define TARGET __attribute__((target("avx2,fma,f16c")))
#define ELEMENT uint16_t
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define SPREAD(p) _mm256_broadcast_ss(p)
#define MADD(x, y, z) _mm256_fmadd_ps(x, y, z)
#define ADD(x, y) _mm256_add_ps(x, y)
#define MUL(x, y) _mm256_mul_ps(x, y)
#define ZERO() _mm256_setzero_ps()

#define WIDEN(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define MR 1
#define RUN matmul_f16_rows_1
#include "kernels/matmul_tile.inc"
#define MR 2
#define RUN matmul_f16_rows_2
#include "kernels/matmul_tile.inc"
#define MR 3
#define RUN matmul_f16_rows_3
#include "kernels/matmul_tile.inc"
#define MR 4
#define RUN matmul_f16_rows_4
#include "kernels/matmul_tile.inc"
#define MR 5
#define RUN matmul_f16_rows_5
#include "kernels/matmul_tile.inc"
#define MR 6
#define RUN matmul_f16_rows_6
#include "kernels/matmul_tile.inc"
#define MR 1
#define RUN matmul_f16_abreast_1
#include "kernels/matmul_abreast.inc"
#undef WIDEN

#define WIDEN(p)         \
    _mm256_castsi256_ps( \
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p))), 16))
#define MR 1
#define RUN matmul_bf16_rows_1
#include "kernels/matmul_tile.inc"
#define MR 2
#define RUN matmul_bf16_rows_2
#include "kernels/matmul_tile.inc"
#define MR 3
#define RUN matmul_bf16_rows_3
#include "kernels/matmul_tile.inc"
#define MR 4
#define RUN matmul_bf16_rows_4
#include "kernels/matmul_tile.inc"
#define MR 5
#define RUN matmul_bf16_rows_5
#include "kernels/matmul_tile.inc"
#define MR 6
#define RUN matmul_bf16_rows_6
#include "kernels/matmul_tile.inc"
#define MR 1
#define RUN matmul_bf16_abreast_1
#include "kernels/matmul_abreast.inc"
#undef WIDEN

const matmul_half_tile matmul_f16_avx2 = {
    .run = {NULL, matmul_f16_rows_1, matmul_f16_rows_2, matmul_f16_rows_3, matmul_f16_rows_4,
            matmul_f16_rows_5, matmul_f16_rows_6},
    .abreast = {NULL, matmul_f16_abreast_1},
};
const matmul_half_tile matmul_bf16_avx2 = {
    .run = {NULL, matmul_bf16_rows_1, matmul_bf16_rows_2, matmul_bf16_rows_3, matmul_bf16_rows_4,
            matmul_bf16_rows_5, matmul_bf16_rows_6},
    .abreast = {NULL, matmul_bf16_abreast_1},
};
#endif

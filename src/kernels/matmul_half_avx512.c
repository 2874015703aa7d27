/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product in float32 with B of 16-bit floats, AVX-512: tiles of 12 x 32. Loads from B widen
 * it. */
#include "kernels/matmul_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC __m512
#define LANES 16
#define NV 2
#define TARGET __attribute__((target("avx512f")))
#define ELEMENT uint16_t
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define SPREAD(p) _mm512_set1_ps(*(p))
#define MADD(x, y, z) _mm512_fmadd_ps(x, y, z)
#define ADD(x, y) _mm512_add_ps(x, y)
#define MUL(x, y) _mm512_mul_ps(x, y)
#define ZERO() _mm512_setzero_ps()

#define WIDEN(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
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
#define MR 7
#define RUN matmul_f16_rows_7
#include "kernels/matmul_tile.inc"
#define MR 8
#define RUN matmul_f16_rows_8
#include "kernels/matmul_tile.inc"
#define MR 9
#define RUN matmul_f16_rows_9
#include "kernels/matmul_tile.inc"
#define MR 10
#define RUN matmul_f16_rows_10
#include "kernels/matmul_tile.inc"
#define MR 11
#define RUN matmul_f16_rows_11
#include "kernels/matmul_tile.inc"
#define MR 12
#define RUN matmul_f16_rows_12
#include "kernels/matmul_tile.inc"
#define MR 1
#define RUN matmul_f16_abreast_1
#include "kernels/matmul_abreast.inc"
#define MR 2
#define RUN matmul_f16_abreast_2
#include "kernels/matmul_abreast.inc"
#define MR 3
#define RUN matmul_f16_abreast_3
#include "kernels/matmul_abreast.inc"
#undef WIDEN

#define WIDEN(p)         \
    _mm512_castsi512_ps( \
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p))), 16))
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
#define MR 7
#define RUN matmul_bf16_rows_7
#include "kernels/matmul_tile.inc"
#define MR 8
#define RUN matmul_bf16_rows_8
#include "kernels/matmul_tile.inc"
#define MR 9
#define RUN matmul_bf16_rows_9
#include "kernels/matmul_tile.inc"
#define MR 10
#define RUN matmul_bf16_rows_10
#include "kernels/matmul_tile.inc"
#define MR 11
#define RUN matmul_bf16_rows_11
#include "kernels/matmul_tile.inc"
#define MR 12
#define RUN matmul_bf16_rows_12
#include "kernels/matmul_tile.inc"
#define MR 1
#define RUN matmul_bf16_abreast_1
#include "kernels/matmul_abreast.inc"
#define MR 2
#define RUN matmul_bf16_abreast_2
#include "kernels/matmul_abreast.inc"
#define MR 3
#define RUN matmul_bf16_abreast_3
#include "kernels/matmul_abreast.inc"
#undef WIDEN

const matmul_half_tile matmul_f16_avx512 = {
    .run = {NULL, matmul_f16_rows_1, matmul_f16_rows_2, matmul_f16_rows_3, matmul_f16_rows_4,
            matmul_f16_rows_5, matmul_f16_rows_6, matmul_f16_rows_7, matmul_f16_rows_8,
            matmul_f16_rows_9, matmul_f16_rows_10, matmul_f16_rows_11, matmul_f16_rows_12},
    .abreast = {NULL, matmul_f16_abreast_1, matmul_f16_abreast_2, matmul_f16_abreast_3},
};
const matmul_half_tile matmul_bf16_avx512 = {
    .run = {NULL, matmul_bf16_rows_1, matmul_bf16_rows_2, matmul_bf16_rows_3, matmul_bf16_rows_4,
            matmul_bf16_rows_5, matmul_bf16_rows_6, matmul_bf16_rows_7, matmul_bf16_rows_8,
            matmul_bf16_rows_9, matmul_bf16_rows_10, matmul_bf16_rows_11, matmul_bf16_rows_12},
    .abreast = {NULL, matmul_bf16_abreast_1, matmul_bf16_abreast_2, matmul_bf16_abreast_3},
};
#endif

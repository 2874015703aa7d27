/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of bytes, AVX2 with the instruction for it (AVX-VNNI). */
#include "kernels/int_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define VEC __m256i
#define LANES 8
#define TARGET __attribute__((target("avx2,fma,avxvnni")))
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define SPREAD(p) _mm256_set1_epi32(*(const int_unaligned *)(p))
#define ZERO() _mm256_setzero_si256()

typedef int32_t int_unaligned __attribute__((aligned(1), may_alias));
#define A_PART __m256i
#define B_PART __m256i
#define SPLIT_A(x) (x)
#define SPLIT_B(x) (x)

#define DOT(sum, a, b) _mm256_dpbusd_avx_epi32(sum, a, b)
#define NAME(rows, vectors) int_tile_rows_##rows##_##vectors
#include "kernels/int_tile_small.inc"
#define NV 1
#define RUN int_tile_four_1
#include "kernels/int_tile_four.inc"
#define NV 2
#define RUN int_tile_four_2
#include "kernels/int_tile_four.inc"
#undef DOT
#undef NAME

#define DOT(sum, a, b) _mm256_dpbusd_avx_epi32(sum, b, a)
#define NAME(rows, vectors) int_tile_signed_##rows##_##vectors
#include "kernels/int_tile_small.inc"

#include "kernels/int_finish_avx2.inc"
#include "kernels/int_floats.inc"

const int_tile int_tile_avx_vnni = {
    .rows = 4,
    .vectors = 2,
    .lanes = 8,
    .run = {{{int_tile_rows_1_1, int_tile_rows_1_2},
             {int_tile_rows_2_1, int_tile_rows_2_2},
             {int_tile_rows_4_1, int_tile_rows_4_2}},
            {{int_tile_signed_1_1, int_tile_signed_1_2},
             {int_tile_signed_2_1, int_tile_signed_2_2},
             {int_tile_signed_4_1, int_tile_signed_4_2}}},
    .four = {int_tile_four_1, int_tile_four_2},
    .finish_rows = int_finish_rows,
    .finish_columns = int_finish_columns,
    .row_floats = int_row_floats,
    .column_floats = int_column_floats,
    .dynamic_floats = int_dynamic_floats,
};
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of bytes, AVX-512 with the instruction for it (VNNI). */
#include "kernels/int_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC __m512i
#define LANES 16
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define SPREAD(p) _mm512_set1_epi32(*(const int_unaligned *)(p))
#define ZERO() _mm512_setzero_si512()

typedef int32_t int_unaligned __attribute__((aligned(1), may_alias));
#define A_PART __m512i
#define B_PART __m512i
#define SPLIT_A(x) (x)
#define SPLIT_B(x) (x)

#define DOT(sum, a, b) _mm512_dpbusd_epi32(sum, a, b)
#define NAME(rows, vectors) rows_##rows##_##vectors
#include "kernels/int_tile_set.inc"
#undef DOT
#undef NAME

#define DOT(sum, a, b) _mm512_dpbusd_epi32(sum, b, a)
#define NAME(rows, vectors) signed_##rows##_##vectors
#include "kernels/int_tile_set.inc"

#include "kernels/int_finish_avx512.inc"

const int_tile int_tile_vnni = {
    .rows = 8,
    .vectors = 3,
    .lanes = 16,
    .run = {{{rows_1_1, rows_1_2, rows_1_3},
             {rows_2_1, rows_2_2, rows_2_3},
             {rows_4_1, rows_4_2, rows_4_3},
             {rows_8_1, rows_8_2, rows_8_3}},
            {{signed_1_1, signed_1_2, signed_1_3},
             {signed_2_1, signed_2_2, signed_2_3},
             {signed_4_1, signed_4_2, signed_4_3},
             {signed_8_1, signed_8_2, signed_8_3}}},
    .finish_rows = finish_rows,
    .finish_columns = finish_columns,
};
#endif

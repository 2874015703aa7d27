/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of bytes, AVX-512 without the instruction for it (VNNI): even and odd bytes of
 * each group are widened to 16 bits in separate vectors, then multiplied and added in pairs. */
#include "kernels/int_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/target_avx512.h"

#define VEC __m512i
#define LANES 16
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define SPREAD(p) _mm512_set1_epi32(*(const int_unaligned *)(p))
#define ZERO() _mm512_setzero_si512()

typedef int32_t int_unaligned __attribute__((aligned(1), may_alias));
typedef struct halves {
    __m512i even, odd;
} halves;
#define A_PART halves
#define B_PART halves

TARGET static inline halves split_signed(__m512i x)
{
    return (halves){_mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8), _mm512_srai_epi16(x, 8)};
}

TARGET static inline halves split_unsigned(__m512i x)
{
    return (halves){_mm512_and_si512(x, _mm512_set1_epi16(255)), _mm512_srli_epi16(x, 8)};
}

TARGET static inline __m512i dot(__m512i sum, halves a, halves b)
{
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(a.even, b.even));
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a.odd, b.odd));
}
#define DOT(sum, a, b) dot(sum, a, b)

#define SPLIT_A(x) split_unsigned(x)
#define SPLIT_B(x) split_signed(x)
#define NAME(rows, vectors) int_tile_rows_##rows##_##vectors
#include "kernels/int_tile_set.inc"
#include "kernels/int_tile_seven.inc"
#define NV 1
#define RUN int_tile_four_1
#include "kernels/int_tile_four.inc"
#define NV 2
#define RUN int_tile_four_2
#include "kernels/int_tile_four.inc"
#define NV 3
#define RUN int_tile_four_3
#include "kernels/int_tile_four.inc"
#undef SPLIT_A
#undef SPLIT_B
#undef NAME

#define SPLIT_A(x) split_signed(x)
#define SPLIT_B(x) split_unsigned(x)
#define NAME(rows, vectors) int_tile_signed_##rows##_##vectors
#include "kernels/int_tile_set.inc"

#include "kernels/int_finish_avx512.inc"
#define TARGET_LOOPS TARGET_AVX512
#include "kernels/int_floats.inc"

const int_tile int_tile_avx512 = {
    .rows = 8,
    .vectors = 3,
    .lanes = 16,
    .run = {{{int_tile_rows_1_1, int_tile_rows_1_2, int_tile_rows_1_3},
             {int_tile_rows_2_1, int_tile_rows_2_2, int_tile_rows_2_3},
             {int_tile_rows_4_1, int_tile_rows_4_2, int_tile_rows_4_3},
             {int_tile_rows_8_1, int_tile_rows_8_2, int_tile_rows_8_3}},
            {{int_tile_signed_1_1, int_tile_signed_1_2, int_tile_signed_1_3},
             {int_tile_signed_2_1, int_tile_signed_2_2, int_tile_signed_2_3},
             {int_tile_signed_4_1, int_tile_signed_4_2, int_tile_signed_4_3},
             {int_tile_signed_8_1, int_tile_signed_8_2, int_tile_signed_8_3}}},
    .seven = {int_tile_seven_1, int_tile_seven_2, int_tile_seven_3},
    .four = {int_tile_four_1, int_tile_four_2, int_tile_four_3},
    .finish_rows = int_finish_rows,
    .finish_columns = int_finish_columns,
    .row_floats = int_row_floats,
    .column_floats = int_column_floats,
    .dynamic_floats = int_dynamic_floats,
};
#endif

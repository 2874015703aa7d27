/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of bytes, AVX2: even and odd bytes of each group are widened to 16 bits in
 * separate vectors, then multiplied and added in pairs. */
#include "kernels/int_tile.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#include "kernels/int_tile_avx2.inc"

typedef struct halves {
    __m256i even, odd;
} halves;
#define A_PART halves
#define B_PART halves

TARGET static inline halves split_signed(__m256i x)
{
    return (halves){_mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8), _mm256_srai_epi16(x, 8)};
}

TARGET static inline halves split_unsigned(__m256i x)
{
    return (halves){_mm256_and_si256(x, _mm256_set1_epi16(255)), _mm256_srli_epi16(x, 8)};
}

TARGET static inline __m256i dot(__m256i sum, halves a, halves b)
{
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a.even, b.even));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a.odd, b.odd));
}
#define DOT(sum, a, b) dot(sum, a, b)

#define SPLIT_A(x) split_unsigned(x)
#define SPLIT_B(x) split_signed(x)
#define NAME(rows, vectors) int_tile_rows_##rows##_##vectors
#include "kernels/int_tile_small.inc"
#define NV 1
#define RUN int_tile_four_1
#include "kernels/int_tile_four.inc"
#define NV 2
#define RUN int_tile_four_2
#include "kernels/int_tile_four.inc"
#undef SPLIT_A
#undef SPLIT_B
#undef NAME

#define SPLIT_A(x) split_signed(x)
#define SPLIT_B(x) split_unsigned(x)
#define NAME(rows, vectors) int_tile_signed_##rows##_##vectors
#include "kernels/int_tile_small.inc"

#include "kernels/int_finish_avx2.inc"
#include "kernels/int_floats.inc"

const int_tile int_tile_avx2 = INT_TILE_OF_4_BY_2;
#endif

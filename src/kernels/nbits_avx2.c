/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a few bits, AVX2: two permutations of eight values each look up codes of at most four
 * bits. */
#include "kernels/nbits.h"

#if defined(__x86_64__)
#include <math.h>
#include <string.h>

#include "kernels/vector_avx2.h"
#undef TARGET
#define TARGET __attribute__((target("avx2,fma,f16c")))

#include "kernels/nbits_avx2.inc"

typedef struct nbits_halves {
    __m256 low, high;
} nbits_halves;
#define TABLE nbits_halves
#define LOAD_TABLE(p) ((nbits_halves){LOAD(p), LOAD((p) + 8)})

/* `code`: in the low bits, below other bits. `top`: its bit 3 as the sign. */
TARGET static inline __m256 nbits_look_up(__m256i code, __m256i top, const nbits_halves *t)
{
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(t->low, code),
                            _mm256_permutevar8x32_ps(t->high, code), _mm256_castsi256_ps(top));
}

TARGET static inline __m256 nbits_byte_at(__m256i w, int i)
{
    const __m256i code = _mm256_and_si256(_mm256_srli_epi32(w, 8 * i), _mm256_set1_epi32(255));
    return _mm256_sub_ps(_mm256_cvtepi32_ps(code), _mm256_set1_ps(128));
}

/* Products of two bytes do not saturate in 16 bits if one factor has at most four bits. */
TARGET static inline __m256i nbits_dot_low(__m256i sum, __m256i w, __m256i a)
{
    const __m256i pairs = _mm256_maddubs_epi16(w, a);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

TARGET static inline __m256i nbits_dot_high(__m256i sum, __m256i w, __m256i a)
{
    const __m256i even = _mm256_and_si256(w, _mm256_set1_epi16(255)), odd = _mm256_srli_epi16(w, 8);
    const __m256i first = _mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8);
    return _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_madd_epi16(even, first),
                                                  _mm256_madd_epi16(odd, _mm256_srai_epi16(a, 8))));
}

#define NAME_(word, bits) nbits_##word##_##bits
#define NAME(word, bits) NAME_(word, bits)
#define DOT(sum, w, a) nbits_dot_low(sum, w, a)
/* The lowest three bits of a shifted word hold part of the next code: only two bits count. */
#define BITS 2
#define PICK(w, i, table) _mm256_permutevar8x32_ps((table).low, _mm256_srli_epi32(w, 2 * (i)))
#define PLANE PLANE_2
#include "kernels/nbits_set.inc"
#define BITS 4
#define PICK(w, i, table) \
    nbits_look_up(_mm256_srli_epi32(w, 4 * (i)), _mm256_slli_epi32(w, 28 - 4 * (i)), &(table))
#define PLANE PLANE_4
#include "kernels/nbits_set.inc"
#undef DOT
#define DOT(sum, w, a) nbits_dot_high(sum, w, a)
#define BITS 8
#define PICK(w, i, table) ((void)(table), nbits_byte_at(w, i))
#define PLANE PLANE_8
#define NARROW_ROW(to, from, order) nbits_narrow_row(to, from, order)
TARGET static inline void nbits_narrow_row(int8_t *to, const int32_t *from, const uint8_t *order)
{
    const __m128i_u *x = (const __m128i_u *)from;
    const __m128i low = _mm_packs_epi32(_mm_loadu_si128(x), _mm_loadu_si128(x + 1));
    const __m128i high = _mm_packs_epi32(_mm_loadu_si128(x + 2), _mm_loadu_si128(x + 3));
    const __m128i bytes = _mm_packs_epi16(low, high); /* no number needs more than 8 bits */
    const __m128i places = _mm_loadu_si128((const __m128i_u *)order);
    _mm_storeu_si128((__m128i_u *)to, _mm_shuffle_epi8(bytes, places));
}
#include "kernels/nbits_quantise.inc"
#include "kernels/nbits_set.inc"

#include "kernels/nbits_table.inc"
const nbits_tile nbits_avx2 = NBITS_TILE;
#endif

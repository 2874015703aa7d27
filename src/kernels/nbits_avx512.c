/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a few bits, AVX-512: a permutation looks up codes of at most four bits in a table. */
#include "kernels/nbits.h"

#if defined(__x86_64__)
#include <math.h>
#include <string.h>

#include "kernels/vector_avx512.h"
#undef TARGET
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#include "kernels/nbits_avx512.inc"

#define TABLE __m512
#define LOAD_TABLE(p) _mm512_loadu_ps(p)
#define LOOK_UP(w, shift, table) _mm512_permutexvar_ps(_mm512_srli_epi32(w, shift), table)

TARGET static inline __m512 nbits_byte_at(__m512i w, int i)
{
    const __m512i at =
        _mm512_add_epi32(_mm512_set_epi32(12, 8, 4, 0, 12, 8, 4, 0, 12, 8, 4, 0, 12, 8, 4, 0),
                         _mm512_set1_epi32((int)0x80808000 + i));
    const __m512 code = _mm512_cvtepi32_ps(_mm512_shuffle_epi8(w, at));
    return _mm512_sub_ps(code, _mm512_set1_ps(128));
}

/* Products of two bytes do not saturate in 16 bits if one factor has at most four bits. */
TARGET static inline __m512i nbits_dot_low(__m512i sum, __m512i w, __m512i a)
{
    const __m512i pairs = _mm512_maddubs_epi16(w, a);
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}

TARGET static inline __m512i nbits_dot_high(__m512i sum, __m512i w, __m512i a)
{
    const __m512i even = _mm512_and_si512(w, _mm512_set1_epi16(255)), odd = _mm512_srli_epi16(w, 8);
    const __m512i first = _mm512_srai_epi16(_mm512_slli_epi16(a, 8), 8);
    return _mm512_add_epi32(sum, _mm512_add_epi32(_mm512_madd_epi16(even, first),
                                                  _mm512_madd_epi16(odd, _mm512_srai_epi16(a, 8))));
}

#define NAME_(word, bits) nbits_##word##_##bits
#define NAME(word, bits) NAME_(word, bits)
#define DOT(sum, w, a) nbits_dot_low(sum, w, a)
#define BITS 2
#define PICK(w, i, table) LOOK_UP(w, 2 * (i), table)
#define PLANE PLANE_2
#include "kernels/nbits_set.inc"
#define BITS 4
#define PICK(w, i, table) LOOK_UP(w, 4 * (i), table)
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
    const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_loadu_si512(from));
    const __m128i places = _mm_loadu_si128((const __m128i_u *)order);
    _mm_storeu_si128((__m128i_u *)to, _mm_shuffle_epi8(bytes, places));
}
#include "kernels/nbits_quantise.inc"
#include "kernels/nbits_set.inc"

#include "kernels/nbits_table.inc"
const nbits_tile nbits_avx512 = NBITS_TILE;
#endif

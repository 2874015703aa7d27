/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of bytes whose channels are last, AVX2: the products of two taps are added
 * in pairs, sixteen channels at a time. */
#include "kernels/int_conv_last_depthwise.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2,fma")))
#include "kernels/int_finish_avx2.inc"

TARGET static inline __m128i load_sixteen(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/* Adds a pair of taps to the sums of channels 0 to 3 and 8 to 11, and of the others. */
TARGET static inline void add_pair(__m256i *sums, const __m256i *x, const __m256i *w)
{
    const __m256i low =
        _mm256_madd_epi16(_mm256_unpacklo_epi16(x[0], x[1]), _mm256_unpacklo_epi16(w[0], w[1]));
    const __m256i high =
        _mm256_madd_epi16(_mm256_unpackhi_epi16(x[0], x[1]), _mm256_unpackhi_epi16(w[0], w[1]));
    sums[0] = _mm256_add_epi32(sums[0], low);
    sums[1] = _mm256_add_epi32(sums[1], high);
}

TARGET static inline void sum_taps(__m256i *sums, const last_position *a, size_t first)
{
    const size_t taps = a->p->c.taps, channels = a->p->c.groups;
    const __m128i flip = _mm_set1_epi8((char)(a->p->c.x_signed ? 0x80 : 0));
    __m256i parts[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t t = 0; t < taps; t += 2) {
        __m256i x[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()}, w[2] = {x[0], x[0]};
        for (size_t k = 0; k < 2 && t + k < taps; k++) {
            const __m128i pixel = load_sixteen(a->list[t + k] + first);
            x[k] = _mm256_cvtepu8_epi16(_mm_xor_si128(pixel, flip));
            w[k] = _mm256_cvtepi8_epi16(load_sixteen(a->weights + (t + k) * channels + first));
        }
        add_pair(parts, x, w);
    }
    sums[0] = _mm256_permute2x128_si256(parts[0], parts[1], 0x20);
    sums[1] = _mm256_permute2x128_si256(parts[0], parts[1], 0x31);
}

/* The last sixteen channels overlap those before them if their number is no multiple of 16. */
TARGET static void run_position(const last_position *a)
{
    const byte_limits limits = find_limits(&a->p->c.finish);
    for (size_t next = 0; next < a->channels; next += 16) {
        const size_t first = next + 16 <= a->channels ? next : a->channels - 16;
        __m256i sums[2];
        __m256 factors[2];
        sum_taps(sums, a, first);
#pragma GCC unroll 2
        for (size_t k = 0; k < 2; k++) {
            const __m256 factor = _mm256_loadu_ps(a->factors + first + 8 * k);
            factors[k] = _mm256_mul_ps(factor, _mm256_set1_ps(FIXED_ONE));
            sums[k] = load_sums(a->offsets + first + 8 * k, sums[k]);
        }
        finish_sixteen(a->y + first, 16, sums, factors, &limits, &a->p->c.finish, a->scales + first,
                       1);
    }
}

const last_depthwise_functions last_depthwise_avx2 = {.run = run_position, .least = 16};
#endif

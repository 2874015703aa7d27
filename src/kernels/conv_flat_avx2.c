/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of convolution over flat positions, AVX2 and FMA. */
#include "kernels/conv_flat.h"

#if defined(__x86_64__)
#include <string.h>

#include "kernels/vector_avx2.h"

#include "kernels/conv_end.inc"

/* The numbers of the bits of m in a word of eight bytes, the lowest bit in the lowest byte. */
#define BIT(m, i, rest) ((uint64_t)(rest) << (8 * ((m) >> (i)&1)) | (i) * ((uint64_t)(m) >> (i)&1))
#define ORDER(m) \
    BIT(m, 0, BIT(m, 1, BIT(m, 2, BIT(m, 3, BIT(m, 4, BIT(m, 5, BIT(m, 6, BIT(m, 7, 0))))))))
#define ORDER_4(m) ORDER(m), ORDER((m) + 1), ORDER((m) + 2), ORDER((m) + 3)
#define ORDER_16(m) ORDER_4(m), ORDER_4((m) + 4), ORDER_4((m) + 8), ORDER_4((m) + 12)
#define ORDER_64(m) ORDER_16(m), ORDER_16((m) + 16), ORDER_16((m) + 32), ORDER_16((m) + 48)
static const uint64_t ORDERS[256] = {ORDER_64(0), ORDER_64(64), ORDER_64(128), ORDER_64(192)};

static const int32_t FIRST[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};

TARGET static inline VEC flat_load(const float *p, size_t count)
{
    if (count == LANES) return LOAD(p);
    return _mm256_maskload_ps(p, _mm256_loadu_si256((const __m256i *)(FIRST + LANES - count)));
}

TARGET static inline VEC flat_load_even(const float *p, size_t count)
{
    float some[LANES] = {0};
    if (count == LANES) {
        const __m256 pairs = _mm256_shuffle_ps(LOAD(p), flat_load(p + LANES, LANES - 1), 0x88);
        return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(pairs), 0xd8));
    }
    for (size_t i = 0; i < count; i++) some[i] = p[2 * i];
    return LOAD(some);
}

TARGET static inline VEC flat_pack(VEC v, uint32_t mask)
{
    const __m128i bytes = _mm_cvtsi64_si128((int64_t)ORDERS[mask & 0xff]);
    return _mm256_permutevar8x32_ps(v, _mm256_cvtepu8_epi32(bytes));
}

#define FLAT_LOAD(p, n) flat_load(p, n)
#define FLAT_LOAD_EVEN(p, n) flat_load_even(p, n)
#define FLAT_PACK(v, mask) flat_pack(v, mask)
#define LOOPS conv_flat_avx2
#include "kernels/conv_flat_narrow.inc"
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* MT19937 with init_genrand seeding. A block of 624 words is made at once, in two runs without
 * wrap-around and one word more; tempering is applied when words are read. Both also have a version
 * for eight words at a time. */
#include "base/rand.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/system.h"

enum { SIZE = 624, MIDDLE = 397 };

void mt19937_seed(mt19937 *g, uint32_t seed)
{
    g->state[0] = seed;
    for (uint32_t i = 1; i < SIZE; i++)
        g->state[i] = 1812433253u * (g->state[i - 1] ^ (g->state[i - 1] >> 30)) + i;
    g->index = SIZE;
}

static inline uint32_t twist(uint32_t high, uint32_t low, uint32_t far)
{
    const uint32_t y = (high & 0x80000000u) | (low & 0x7FFFFFFFu);
    return far ^ (y >> 1) ^ ((0u - (low & 1u)) & 0x9908B0DFu);
}

static inline uint32_t temper(uint32_t y)
{
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680u;
    y ^= (y << 15) & 0xEFC60000u;
    return y ^ (y >> 18);
}

/* Makes the next s[i] for i in [begin, end) from s[i], s[i + 1] and s[i + far]; the caller picks
 * ranges in which no index wraps around. */
static void twist_run(uint32_t *s, int begin, int end, int far)
{
    for (int i = begin; i < end; i++) s[i] = twist(s[i], s[i + 1], s[i + far]);
}

static void temper_run(uint32_t *out, const uint32_t *in, size_t count)
{
    for (size_t i = 0; i < count; i++) out[i] = temper(in[i]);
}

#if defined(__x86_64__)

/* Each returns the index where it stopped. The far words are at least 227 away, so groups of eight
 * do not overlap them. */
__attribute__((target("avx2"))) static int twist_avx2(uint32_t *s, int begin, int end, int far)
{
    const __m256i top = _mm256_set1_epi32((int)0x80000000u), one = _mm256_set1_epi32(1);
    const __m256i matrix = _mm256_set1_epi32((int)0x9908B0DFu);
    int i = begin;
    for (; i + 8 <= end; i += 8) {
        const __m256i high = _mm256_loadu_si256((const __m256i *)(s + i));
        const __m256i low = _mm256_loadu_si256((const __m256i *)(s + i + 1));
        const __m256i other = _mm256_loadu_si256((const __m256i *)(s + i + far));
        const __m256i y =
            _mm256_or_si256(_mm256_and_si256(top, high), _mm256_andnot_si256(top, low));
        const __m256i odd = _mm256_cmpeq_epi32(_mm256_and_si256(low, one), one);
        const __m256i mixed =
            _mm256_xor_si256(_mm256_srli_epi32(y, 1), _mm256_and_si256(odd, matrix));
        _mm256_storeu_si256((__m256i *)(s + i), _mm256_xor_si256(other, mixed));
    }
    return i;
}

__attribute__((target("avx2"))) static size_t temper_avx2(uint32_t *out, const uint32_t *in,
                                                          size_t count)
{
    const __m256i b = _mm256_set1_epi32((int)0x9D2C5680u), c = _mm256_set1_epi32((int)0xEFC60000u);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256i y = _mm256_loadu_si256((const __m256i *)(in + i));
        y = _mm256_xor_si256(y, _mm256_srli_epi32(y, 11));
        y = _mm256_xor_si256(y, _mm256_and_si256(_mm256_slli_epi32(y, 7), b));
        y = _mm256_xor_si256(y, _mm256_and_si256(_mm256_slli_epi32(y, 15), c));
        y = _mm256_xor_si256(y, _mm256_srli_epi32(y, 18));
        _mm256_storeu_si256((__m256i *)(out + i), y);
    }
    return i;
}

#else

static int twist_avx2(uint32_t *s, int begin, int end, int far)
{
    (void)s, (void)end, (void)far;
    return begin;
}

static size_t temper_avx2(uint32_t *out, const uint32_t *in, size_t count)
{
    (void)out, (void)in, (void)count;
    return 0;
}

#endif

static void refill(mt19937 *g)
{
    uint32_t *s = g->state;
    const bool wide = cpu_features() >= CPU_AVX2;
    const int far = MIDDLE - SIZE;
    int i = wide ? twist_avx2(s, 0, SIZE - MIDDLE, MIDDLE) : 0;
    twist_run(s, i, SIZE - MIDDLE, MIDDLE);
    i = wide ? twist_avx2(s, SIZE - MIDDLE, SIZE - 1, far) : SIZE - MIDDLE;
    twist_run(s, i, SIZE - 1, far);
    s[SIZE - 1] = twist(s[SIZE - 1], s[0], s[MIDDLE - 1]);
    g->index = 0;
}

uint32_t mt19937_u32(mt19937 *g)
{
    if (g->index == SIZE) refill(g);
    return temper(g->state[g->index++]);
}

double mt19937_double(mt19937 *g)
{
    const uint32_t high = mt19937_u32(g) >> 5, low = mt19937_u32(g) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

void mt19937_fill_u32(mt19937 *g, uint32_t *out, size_t count)
{
    const bool wide = cpu_features() >= CPU_AVX2;
    while (count) {
        if (g->index == SIZE) refill(g);
        size_t n = (size_t)(SIZE - g->index);
        if (n > count) n = count;
        const uint32_t *s = g->state + g->index;
        const size_t i = wide ? temper_avx2(out, s, n) : 0;
        temper_run(out + i, s + i, n - i);
        g->index += (int)n;
        out += n;
        count -= n;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of plain characters are found 32 or 16 bytes at a time, because a single string may be a
 * gigabyte of base64. UTF-8 is checked only in strings with a byte over 0x7f. */
#include "base/json_scan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/system.h"

#if defined(__x86_64__)

/* A byte ends the run when it is '"', '\\', or unchanged by min(byte, 0x1f). */
__attribute__((target("avx2"))) static const char *scan_avx2(const char *p, const char *end,
                                                             bool *high)
{
    const __m256i quote = _mm256_set1_epi8('"'), slash = _mm256_set1_epi8('\\'),
                  control = _mm256_set1_epi8(0x1F);
    __m256i seen = _mm256_setzero_si256();
    for (; end - p >= 32; p += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)p);
        const __m256i special = _mm256_or_si256(
            _mm256_or_si256(_mm256_cmpeq_epi8(v, quote), _mm256_cmpeq_epi8(v, slash)),
            _mm256_cmpeq_epi8(_mm256_min_epu8(v, control), v));
        const unsigned mask = (unsigned)_mm256_movemask_epi8(special);
        if (mask) {
            const int n = __builtin_ctz(mask);
            *high |= ((unsigned)_mm256_movemask_epi8(v) & ((1u << n) - 1u)) != 0;
            p += n;
            break;
        }
        seen = _mm256_or_si256(seen, v);
    }
    *high |= _mm256_movemask_epi8(seen) != 0;
    return p;
}

static const char *scan_sse2(const char *p, const char *end, bool *high)
{
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'),
                  control = _mm_set1_epi8(0x1F);
    __m128i seen = _mm_setzero_si128();
    for (; end - p >= 16; p += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)p);
        const __m128i special =
            _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)),
                         _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
        if (_mm_movemask_epi8(special)) break;
        seen = _mm_or_si128(seen, v);
    }
    *high |= _mm_movemask_epi8(seen) != 0;
    return p;
}

static const char *scan_vector(const char *p, const char *end, bool *high)
{
    if (end - p >= 64 && cpu_features() >= CPU_AVX2) p = scan_avx2(p, end, high);
    return scan_sse2(p, end, high);
}

#else

static const char *scan_vector(const char *p, const char *end, bool *high)
{
    (void)end, (void)high;
    return p;
}

#endif

static bool ends_run(unsigned char c)
{
    return c == '"' || c == '\\' || c < 0x20;
}

const char *json_scan_string(const char *p, const char *end, bool *high)
{
    unsigned char seen = 0;
    p = scan_vector(p, end, high);
    for (; p < end && !ends_run((unsigned char)*p); p++) seen |= (unsigned char)*p;
    *high |= seen >= 0x80;
    return p;
}

const char *json_scan_plain(const char *p, const char *end)
{
    while (p < end && !ends_run((unsigned char)*p) && (unsigned char)*p < 0x7F) p++;
    return p;
}

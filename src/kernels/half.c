/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of 16-bit floats: one loop for each direction, type and processor level. bfloat16 is
 * the upper half of a float32, so integer operations suffice. For float16 there are instructions;
 * without them, an exact multiplication adjusts the exponent, and adding a constant whose last
 * place is that of a denormal rounds denormals. */
#include "kernels/half.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* ---- One number ----------------------------------------------------------------------------- */

static inline float f16_wide(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fffu;
    const uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
    const uint32_t special = 0x7f800000 | quiet | (magnitude & 0x3ff) << 13;
    const uint32_t number = bits_of(float_of(magnitude << 13) * 0x1p112f);
    return float_of(sign | (magnitude >= 0x7c00 ? special : number));
}

static inline uint16_t f16_narrow(float v)
{
    const uint32_t bits = bits_of(v), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= bits_of(65536)) return (uint16_t)(sign | 0x7c00);
    if (magnitude < bits_of(0x1p-14f))
        return (uint16_t)(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
    return (uint16_t)(sign | (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

static inline float bf16_wide(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

static inline uint16_t bf16_narrow(float v)
{
    const uint32_t bits = bits_of(v), rounded = bits + 0x7fff + (bits >> 16 & 1);
    const uint32_t nan = bits | 0x400000;
    return (uint16_t)(((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded) >> 16);
}

/* ---- Loops ---------------------------------------------------------------------------------- */

static void widen_f16(float *to, const uint16_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = f16_wide(from[i]);
}

static void narrow_f16(uint16_t *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = f16_narrow(from[i]);
}

static void widen_bf16(float *to, const uint16_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = bf16_wide(from[i]);
}

static void narrow_bf16(uint16_t *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = bf16_narrow(from[i]);
}

static void round_f16(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = f16_wide(f16_narrow(from[i]));
}

static void round_bf16(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = bf16_wide(bf16_narrow(from[i]));
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,f16c")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

AVX2 static void widen_f16_avx2(float *to, const uint16_t *from, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    for (; i < count; i++) to[i] = f16_wide(from[i]);
}

AVX2 static void narrow_f16_avx2(uint16_t *to, const float *from, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < count; i++) to[i] = f16_narrow(from[i]);
}

AVX2 static void widen_bf16_avx2(float *to, const uint16_t *from, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(from + i)));
        _mm256_storeu_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
    }
    for (; i < count; i++) to[i] = bf16_wide(from[i]);
}

/* Eight numbers rounded to bfloat16; the lower half of each word is still to be cleared. */
AVX2 static inline __m256i bf16_round_8(__m256 v)
{
    const __m256i half = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1);
    const __m256i quiet = _mm256_set1_epi32(0x400000);
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(half, odd));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, quiet), nan);
}

AVX2 static void round_f16_avx2(float *to, const float *from, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256 v = _mm256_loadu_ps(from + i);
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)));
    }
    round_f16(to + i, from + i, count - i);
}

AVX2 static void round_bf16_avx2(float *to, const float *from, size_t count)
{
    const __m256i upper = _mm256_set1_epi32(-0x10000);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256i rounded = bf16_round_8(_mm256_loadu_ps(from + i));
        _mm256_storeu_ps(to + i, _mm256_castsi256_ps(_mm256_and_si256(rounded, upper)));
    }
    round_bf16(to + i, from + i, count - i);
}

AVX2 static void narrow_bf16_avx2(uint16_t *to, const float *from, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256i upper = _mm256_srli_epi32(bf16_round_8(_mm256_loadu_ps(from + i)), 16);
        _mm_storeu_si128((__m128i *)(to + i), _mm_packus_epi32(_mm256_castsi256_si128(upper),
                                                               _mm256_extracti128_si256(upper, 1)));
    }
    for (; i < count; i++) to[i] = bf16_narrow(from[i]);
}

/* Sixteen numbers at once. Only the ends of arrays take masked loads and stores, as these cost
 * more. */
AVX512 static inline __m512 f16_wide_16(__m256i v)
{
    return _mm512_cvtph_ps(v);
}

AVX512 static inline __m256i f16_narrow_16(__m512 v)
{
    return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}

AVX512 static inline __m512 bf16_wide_16(__m256i v)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}

/* Numbers rounded to bfloat16; the lower half of each word is still to be cleared. */
AVX512 static inline __m512i bf16_bits_16(__m512 v)
{
    const __m512i bits = _mm512_castps_si512(v), half = _mm512_set1_epi32(0x7fff);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(half, odd));
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
}

AVX512 static inline __m256i bf16_narrow_16(__m512 v)
{
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(bf16_bits_16(v), 16));
}

AVX512 static inline __m512 f16_round_16(__m512 v)
{
    return f16_wide_16(f16_narrow_16(v));
}

AVX512 static inline __m512 bf16_round_16(__m512 v)
{
    const __m512i upper = _mm512_set1_epi32(-0x10000);
    return _mm512_castsi512_ps(_mm512_and_si512(bf16_bits_16(v), upper));
}

#define WIDEN(name, wide)                                                                        \
    AVX512 static void name(float *to, const uint16_t *from, size_t count)                       \
    {                                                                                            \
        size_t i = 0;                                                                            \
        for (; i + 16 <= count; i += 16)                                                         \
            _mm512_storeu_ps(to + i, wide(_mm256_loadu_si256((const __m256i *)(from + i))));     \
        const __mmask16 rest = (__mmask16)((1u << (count - i)) - 1);                             \
        if (rest)                                                                                \
            _mm512_mask_storeu_ps(to + i, rest, wide(_mm256_maskz_loadu_epi16(rest, from + i))); \
    }
#define NARROW(name, narrow)                                                                       \
    AVX512 static void name(uint16_t *to, const float *from, size_t count)                         \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + 16 <= count; i += 16)                                                           \
            _mm256_storeu_si256((__m256i *)(to + i), narrow(_mm512_loadu_ps(from + i)));           \
        const __mmask16 rest = (__mmask16)((1u << (count - i)) - 1);                               \
        if (rest)                                                                                  \
            _mm256_mask_storeu_epi16(to + i, rest, narrow(_mm512_maskz_loadu_ps(rest, from + i))); \
    }
#define ROUND(name, round)                                                                     \
    AVX512 static void name(float *to, const float *from, size_t count)                        \
    {                                                                                          \
        size_t i = 0;                                                                          \
        for (; i + 16 <= count; i += 16)                                                       \
            _mm512_storeu_ps(to + i, round(_mm512_loadu_ps(from + i)));                        \
        const __mmask16 rest = (__mmask16)((1u << (count - i)) - 1);                           \
        if (rest)                                                                              \
            _mm512_mask_storeu_ps(to + i, rest, round(_mm512_maskz_loadu_ps(rest, from + i))); \
    }
WIDEN(widen_f16_avx512, f16_wide_16)
WIDEN(widen_bf16_avx512, bf16_wide_16)
NARROW(narrow_f16_avx512, f16_narrow_16)
NARROW(narrow_bf16_avx512, bf16_narrow_16)
ROUND(round_f16_avx512, f16_round_16)
ROUND(round_bf16_avx512, bf16_round_16)
#endif

const half_loops *half_loops_of(pgy_dtype dtype, cpu_level level)
{
    static const half_loops ALL[][2] = {
        [CPU_PORTABLE] = {{widen_f16, narrow_f16, round_f16},
                          {widen_bf16, narrow_bf16, round_bf16}},
#if defined(__x86_64__)
        [CPU_AVX2] = {{widen_f16_avx2, narrow_f16_avx2, round_f16_avx2},
                      {widen_bf16_avx2, narrow_bf16_avx2, round_bf16_avx2}},
        [CPU_AVX512] = {{widen_f16_avx512, narrow_f16_avx512, round_f16_avx512},
                        {widen_bf16_avx512, narrow_bf16_avx512, round_bf16_avx512}},
#endif
    };
    const cpu_level has = cpu_features(); /* a plan may have been built on another processor */
    return &ALL[level < has ? level : has][dtype == PGY_BF16];
}

bool half_holds(pgy_dtype dtype, const void *words, size_t size_bytes)
{
    enum { CHUNK = 1024 };
    const half_loops *loops = half_loops_of(dtype, CPU_AVX512);
    float some[CHUNK], wide[CHUNK];
    uint16_t narrow[CHUNK];
    for (size_t i = 0; i < size_bytes; i += sizeof some) {
        const size_t size = size_bytes - i < sizeof some ? size_bytes - i : sizeof some;
        memcpy(some, (const char *)words + i, size);
        loops->narrow(narrow, some, size / sizeof *some);
        loops->widen(wide, narrow, size / sizeof *some);
        if (memcmp(some, wide, size) != 0) return false;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Converts blocks of narrow elements to and from the wider C types that hold them (carriers). f16
 * uses the processor's conversion if it has one (same results: nearest even, quiet NaNs); bf16 uses
 * integer arithmetic that vectorises; types of 8 bits or fewer are widened by a table and narrowed
 * by the exact scalar code of float.c. Packed types hold the first element in the low bits. */
#include "tensor/pack.h"

#include <string.h>

#include "base/system.h"
#include "tensor/convert.h"

enum { BLOCK = 64 };

native_type pack_carrier(pgy_dtype dtype)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    if (info->kind == PGY_KIND_FLOAT && info->bits <= 16) return NATIVE_F32;
    if (info->bits < 8 && info->kind == PGY_KIND_SIGNED) return NATIVE_I8;
    if (info->bits < 8 && info->kind == PGY_KIND_UNSIGNED) return NATIVE_U8;
    return NATIVE_COUNT;
}

void pack_table_init(pack_table *t, pgy_dtype dtype)
{
    unsigned codes = 1u << pgy_dtype_describe(dtype)->bits;
    for (unsigned i = 0; i < 256; i++)
        t->value[i] = (float)f8_to_f64(dtype, (uint8_t)(i & (codes - 1)));
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx,f16c"))) static void f16_widen_fast(float *restrict to,
                                                               const uint16_t *restrict from,
                                                               size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    for (; i < n; i++) to[i] = f16_to_f32(from[i]);
}

__attribute__((target("avx,f16c"))) static void f16_narrow_fast(uint16_t *restrict to,
                                                                const float *restrict from,
                                                                size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) to[i] = f16_from_f64(from[i]);
}
#else
static void f16_widen_fast(float *restrict to, const uint16_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = f16_to_f32(from[i]);
}

static void f16_narrow_fast(uint16_t *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = f16_from_f64(from[i]);
}
#endif

/* Works in blocks of a fixed length, which the compiler turns into vectors at -O2. */
static void bf16_widen(float *restrict to, const uint16_t *restrict from, size_t n)
{
    uint32_t bits[BLOCK];
    for (; n >= BLOCK; n -= BLOCK, to += BLOCK, from += BLOCK) {
        for (int i = 0; i < BLOCK; i++) bits[i] = (uint32_t)from[i] << 16;
        memcpy(to, bits, sizeof bits);
    }
    for (size_t i = 0; i < n; i++) to[i] = bf16_to_f32(from[i]);
}

static void widen_16(float *restrict to, pgy_dtype dtype, const uint16_t *restrict from,
                     ptrdiff_t stride, size_t n)
{
    if (dtype == PGY_F16 && stride == 1 && cpu_features() >= CPU_AVX2)
        f16_widen_fast(to, from, n);
    else if (dtype == PGY_BF16 && stride == 1)
        bf16_widen(to, from, n);
    else if (dtype == PGY_F16)
        for (size_t i = 0; i < n; i++, from += stride) to[i] = f16_to_f32(*from);
    else
        for (size_t i = 0; i < n; i++, from += stride) to[i] = bf16_to_f32(*from);
}

void pack_widen(void *restrict to, pgy_dtype dtype, const void *restrict from, size_t first,
                ptrdiff_t stride, size_t n, const pack_table *table)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    const uint8_t *bytes = from;
    float *values = to;
    if (info->bits == 16)
        widen_16(values, dtype, (const uint16_t *)from + first, stride, n);
    else if (info->bits == 8)
        for (size_t i = 0; i < n; i++)
            values[i] = table->value[bytes[(ptrdiff_t)first + (ptrdiff_t)i * stride]];
    else if (info->kind == PGY_KIND_FLOAT)
        for (size_t i = 0; i < n; i++)
            values[i] = table->value[packed_get(bytes, first + i, info->bits)];
    else if (info->kind == PGY_KIND_UNSIGNED)
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] = (uint8_t)packed_get(bytes, first + i, info->bits);
    else
        for (size_t i = 0; i < n; i++) {
            unsigned sign = 1u << (info->bits - 1), code = packed_get(bytes, first + i, info->bits);
            ((int8_t *)to)[i] = (int8_t)((int)(code ^ sign) - (int)sign);
        }
}

static inline uint16_t bf16_from_bits(uint32_t bits)
{
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t quiet = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

static void bf16_narrow(uint16_t *restrict to, ptrdiff_t stride, const float *restrict from,
                        size_t n)
{
    uint32_t bits[BLOCK];
    for (size_t count; n; n -= count, from += count, to += (ptrdiff_t)count * stride) {
        count = n < BLOCK ? n : BLOCK;
        memcpy(bits, from, count * sizeof *from);
        if (count == BLOCK && stride == 1)
            for (int i = 0; i < BLOCK; i++) to[i] = bf16_from_bits(bits[i]);
        else
            for (size_t i = 0; i < count; i++) to[(ptrdiff_t)i * stride] = bf16_from_bits(bits[i]);
    }
}

void pack_narrow_f32(void *restrict to, pgy_dtype dtype, size_t first, ptrdiff_t stride,
                     const float *restrict from, size_t n, bool saturate)
{
    const unsigned bits = pgy_dtype_describe(dtype)->bits;
    uint16_t *halves = (uint16_t *)to + first;
    uint8_t *bytes = to;
    if (dtype == PGY_F16 && stride == 1 && cpu_features() >= CPU_AVX2) {
        f16_narrow_fast(halves, from, n);
    } else if (dtype == PGY_F16) {
        for (size_t i = 0; i < n; i++) halves[(ptrdiff_t)i * stride] = f16_from_f64(from[i]);
    } else if (dtype == PGY_BF16) {
        bf16_narrow(halves, stride, from, n);
    } else if (bits < 8) {
        for (size_t i = 0; i < n; i++)
            packed_put(to, first + i, bits, f8_from_f64(dtype, from[i], saturate));
    } else {
        for (size_t i = 0; i < n; i++)
            bytes[(ptrdiff_t)first + (ptrdiff_t)i * stride] = f8_from_f64(dtype, from[i], saturate);
    }
}

/* Converts to f32 by round-to-odd (lost bits set the last bit), so that the step to f16 is the only
 * rounding. Subnormals of f32 are zero in f16 in any case. */
static void odd_f32(float *restrict to, const double *restrict from, size_t n)
{
    const uint64_t lost = (1ull << 29) - 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        double odd;
        memcpy(&bits, &from[i], sizeof bits);
        bits = (bits & ~lost) | (((bits & lost) + lost) & (lost + 1));
        memcpy(&odd, &bits, sizeof odd);
        to[i] = (float)odd;
    }
}

static void f16_narrow_f64(void *restrict to, size_t first, ptrdiff_t stride,
                           const double *restrict from, size_t n)
{
    float odd[BLOCK];
    for (size_t i = 0, count; i < n; i += count) {
        count = n - i < BLOCK ? n - i : BLOCK;
        odd_f32(odd, from + i, count);
        size_t at = (size_t)((ptrdiff_t)first + (ptrdiff_t)i * stride);
        pack_narrow_f32(to, PGY_F16, at, stride, odd, count, false);
    }
}

void pack_narrow_f64(void *restrict to, pgy_dtype dtype, size_t first, ptrdiff_t stride,
                     const double *restrict from, size_t n, bool saturate)
{
    const unsigned bits = pgy_dtype_describe(dtype)->bits;
    uint16_t *halves = (uint16_t *)to + first;
    uint8_t *bytes = to;
    if (dtype == PGY_F16) {
        f16_narrow_f64(to, first, stride, from, n);
    } else if (dtype == PGY_BF16) {
        for (size_t i = 0; i < n; i++) halves[(ptrdiff_t)i * stride] = bf16_from_f64(from[i]);
    } else if (bits < 8) {
        for (size_t i = 0; i < n; i++)
            packed_put(to, first + i, bits, f8_from_f64(dtype, from[i], saturate));
    } else {
        for (size_t i = 0; i < n; i++)
            bytes[(ptrdiff_t)first + (ptrdiff_t)i * stride] = f8_from_f64(dtype, from[i], saturate);
    }
}

void pack_narrow_int(void *restrict to, pgy_dtype dtype, size_t first, const uint8_t *restrict from,
                     size_t n)
{
    unsigned bits = pgy_dtype_describe(dtype)->bits;
    for (size_t i = 0; i < n; i++) packed_put(to, first + i, bits, from[i]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over quantised bytes, AVX-512. Two operands are combined in float32. Results too close to a
 * rounding boundary for float32 are computed again in float64. */
#include "kernels/byte_loops.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/target_avx512.h"

#define TARGET TARGET_AVX512

/* If the factors sum to at most 4: three units of error for each, two for the sum. */
#define FIXED_SLACK 16
#include "kernels/byte_binary.inc"
#include "kernels/byte_pack_avx512.inc"

/* Scale factors in fixed point; `fits`: no result can overflow the fixed-point range. */
typedef struct factors {
    float a, b, more;
    bool fits;
} factors;

static factors find_factors(const byte_binary *q)
{
    const double a = q->a_scale / q->scale, b = q->b_scale / q->scale;
    const double more = (double)q->finish.zero * FIXED_ONE + FIXED_HALF;
    if (q->multiplies)
        return (factors){(float)(q->a_scale * b * FIXED_ONE), 0, (float)more,
                         65025 * (q->a_scale * b) < 16384};
    return (factors){(float)(a * FIXED_ONE), (float)(b * FIXED_ONE),
                     (float)(more - (q->a_zero * a + q->b_zero * b) * FIXED_ONE),
                     255 * (a + b) < 1024};
}

TARGET static inline __m512 byte_loop_load(const uint8_t *x, uint32_t step, uint8_t flip)
{
    const __m128i bytes = step ? _mm_loadu_si128((const __m128i *)x) : _mm_set1_epi8((char)*x);
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_xor_si128(bytes, _mm_set1_epi8((char)flip))));
}

/* Computes 16 results in fixed point. */
TARGET static inline __m512i byte_loop_join(__m512 a, __m512 b, const byte_binary *q,
                                            const factors *f)
{
    __m512 v;
    if (q->multiplies) {
        a = _mm512_sub_ps(a, _mm512_set1_ps((float)q->a_zero));
        b = _mm512_sub_ps(b, _mm512_set1_ps((float)q->b_zero));
        v = _mm512_fmadd_ps(_mm512_mul_ps(a, b), _mm512_set1_ps(f->a), _mm512_set1_ps(f->more));
    } else {
        v = _mm512_fmadd_ps(a, _mm512_set1_ps(f->a), _mm512_set1_ps(f->more));
        v = _mm512_fmadd_ps(b, _mm512_set1_ps(f->b), v);
    }
    return _mm512_cvtps_epi32(v);
}

/* Computes 64 elements. */
TARGET static inline void byte_loop_binary_64(uint8_t *y, const uint8_t *a, const uint8_t *b,
                                              const uint32_t *steps, const byte_binary *q,
                                              const factors *f, const byte_limits *limits)
{
    __m512i v[4];
    uint8_t made[64];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        v[i] = byte_loop_join(byte_loop_load(a + 16 * i * steps[0], steps[0], q->a_flip),
                              byte_loop_load(b + 16 * i * steps[1], steps[1], q->b_flip), q, f);
    if (__builtin_expect(!is_any_close(v, 4), 1)) {
        store_bytes(y, 64, v, limits);
        return;
    }
    /* Not to y, which may be the same memory as `a`: the loop below still reads `a`. */
    store_bytes(made, 64, v, limits);
    for (size_t i = 0; i < 4; i++)
        for (unsigned left = find_close(v[i]); left; left &= left - 1) {
            const size_t at = 16 * i + (size_t)__builtin_ctz(left);
            made[at] =
                byte_binary_exact(a[at * steps[0]] ^ q->a_flip, b[at * steps[1]] ^ q->b_flip, q);
        }
    memcpy(y, made, 64);
}

TARGET static void byte_loop_binary(uint8_t *y, const uint8_t *a, const uint8_t *b,
                                    const uint32_t *steps, size_t n, const byte_binary *q)
{
    const factors f = find_factors(q);
    const byte_limits limits = find_limits(&q->finish);
    uint8_t rest[3][64] = {{0}};
    size_t i = 0;
    if (!f.fits) {
        /* Not to y, which may be the same memory as `a`: compilers do not vectorise that. */
        for (size_t count; i < n; i += count) {
            count = n - i < 64 ? n - i : 64;
            byte_loop_exact(rest[0], a + i * steps[0], b + i * steps[1], steps, count, q);
            memcpy(y + i, rest[0], count);
        }
        return;
    }
    for (; i + 64 <= n; i += 64)
        byte_loop_binary_64(y + i, a + i * steps[0], b + i * steps[1], steps, q, &f, &limits);
    if (i == n) return;
    memcpy(rest[0], a + i * steps[0], steps[0] ? n - i : 1);
    memcpy(rest[1], b + i * steps[1], steps[1] ? n - i : 1);
    byte_loop_binary_64(rest[2], rest[0], rest[1], steps, q, &f, &limits);
    memcpy(y + i, rest[2], n - i);
}
#define BINARY byte_loop_binary

TARGET static inline __mmask64 first_bytes(size_t n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

TARGET static inline __m512 widen_bytes(__m128i bytes, uint8_t flip)
{
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_xor_si128(bytes, _mm_set1_epi8((char)flip))));
}

/* A row of n elements, in as many vectors. */
TARGET static inline __attribute__((always_inline)) void byte_loop_row(
    size_t vectors, uint8_t *y, const uint8_t *a, const uint8_t *b, size_t n, const byte_binary *q,
    const factors *f, const byte_limits *limits)
{
    __m512i v[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                    _mm512_setzero_si512()};
    uint8_t made[64];
#pragma GCC unroll 3
    for (size_t i = 0; i < vectors; i++) {
        const __mmask16 some = (__mmask16)first_bytes(n - 16 * i);
        v[i] = byte_loop_join(widen_bytes(_mm_maskz_loadu_epi8(some, a + 16 * i), q->a_flip),
                              widen_bytes(_mm_maskz_loadu_epi8(some, b + 16 * i), q->b_flip), q, f);
    }
    if (__builtin_expect(!is_any_close(v, vectors), 1)) {
        store_bytes(y, n, v, limits);
        return;
    }
    /* Not to y, which may be the same memory as b: the loop below still reads b. */
    store_bytes(made, 64, v, limits);
    for (size_t i = 0; i < vectors; i++)
        for (unsigned left = find_close(v[i]); left; left &= left - 1) {
            const size_t at = 16 * i + (size_t)__builtin_ctz(left);
            if (at < n) made[at] = byte_binary_exact(a[at] ^ q->a_flip, b[at] ^ q->b_flip, q);
        }
    memcpy(y, made, n);
}

TARGET static inline __attribute__((always_inline)) void byte_loop_rows_of(
    size_t vectors, uint8_t *y, size_t stride, const uint8_t *a, const uint8_t *b, size_t rows,
    size_t n, const byte_binary *q, const factors *f)
{
    const byte_limits limits = find_limits(&q->finish);
    for (; rows > 0; rows--, y += stride, b += stride, a += INT_MAX_COLUMNS)
        byte_loop_row(vectors, y, a, b, n, q, f, &limits);
}

TARGET static void byte_loop_binary_rows(uint8_t *y, size_t stride, const uint8_t *a,
                                         const uint8_t *b, size_t rows, size_t n,
                                         const byte_binary *q)
{
    static const uint32_t BOTH[2] = {1, 1};
    const factors f = find_factors(q);
    if (!f.fits)
        for (size_t r = 0; r < rows; r++)
            byte_loop_binary(y + r * stride, a + r * INT_MAX_COLUMNS, b + r * stride, BOTH, n, q);
    else if (n == 48)
        byte_loop_rows_of(3, y, stride, a, b, rows, 48, q, &f);
    else if (n > 32)
        byte_loop_rows_of(3, y, stride, a, b, rows, n, q, &f);
    else if (n > 16)
        byte_loop_rows_of(2, y, stride, a, b, rows, n, q, &f);
    else
        byte_loop_rows_of(1, y, stride, a, b, rows, n, q, &f);
}
#define BINARY_ROWS byte_loop_binary_rows

TARGET static void byte_loop_max_of(uint8_t *y, const uint8_t *const *lines, size_t count, size_t n,
                                    uint8_t flip)
{
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 some = first_bytes(n - i);
        __m512i most = _mm512_maskz_loadu_epi8(some, lines[0] + i);
        if (flip)
            for (size_t k = 1; k < count; k++)
                most = _mm512_max_epi8(most, _mm512_maskz_loadu_epi8(some, lines[k] + i));
        else
            for (size_t k = 1; k < count; k++)
                most = _mm512_max_epu8(most, _mm512_maskz_loadu_epi8(some, lines[k] + i));
        _mm512_mask_storeu_epi8(y + i, some, most);
    }
}

/* Adds 16 sums of 16 bits. */
TARGET static inline void add_sums(int32_t *sums, size_t n, __m256i more)
{
    const __mmask16 some = n < 16 ? (__mmask16)((1u << n) - 1) : 0xffff;
    const __m512i old = _mm512_maskz_loadu_epi32(some, sums);
    _mm512_mask_storeu_epi32(sums, some, _mm512_add_epi32(old, _mm512_cvtepu16_epi32(more)));
}

/* BYTE_LINES bytes fit sums of 16 bits. */
TARGET static void byte_loop_sum_of(int32_t *sums, const uint8_t *const *lines, size_t count,
                                    size_t n, uint8_t flip)
{
    const __m512i mask = _mm512_set1_epi8((char)flip);
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 some = first_bytes(n - i);
        __m512i low = _mm512_setzero_si512(), high = low;
        for (size_t k = 0; k < count; k++) {
            const __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, lines[k] + i), mask);
            low = _mm512_add_epi16(low, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(x)));
            high = _mm512_add_epi16(high, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(x, 1)));
        }
        const __m512i both[2] = {low, high};
        for (size_t k = 0; k < 4 && i + 16 * k < n; k++)
            add_sums(sums + i + 16 * k, n - i - 16 * k,
                     k % 2 ? _mm512_extracti64x4_epi64(both[k / 2], 1)
                           : _mm512_castsi512_si256(both[k / 2]));
    }
}

TARGET static void byte_loop_map_plain(uint8_t *y, const uint8_t *x, size_t n, const uint8_t *table)
{
    for (size_t i = 0; i < n; i++) y[i] = table[x[i]];
}

/* Two permutations look up 64 bytes in the halves of the table. */
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi"))) static void
byte_loop_map_permutes(uint8_t *y, const uint8_t *x, size_t n, const uint8_t *table)
{
    __m512i t[4];
    for (size_t i = 0; i < 4; i++) t[i] = _mm512_loadu_si512(table + 64 * i);
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 some = n - i < 64 ? (UINT64_C(1) << (n - i)) - 1 : UINT64_MAX;
        const __m512i v = _mm512_maskz_loadu_epi8(some, x + i);
        const __m512i low = _mm512_permutex2var_epi8(t[0], v, t[1]);
        const __m512i high = _mm512_permutex2var_epi8(t[2], v, t[3]);
        const __m512i made = _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high);
        _mm512_mask_storeu_epi8(y + i, some, made);
    }
}

static void byte_loop_map(uint8_t *y, const uint8_t *x, size_t n, const uint8_t *table)
{
    if (cpu_has_byte_permutes())
        byte_loop_map_permutes(y, x, n, table);
    else
        byte_loop_map_plain(y, x, n, table);
}
#define MAP byte_loop_map
#define MAX_OF byte_loop_max_of
#define SUM_OF byte_loop_sum_of
#define SET byte_loops_avx512
#include "kernels/byte_loops.inc"
#endif

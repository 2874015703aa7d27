/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of the matrix product's operands. Lines with contiguous elements are transposed four by
 * four in registers; floats become doubles on the way. */
#include <string.h>

#include "base/system.h"
#include "ops/class_gemm.h"

static inline double get_f32(const float *p)
{
    float x;
    memcpy(&x, p, sizeof x);
    return (double)x;
}

#if defined(__x86_64__)
#include <immintrin.h>

static inline double get_f64(const double *p)
{
    return *p;
}

#define AVX2 __attribute__((target("avx2")))

/* Transposes four rows (a, b, c, d) of four doubles and stores them `width` doubles apart. */
AVX2 static inline void store_transposed(double *to, size_t width, __m256d a, __m256d b, __m256d c,
                                         __m256d d)
{
    const __m256d ab_low = _mm256_unpacklo_pd(a, b), ab_high = _mm256_unpackhi_pd(a, b);
    const __m256d cd_low = _mm256_unpacklo_pd(c, d), cd_high = _mm256_unpackhi_pd(c, d);
    _mm256_storeu_pd(to, _mm256_permute2f128_pd(ab_low, cd_low, 0x20));
    _mm256_storeu_pd(to + width, _mm256_permute2f128_pd(ab_high, cd_high, 0x20));
    _mm256_storeu_pd(to + 2 * width, _mm256_permute2f128_pd(ab_low, cd_low, 0x31));
    _mm256_storeu_pd(to + 3 * width, _mm256_permute2f128_pd(ab_high, cd_high, 0x31));
}

AVX2 static inline __m256d load_f64(const double *p)
{
    return _mm256_loadu_pd(p);
}

AVX2 static inline __m256d load_f32(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

/* Packs sixteen lines that are adjacent in memory: each of k steps copies sixteen elements. */
#define SIXTEEN(name, type, load)                                                        \
    AVX2 static void name(double *restrict to, size_t k, const type *from, int64_t step) \
    {                                                                                    \
        for (size_t p = 0; p < k; p++, to += 16, from += step) {                         \
            _mm256_storeu_pd(to, load(from));                                            \
            _mm256_storeu_pd(to + 4, load(from + 4));                                    \
            _mm256_storeu_pd(to + 8, load(from + 8));                                    \
            _mm256_storeu_pd(to + 12, load(from + 12));                                  \
        }                                                                                \
    }
SIXTEEN(f64_sixteen_avx2, double, load_f64)
SIXTEEN(f32_sixteen_avx2, float, load_f32)

#define FOUR(name, type, load, get)                                                          \
    AVX2 static void name(double *to, size_t width, size_t k, const type *a, int64_t stride) \
    {                                                                                        \
        const type *b = a + stride, *c = b + stride, *d = c + stride;                        \
        size_t p = 0;                                                                        \
        for (; p + 4 <= k; p += 4, to += 4 * width)                                          \
            store_transposed(to, width, load(a + p), load(b + p), load(c + p), load(d + p)); \
        for (; p < k; p++, to += width) {                                                    \
            to[0] = get(a + p);                                                              \
            to[1] = get(b + p);                                                              \
            to[2] = get(c + p);                                                              \
            to[3] = get(d + p);                                                              \
        }                                                                                    \
    }
FOUR(f64_four_avx2, double, load_f64, get_f64)
FOUR(f32_four_avx2, float, load_f32, get_f32)
#endif

#define T double
#define GET(p) (*(p))
#define NAME(x) f64_##x
#include "ops/class_gemm_pack.inc"
#undef T
#undef GET
#undef NAME

#define T float
#define GET(p) get_f32(p)
#define NAME(x) f32_##x
#include "ops/class_gemm_pack.inc"
#undef T
#undef GET
#undef NAME

void gemm_widen(double *to, const void *from, size_t count)
{
    const char *x = from;
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, x + i * sizeof value, sizeof value);
        to[i] = (double)value;
    }
}

void gemm_pack_lines(double *to, size_t width, size_t count, size_t k, const void *from,
                     bool is_single, int64_t line_stride, int64_t step)
{
    if (is_single)
        f32_lines(to, width, count, k, from, line_stride, step);
    else
        f64_lines(to, width, count, k, from, line_stride, step);
}

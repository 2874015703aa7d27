/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over quantised bytes, AVX-512. Two operands are joined in float32; what is too near to a
 * half to be told by that is computed again in float64. */
#include "kernels/byte_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")))

/* Factors in float32, and how far from a half results are certain. */
typedef struct factors {
    float a, b, more, certain;
} factors;

static factors find_factors(const byte_binary *q)
{
    const double a = q->a_scale / q->scale, b = q->b_scale / q->scale;
    if (q->multiplies) return (factors){(float)(q->a_scale * b), 0, 0, 0.4998f};
    const double most = 255 * (a + b) + fabs(q->a_zero * a + q->b_zero * b);
    return (factors){(float)a, (float)b, (float)(-q->a_zero * a - q->b_zero * b),
                     (float)(0.4998 - most * 0x1p-21)};
}

TARGET static inline __m512i load(const uint8_t *x, uint32_t step, __mmask16 some, uint8_t flip)
{
    const __m128i bytes = step ? _mm_maskz_loadu_epi8(some, x) : _mm_set1_epi8((char)*x);
    return _mm512_cvtepu8_epi32(_mm_xor_si128(bytes, _mm_set1_epi8((char)flip)));
}

TARGET static inline __m512 join(__m512i a, __m512i b, const byte_binary *q, const factors *f)
{
    if (q->multiplies) {
        a = _mm512_sub_epi32(a, _mm512_set1_epi32(q->a_zero));
        b = _mm512_sub_epi32(b, _mm512_set1_epi32(q->b_zero));
        const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(a), _mm512_cvtepi32_ps(b));
        return _mm512_mul_ps(product, _mm512_set1_ps(f->a));
    }
    const __m512 v =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(a), _mm512_set1_ps(f->a), _mm512_set1_ps(f->more));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(b), _mm512_set1_ps(f->b), v);
}

TARGET static void binary(uint8_t *y, const uint8_t *a, const uint8_t *b, const uint32_t *steps,
                          size_t n, const byte_binary *q)
{
    const factors f = find_factors(q);
    const __m512 low = _mm512_set1_ps((float)(q->finish.low - q->finish.zero));
    const __m512 high = _mm512_set1_ps((float)(q->finish.high - q->finish.zero));
    const __m512i zero = _mm512_set1_epi32(q->finish.zero);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 some = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xffff;
        const __m512 v = join(load(a + i * steps[0], steps[0], some, q->a_flip),
                              load(b + i * steps[1], steps[1], some, q->b_flip), q, &f);
        const __m512 nearest = _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT);
        const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(v, nearest));
        const __mmask16 close =
            _mm512_mask_cmp_ps_mask(some, distance, _mm512_set1_ps(f.certain), _CMP_NLT_UQ);
        const __m512 within = _mm512_min_ps(_mm512_max_ps(nearest, low), high);
        uint8_t kept[16];
        for (unsigned left = close, k = 0; left; left &= left - 1, k++) { /* y may be a */
            const size_t at = i + (size_t)__builtin_ctz(left);
            kept[k] =
                byte_binary_exact(a[at * steps[0]] ^ q->a_flip, b[at * steps[1]] ^ q->b_flip, q);
        }
        _mm512_mask_cvtepi32_storeu_epi8(y + i, some,
                                         _mm512_add_epi32(_mm512_cvtps_epi32(within), zero));
        for (unsigned left = close, k = 0; left; left &= left - 1, k++)
            y[i + (size_t)__builtin_ctz(left)] = kept[k];
    }
}
#define BINARY binary
#define SET byte_loops_avx512
#include "kernels/byte_loops.inc"
#endif

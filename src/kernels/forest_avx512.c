/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of tree ensembles, AVX-512. */
#include "kernels/forest.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#define BITS __m512i
#define SPREAD_BITS(n) _mm512_set1_epi32((int)(n))
#define STORE_BITS(p, v) _mm512_storeu_si512(p, v)
/* The predicate must be a constant. */
#define FAILS(x, split, missing)                          \
    ((missing) ? _mm512_cmp_ps_mask(x, split, _CMP_GT_OQ) \
               : _mm512_cmp_ps_mask(x, split, _CMP_NLE_UQ))
#define CLEAR(left, x, split, clears, missing) \
    _mm512_mask_andnot_epi32(left, FAILS(x, split, missing), clears, left)

/* The number of the lowest bit, from `base` on, or `other` if there is none. It is the exponent of
 * that bit as a float. */
TARGET static inline __m512i first_bit(__m512i left, __m512i other, uint32_t base)
{
    const __m512i low = _mm512_and_si512(left, _mm512_sub_epi32(_mm512_setzero_si512(), left));
    const __m512i bits = _mm512_castps_si512(_mm512_cvtepi32_ps(low));
    const __m512i n = _mm512_and_si512(
        _mm512_add_epi32(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(1)), SPREAD_BITS(31));
    return _mm512_mask_add_epi32(other, _mm512_test_epi32_mask(left, left), n, SPREAD_BITS(base));
}
#define FIRST(left, other, base) first_bit(left, other, base)

#include "kernels/forest_sweep.inc"

TARGET static inline __m512 values_of(const float *values, __m512i exits, bool one)
{
    if (!one) return _mm512_i32gather_ps(exits, values, sizeof(float));
    return _mm512_permutex2var_ps(LOAD(values), exits, LOAD(values + LANES));
}

TARGET static void forest_add(double *y, const float *values, const uint32_t *exits, size_t words,
                              size_t rows)
{
    for (size_t i = 0; i < rows; i += LANES) {
        const __m512 v = values_of(values, _mm512_loadu_si512(exits + i), words == 1);
        const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
        const __m512d a = _mm512_cvtps_pd(_mm512_castps512_ps256(v)), b = _mm512_cvtps_pd(high);
        _mm512_storeu_pd(y + i, _mm512_add_pd(_mm512_loadu_pd(y + i), a));
        _mm512_storeu_pd(y + i + 8, _mm512_add_pd(_mm512_loadu_pd(y + i + 8), b));
    }
}

/* Features of a row; up to 32 are in two registers. */
typedef struct row_features {
    const float *x;
    __m512 low, high;
    bool few;
} row_features;

TARGET static inline __m512 features_at(const row_features *f, __m512i at)
{
    return f->few ? _mm512_permutex2var_ps(f->low, at, f->high)
                  : _mm512_i32gather_ps(at, f->x, sizeof(float));
}

TARGET static inline __m512i clear_lanes(__m512i left, const forest_lanes *t, size_t count,
                                         const row_features *f, bool missing)
{
    for (size_t i = 0; i < count; i++) {
        const __m512 x = features_at(f, _mm512_loadu_si512(t[i].column));
        left = CLEAR(left, x, LOAD(t[i].split), _mm512_loadu_si512(t[i].clears), missing);
    }
    return left;
}

TARGET static void forest_bits(uint32_t *bits, const forest_view *v, size_t group, const float *x)
{
    const size_t count = v->p->width;
    const forest_word *g = &v->groups[group];
    const forest_lanes *t = v->lanes + g->first;
    row_features f = {.x = x, .few = count <= 2 * LANES, .low = ZERO(), .high = ZERO()};
    if (f.few) {
        const uint32_t some = (uint32_t)((UINT64_C(1) << count) - 1);
        f.low = _mm512_maskz_loadu_ps((__mmask16)some, x);
        if (some >> LANES) f.high = _mm512_maskz_loadu_ps((__mmask16)(some >> LANES), x + LANES);
    }
    __m512i left = SPREAD_BITS(UINT32_MAX);
    left = clear_lanes(left, t, g->plain, &f, false);
    left = clear_lanes(left, t + g->plain, g->missing, &f, true);
    STORE_BITS(bits, left);
}

const forest_loops forest_loops_avx512 = {forest_find, forest_add, forest_bits};
#endif

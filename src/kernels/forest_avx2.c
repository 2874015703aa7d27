/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of tree ensembles, AVX2. */
#include "kernels/forest.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

#define BITS __m256i
#define SPREAD_BITS(n) _mm256_set1_epi32((int)(n))
#define STORE_BITS(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define LOAD_BITS(p) _mm256_loadu_si256((const __m256i *)(p))
/* The predicate must be a constant. */
#define FAILS(x, split, missing)                                        \
    _mm256_castps_si256((missing) ? _mm256_cmp_ps(x, split, _CMP_GT_OQ) \
                                  : _mm256_cmp_ps(x, split, _CMP_NLE_UQ))
#define CLEAR(left, x, split, clears, missing) \
    _mm256_andnot_si256(_mm256_and_si256(FAILS(x, split, missing), clears), left)

/* The number of the lowest bit, from `base` on, or `other` if there is none. It is the exponent of
 * that bit as a float. */
TARGET static inline __m256i first_bit(__m256i left, __m256i other, uint32_t base)
{
    const __m256i none = _mm256_cmpeq_epi32(left, _mm256_setzero_si256());
    const __m256i low = _mm256_and_si256(left, _mm256_sub_epi32(_mm256_setzero_si256(), left));
    const __m256i bits = _mm256_castps_si256(_mm256_cvtepi32_ps(low));
    const __m256i n = _mm256_and_si256(
        _mm256_add_epi32(_mm256_srli_epi32(bits, 23), SPREAD_BITS(1)), SPREAD_BITS(31));
    return _mm256_blendv_epi8(_mm256_add_epi32(n, SPREAD_BITS(base)), other, none);
}
#define FIRST(left, other, base) first_bit(left, other, base)

#include "kernels/forest_sweep.inc"

TARGET static void forest_add(double *y, const float *values, const uint32_t *exits, size_t words,
                              size_t rows)
{
    (void)words;
    for (size_t i = 0; i < rows; i += LANES) {
        const __m256 v = _mm256_i32gather_ps(values, LOAD_BITS(exits + i), sizeof(float));
        const __m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
        const __m256d b = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
        _mm256_storeu_pd(y + i, _mm256_add_pd(_mm256_loadu_pd(y + i), a));
        _mm256_storeu_pd(y + i + 4, _mm256_add_pd(_mm256_loadu_pd(y + i + 4), b));
    }
}

TARGET static inline __m256i clear_lanes(__m256i left, const forest_lanes *t, size_t count,
                                         size_t half, const float *x, bool missing)
{
    for (size_t i = 0; i < count; i++) {
        const __m256 f = _mm256_i32gather_ps(x, LOAD_BITS(t[i].column + half), sizeof(float));
        left = CLEAR(left, f, LOAD(t[i].split + half), LOAD_BITS(t[i].clears + half), missing);
    }
    return left;
}

TARGET static void forest_bits(uint32_t *bits, const forest_view *v, size_t group, const float *x)
{
    const forest_word *g = &v->groups[group];
    const forest_lanes *t = v->lanes + g->first;
    for (size_t half = 0; half < FOREST_GROUP; half += LANES) {
        __m256i left = SPREAD_BITS(UINT32_MAX);
        left = clear_lanes(left, t, g->plain, half, x, false);
        left = clear_lanes(left, t + g->plain, g->missing, half, x, true);
        STORE_BITS(bits + half, left);
    }
}

const forest_loops forest_loops_avx2 = {forest_find, forest_add, forest_bits};
#endif

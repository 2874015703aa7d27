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

#define BOTH(bits, mask) _mm256_and_si256(bits, _mm256_castps_si256(_mm256_broadcast_ss(mask)))
#define EITHER(a, b) _mm256_or_si256(a, b)
#define CLEAR_UNLESS(left, hits, clears) \
    _mm256_andnot_si256(                 \
        _mm256_and_si256(_mm256_cmpeq_epi32(hits, _mm256_setzero_si256()), clears), left)

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

/* forest_place_of each number. What the conversion cannot hold becomes negative. */
TARGET static inline __m256i places_of(__m256 x)
{
    const __m256i k = _mm256_cvttps_epi32(x);
    const __m256i equal = _mm256_castps_si256(_mm256_cmp_ps(_mm256_cvtepi32_ps(k), x, _CMP_EQ_OQ));
    const __m256i number = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_ORD_Q));
    const __m256i whole = _mm256_and_si256(equal, _mm256_cmpgt_epi32(k, SPREAD_BITS(-1)));
    const __m256i nowhere = _mm256_and_si256(number, SPREAD_BITS(FOREST_NOWHERE));
    return _mm256_blendv_epi8(nowhere, _mm256_add_epi32(k, SPREAD_BITS(1)), whole);
}

TARGET static inline __m256i place_bits(__m256i place, uint32_t segment)
{
    const __m256i here = _mm256_cmpeq_epi32(_mm256_srli_epi32(place, 5), SPREAD_BITS(segment));
    const __m256i bit = _mm256_and_si256(place, SPREAD_BITS(31));
    return _mm256_and_si256(here, _mm256_sllv_epi32(SPREAD_BITS(1), bit));
}

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

TARGET static void forest_add_wide(double *y, const double *values, const uint32_t *exits,
                                   size_t words, size_t rows)
{
    (void)words;
    for (size_t i = 0; i < rows; i += 4) {
        const __m128i at = _mm_loadu_si128((const __m128i *)(exits + i));
        const __m256d v = _mm256_i32gather_pd(values, at, sizeof(double));
        _mm256_storeu_pd(y + i, _mm256_add_pd(_mm256_loadu_pd(y + i), v));
    }
}

/* Few splits are counted, more are searched. */
TARGET static void forest_rank(float *to, const double *splits, size_t count, const double *x,
                               size_t rows)
{
    for (size_t i = 0; i < rows; i += 4) {
        const __m256d own = _mm256_loadu_pd(x + i);
        __m256i at = _mm256_setzero_si256();
        for (size_t k = 0; count < 32 && k < count; k++) {
            const __m256d less = _mm256_cmp_pd(_mm256_broadcast_sd(splits + k), own, _CMP_LT_OQ);
            at = _mm256_sub_epi64(at, _mm256_castpd_si256(less));
        }
        for (size_t half = count < 32 ? 0 : (count + 1) / 2; half; half /= 2) {
            const __m256d split = _mm256_i64gather_pd(splits + half - 1, at, sizeof(double));
            const __m256i less = _mm256_castpd_si256(_mm256_cmp_pd(split, own, _CMP_LT_OQ));
            const __m256i more = _mm256_set1_epi64x((long long)half);
            at = _mm256_add_epi64(at, _mm256_and_si256(less, more));
        }
        const __m256i low =
            _mm256_permutevar8x32_epi32(at, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
        const __m128 ranks = _mm_cvtepi32_ps(_mm256_castsi256_si128(low)), f = _mm256_cvtpd_ps(own);
        _mm_storeu_ps(to + i, _mm_blendv_ps(ranks, f, _mm_cmpunord_ps(f, f)));
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

TARGET static void forest_bits(uint32_t *bits, const forest_view *v, size_t group, const float *x,
                               const uint32_t *chosen)
{
    const forest_word *g = &v->groups[group];
    const uint32_t *counts = g->counts;
    for (size_t half = 0; half < FOREST_GROUP; half += LANES) {
        const forest_lanes *t = v->lanes + g->first;
        __m256i left = SPREAD_BITS(UINT32_MAX);
        for (size_t i = 0; i < v->p->choices; i++)
            left = _mm256_and_si256(
                left, LOAD_BITS(v->choice_words + chosen[i] + group * FOREST_GROUP + half));
        left = clear_lanes(left, t, counts[FOREST_PLAIN], half, x, false);
        t += counts[FOREST_PLAIN];
        left = clear_lanes(left, t, counts[FOREST_MISSING], half, x, true);
        STORE_BITS(bits + half, left);
    }
}

const forest_loops forest_loops_avx2 = {.find = forest_find,
                                        .add = forest_add,
                                        .places = forest_places,
                                        .spread = forest_spread,
                                        .add_wide = forest_add_wide,
                                        .rank = forest_rank,
                                        .rank_row = forest_rank_row,
                                        .bits = forest_bits};
#endif

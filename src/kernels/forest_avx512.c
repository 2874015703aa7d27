/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of tree ensembles, AVX-512. */
#include <math.h>

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

#define LOAD_BITS(p) _mm512_loadu_si512(p)
#define BOTH(bits, mask) _mm512_and_si512(bits, _mm512_castps_si512(_mm512_set1_ps(*(mask))))
#define EITHER(a, b) _mm512_or_si512(a, b)
#define CLEAR_UNLESS(left, hits, clears) \
    _mm512_mask_andnot_epi32(left, _mm512_testn_epi32_mask(hits, hits), clears, left)

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

/* forest_place_of each number. What the conversion cannot hold becomes negative. */
TARGET static inline __m512i places_of(__m512 x)
{
    const __m512i k = _mm512_cvttps_epi32(x), zero = _mm512_setzero_si512();
    const __mmask16 number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
    const __mmask16 whole = _mm512_mask_cmp_ps_mask(_mm512_cmpge_epi32_mask(k, zero),
                                                    _mm512_cvtepi32_ps(k), x, _CMP_EQ_OQ);
    const __m512i nowhere = _mm512_maskz_mov_epi32(number, SPREAD_BITS(FOREST_NOWHERE));
    return _mm512_mask_add_epi32(nowhere, whole, k, _mm512_set1_epi32(1));
}

TARGET static inline __m512i place_bits(__m512i place, uint32_t segment)
{
    const __mmask16 here =
        _mm512_cmpeq_epi32_mask(_mm512_srli_epi32(place, 5), SPREAD_BITS(segment));
    const __m512i bit = _mm512_and_si512(place, SPREAD_BITS(31));
    return _mm512_maskz_sllv_epi32(here, _mm512_set1_epi32(1), bit);
}

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

/* Eight of the 32 numbers of a word. */
TARGET static inline __m512d pick_wide(const double *values, __m512i exits)
{
    const __m512d low =
        _mm512_permutex2var_pd(_mm512_loadu_pd(values), exits, _mm512_loadu_pd(values + 8));
    const __m512d high =
        _mm512_permutex2var_pd(_mm512_loadu_pd(values + 16), exits, _mm512_loadu_pd(values + 24));
    const __mmask8 second = _mm512_test_epi64_mask(exits, _mm512_set1_epi64(16));
    return _mm512_mask_mov_pd(low, second, high);
}

TARGET static void forest_add_wide(double *y, const double *values, const uint32_t *exits,
                                   size_t words, size_t rows)
{
    for (size_t i = 0; i < rows; i += 8) {
        const __m256i at = _mm256_loadu_si256((const __m256i *)(exits + i));
        const __m512d v = words == 1 ? pick_wide(values, _mm512_cvtepu32_epi64(at))
                                     : _mm512_i32gather_pd(at, values, sizeof(double));
        _mm512_storeu_pd(y + i, _mm512_add_pd(_mm512_loadu_pd(y + i), v));
    }
}

/* ---- Ranks ---------------------------------------------------------------------------------- */

/* The upper four levels of a binary search are a table in two registers. */
typedef struct pivots {
    __m512d low, high;
    size_t half, step; /* the first half of a search in the table; splits for each of its entries */
} pivots;

TARGET static inline pivots pivots_of(const double *splits, size_t count)
{
    const size_t shown = count < 15 ? count : 15, step = (count + 1) / (shown + 1);
    double own[16];
    for (size_t i = 0; i < 16; i++) own[i] = i < shown ? splits[(i + 1) * step - 1] : INFINITY;
    return (pivots){_mm512_loadu_pd(own), _mm512_loadu_pd(own + 8), (shown + 1) / 2, step};
}

/* Adds `half` to the places that are behind more than it. */
TARGET static inline __m512i search_step(__m512i at, __m512d split, __m512d x, size_t half)
{
    const __mmask8 less = _mm512_cmp_pd_mask(split, x, _CMP_LT_OQ);
    return _mm512_mask_add_epi64(at, less, at, _mm512_set1_epi64((long long)half));
}

TARGET static inline void store_ranks(float *to, __m512i at, __m512d x, __mmask16 which)
{
    const __m256 ranks = _mm256_cvtepi32_ps(_mm512_cvtepi64_epi32(at)), f = _mm512_cvtpd_ps(x);
    const __m256 both = _mm256_blendv_ps(ranks, f, _mm256_cmp_ps(f, f, _CMP_UNORD_Q));
    _mm512_mask_storeu_ps(to, which, _mm512_castps256_ps512(both));
}

INLINE void rank_some(float *to, const pivots *p, const double *splits, const double *x,
                      size_t vectors)
{
    __m512i at[8];
    __m512d own[8];
    UNROLL(8)
    for (size_t i = 0; i < vectors; i++) {
        own[i] = _mm512_loadu_pd(x + i * 8);
        at[i] = _mm512_setzero_si512();
    }
    for (size_t half = p->half; half; half /= 2) {
        const __m512i down = _mm512_set1_epi64((long long)half - 1);
        UNROLL(8)
        for (size_t i = 0; i < vectors; i++) {
            const __m512i pivot = _mm512_add_epi64(at[i], down);
            const __m512d split = _mm512_permutex2var_pd(p->low, pivot, p->high);
            at[i] = search_step(at[i], split, own[i], half);
        }
    }
    if (p->step > 1) {
        const __m128i shift = _mm_cvtsi64_si128(__builtin_ctzll(p->step));
        for (size_t i = 0; i < vectors; i++) at[i] = _mm512_sll_epi64(at[i], shift);
    }
    for (size_t half = p->step / 2; half; half /= 2) UNROLL(8)
    for (size_t i = 0; i < vectors; i++) {
        const __m512d split = _mm512_i64gather_pd(at[i], splits + half - 1, sizeof(double));
        at[i] = search_step(at[i], split, own[i], half);
    }
    UNROLL(8)
    for (size_t i = 0; i < vectors; i++) store_ranks(to + i * 8, at[i], own[i], 0xFF);
}

TARGET static void forest_rank(float *to, const double *splits, size_t count, const double *x,
                               size_t rows)
{
    const pivots p = pivots_of(splits, count);
    if (rows == FOREST_ROWS) {
        rank_some(to, &p, splits, x, FOREST_ROWS / 8);
        return;
    }
    for (size_t i = 0; i < rows; i += FOREST_GROUP)
        rank_some(to + i, &p, splits, x + i, FOREST_GROUP / 8);
}

/* Searches of 32 features at once, as each step waits for memory. */
TARGET static void rank_row(float *to, const forest_view *v, size_t column, const double *x,
                            size_t count)
{
    enum { MANY = 4 };
    for (size_t done = 0; done < count; done += MANY * 8) {
        __m512i first[MANY], at[MANY], half[MANY];
        __m512d own[MANY];
        __mmask8 which[MANY], any = 0;
        UNROLL(4)
        for (size_t i = 0; i < MANY; i++) {
            const size_t from = done + i * 8, left = count > from ? count - from : 0;
            const uint32_t *at_first = v->pick_first + column + (left ? from : 0);
            which[i] = left < 8 ? (__mmask8)((1u << left) - 1) : 0xFF;
            const __m512i begin = _mm512_maskz_loadu_epi32(which[i], at_first);
            const __m512i end = _mm512_maskz_loadu_epi32(which[i], at_first + 1);
            first[i] = at[i] = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(begin));
            const __m512i last = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(end));
            const __m512i size = _mm512_sub_epi64(last, first[i]);
            half[i] = _mm512_srli_epi64(_mm512_add_epi64(size, _mm512_set1_epi64(1)), 1);
            own[i] = _mm512_maskz_loadu_pd(which[i], x + (left ? from : 0));
            any |= _mm512_test_epi64_mask(half[i], half[i]);
        }
        while (any) {
            any = 0;
            UNROLL(4)
            for (size_t i = 0; i < MANY; i++) {
                const __mmask8 some = _mm512_test_epi64_mask(half[i], half[i]);
                const __m512i place = _mm512_add_epi64(at[i], half[i]);
                const __m512d split =
                    _mm512_mask_i64gather_pd(own[i], some, place, v->splits - 1, sizeof(double));
                at[i] = _mm512_mask_mov_epi64(
                    at[i], _mm512_mask_cmp_pd_mask(some, split, own[i], _CMP_LT_OQ), place);
                half[i] = _mm512_srli_epi64(half[i], 1);
                any |= _mm512_test_epi64_mask(half[i], half[i]);
            }
        }
        UNROLL(4)
        for (size_t i = 0; i < MANY; i++)
            if (which[i])
                store_ranks(to + done + i * 8, _mm512_sub_epi64(at[i], first[i]), own[i], which[i]);
    }
}

/* ---- One row -------------------------------------------------------------------------------- */

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

TARGET static inline row_features features_of(const float *x, size_t count)
{
    row_features f = {.x = x, .few = count <= 2 * LANES, .low = ZERO(), .high = ZERO()};
    if (!f.few) return f;
    const uint32_t some = (uint32_t)((UINT64_C(1) << count) - 1);
    f.low = _mm512_maskz_loadu_ps((__mmask16)some, x);
    if (some >> LANES) f.high = _mm512_maskz_loadu_ps((__mmask16)(some >> LANES), x + LANES);
    return f;
}

TARGET static void forest_bits(uint32_t *bits, const forest_view *v, size_t group, const float *x,
                               const uint32_t *chosen)
{
    const forest_word *g = &v->groups[group];
    const uint32_t *counts = g->counts;
    const forest_lanes *t = v->lanes + g->first;
    const row_features f = features_of(x, v->p->width);
    __m512i left = SPREAD_BITS(UINT32_MAX);
    for (size_t i = 0; i < v->p->choices; i++) {
        const uint32_t *words = v->choice_words + chosen[i] + group * FOREST_GROUP;
        left = _mm512_and_si512(left, _mm512_loadu_si512(words));
    }
    left = clear_lanes(left, t, counts[FOREST_PLAIN], &f, false);
    t += counts[FOREST_PLAIN];
    left = clear_lanes(left, t, counts[FOREST_MISSING], &f, true);
    STORE_BITS(bits, left);
}

const forest_loops forest_loops_avx512 = {.find = forest_find,
                                          .add = forest_add,
                                          .places = forest_places,
                                          .spread = forest_spread,
                                          .add_wide = forest_add_wide,
                                          .rank = forest_rank,
                                          .rank_row = rank_row,
                                          .bits = forest_bits};
#endif

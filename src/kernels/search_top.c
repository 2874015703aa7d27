/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of elements are numbers of 64 bits, a key of the value above the index, or pairs if the
 * value itself has 64 bits. A heap holds the best k so far; vectors compare the other elements with
 * the one of them that ranks last. If k is a large part of the line, all of it is sorted. */
#include "kernels/search_top.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/target_avx512.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#pragma GCC diagnostic ignored "-Wtautological-compare" /* x != x finds NaN, and no whole number */

/* FEW: so many ranks are sorted by insertion. Lines up to SHORT are searched MOST_PASSES times. */
enum { FEW = 96, DIGITS = 8, VALUES = 256, SHORT = 256, MOST_PASSES = 8 };

typedef struct pair {
    uint64_t key, index;
} pair;

uint64_t search_top_bytes(uint64_t n, uint64_t k)
{
    (void)k;
    return extent_mul(n, 2 * sizeof(uint64_t));
}

/* ---- Ranks ---------------------------------------------------------------------------------- */

static inline uint64_t rank_f32(const float *x, size_t i, bool smallest)
{
    const float v = x[i] + 0.0f; /* -0 becomes 0, so that both rank alike */
    uint32_t bits;
    if (isnan(v)) return i;
    memcpy(&bits, &v, sizeof bits);
    const uint32_t key = bits >> 31 ? ~bits : bits | 0x80000000u;
    return (uint64_t)(smallest ? key : ~key) << 32 | i;
}

static inline uint64_t rank_i32(const int32_t *x, size_t i, bool smallest)
{
    const uint32_t key = (uint32_t)x[i] ^ 0x80000000u;
    return (uint64_t)(smallest ? key : ~key) << 32 | i;
}

static inline pair rank_i64(const int64_t *x, size_t i, bool smallest)
{
    const uint64_t key = (uint64_t)x[i] ^ UINT64_C(1) << 63;
    return (pair){smallest ? key : ~key, i};
}

#define BEFORE_WORD(a, b) ((a) < (b))
#define BEFORE_PAIR(a, b) ((a).key != (b).key ? (a).key < (b).key : (a).index < (b).index)
#define INDEX_WORD(r) ((r)&UINT32_MAX)
#define INDEX_PAIR(r) ((r).index)

/* ---- Sorting -------------------------------------------------------------------------------- */

/* Sorts words by their bytes, the lowest first; bytes that are equal in all words are skipped. */
static void sort_words(uint64_t *words, size_t count, uint64_t *other)
{
    uint32_t counts[DIGITS][VALUES] = {0};
    uint64_t *from = words, *to = other;
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < DIGITS; d++) counts[d][words[i] >> 8 * d & 255]++;
    for (size_t d = 0; d < DIGITS; d++) {
        uint32_t sum = 0;
        if (counts[d][words[0] >> 8 * d & 255] == count) continue;
        for (size_t v = 0; v < VALUES; v++) {
            const uint32_t some = counts[d][v];
            counts[d][v] = sum;
            sum += some;
        }
        for (size_t i = 0; i < count; i++) to[counts[d][from[i] >> 8 * d & 255]++] = from[i];
        uint64_t *const kept = from;
        from = to;
        to = kept;
    }
    if (from != words) memcpy(words, from, count * sizeof *words);
}

/* Sorts few words. */
static void insert_words(uint64_t *words, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint64_t word = words[i];
        size_t at = i;
        for (; at > 0 && word < words[at - 1]; at--) words[at] = words[at - 1];
        words[at] = word;
    }
}

/* ---- Heaps ---------------------------------------------------------------------------------- */

#define RANK uint64_t
#define BEFORE BEFORE_WORD
#define INDEX_OF INDEX_WORD
#define T float
#define RANK_OF rank_f32
#define NAME(x) x##_f32
#include "kernels/search_top.inc"
#undef T
#undef RANK_OF
#undef NAME
#define T int32_t
#define RANK_OF rank_i32
#define NAME(x) x##_i32
#include "kernels/search_top.inc"
#undef T
#undef RANK_OF
#undef NAME
#undef RANK
#undef BEFORE
#undef INDEX_OF
#define RANK pair
#define BEFORE BEFORE_PAIR
#define INDEX_OF INDEX_PAIR
#define T int64_t
#define RANK_OF rank_i64
#define NAME(x) x##_i64
#include "kernels/search_top.inc"

/* Sorts a heap. */
static void sort_pairs(pair *heap, size_t count)
{
    for (size_t n = count; n-- > 1 && !cancel_requested();) {
        const pair kept = heap[0];
        heap[0] = heap[n];
        heap[n] = kept;
        sift_i64(heap, n, 0);
    }
}

/* ---- Few of few ----------------------------------------------------------------------------- */

/* Each pass finds the first rank behind the one before it. Faster than a heap with vectors of
 * unsigned words, which AVX-512 has. */
#if defined(__x86_64__)
/* Writes the ranks of 16 elements, of which those in `some` exist; others rank behind all. */
TARGET_AVX512 static inline void rank_some(uint64_t *words, __m512 x, __mmask16 some, __m512i turn,
                                           __m512i at)
{
    const __m512 v = _mm512_add_ps(x, _mm512_setzero_ps());
    const __m512i bits = _mm512_castps_si512(v), sign = _mm512_srai_epi32(bits, 31);
    const __m512i mask = _mm512_or_si512(sign, _mm512_set1_epi32(INT32_MIN));
    const __mmask16 numbers = _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q);
    __m512i key = _mm512_xor_si512(_mm512_xor_si512(bits, mask), turn);
    key = _mm512_mask_mov_epi32(_mm512_maskz_mov_epi32(numbers, key), (__mmask16)~some,
                                _mm512_set1_epi32(-1));
    for (int half = 0; half < 2; half++) {
        const __m256i k = half ? _mm512_extracti64x4_epi64(key, 1) : _mm512_castsi512_si256(key);
        const __m256i i = half ? _mm512_extracti64x4_epi64(at, 1) : _mm512_castsi512_si256(at);
        _mm512_storeu_si512(words + 8 * half,
                            _mm512_or_si512(_mm512_slli_epi64(_mm512_cvtepu32_epi64(k), 32),
                                            _mm512_cvtepu32_epi64(i)));
    }
}

TARGET_AVX512 static void find_few_f32(int64_t *indices, const float *x, size_t n, size_t k,
                                       bool smallest)
{
    uint64_t words[SHORT];
    const __m512i turn = _mm512_set1_epi32(smallest ? 0 : -1), step = _mm512_set1_epi32(16);
    __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const size_t end = (n + 15) / 16 * 16;
    for (size_t i = 0; i < end; i += 16, at = _mm512_add_epi32(at, step)) {
        const __mmask16 some = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xffff;
        rank_some(words + i, _mm512_maskz_loadu_ps(some, x + i), some, turn, at);
    }
    uint64_t beyond = 0; /* ranks from here on are left */
    for (size_t j = 0; j < k; j++) {
        const __m512i least = _mm512_set1_epi64((int64_t)beyond);
        __m512i a = _mm512_set1_epi64(-1), b = a;
        for (size_t i = 0; i < end; i += 16) {
            const __m512i v = _mm512_loadu_si512(words + i), w = _mm512_loadu_si512(words + i + 8);
            a = _mm512_mask_min_epu64(a, _mm512_cmpge_epu64_mask(v, least), a, v);
            b = _mm512_mask_min_epu64(b, _mm512_cmpge_epu64_mask(w, least), b, w);
        }
        const uint64_t best = _mm512_reduce_min_epu64(_mm512_min_epu64(a, b));
        indices[j] = (int64_t)INDEX_WORD(best);
        beyond = best + 1;
    }
}
#endif

/* ---- Lines ---------------------------------------------------------------------------------- */

/* The words of a whole line, sorted. */
static void sort_line(uint64_t *words, search_type type, const void *x, size_t n, bool smallest)
{
    if (type == SEARCH_F32)
        for (size_t i = 0; i < n; i++) words[i] = rank_f32(x, i, smallest);
    else
        for (size_t i = 0; i < n; i++) words[i] = rank_i32(x, i, smallest);
    sort_words(words, n, words + n);
}

void search_top_indices(int64_t *indices, search_type type, cpu_level level, const void *x,
                        size_t n, size_t k, bool smallest, void *scratch)
{
    const search_loops *loops = search_loops_of(type, level);
    uint64_t *words = scratch;
#if defined(__x86_64__)
    if (type == SEARCH_F32 && level >= CPU_AVX512 && n <= SHORT && k <= MOST_PASSES) {
        find_few_f32(indices, x, n, k, smallest);
        return;
    }
#endif
    if (type == SEARCH_I64) {
        pair *pairs = scratch;
        find_i64(pairs, loops, x, n, k, smallest);
        sort_pairs(pairs, k);
        for (size_t i = 0; i < k; i++) indices[i] = (int64_t)pairs[i].index;
        return;
    }
    if (k > FEW && k > n / 4) {
        sort_line(words, type, x, n, smallest);
    } else {
        if (type == SEARCH_F32)
            find_f32(words, loops, x, n, k, smallest);
        else
            find_i32(words, loops, x, n, k, smallest);
        if (k > FEW)
            sort_words(words, k, words + k);
        else
            insert_words(words, k);
    }
    for (size_t i = 0; i < k; i++) indices[i] = (int64_t)INDEX_WORD(words[i]);
}

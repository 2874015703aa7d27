/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of conv_plane.h, AVX2 and FMA. */
#include "kernels/conv_plane.h"

#if defined(__x86_64__)
#include "kernels/unroll.h"
#include "kernels/vector_avx2.h"

#include "kernels/conv_end.inc"

#define PLANE_INLINE SPECIAL_INLINE
/* Four rows by two vectors of sums leave registers for a row of the input. */
#define PLANE_WIDTH 2
enum { MOST_PAIRS = 4 };

/* With stride 1, of the vectors of a row; with stride 2, of the sixteen columns of which each two
 * taps multiply the even and the odd ones. */
typedef struct plane_masks {
    __m256i line[PLANE_WIDTH + 1], low[MOST_PAIRS][PLANE_WIDTH], high[MOST_PAIRS][PLANE_WIDTH];
} plane_masks;

/* A row of the input. cross: the upper half of a vector and the lower half of the next. */
typedef struct plane_line {
    VEC line[PLANE_WIDTH + 1], cross[PLANE_WIDTH];
    const float *x;
    const plane_masks *masks; /* NULL: all columns are inside the image */
} plane_line;

/* Which of the eight columns from `at` on are inside the image. */
TARGET PLANE_INLINE __m256i plane_inside(const conv_plane_columns *columns, size_t at)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i column = _mm256_add_epi32(lane, _mm256_set1_epi32((int)at));
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(columns->from), column),
                               _mm256_cmpgt_epi32(_mm256_set1_epi32(columns->to), column));
}

TARGET PLANE_INLINE void plane_find_masks(plane_masks *m, const conv_plane_columns *columns,
                                          const size_t taps, const size_t stride,
                                          const size_t width)
{
    if (stride == 1) {
        UNROLL(3)
        for (size_t j = 0; j <= width; j++) m->line[j] = plane_inside(columns, j * LANES);
        return;
    }
    UNROLL(4)
    for (size_t i = 0; 2 * i < taps; i++) {
        UNROLL(2)
        for (size_t j = 0; j < width; j++) {
            m->low[i][j] = plane_inside(columns, 2 * (j * LANES + i));
            m->high[i][j] = plane_inside(columns, 2 * (j * LANES + i) + LANES);
        }
    }
}

TARGET PLANE_INLINE VEC plane_read(const float *p, const __m256i *mask)
{
    return mask ? _mm256_maskload_ps(p, *mask) : LOAD(p);
}

TARGET PLANE_INLINE void plane_load(plane_line *line, const float *x, const plane_masks *m,
                                    const size_t stride, const size_t width)
{
    line->x = x;
    line->masks = m;
    if (stride == 2) return;
    UNROLL(3)
    for (size_t j = 0; j <= width; j++)
        line->line[j] = plane_read(x + j * LANES, m ? &m->line[j] : NULL);
    UNROLL(2)
    for (size_t j = 0; j < width; j++)
        line->cross[j] = _mm256_permute2f128_ps(line->line[j], line->line[j + 1], 0x21);
}

/* The low (0) or the high (1) eight of sixteen columns for taps 2i and 2i + 1 of vector j. */
TARGET PLANE_INLINE VEC plane_half(const plane_line *line, size_t i, size_t j, int half)
{
    const plane_masks *m = line->masks;
    return plane_read(line->x + 2 * (j * LANES + i) + (half ? LANES : 0), !m     ? NULL
                                                                          : half ? &m->high[i][j]
                                                                                 : &m->low[i][j]);
}

/* Lanes k to k + 3 of two vectors, in both halves. */
#define ALIGN(high, low, k) \
    _mm256_castsi256_ps(    \
        _mm256_alignr_epi8(_mm256_castps_si256(high), _mm256_castps_si256(low), (k) % 4 * 4))
/* Lanes k to k + 7 of vector j of a row and the next. */
#define SHIFT_LINE(j, k)                                  \
    ((k) == 0   ? line->line[j]                           \
     : (k) < 4  ? ALIGN(line->cross[j], line->line[j], k) \
     : (k) == 4 ? line->cross[j]                          \
                : ALIGN(line->line[(j) + 1], line->cross[j], k))
/* Every second of sixteen columns, in the order 0 1 4 5 2 3 6 7: PLANE_RESULT restores it. */
#define EVERY_SECOND(j, k)                                                              \
    _mm256_shuffle_ps(plane_half(line, (k) / 2, j, 0), plane_half(line, (k) / 2, j, 1), \
                      (k) % 2 ? 0xdd : 0x88)
#define PLANE_TAP(j, k) \
    (stride == 2 ? EVERY_SECOND(j, k) : dilation == 2 ? SHIFT_LINE(j, 2 * (k)) : SHIFT_LINE(j, k))
#define PLANE_RESULT(v) \
    (stride == 2 ? _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8)) : (v))

TARGET PLANE_INLINE VEC plane_load_first(const float *p, size_t count)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    if (count == LANES) return LOAD(p);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lane));
}

/* Stores under masks take dozens of cycles on some processors. */
TARGET PLANE_INLINE void plane_store_first(float *p, VEC v, size_t count)
{
    if (count == LANES) {
        STORE(p, v);
        return;
    }
    __m128 some = _mm256_castps256_ps128(v);
    if (count & 4) {
        _mm_storeu_ps(p, some);
        some = _mm256_extractf128_ps(v, 1);
        p += 4;
    }
    if (count & 2) {
        _mm_storel_pi((__m64 *)p, some);
        some = _mm_movehl_ps(some, some);
        p += 2;
    }
    if (count & 1) _mm_store_ss(p, some);
}

#define PLANE_LOAD_FIRST(p, n) plane_load_first(p, n)
#define PLANE_STORE_FIRST(p, v, n) plane_store_first(p, v, n)
#define PLANE_LOADS_WHOLE 1
#define PLANE_COSTS .narrow = true, .call = 20, .load = {7, 14}, .lone = 1.3
#define PLANE_SET conv_plane_avx2
#include "kernels/conv_plane_loops.inc"
#endif

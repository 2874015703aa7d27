/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of conv_plane.h, AVX-512. */
#include "kernels/conv_plane.h"

#if defined(__x86_64__)
#include "kernels/unroll.h"
#include "kernels/vector_avx512.h"

#include "kernels/conv_end.inc"

#define PLANE_INLINE static inline __attribute__((always_inline))

/* Lanes k to k + 15 of two vectors. */
#define SHIFT(high, low, k) \
    _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(high), _mm512_castps_si512(low), k))
#define SHIFT_LINE(part, j, k) \
    ((k) == 0 ? line[part][j] : SHIFT(line[part][(j) + 1], line[part][j], (k) % 16))
/* What tap k multiplies for vector j of the outputs. */
#define TAP_LINE(j, k)                                 \
    (stride == 2     ? SHIFT_LINE((k) % 2, j, (k) / 2) \
     : dilation == 2 ? SHIFT_LINE(0, j, 2 * (k))       \
                     : SHIFT_LINE(0, j, k))
/* Multiplies tap k of an input row, for output rows [from, to). */
#define TAP(k)                                                                            \
    if (k < columns) {                                                                    \
        VEC v[CONV_PLANE_WIDTH];                                                          \
        _Pragma("GCC unroll 4") for (size_t j = 0; j < width; j++) v[j] = TAP_LINE(j, k); \
        _Pragma("GCC unroll 4") for (size_t r = from; r < to; r++)                        \
        {                                                                                 \
            const VEC one = SPREAD(w + k - (ptrdiff_t)(r * stride * columns));            \
            _Pragma("GCC unroll 4") for (size_t j = 0; j < width; j++) acc[r][j] =        \
                MADD(one, v[j], acc[r][j]);                                               \
        }                                                                                 \
    }

TARGET PLANE_INLINE void plane_row(VEC acc[CONV_PLANE_ROWS][CONV_PLANE_WIDTH],
                                   VEC line[2][CONV_PLANE_WIDTH + 1], const float *w,
                                   const size_t columns, const size_t stride, const size_t dilation,
                                   const size_t width, const size_t from, const size_t to)
{
    TAP(0);
    TAP(1);
    TAP(2);
    TAP(3);
    TAP(4);
    TAP(5);
    TAP(6);
}

/* Loads a row; with stride 2, its even and odd columns. */
TARGET PLANE_INLINE void plane_load(VEC line[2][CONV_PLANE_WIDTH + 1], const float *x,
                                    const __mmask16 *loads, const size_t stride, const size_t width)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#pragma GCC unroll 5
    for (size_t j = 0; j <= width; j++) {
        const float *at = x + j * stride * LANES;
        const VEC low = _mm512_maskz_loadu_ps(loads[j * stride], at);
        if (stride == 1) {
            line[0][j] = low;
            continue;
        }
        const VEC high = _mm512_maskz_loadu_ps(loads[j * stride + 1], at + LANES);
        line[0][j] = _mm512_permutex2var_ps(low, even, high);
        line[1][j] = _mm512_permutex2var_ps(low, odd, high);
    }
}

/* Without `ends` there is neither a sum nor an activation. */
TARGET PLANE_INLINE void plane_store(const conv_plane_call *c,
                                     VEC acc[CONV_PLANE_ROWS][CONV_PLANE_WIDTH], const size_t width,
                                     const bool ends)
{
    const __mmask16 last = c->columns->last;
    const size_t rows = c->rows, step = c->y_step;
    float *y = c->y;
#pragma GCC unroll 4
    for (size_t r = 0; r < CONV_PLANE_ROWS; r++, y += step) {
        if (r == rows) break;
#pragma GCC unroll 4
        for (size_t j = 0; j < width; j++) {
            const __mmask16 mask = j + 1 < width ? 0xffff : last;
            VEC v = acc[r][j];
            if (ends && c->sum)
                v = ADD(v, _mm512_maskz_loadu_ps(mask, c->sum + r * step + j * LANES));
            if (ends) v = conv_end(v, c->activation, c->parameter);
            _mm512_mask_storeu_ps(y + j * LANES, mask, v);
        }
    }
}

#define ROW(from, to)                                                        \
    case CONV_PLANE_SPAN(from, to):                                          \
        plane_row(acc, line, w, columns, stride, dilation, width, from, to); \
        break;

TARGET PLANE_INLINE void plane_tile(const conv_plane_call *c, const size_t columns,
                                    const size_t stride, const size_t dilation, const size_t width)
{
    VEC acc[CONV_PLANE_ROWS][CONV_PLANE_WIDTH], line[2][CONV_PLANE_WIDTH + 1];
#pragma GCC unroll 4
    for (size_t r = 0; r < CONV_PLANE_ROWS; r++) {
#pragma GCC unroll 4
        for (size_t j = 0; j < width; j++) acc[r][j] = SPREAD(c->bias);
    }
    __mmask16 loads[CONV_PLANE_LOADS];
#pragma GCC unroll 10
    for (size_t i = 0; i < stride * (width + 1); i++) loads[i] = c->columns->loads[i];
    const float *x = c->x, *w = c->w + c->first * columns;
    for (size_t i = c->first; i < c->last; i++, x += c->x_step, w += columns) {
        plane_load(line, x, loads, stride, width);
        switch (c->spans[i]) {
            ROW(0, 4)
            ROW(0, 1)
            ROW(0, 2)
            ROW(0, 3)
            ROW(1, 2)
            ROW(1, 3)
            ROW(1, 4)
            ROW(2, 3)
            ROW(2, 4)
            ROW(3, 4)
        default: break;
        }
    }
    if (c->sum || (c->activation && c->activation < CONV_SIGMOID))
        plane_store(c, acc, width, true);
    else
        plane_store(c, acc, width, false);
}

#define TILE(columns, stride, dilation, width)                                 \
    TARGET static void conv_plane_##columns##_##stride##_##dilation##_##width( \
        const conv_plane_call *c)                                              \
    {                                                                          \
        plane_tile(c, columns, stride, dilation, width);                       \
    }
#define TILES(columns, stride, dilation) \
    TILE(columns, stride, dilation, 1)   \
    TILE(columns, stride, dilation, 2)   \
    TILE(columns, stride, dilation, 3)   \
    TILE(columns, stride, dilation, 4)
#define NAMES(columns, stride, dilation)                            \
    {                                                               \
        columns, stride, dilation,                                  \
        {                                                           \
            NULL, conv_plane_##columns##_##stride##_##dilation##_1, \
                conv_plane_##columns##_##stride##_##dilation##_2,   \
                conv_plane_##columns##_##stride##_##dilation##_3,   \
                conv_plane_##columns##_##stride##_##dilation##_4    \
        }                                                           \
    }

TILES(3, 1, 1)
TILES(5, 1, 1)
TILES(7, 1, 1)
TILES(3, 2, 1)
TILES(5, 2, 1)
TILES(7, 2, 1)
TILES(3, 1, 2)

static const struct {
    int64_t columns, stride, dilation;
    conv_plane_function tiles[CONV_PLANE_WIDTH + 1];
} KINDS[] = {NAMES(3, 1, 1), NAMES(5, 1, 1), NAMES(7, 1, 1), NAMES(3, 2, 1),
             NAMES(5, 2, 1), NAMES(7, 2, 1), NAMES(3, 1, 2)};

const conv_plane_function *conv_plane_tiles(int64_t columns, int64_t stride, int64_t dilation)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (KINDS[i].columns == columns && KINDS[i].stride == stride &&
            KINDS[i].dilation == dilation)
            return KINDS[i].tiles;
    return NULL;
}
#else
const conv_plane_function *conv_plane_tiles(int64_t columns, int64_t stride, int64_t dilation)
{
    (void)columns, (void)stride, (void)dilation;
    return NULL;
}
#endif

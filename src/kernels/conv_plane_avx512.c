/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of conv_plane.h, AVX-512. */
#include "kernels/conv_plane.h"

#if defined(__x86_64__)
#include "kernels/unroll.h"
#include "kernels/vector_avx512.h"

#include "kernels/conv_end.inc"

#define PLANE_INLINE SPECIAL_INLINE
#define PLANE_WIDTH 4

/* A row of the input; with stride 2, its even and odd columns. */
typedef struct plane_line {
    VEC part[2][PLANE_WIDTH + 1];
} plane_line;

typedef struct plane_masks {
    __mmask16 loads[CONV_PLANE_LOADS];
} plane_masks;

/* Lanes k to k + 15 of two vectors. */
#define SHIFT(high, low, k) \
    _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(high), _mm512_castps_si512(low), k))
#define SHIFT_LINE(i, j, k) \
    ((k) == 0 ? line->part[i][j] : SHIFT(line->part[i][(j) + 1], line->part[i][j], (k) % 16))
#define PLANE_TAP(j, k)                                \
    (stride == 2     ? SHIFT_LINE((k) % 2, j, (k) / 2) \
     : dilation == 2 ? SHIFT_LINE(0, j, 2 * (k))       \
                     : SHIFT_LINE(0, j, k))

TARGET PLANE_INLINE void plane_find_masks(plane_masks *m, const conv_plane_columns *columns,
                                          const size_t taps, const size_t stride,
                                          const size_t width)
{
    (void)taps;
    UNROLL(10)
    for (size_t i = 0; i < stride * (width + 1); i++) m->loads[i] = columns->loads[i];
}

TARGET PLANE_INLINE void plane_load(plane_line *line, const float *x, const plane_masks *m,
                                    const size_t stride, const size_t width)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    UNROLL(5)
    for (size_t j = 0; j <= width; j++) {
        const float *at = x + j * stride * LANES;
        const VEC low = _mm512_maskz_loadu_ps(m->loads[j * stride], at);
        if (stride == 1) {
            line->part[0][j] = low;
            continue;
        }
        const VEC high = _mm512_maskz_loadu_ps(m->loads[j * stride + 1], at + LANES);
        line->part[0][j] = _mm512_permutex2var_ps(low, even, high);
        line->part[1][j] = _mm512_permutex2var_ps(low, odd, high);
    }
}

TARGET PLANE_INLINE __mmask16 plane_first(size_t count)
{
    return (__mmask16)((1u << count) - 1);
}

#define PLANE_RESULT(v) (v)
#define PLANE_LOAD_FIRST(p, n) _mm512_maskz_loadu_ps(plane_first(n), p)
#define PLANE_STORE_FIRST(p, v, n) _mm512_mask_storeu_ps(p, plane_first(n), v)
#define PLANE_LOADS_WHOLE 0
#define PLANE_COSTS .call = 40, .load = {7, 7}, .lone = 1.6
#define PLANE_SET conv_plane_avx512
#include "kernels/conv_plane_loops.inc"
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of convolution over flat positions, AVX-512. */
#include "kernels/conv_flat.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#include "kernels/conv_end.inc"

TARGET static inline __mmask16 flat_first(size_t count)
{
    return (__mmask16)((1u << count) - 1);
}

TARGET static inline __m512 flat_load_even(const float *p, size_t count)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const uint32_t read = count == 16 ? 0x7fffffff : (1u << (2 * count - 1)) - 1;
    const __m512 low = _mm512_maskz_loadu_ps((__mmask16)read, p);
    const __m512 high = _mm512_maskz_loadu_ps((__mmask16)(read >> 16), p + 16);
    return _mm512_permutex2var_ps(low, even, high);
}

#define FLAT_LOAD(p, n) _mm512_maskz_loadu_ps(flat_first(n), p)
#define FLAT_LOAD_EVEN(p, n) flat_load_even(p, n)
#define FLAT_PACK(v, mask) _mm512_maskz_compress_ps(mask, v)
#define FLAT_STORE(p, v, n, room) ((void)(room), _mm512_mask_storeu_ps(p, flat_first(n), v))

#include "kernels/conv_flat_loops.inc"

FLAT_TILE(1, 1)
FLAT_TILE(1, 2)
FLAT_TILE(1, 3)
FLAT_TILE(1, 4)
FLAT_TILE(1, 5)
FLAT_TILE(1, 6)
FLAT_TILE(1, 7)
FLAT_TILE(1, 8)
FLAT_TILE(2, 1)
FLAT_TILE(2, 2)
FLAT_TILE(2, 3)
FLAT_TILE(2, 4)
FLAT_TILE(2, 5)
FLAT_TILE(2, 6)
FLAT_TILE(2, 7)
FLAT_TILE(2, 8)
FLAT_TILE(4, 1)
FLAT_TILE(4, 2)
FLAT_TILE(4, 3)
FLAT_TILE(4, 4)
FLAT_TILE(4, 5)
FLAT_TILE(4, 6)
FLAT_TILE(8, 1)
FLAT_TILE(8, 2)
FLAT_TILE(8, 3)

/* Neighbouring taps are lanes of two vectors: a shift is cheaper than a load that crosses a line.
 */
#define SHIFT(high, low, k) \
    _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(high), _mm512_castps_si512(low), k))
#define TAP(k)                                                              \
    if (k < columns) {                                                      \
        const VEC one = SPREAD(w + k);                                      \
        _Pragma("GCC unroll 8") for (size_t j = 0; j < width; j++) acc[j] = \
            MADD(one, SHIFT(line[j + 1], line[j], k), acc[j]);              \
    }

TARGET FLAT_INLINE void flat_near(const conv_flat_call *c, const size_t columns, const size_t width)
{
    VEC acc[8];
    const float *w = c->w;
#pragma GCC unroll 8
    for (size_t j = 0; j < width; j++) acc[j] = SPREAD(c->bias);
    for (size_t k = 0; k < c->taps; k += columns, w += columns) {
        const float *x = c->x + c->offsets[k];
        VEC line[9];
#pragma GCC unroll 9
        for (size_t j = 0; j <= width; j++) line[j] = LOAD(x + j * LANES);
        const VEC first = SPREAD(w);
#pragma GCC unroll 8
        for (size_t j = 0; j < width; j++) acc[j] = MADD(first, line[j], acc[j]);
        TAP(1) TAP(2) TAP(3) TAP(4) TAP(5) TAP(6)
    }
#pragma GCC unroll 8
    for (size_t j = 0; j < width; j++) flat_store_vector(c, acc[j], 0, c->vectors[j]);
}

#define FLAT_NEAR(columns, width)                                                  \
    TARGET static void conv_flat_near_##columns##_##width(const conv_flat_call *c) \
    {                                                                              \
        flat_near(c, columns, width);                                              \
    }
FLAT_NEAR(3, 1)
FLAT_NEAR(3, 2)
FLAT_NEAR(3, 3)
FLAT_NEAR(3, 4)
FLAT_NEAR(3, 5)
FLAT_NEAR(3, 6)
FLAT_NEAR(3, 7)
FLAT_NEAR(3, 8)
FLAT_NEAR(5, 1)
FLAT_NEAR(5, 2)
FLAT_NEAR(5, 3)
FLAT_NEAR(5, 4)
FLAT_NEAR(5, 5)
FLAT_NEAR(5, 6)
FLAT_NEAR(5, 7)
FLAT_NEAR(5, 8)
FLAT_NEAR(7, 1)
FLAT_NEAR(7, 2)
FLAT_NEAR(7, 3)
FLAT_NEAR(7, 4)
FLAT_NEAR(7, 5)
FLAT_NEAR(7, 6)
FLAT_NEAR(7, 7)
FLAT_NEAR(7, 8)

const conv_flat_loops conv_flat_avx512 = {
    .lanes = LANES,
    .widths = {8, 8, 6, 3},
    .copy = flat_copy,
    .tile = {{NULL, conv_flat_tile_1_1, conv_flat_tile_1_2, conv_flat_tile_1_3, conv_flat_tile_1_4,
              conv_flat_tile_1_5, conv_flat_tile_1_6, conv_flat_tile_1_7, conv_flat_tile_1_8},
             {NULL, conv_flat_tile_2_1, conv_flat_tile_2_2, conv_flat_tile_2_3, conv_flat_tile_2_4,
              conv_flat_tile_2_5, conv_flat_tile_2_6, conv_flat_tile_2_7, conv_flat_tile_2_8},
             {NULL, conv_flat_tile_4_1, conv_flat_tile_4_2, conv_flat_tile_4_3, conv_flat_tile_4_4,
              conv_flat_tile_4_5, conv_flat_tile_4_6},
             {NULL, conv_flat_tile_8_1, conv_flat_tile_8_2, conv_flat_tile_8_3}},
    .near = {{NULL, conv_flat_near_3_1, conv_flat_near_3_2, conv_flat_near_3_3, conv_flat_near_3_4,
              conv_flat_near_3_5, conv_flat_near_3_6, conv_flat_near_3_7, conv_flat_near_3_8},
             {NULL, conv_flat_near_5_1, conv_flat_near_5_2, conv_flat_near_5_3, conv_flat_near_5_4,
              conv_flat_near_5_5, conv_flat_near_5_6, conv_flat_near_5_7, conv_flat_near_5_8},
             {NULL, conv_flat_near_7_1, conv_flat_near_7_2, conv_flat_near_7_3, conv_flat_near_7_4,
              conv_flat_near_7_5, conv_flat_near_7_6, conv_flat_near_7_7, conv_flat_near_7_8}},
};
#endif

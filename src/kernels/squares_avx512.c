/* SPDX-License-Identifier: Apache-2.0 */
/* Transposing squares of 16 by 16 elements of 4 bytes, AVX-512. */
#include "kernels/squares.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { SIDE = SQUARES_TILE, LANE = 4 };

__attribute__((target("avx512f"))) void squares_turn_avx512(void *y, size_t to_step, const void *x,
                                                            size_t from_step)
{
    const uint32_t *from = x;
    uint32_t *to = y;
    __m512i p[SIDE], q[SIDE];
#pragma GCC unroll 16
    for (size_t i = 0; i < SIDE; i++) p[i] = _mm512_loadu_si512(from + i * from_step);
#pragma GCC unroll 16
    for (size_t i = 0; i < SIDE; i += 2) {
        q[i] = _mm512_unpacklo_epi32(p[i], p[i + 1]);
        q[i + 1] = _mm512_unpackhi_epi32(p[i], p[i + 1]);
    }
    /* 128-bit lane L of p[4 * g + k] becomes column 4 * L + k of rows 4 * g to 4 * g + 3. */
#pragma GCC unroll 16
    for (size_t i = 0; i < SIDE; i += LANE) {
        p[i] = _mm512_unpacklo_epi64(q[i], q[i + 2]);
        p[i + 1] = _mm512_unpackhi_epi64(q[i], q[i + 2]);
        p[i + 2] = _mm512_unpacklo_epi64(q[i + 1], q[i + 3]);
        p[i + 3] = _mm512_unpackhi_epi64(q[i + 1], q[i + 3]);
    }
#pragma GCC unroll 16
    for (size_t k = 0; k < LANE; k++) {
        const __m512i a = _mm512_shuffle_i32x4(p[k], p[k + 4], 0x44),
                      b = _mm512_shuffle_i32x4(p[k], p[k + 4], 0xee),
                      c = _mm512_shuffle_i32x4(p[k + 8], p[k + 12], 0x44),
                      d = _mm512_shuffle_i32x4(p[k + 8], p[k + 12], 0xee);
        _mm512_storeu_si512(to + k * to_step, _mm512_shuffle_i32x4(a, c, 0x88));
        _mm512_storeu_si512(to + (k + 4) * to_step, _mm512_shuffle_i32x4(a, c, 0xdd));
        _mm512_storeu_si512(to + (k + 8) * to_step, _mm512_shuffle_i32x4(b, d, 0x88));
        _mm512_storeu_si512(to + (k + 12) * to_step, _mm512_shuffle_i32x4(b, d, 0xdd));
    }
}
#endif

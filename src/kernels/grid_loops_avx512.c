/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of GridSample, AVX-512. */
#include "kernels/grid_loops.h"

#include <string.h>

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#define GRID_GATHER(x, at)                                                       \
    _mm512_mask_i32gather_ps(                                                    \
        _mm512_setzero_ps(),                                                     \
        _mm512_cmpge_epi32_mask(_mm512_loadu_si512(at), _mm512_setzero_si512()), \
        _mm512_loadu_si512(at), x, 4)

#include "kernels/grid_loops.inc"

const grid_loops grid_loops_avx512 = {.block = LANES,
                                      .linear = grid_linear,
                                      .combine = grid_combine,
                                      .plane = grid_plane,
                                      .blocked = grid_blocked};
#endif

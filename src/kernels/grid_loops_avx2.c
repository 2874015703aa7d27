/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of GridSample, AVX2 and FMA. */
#include "kernels/grid_loops.h"

#include <string.h>

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

TARGET static inline VEC grid_gather(const float *x, const int32_t *at)
{
    const __m256i index = _mm256_loadu_si256((const __m256i *)at);
    const __m256i inside = _mm256_cmpgt_epi32(index, _mm256_set1_epi32(GRID_OUTSIDE));
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), x, index, _mm256_castsi256_ps(inside), 4);
}
#define GRID_GATHER(x, at) grid_gather(x, at)

#include "kernels/grid_loops.inc"

const grid_loops grid_loops_avx2 = {.block = LANES,
                                    .linear = grid_linear,
                                    .combine = grid_combine,
                                    .plane = grid_plane,
                                    .blocked = grid_blocked};
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of attention, AVX2. */
#include <math.h>

#include "kernels/attention_loops.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

#define LANES_ROWS 6
#define LANES_LEAST 5
#include "kernels/attention_lanes.inc"

#define ROWS 2
#define VECTORS 4

TARGET static inline void store_sums(float *to, __m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 sums = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1)));
}

#define SUMS store_sums
#define SET attention_loops_avx2
#include "kernels/attention_loops.inc"
#endif

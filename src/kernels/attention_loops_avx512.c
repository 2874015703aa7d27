/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of attention, AVX-512. */
#include <math.h>

#include "kernels/attention_loops.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#define LANES_ROWS 12
#define LANES_LEAST 9
#include "kernels/attention_lanes.inc"

#define ROWS 4
#define VECTORS 4

TARGET static inline __m256 fold(__m512 x)
{
    const __m256d high = _mm512_extractf64x4_pd(_mm512_castps_pd(x), 1);
    return _mm256_add_ps(_mm512_castps512_ps256(x), _mm256_castpd_ps(high));
}

TARGET static inline void store_sums(float *to, __m512 a, __m512 b, __m512 c, __m512 d)
{
    const __m256 pairs = _mm256_hadd_ps(fold(a), fold(b)),
                 others = _mm256_hadd_ps(fold(c), fold(d));
    const __m256 sums = _mm256_hadd_ps(pairs, others);
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1)));
}

#define SUMS store_sums
#define SET attention_loops_avx512
#include "kernels/attention_loops.inc"
#endif

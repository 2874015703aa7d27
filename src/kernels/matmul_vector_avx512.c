/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a matrix and a vector, AVX-512. */
#include "kernels/matmul_vector.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#define SUM_FOUR(y, v) sum_four(y, v)
TARGET static inline __m128 fold_to_four(__m512 v)
{
    const __m256d high = _mm512_extractf64x4_pd(_mm512_castps_pd(v), 1);
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm256_castpd_ps(high));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

/* Transposes instead of a sum across each vector: a short row has fewer products than that. */
TARGET static inline void sum_four(float *y, const __m512 *v)
{
    __m128 a = fold_to_four(v[0]), b = fold_to_four(v[1]);
    __m128 c = fold_to_four(v[2]), d = fold_to_four(v[3]);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(y, _mm_add_ps(_mm_add_ps(a, c), _mm_add_ps(b, d)));
}

#define SET matmul_vector_avx512
#include "kernels/matmul_vector.inc"
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a matrix and a vector, AVX2. */
#include "kernels/matmul_vector.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

#define SUM_FOUR(y, v) sum_four(y, v)
/* Transposes instead of a sum across each vector: a short row has fewer products than that. */
TARGET static inline void sum_four(float *y, const __m256 *v)
{
    __m128 a = _mm_add_ps(_mm256_castps256_ps128(v[0]), _mm256_extractf128_ps(v[0], 1));
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(v[1]), _mm256_extractf128_ps(v[1], 1));
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(v[2]), _mm256_extractf128_ps(v[2], 1));
    __m128 d = _mm_add_ps(_mm256_castps256_ps128(v[3]), _mm256_extractf128_ps(v[3], 1));
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(y, _mm_add_ps(_mm_add_ps(a, c), _mm_add_ps(b, d)));
}

#define SET matmul_vector_avx2
#include "kernels/matmul_vector.inc"
#endif

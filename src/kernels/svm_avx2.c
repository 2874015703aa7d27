/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of support vector machines, AVX2 and FMA. */
#include "kernels/svm.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

/* Lanes n and above are 0. */
TARGET static inline VEC svm_first(const float *p, size_t n)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lanes));
}
#define SOME(p, n) svm_first(p, n)
TARGET static inline float svm_total(VEC v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
#define TOTAL(v) svm_total(v)

#include "kernels/svm.inc"

const svm_loops svm_loops_avx2 = {svm_tile_run, svm_power_run, svm_dot};
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of floats, AVX2 and FMA: the file that compiles kernels for it includes this one. */
#include <immintrin.h>

#define VEC __m256
#define LANES 8
#define TARGET __attribute__((target("avx2,fma")))
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define SPREAD(p) _mm256_broadcast_ss(p)
#define MADD(x, y, z) _mm256_fmadd_ps(x, y, z)
#define ADD(x, y) _mm256_add_ps(x, y)
#define SUB(x, y) _mm256_sub_ps(x, y)
#define MUL(x, y) _mm256_mul_ps(x, y)
#define MAX(x, y) _mm256_max_ps(x, y) /* y where one of them is NaN */
#define MIN(x, y) _mm256_min_ps(x, y)
#define ZERO() _mm256_setzero_ps()
#define DIV(x, y) _mm256_div_ps(x, y)

/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of floats, AVX-512: the file that compiles kernels for it includes this one. */
#include <immintrin.h>

#define VEC __m512
#define LANES 16
#define TARGET __attribute__((target("avx512f")))
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define SPREAD(p) _mm512_set1_ps(*(p))
#define MADD(x, y, z) _mm512_fmadd_ps(x, y, z)
#define ADD(x, y) _mm512_add_ps(x, y)
#define SUB(x, y) _mm512_sub_ps(x, y)
#define MUL(x, y) _mm512_mul_ps(x, y)
#define MAX(x, y) _mm512_max_ps(x, y) /* y where one of them is NaN */
#define MIN(x, y) _mm512_min_ps(x, y)
#define ZERO() _mm512_setzero_ps()
#define DIV(x, y) _mm512_div_ps(x, y)

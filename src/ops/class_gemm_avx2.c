/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product, micro-kernel for AVX2 with FMA: it computes 4 x 12 elements in twelve of the
 * sixteen registers. */
#include <string.h>

#include "ops/class_gemm.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC __m256d
#define LANES 4
#define MR 4
#define STEP (3 * LANES)
#define TARGET __attribute__((target("avx2,fma")))
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd(p, v)
#define SPREAD(p) _mm256_broadcast_sd(p)
#define MADD(x, y, z) _mm256_fmadd_pd(x, y, z)
#define ADD(x, y) _mm256_add_pd(x, y)
#define ZERO() _mm256_setzero_pd()
#define RUN run
#define NV 3
#include "ops/class_gemm_kernel.inc"

#define RUN run_half
#define NV 2
#include "ops/class_gemm_kernel.inc"

TARGET static inline __m256d load_floats(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

TARGET static inline double sum(__m256d v)
{
    double x[LANES];
    _mm256_storeu_pd(x, v);
    return (x[0] + x[2]) + (x[1] + x[3]);
}

#define SUM(v) sum(v)
#define DOTS dots
#define B double
#define LOAD_B(p) LOAD(p)
#include "ops/class_gemm_dots.inc"

#define DOTS dots_single
#define B float
#define LOAD_B(p) load_floats(p)
#include "ops/class_gemm_dots.inc"

const gemm_kernel gemm_kernel_avx2 = {MR, STEP, run, run_half, dots, dots_single};
#endif

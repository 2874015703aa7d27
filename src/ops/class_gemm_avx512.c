/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product, micro-kernel for AVX-512: it computes 8 x 16 elements in sixteen registers,
 * enough to hide the latency of two FMA units. */
#include <string.h>

#include "ops/class_gemm.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC __m512d
#define LANES 8
#define MR 8
#define STEP (2 * LANES)
#define TARGET __attribute__((target("avx512f")))
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, v) _mm512_storeu_pd(p, v)
#define SPREAD(p) _mm512_set1_pd(*(p))
#define MADD(x, y, z) _mm512_fmadd_pd(x, y, z)
#define ADD(x, y) _mm512_add_pd(x, y)
#define ZERO() _mm512_setzero_pd()
#define RUN run
#define NV 2
#include "ops/class_gemm_kernel.inc"

#define RUN run_half
#define NV 1
#include "ops/class_gemm_kernel.inc"

TARGET static inline __m512d load_floats(const float *p)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

TARGET static inline double sum(__m512d v)
{
    return _mm512_reduce_add_pd(v);
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

const gemm_kernel gemm_kernel_avx512 = {MR, STEP, run, run_half, dots, dots_single};
#endif

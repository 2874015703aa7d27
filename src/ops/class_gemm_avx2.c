/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product, micro-kernel for AVX2 with FMA: 4 x 12, twelve accumulators of the sixteen
 * registers. */
#include "ops/class_gemm.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC __m256d
#define LANES 4
#define MR 4
#define NV 3
#define TARGET __attribute__((target("avx2,fma")))
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd(p, v)
#define SPREAD(p) _mm256_broadcast_sd(p)
#define MADD(x, y, z) _mm256_fmadd_pd(x, y, z)
#define ADD(x, y) _mm256_add_pd(x, y)
#define ZERO() _mm256_setzero_pd()
#include "ops/class_gemm_kernel.inc"

const gemm_kernel gemm_kernel_avx2 = {MR, NV *LANES, run};
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product, micro-kernel for AVX-512: 8 x 16, sixteen accumulators, enough to hide the
 * latency of two FMA units. */
#include "ops/class_gemm.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VEC __m512d
#define LANES 8
#define MR 8
#define NV 2
#define TARGET __attribute__((target("avx512f")))
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, v) _mm512_storeu_pd(p, v)
#define SPREAD(p) _mm512_set1_pd(*(p))
#define MADD(x, y, z) _mm512_fmadd_pd(x, y, z)
#define ADD(x, y) _mm512_add_pd(x, y)
#define ZERO() _mm512_setzero_pd()
#include "ops/class_gemm_kernel.inc"

const gemm_kernel gemm_kernel_avx512 = {MR, NV *LANES, run};
#endif

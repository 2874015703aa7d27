/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise loops, AVX2. */
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define LEVEL CPU_AVX2
#define TABLE elementwise_avx2
#include "kernels/elementwise_loops.inc"
#endif

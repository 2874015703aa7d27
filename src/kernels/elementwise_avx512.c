/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise loops, AVX-512. */
#if defined(__x86_64__)
#define TARGET \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")))
#define LEVEL CPU_AVX512
#define TABLE elementwise_avx512
#include "kernels/elementwise_loops.inc"
#endif

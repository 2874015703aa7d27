/* SPDX-License-Identifier: Apache-2.0 */
/* Loops between float32 and quantised numbers, AVX-512. */
#include "kernels/quantize_loops.h"

#if defined(__x86_64__)
#define TARGET \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")))
#define SET quantize_loops_avx512
#include "kernels/quantize_loops.inc"
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops between float32 and quantised numbers, AVX2. */
#include "kernels/quantize_loops.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define SET quantize_loops_avx2
#include "kernels/quantize_loops.inc"
#endif

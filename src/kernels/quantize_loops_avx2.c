/* SPDX-License-Identifier: Apache-2.0 */
/* Loops between float32 and quantised numbers, AVX2. */
#include "kernels/quantize_loops.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"
#define SET quantize_loops_avx2
#include "kernels/quantize_loops.inc"
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops between float32 and quantised numbers, AVX-512. */
#include "kernels/quantize_loops.h"

#if defined(__x86_64__)
#include "kernels/target_avx512.h"
#include "kernels/vector_avx512.h"
#undef TARGET
#define TARGET TARGET_AVX512
#define SET quantize_loops_avx512
#include "kernels/quantize_loops.inc"
#endif

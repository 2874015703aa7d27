/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise loops, AVX-512. */
#if defined(__x86_64__)
#include "kernels/target_avx512.h"
#define TARGET TARGET_AVX512
#define LEVEL CPU_AVX512
#define TABLE elementwise_avx512
#include "kernels/elementwise_loops.inc"
#endif

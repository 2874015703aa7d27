/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over quantised bytes, AVX2. */
#include "kernels/byte_loops.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define SET byte_loops_avx2
#include "kernels/byte_loops.inc"
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over a state, AVX-512. */
#include "kernels/state_loops.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#define RECALLED 4
#define UPDATED 2
#define SET state_loops_avx512
#include "kernels/state_loops.inc"
#endif

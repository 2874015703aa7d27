/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over a state, AVX2 and FMA. */
#include "kernels/state_loops.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

#define RECALLED 2
#define UPDATED 1
#define SET state_loops_avx2
#include "kernels/state_loops.inc"
#endif

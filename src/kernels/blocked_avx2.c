/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over blocked tensors, AVX2. */
#include "kernels/blocked.h"

#if defined(__x86_64__)
#include <math.h>

#include "kernels/vector_avx2.h"

#include "kernels/blocked_loops.inc"

const blocked_loops blocked_loops_avx2 = {.block = LANES,
                                          .run = blocked_run,
                                          .pool = blocked_pool,
                                          .measure = blocked_measure,
                                          .normalize = blocked_normalize};
#endif

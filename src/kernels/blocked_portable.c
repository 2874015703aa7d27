/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over blocked tensors, for any processor. */
#include "kernels/blocked.h"

#include <math.h>

#include "kernels/vector_portable.h"

#include "kernels/blocked_loops.inc"

const blocked_loops blocked_loops_portable = {.block = LANES,
                                              .run = blocked_run,
                                              .pool = blocked_pool,
                                              .measure = blocked_measure,
                                              .normalize = blocked_normalize};

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of GridSample, any processor. */
#include "kernels/grid_loops.h"

#include <string.h>

#include "kernels/vector_portable.h"

static inline __attribute__((always_inline)) VEC grid_gather(const float *x, const int32_t *at)
{
    float some[LANES];
    for (size_t i = 0; i < LANES; i++) some[i] = at[i] == GRID_OUTSIDE ? 0 : x[at[i]];
    return LOAD(some);
}
#define GRID_GATHER(x, at) grid_gather(x, at)

#include "kernels/grid_loops.inc"

const grid_loops grid_loops_portable = {.block = LANES,
                                        .linear = grid_linear,
                                        .combine = grid_combine,
                                        .plane = grid_plane,
                                        .blocked = grid_blocked};

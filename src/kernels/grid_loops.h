/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of GridSample over a stretch of output positions, one set for each instruction set. */
#ifndef KERNELS_GRID_LOOPS_H
#define KERNELS_GRID_LOOPS_H

#include "kernels/kernel.h"

enum { GRID_STRETCH = 64, GRID_OUTSIDE = -1 };

/* Taps of a stretch, [tap][position]: the index of a pixel in its plane, or GRID_OUTSIDE. */
typedef struct grid_taps {
    const int32_t *index;
    const float *weight;
    size_t taps, positions;
} grid_taps;

/* One tap along each axis for a stretch of positions; `stride`: pixels between two of the axis. */
typedef struct grid_axis {
    const int32_t *index;
    const double *weight;
    int32_t stride;
} grid_axis;

typedef struct grid_loops {
    size_t block;
    /* The two taps of linear interpolation along one axis, for n positions `step` floats apart:
     * index[0], index[GRID_STRETCH] and so on. border: the image's edge continues outside. All
     * tables are filled to the stretch's end, so that loops over them have no remainder. */
    void (*linear)(int32_t *index, double *weight, const float *grid, size_t step, size_t n,
                   double extent, bool align, bool border);
    /* The taps that have these ones along the axes. */
    void (*combine)(int32_t *index, float *weight, const grid_axis *axes, size_t count);
    void (*plane)(float *y, const float *x, const grid_taps *t);
    /* Of one block of channels: [pixel][block], [position][block]. */
    void (*blocked)(float *y, const float *x, const grid_taps *t);
} grid_loops;

extern const grid_loops grid_loops_portable, grid_loops_avx2, grid_loops_avx512;

#endif

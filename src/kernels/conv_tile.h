/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-kernels of convolution, one set for each instruction set. A tile is a few pixels of one
 * output row by one or two blocks of output channels. */
#ifndef KERNELS_CONV_TILE_H
#define KERNELS_CONV_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/unroll.h"

enum { CONV_MAX_PIXELS = 14, CONV_MAX_WIDTH = 2 };

/* y[pixel] = activation(bias + sum over taps of x * w + sum[pixel]). All steps in floats. Taps are
 * channel blocks x kernel rows x kernel columns x lanes. For each tap, x advances by one float per
 * lane, and w holds one weight for each output channel of the tile. */
typedef struct conv_tile_call {
    const float *x, *w, *bias;
    const float *sum; /* laid out like y; may be NULL */
    float *y;
    size_t pixel;                 /* step between pixels in x */
    size_t blocks, rows, columns; /* numbers of taps: channel blocks, kernel rows, kernel columns */
    /* Number of lanes in every channel block but the last, and in the last. */
    size_t lanes, last_lanes;
    size_t block_step, row_step, column_step; /* steps in x between the taps along each axis */
    size_t w_row_step;                        /* floats of w for one row of taps of a full block */
    /* Number of kernel rows in w, and the first of them that this call uses. */
    size_t w_rows, w_first;
    /* Number of kernel columns in w that this call does not use, and the first that it uses. */
    size_t w_skip, w_column;
    size_t y_block; /* step in y between blocks of output channels */
    bool resumed;   /* y holds the sums of earlier taps, and the bias */
    /* Weights that later tiles read: for each lane, a tile fetches the next ahead_step floats. */
    const float *ahead;
    size_t ahead_step;
    /* A conv_activation; tiles skip slow ones, which conv_finish applies later. */
    uint32_t activation;
    float parameter[2];
} conv_tile_call;

/* Chooses the weights that a tile fetches into the cache. `tiles` tiles read the same block of
 * `size` floats at c->w, and the block behind it is read next: tile `index` fetches its share of
 * that. A single tile fetches its own block, some lanes ahead. `each`: weights of a lane. */
static inline void conv_tile_fetch(conv_tile_call *c, size_t size, size_t each, size_t index,
                                   size_t tiles)
{
    enum { LANES_AHEAD = 32 };
    c->ahead_step = (each + tiles - 1) / tiles;
    c->ahead = tiles == 1 ? c->w + LANES_AHEAD * each
                          : c->w + size + index * (size / each * c->ahead_step);
}

typedef void (*conv_tile_function)(const conv_tile_call *c);

typedef struct conv_tiles {
    size_t block, pixels, deep_pixels;
    /* Indexed by numbers of output blocks and pixels, from 1. */
    conv_tile_function run[CONV_MAX_WIDTH + 1][CONV_MAX_PIXELS + 1];
    /* Depthwise convolution, indexed by number of pixels: each tap reads one block of channels from
     * x and one from w, which is [rows][columns][block]. */
    conv_tile_function deep[CONV_MAX_PIXELS + 1];
} conv_tiles;

extern const conv_tiles conv_tiles_portable, conv_tiles_avx2, conv_tiles_avx512;

#endif

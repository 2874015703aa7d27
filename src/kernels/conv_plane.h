/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution in float32 straight from planes of a linear tensor to planes: nothing is
 * copied. A tile is up to four output rows by up to four vectors of a row. It goes through the
 * input rows from top to bottom: a row is loaded once, with zeros for its padding, shifted in
 * registers for each tap, and multiplied for all output rows that it serves. */
#ifndef KERNELS_CONV_PLANE_H
#define KERNELS_CONV_PLANE_H

#include "kernels/conv_flat.h"

/* WIDTH: most vectors of a tile; COLUMNS: most tiles side by side; TAPS: most kernel rows */
enum { CONV_PLANE_ROWS = 4, CONV_PLANE_WIDTH = 4, CONV_PLANE_COLUMNS = 32, CONV_PLANE_TAPS = 32 };
enum {
    CONV_PLANE_LANES = 16,
    CONV_PLANE_LOADS = 2 * (CONV_PLANE_WIDTH + 1),
    CONV_PLANE_READS = 2 * (CONV_PLANE_ROWS - 1) + CONV_PLANE_TAPS
};

/* The columns of a tile. Bit l of loads[i]: lane l of the row's vector i is inside the image. */
typedef struct conv_plane_columns {
    int64_t x, y; /* the first column that is read, which may be padding; the first output */
    uint16_t loads[CONV_PLANE_LOADS], last; /* last: lanes of the last vector that are outputs */
    uint16_t width;                         /* in vectors */
} conv_plane_columns;

/* y = activation(bias + sum over taps of w * x + sum) for one tile. Rows of the input are counted
 * from the first that the tile's window covers. */
typedef struct conv_plane_call {
    const float *x; /* the tile's first column of row `first` */
    const float *w, *bias, *sum;
    float *y;
    size_t first, last, x_step; /* rows [first, last) are inside the image */
    size_t rows, y_step;        /* of the output; sum is laid out like y and may be NULL */
    /* For each input row the output rows that it serves: CONV_PLANE_SPAN. */
    const uint8_t *spans;
    const conv_plane_columns *columns;
    uint32_t activation; /* slow ones are left to conv_activate */
    float parameter[2];
} conv_plane_call;

#define CONV_PLANE_SPAN(from, to) ((from)*8 + (to))

typedef void (*conv_plane_function)(const conv_plane_call *c);
/* The tiles of a kernel, indexed by their number of vectors. NULL: no tiles for this kernel. */
const conv_plane_function *conv_plane_tiles(int64_t columns, int64_t stride, int64_t dilation);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution in float32 straight from planes of a linear tensor to planes: nothing is
 * copied. A tile is up to four output rows by up to four vectors of a row. It goes through the
 * input rows from top to bottom: a row is loaded once, with zeros for its padding, shifted in
 * registers for each tap, and multiplied for all output rows that it serves. */
#ifndef KERNELS_CONV_PLANE_H
#define KERNELS_CONV_PLANE_H

#include "kernels/conv_flat.h"

/* WIDTH: most vectors of a tile; COLUMNS: most tiles side by side; TAPS: most kernel rows */
enum { CONV_PLANE_ROWS = 4, CONV_PLANE_WIDTH = 4, CONV_PLANE_COLUMNS = 128, CONV_PLANE_TAPS = 32 };
enum {
    CONV_PLANE_KINDS = 7,
    CONV_PLANE_LOADS = 2 * (CONV_PLANE_WIDTH + 1),
    CONV_PLANE_READS = 2 * (CONV_PLANE_ROWS - 1) + CONV_PLANE_TAPS
};

/* The columns of a tile. A tile reads (width + 1) * stride vectors of a row, or fewer. */
typedef struct conv_plane_columns {
    int64_t x, y;      /* the first column that is read, which may be padding; the first output */
    uint16_t from, to; /* the columns that are read and are inside the image; 0 is column x */
    uint16_t loads[CONV_PLANE_LOADS]; /* bit l of loads[i]: lane l of vector i is inside */
    uint16_t width, last;             /* in vectors; outputs in the last vector */
    bool whole;                       /* all columns that may be read are inside */
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
/* The tiles of a kernel, indexed by their number of vectors. */
typedef struct conv_plane_kind {
    int64_t columns, stride, dilation;
    conv_plane_function tiles[CONV_PLANE_WIDTH + 1];
} conv_plane_kind;

typedef struct conv_plane_set {
    uint64_t lanes, width; /* width: most vectors of a tile */
    bool narrow;           /* tiles touch a line or two of each row */
    /* Cycles of a call, and of an input row with stride 1 and 2; a product's, of a lone vector. */
    double call, load[2], lone;
    conv_plane_kind kinds[CONV_PLANE_KINDS];
} conv_plane_set;

extern const conv_plane_set conv_plane_avx2, conv_plane_avx512;

#endif

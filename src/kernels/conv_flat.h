/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution in float32 between linear tensors without gathering. The input of a band of outputs
 * is copied with its padding into planes where all outputs of the band lie `pitch` apart from row
 * to row, so each tap is one offset for all of them. Strides are taken out by slots: a slot holds
 * every stride-th row and column. Vectors run over the flat positions of the band across the ends
 * of rows; the positions that are no outputs are dropped when results are stored. */
#ifndef KERNELS_CONV_FLAT_H
#define KERNELS_CONV_FLAT_H

#include "kernels/conv.h"

/* SLOTS: most slots of an axis, whose stride they divide */
enum { CONV_FLAT_AXES = 3, CONV_FLAT_HEIGHTS = 4, CONV_FLAT_WIDTHS = 8, CONV_FLAT_SLOTS = 64 };
enum { CONV_FLAT_NEAR = 3 };

/* The parameters of the kernel. Axes that the node lacks come first and have size 1. */
typedef struct conv_flat {
    uint32_t level, activation, has_bias, has_sum, inputs;
    uint32_t
        turned; /* of ConvTranspose with stride 1: the weights are turned when they are packed */
    float parameter[2];
    uint64_t batch, groups, in, out; /* in, out: channels of one group */
    int64_t from[CONV_FLAT_AXES], to[CONV_FLAT_AXES], kernel[CONV_FLAT_AXES],
        stride[CONV_FLAT_AXES], dilation[CONV_FLAT_AXES], pad[CONV_FLAT_AXES];
} conv_flat;

/* How the work is divided; all of it follows from the parameters. A unit of work is a band of one
 * image and group by one block of output channels. */
typedef struct conv_flat_geometry {
    uint64_t taps;                 /* products in the sum of one output */
    uint64_t jobs, blocks;         /* images times groups; blocks of output channels in a group */
    uint64_t band[CONV_FLAT_AXES]; /* outputs of a band along each axis */
    uint64_t bands[CONV_FLAT_AXES];
    uint64_t slots[CONV_FLAT_AXES]; /* of the axis: 1 if its stride is 1 */
    uint64_t rows[2], pitch;        /* of a slot: rows along the first two axes, floats of a row */
    uint64_t slot_floats, channel_floats, vectors;
    uint64_t slack; /* floats behind the last channel, which are 0 */
    uint64_t scratch_bytes;
} conv_flat_geometry;

/* A vector of flat positions. Bit i of the mask: position i is an output. */
typedef struct conv_flat_vector {
    uint32_t at; /* number of outputs before it in the band */
    uint16_t mask, count;
} conv_flat_vector;

/* Copies rows: `left` zeros, then `count` floats of x, `stride` apart, then zeros up to the pitch.
 * Before and behind them are more zeros. Up to a vector of zeros may be written behind the end. */
typedef struct conv_flat_copy {
    float *to;
    const float *x;
    size_t pitch, left, count, stride, rows, row_step, before, behind;
} conv_flat_copy;

/* y = activation(bias + sum over taps of w * x[offset] + sum), for some vectors of positions by
 * some output channels. w holds one weight for each of them at every tap. */
typedef struct conv_flat_call {
    const float *x, *w, *bias;
    const int32_t *offsets;
    size_t taps;
    size_t ahead; /* tiles of several channels fetch weights that are read so many floats later */
    const conv_flat_vector *vectors;
    float *y;
    const float *sum;    /* laid out like y; may be NULL */
    size_t y_step, room; /* steps between channels; outputs of a channel in this band */
    uint32_t activation; /* slow ones are left to conv_activate */
    float parameter[2];
} conv_flat_call;

typedef struct conv_flat_loops {
    size_t lanes;
    size_t widths[CONV_FLAT_HEIGHTS]; /* most vectors of a tile of 1, 2, 4, 8 channels; 0: none */
    void (*copy)(const conv_flat_copy *c);
    void (*tile[CONV_FLAT_HEIGHTS][CONV_FLAT_WIDTHS + 1])(const conv_flat_call *c);
    /* Tiles of one channel where 3, 5 or 7 taps that follow each other are neighbours; NULL: none.
     * They read one vector more. */
    void (*near[CONV_FLAT_NEAR][CONV_FLAT_WIDTHS + 1])(const conv_flat_call *c);
} conv_flat_loops;

extern const conv_flat_loops conv_flat_portable, conv_flat_avx2, conv_flat_avx512;
const conv_flat_loops *conv_flat_loops_of(uint32_t level);

/* What conv_plane.h shares. describe: false if this is no such convolution. claim: refuses invalid
 * parameters from a plan file; else states which tensors and weights a kernel with them touches. */
bool conv_flat_describe(conv_flat *p, const kernel_problem *u);
pgy_status conv_flat_pack(kernel_plan *out, const conv_flat *p, const kernel_problem *u,
                          pgy_error *err) PGY_MUST_CHECK;
bool conv_flat_claim(kernel_extent *e, const kernel_claim *q, const conv_flat *p);
/* False: the sizes are too large for this kernel. The parameters may come from a plan file. */
bool conv_flat_divide(conv_flat_geometry *g, const conv_flat *p);
/* Block i of output channels: its first channel and the binary logarithm of their number. */
void conv_flat_block(const conv_flat *p, uint64_t i, uint64_t *first, uint32_t *log);
/* Slot and index in it of tap k along an axis. */
void conv_flat_tap(const conv_flat *p, int axis, int64_t k, uint64_t *slot, uint64_t *index);
void conv_flat_run(const kernel_run *r);

#endif

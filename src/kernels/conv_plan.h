/* SPDX-License-Identifier: Apache-2.0 */
/* Direct convolution: how the work is divided. Plans store this as the kernel's parameters. */
#ifndef KERNELS_CONV_PLAN_H
#define KERNELS_CONV_PLAN_H

#include "kernels/conv.h"
#include "kernels/conv_tile.h"
#include "kernels/packing.h"

/* Output rows are cut into tiles. A band is a group of tiles whose input stays in the L2 cache
 * while the kernel computes all output channels from it. A unit of work is a band of one image and
 * group by one or two blocks of output channels. The parts of the work are runs of grains, units
 * one after the other, so all parts have as much to do. A grain is the tiles of a row in a unit,
 * or a tile if the image has one row. */
typedef struct conv_plan {
    conv_shape s; /* rows of a pointwise convolution are joined into one */
    uint32_t level, linear, copied, deep;
    /* block: channels in a block; in_blocks, out_blocks: blocks in one group */
    uint64_t block, in_blocks, out_blocks;
    uint64_t lanes, last_lanes, columns; /* how a tile's sum is divided: see conv_tile_call */
    uint64_t out_units;                  /* number of pairs of output blocks in one group */
    uint64_t row_tiles, tiles, bands, band_tiles; /* band_tiles: the most tiles of a band */
    uint64_t width, band_rows; /* of a copied band: pixels per row, number of rows */
    uint64_t packed_bias;      /* number of bias floats, which precede the packed weights */
} conv_plan;

const conv_tiles *conv_tiles_of(uint32_t level);
/* x_layout: layout of the data input; linear is meant for few input channels. */
void conv_plan_make(conv_plan *p, const conv_shape *s, cpu_level level, kernel_layout x_layout);
/* The plan with more bands, if there are fewer units than `parts`. Results do not depend on it. */
conv_plan conv_plan_cut(const conv_plan *p, uint32_t parts);
uint64_t conv_plan_grain(const conv_plan *p);                     /* tiles of a grain */
uint64_t conv_plan_band_start(const conv_plan *p, uint64_t band); /* its first tile */
size_t conv_plan_grains(const conv_plan *p);
size_t conv_plan_scratch(const conv_plan *p); /* floats of scratch memory for each thread */
/* Floats at the start of copied bands, for the number of the band. */
enum { CONV_PLAN_NOTE = 16, CONV_PLAN_PARTS = 256 };
/* Refuses parameters from a plan file that differ from what conv_plan_make computes for their
 * shape; else states which memory the kernel touches. */
bool conv_plan_extent(kernel_extent *e, const kernel_claim *q, const conv_plan *p);
/* Packs biases and weights in the order in which the tiles read them. bias may be NULL. */
size_t conv_plan_packed_floats(const conv_plan *p);
void conv_plan_fill(float *to, const conv_plan *p, const float *w, const float *bias);
pgy_status conv_plan_pack(kernel_plan *out, const conv_plan *p, const kernel_problem *u,
                          pgy_error *err) PGY_MUST_CHECK;
void conv_plan_run(const kernel_run *r, const conv_plan *p);

#endif

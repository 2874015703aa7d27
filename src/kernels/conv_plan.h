/* SPDX-License-Identifier: Apache-2.0 */
/* Direct convolution: the division of the work, which is the parameter block of a prepared
 * kernel. */
#ifndef KERNELS_CONV_PLAN_H
#define KERNELS_CONV_PLAN_H

#include "kernels/conv.h"
#include "kernels/conv_tile.h"

/* Output rows are cut into tiles. A band is a group of tiles whose input stays in the second-level
 * cache while all output channels read it. A unit of work is a band of one image and group by one
 * or two blocks of output channels. */
typedef struct conv_plan {
    conv_shape s; /* rows of a pointwise convolution are joined into one */
    uint32_t level, linear, copied, deep;
    uint64_t block, in_blocks, out_blocks; /* of one group */
    uint64_t lanes, last_lanes, columns;   /* of taps */
    uint64_t out_units;                    /* pairs of output blocks of one group */
    uint64_t row_tiles, tiles, band_tiles, bands;
    uint64_t width, band_rows; /* of a band copied from the input: pixels per row, rows */
    uint64_t packed_bias;      /* floats before the weights */
} conv_plan;

const conv_tiles *conv_tiles_of(uint32_t level);
/* x_layout: layout of the input; linear suits few channels. */
void conv_plan_make(conv_plan *p, const conv_shape *s, cpu_level level, kernel_layout x_layout);
size_t conv_plan_units(const conv_plan *p);
size_t conv_plan_scratch(const conv_plan *p); /* floats */
/* Refuses a plan from a file that conv_plan_make does not make of the same shape; else states what
 * it touches. */
bool conv_plan_extent(kernel_extent *e, const kernel_claim *q, const conv_plan *p);
/* Packs biases and weights in the order in which the tiles read them. */
pgy_status conv_plan_pack(kernel_plan *out, const conv_plan *p, const float *w, const float *bias,
                          pgy_error *err) PGY_MUST_CHECK;
void conv_plan_run(const kernel_run *r, const conv_plan *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution between tensors blocked by channels: the plan, and the loop over rows of
 * one plane, which may also read rows that another kernel has just made (expanded_conv.h). */
#ifndef KERNELS_CONV_DEPTHWISE_H
#define KERNELS_CONV_DEPTHWISE_H

#include "kernels/conv_plan.h"

typedef struct conv_depthwise_plan {
    conv_shape s;
    uint32_t level;
    uint64_t block, blocks;
    int64_t from, to; /* output columns whose taps all fall inside the input, or its copy */
    /* Of a copy of padded rows: pixels of a row, and the output rows that it serves; 0: none. */
    int64_t width, band;
} conv_depthwise_plan;

/* Input rows that `rows` output rows read. */
static inline int64_t conv_depthwise_reads(const conv_shape *s, int64_t rows)
{
    return (rows - 1) * s->stride[0] + (s->kernel[0] - 1) * s->dilation[0] + 1;
}

bool conv_is_depthwise(const conv_shape *s);
/* Copies rows where that is faster. */
void conv_depthwise_make(conv_depthwise_plan *p, const conv_shape *s, cpu_level level);
/* A plan that always reads a copy of padded rows, of at most `size_bytes` if possible. False: a row
 * is too long. */
bool conv_depthwise_make_padded(conv_depthwise_plan *p, const conv_shape *s, cpu_level level,
                                int64_t size_bytes);
/* Refuses parameters from a plan file that differ from what `own` says, which was made for their
 * shape; else states which memory a convolution with this plan touches. */
bool conv_depthwise_extent_of(kernel_extent *e, const conv_depthwise_plan *p,
                              const conv_depthwise_plan *own);
size_t conv_depthwise_copy_bytes(const conv_depthwise_plan *p);
size_t conv_depthwise_packed_floats(const conv_depthwise_plan *p);
/* Packs the biases of all blocks, then the weights as [block][row][column][lane]. bias may be NULL.
 */
void conv_depthwise_fill(float *to, const conv_depthwise_plan *p, const float *w,
                         const float *bias);
void conv_depthwise_run_plan(const kernel_run *r, const conv_depthwise_plan *p);
/* Between linear tensors: each plane of a block is transposed to scratch memory and back. */
void conv_depthwise_run_linear(const kernel_run *r, const conv_depthwise_plan *p);
size_t conv_depthwise_linear_scratch(const conv_depthwise_plan *p);

/* ---- Rows of one plane ----------------------------------------------------------------------- */

typedef struct conv_depthwise_stretch {
    const conv_depthwise_plan *p;
    conv_tile_call call; /* what all its tiles have in common */
    const float *x;      /* the input, or the copy of its rows: column 0 of row `first` */
    int64_t first, width;
    const float *sum; /* output row 0 of the plane in the sum's tensor, or NULL, and in y */
    float *y;
    int64_t tiles, least, larger; /* of a row: `larger` tiles have a pixel more than `least` */
    uint64_t lanes;               /* number of channels in the plane's block */
} conv_depthwise_stretch;

/* Begins plane `plane`, counted over all images. The caller sets x, first, sum and y. */
void conv_depthwise_begin(conv_depthwise_stretch *z, const conv_depthwise_plan *p,
                          const float *packed, uint64_t plane);
/* Computes `count` output rows from `row` on. */
void conv_depthwise_rows(conv_depthwise_stretch *z, int64_t row, int64_t count);
/* Columns of the input in a row of the copy, behind the left padding. */
int64_t conv_depthwise_inner(const conv_depthwise_plan *p);
/* Clears the padding of a copy, which is the same for all rows. */
void conv_depthwise_pad(const conv_depthwise_plan *p, float *to);

#endif

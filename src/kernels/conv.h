/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution in float32: what is convolved, and the end of a tile that all kinds of it share. */
#ifndef KERNELS_CONV_H
#define KERNELS_CONV_H

#include "kernels/extent.h"

typedef enum conv_activation {
    CONV_NO_ACTIVATION,
    CONV_RELU,
    CONV_LEAKY_RELU,   /* slope in parameter[0] */
    CONV_CLIP,         /* to parameter[0], parameter[1] */
    CONV_HARD_SIGMOID, /* parameter[0] * x + parameter[1], to [0, 1] */
    CONV_HARD_SWISH,
    CONV_SIGMOID, /* from here on a function of vec_math, when the tile is there */
    CONV_TANH,
    CONV_SILU,
    CONV_GELU, /* with erf */
    CONV_FAST_GELU
} conv_activation;

/* Over two spatial axes; with one, the first has size 1. Channels are those of all groups. */
typedef struct conv_shape {
    uint64_t batch, groups, in_channels, out_channels;
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2]; /* pad: before */
    uint32_t activation, has_bias, has_sum, inputs; /* the output comes behind the inputs */
    float parameter[2];
} conv_shape;

/* Conv and FusedConv in float32 with constant weights and bias over one or two spatial axes,
 * nothing of it empty. */
bool conv_describe(conv_shape *s, const kernel_problem *u);
/* Is a shape from a plan one that conv_describe makes, for so many inputs? Else refuses. */
bool conv_extent(kernel_extent *e, const kernel_claim *q, const conv_shape *s);
/* States `x` and `y` floats of data input, output and sum. */
void conv_extent_tensors(kernel_extent *e, const conv_shape *s, uint64_t x, uint64_t y);
/* The activation of FusedConv; false: not one of the above. */
bool conv_read_activation(uint32_t *activation, float *parameter, const op_node *n);
/* One of the activations from CONV_SIGMOID on. */
void conv_activate(uint32_t activation, float *y, size_t count);
/* Sets the layouts of data input, sum and output. */
void conv_set_layouts(kernel_problem *u, kernel_layout in, kernel_layout out);
double conv_flop_count(const conv_shape *s);
/* What vectors leave undone of a run of pixels of one block, of which `lanes` are channels: slow
 * activations, and clearing lanes beyond the channels. */
bool conv_must_finish(const conv_shape *s, size_t block, size_t lanes);
void conv_finish(const conv_shape *s, float *y, size_t pixels, size_t block, size_t lanes);
/* Kernel rows [*from, *to) that meet rows of the input at output row y. */
void conv_row_taps(const conv_shape *s, int64_t y, int64_t *from, int64_t *to);

static inline size_t conv_blocks(uint64_t channels, size_t block)
{
    return (channels + block - 1) / block;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution in float32: the problem, and the epilogue that all its kernels share. */
#ifndef KERNELS_CONV_H
#define KERNELS_CONV_H

#include "kernels/extent.h"

typedef enum conv_activation {
    CONV_NO_ACTIVATION,
    CONV_RELU,
    CONV_LEAKY_RELU,   /* slope in parameter[0] */
    CONV_CLIP,         /* to the range from parameter[0] to parameter[1] */
    CONV_HARD_SIGMOID, /* parameter[0] * x + parameter[1], clamped to [0, 1] */
    CONV_HARD_SWISH,
    CONV_SIGMOID, /* this and all later ones are slow: vec_math computes them on stored results */
    CONV_TANH,
    CONV_SILU,
    CONV_GELU, /* with erf */
    CONV_FAST_GELU
} conv_activation;

/* A convolution over two spatial axes; if the node has one, axis 0 has size 1. Channel counts
 * include all groups. */
typedef struct conv_shape {
    uint64_t batch, groups, in_channels, out_channels;
    /* pad: padding before the first element */
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
    /* inputs: number of inputs, and so the index of the output operand */
    uint32_t activation, has_bias, has_sum, inputs;
    float parameter[2];
    uint32_t rounds, reserved; /* kernel_tensor.rounds of the output, for conv_finish */
} conv_shape;

/* Accepts Conv and FusedConv in float32 with constant weights and bias, one or two spatial axes and
 * no empty tensor. */
bool conv_describe(conv_shape *s, const kernel_problem *u);
/* Refuses a shape from a plan file that conv_describe cannot make for this number of inputs. */
bool conv_extent(kernel_extent *e, const kernel_claim *q, const conv_shape *s);
/* States that the kernel touches `x` floats of the data input, and `y` floats each of the output
 * and of the sum input. */
void conv_extent_tensors(kernel_extent *e, const conv_shape *s, uint64_t x, uint64_t y);
/* Reads the activation of FusedConv; false if it is not one of conv_activation. */
bool conv_read_activation(uint32_t *activation, float *parameter, const op_node *n);
/* Applies a slow activation (CONV_SIGMOID and later ones). */
void conv_activate(uint32_t activation, float *y, size_t count);
/* Sets the layouts of data input, sum and output. */
void conv_set_layouts(kernel_problem *u, kernel_layout in, kernel_layout out);
double conv_flop_count(const conv_shape *s);
/* Elements of one image, and of all results; UINT64_MAX: more than can be counted. */
uint64_t conv_image_elements(const conv_shape *s);
uint64_t conv_result_elements(const conv_shape *s);
/* Is it only a scale and a shift of each channel, perhaps with Relu: depthwise, of single pixels?
 */
bool conv_is_scale(const conv_shape *s);
/* conv_finish completes stored pixels of one block, of which `lanes` channels exist: tiles neither
 * apply slow activations, nor round to 16 bits, nor clear the lanes beyond the channels.
 * conv_must_finish says whether this is needed. */
bool conv_must_finish(const conv_shape *s, size_t block, size_t lanes);
void conv_finish(const conv_shape *s, float *y, size_t pixels, size_t block, size_t lanes);
/* Kernel rows [*from, *to) that fall inside the input, not into its padding, at output row y. */
void conv_row_taps(const conv_shape *s, int64_t y, int64_t *from, int64_t *to);

static inline size_t conv_blocks(uint64_t channels, size_t block)
{
    return (channels + block - 1) / block;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ExpandedConv of pgy: a pointwise convolution and a depthwise convolution of its result, both
 * between tensors blocked by channels. */
#ifndef KERNELS_EXPANDED_CONV_H
#define KERNELS_EXPANDED_CONV_H

#include "kernels/conv_depthwise.h"

/* A unit of work is a pair of blocks of expanded channels of one image. Bands of its rows are
 * expanded into scratch memory, in the form of the depthwise convolution's copies of padded rows:
 * [block of the pair][row][column][lane]. */
typedef struct expanded_conv_plan {
    conv_plan expand; /* its rows are joined into one */
    conv_depthwise_plan deep;
    uint32_t apart;  /* 1: all is expanded in a phase of its own, into the workspace */
    uint32_t inputs; /* number of inputs, and so the index of the output operand */
} expanded_conv_plan;

void expanded_conv_run_bands(const kernel_run *r);

#endif

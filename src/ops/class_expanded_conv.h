/* SPDX-License-Identifier: Apache-2.0 */
/* pgy ExpandedConv: what its definition and its kernels share. */
#ifndef OPS_CLASS_EXPANDED_CONV_H
#define OPS_CLASS_EXPANDED_CONV_H

#include "ops/op.h"

enum {
    EXPANDED_X,
    EXPANDED_W, /* weights of the pointwise convolution */
    EXPANDED_V, /* weights of the second convolution */
    EXPANDED_B, /* bias of the pointwise convolution, optional */
    EXPANDED_C, /* bias of the second convolution, optional */
    EXPANDED_INPUTS
};

/* The pointwise convolution as a node of its own. Attributes point to those of n. */
typedef struct expanded_conv_inner {
    op_node node;
    op_attr attrs[2];
} expanded_conv_inner;
void expanded_conv_inner_read(expanded_conv_inner *out, const op_node *n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Output channels of Conv, ConvTranspose, Gemm and MatMul: where the weight has them, and whether a
 * constant has one number per channel. Scales and shifts of channels. */
#ifndef TRANSFORM_CHANNELS_H
#define TRANSFORM_CHANNELS_H

#include "transform/pattern.h"

/* How the elements of a weight belong to output channels: `outer` times in a row, the weight has
 * for each of `channels` channels a run of `inner` elements. With groups, repetition o of these
 * belongs to group o / (outer / groups). */
typedef struct channel_view {
    size_t outer, channels, inner, groups;
} channel_view;

/* Finds how the weight of n, with this shape, divides into output channels. False: n is not Conv,
 * ConvTranspose, Gemm or MatMul, or the shape does not fit. */
bool channels_view(channel_view *out, const pgy_node *n, size_t rank, const int64_t *shape);
/* Does constant v hold a single number, or one per channel? The `count` channels are axis `axis` of
 * a value of rank `rank`. */
bool channels_match(const pgy_value *v, int32_t rank, int32_t axis, int64_t count);

/* y = scale * x + shift for each of `count` channels. */
typedef struct channel_affine {
    double *scale, *shift;
    size_t count;
} channel_affine;

/* Makes scales of 1 and shifts of 0, which live as long as the pass. False: out of memory. */
bool channels_make_affine(channel_affine *out, pattern *p, size_t count);
/* Reads a BatchNormalization of out->count channels. False: it is none of inference with finite
 * constants. */
bool channels_read_batch_norm(channel_affine *out, pattern *p, const pgy_node *n);

#endif

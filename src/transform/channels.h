/* SPDX-License-Identifier: Apache-2.0 */
/* Output channels of Conv, ConvTranspose, Gemm and MatMul: where the weight has them, and whether a
 * constant has one number per channel. */
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

#endif

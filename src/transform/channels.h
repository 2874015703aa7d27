/* SPDX-License-Identifier: Apache-2.0 */
/* Channels of convolutions and products: their position in the weights, and constants with one
 * number per channel. */
#ifndef TRANSFORM_CHANNELS_H
#define TRANSFORM_CHANNELS_H

#include "transform/pattern.h"

/* Maps the elements of a weight to output channels: `outer` repetitions of `channels` runs of
 * `inner` elements; with groups, repetition o belongs to group o / (outer / groups). */
typedef struct channel_view {
    size_t outer, channels, inner, groups;
} channel_view;

/* Finds the view of the weight, of this shape, of a Conv, ConvTranspose, Gemm or MatMul; false: the
 * shape or operator does not allow one. */
bool channels_view(channel_view *out, const pgy_node *n, size_t rank, const int64_t *shape);
/* Does constant v hold a single number, or one per channel? The `count` channels are axis `axis` of
 * a value of rank `rank`. */
bool channels_match(const pgy_value *v, int32_t rank, int32_t axis, int64_t count);

#endif

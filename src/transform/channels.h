/* SPDX-License-Identifier: Apache-2.0 */
/* Channels of convolutions and products: where they lie in the weights, and which constants are one
 * number for each of them. */
#ifndef TRANSFORM_CHANNELS_H
#define TRANSFORM_CHANNELS_H

#include "transform/pattern.h"

/* How a weight's elements belong to output channels: `outer` repetitions of `channels` runs of
 * `inner`; with groups, repetition o is of group o / (outer / groups). */
typedef struct channel_view {
    size_t outer, channels, inner, groups;
} channel_view;

/* Of the weight, which has this shape, of a Conv, ConvTranspose, Gemm or MatMul; false: it has none
 * that makes sense. */
bool channels_view(channel_view *out, const pgy_node *n, size_t rank, const int64_t *shape);
/* Has constant v one number, or one for each of the `count` channels, which are axis `axis` of a
 * value of rank `rank`? */
bool channels_match(const pgy_value *v, int32_t rank, int32_t axis, int64_t count);

#endif

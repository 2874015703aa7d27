/* SPDX-License-Identifier: Apache-2.0 */
/* Where a weight has its output channels: axis 0 for Conv, axis 1 (in each group) for
 * ConvTranspose, the columns of the matrix for Gemm and MatMul. */
#include "transform/channels.h"

bool channels_view(channel_view *out, const pgy_node *n, size_t rank, const int64_t *shape)
{
    const bool gemm = pattern_is(n, "Gemm") || pattern_is(n, "MatMul"),
               turned = pattern_is(n, "ConvTranspose");
    const size_t axis = gemm ? !pattern_int(n, "transB", 0) : turned;
    const int64_t groups = turned ? pattern_int(n, "group", 1) : 1;
    *out = (channel_view){1, 1, 1, 1};
    if (rank < 2 || groups < 1) return false;
    for (size_t d = 0; d < rank; d++) {
        size_t *to = d < axis ? &out->outer : d == axis ? &out->channels : &out->inner;
        *to *= (size_t)shape[d];
    }
    out->groups = (size_t)groups;
    return out->outer > 0 && out->outer % out->groups == 0;
}

bool channels_match(const pgy_value *v, int32_t rank, int32_t axis, int64_t count)
{
    const int32_t own = pattern_rank(v);
    if (own < 0 || own > rank) return false;
    for (int32_t d = 0; d < own; d++) {
        const int64_t size = pattern_size(v, d);
        if (size != 1 && !(d + rank - own == axis && size == count)) return false;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that many layers need: casts, transposes, reshapes, sizes as tensors. A node that would
 * change nothing is not emitted. */
#include "engine/network/network.h"

pgy_value *build_cast(builder *b, pgy_value *v, pgy_dtype dtype)
{
    if (b->status || build_dtype(b, v) == dtype) return v;
    return build_int(b, build_emit(b, "Cast", 1, v), "to", pgy_dtype_describe(dtype)->onnx);
}

pgy_value *build_transpose(builder *b, pgy_value *v, const int64_t *perm, int32_t rank)
{
    bool moves = false;
    for (int32_t i = 0; i < rank; i++) moves |= perm[i] != i;
    if (b->status || !moves) return v;
    return build_ints(b, build_emit(b, "Transpose", 1, v), "perm", perm, (size_t)rank);
}

pgy_value *build_reshape(builder *b, pgy_value *v, const int64_t *dims, size_t count)
{
    return build_emit(b, "Reshape", 2, v, build_vector(b, dims, count));
}

pgy_value *build_unsqueeze(builder *b, pgy_value *v, int64_t axis)
{
    return build_emit(b, "Unsqueeze", 2, v, build_vector(b, &axis, 1));
}

pgy_value *build_squeeze(builder *b, pgy_value *v, int64_t axis)
{
    return build_emit(b, "Squeeze", 2, v, build_vector(b, &axis, 1));
}

pgy_value *build_element(builder *b, pgy_value *vector, int64_t i)
{
    return build_emit(b, "Gather", 2, vector, build_index(b, i));
}

pgy_value *build_dim(builder *b, pgy_value *v, int64_t axis)
{
    const int64_t size = build_size(b, v, (int32_t)axis);
    if (size >= 0) return build_index(b, size);
    return build_element(b, build_emit(b, "Shape", 1, v), axis);
}

pgy_value *build_scalar(builder *b, pgy_value *v)
{
    return build_rank(b, v) == 0 ? v : build_reshape(b, v, NULL, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Where a weight has its output channels: axis 0 for Conv, axis 1 (in each group) for
 * ConvTranspose, the columns of the matrix for Gemm and MatMul. */
#include "transform/channels.h"

#include <math.h>

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

bool channels_make_affine(channel_affine *out, pattern *p, size_t count)
{
    *out = (channel_affine){arena_alloc_array(&p->f.memory, count, sizeof(double)),
                            arena_alloc_array(&p->f.memory, count, sizeof(double)), count};
    for (size_t i = 0; out->scale && i < count; i++) out->scale[i] = 1;
    return out->scale && out->shift;
}

bool channels_read_batch_norm(channel_affine *out, pattern *p, const pgy_node *n)
{
    pgy_tensor *t[4] = {0};
    const double epsilon = pattern_float(n, "epsilon", 1e-5);
    bool good = pattern_is(n, "BatchNormalization") && n->input_count == 5 &&
                pattern_int(n, "training_mode", 0) == 0;
    for (size_t i = 1; i < n->output_count; i++) good = good && !n->outputs[i];
    for (size_t i = 0; good && i < 4; i++) {
        t[i] = pattern_floats(p, n->inputs[1 + i]);
        good = t[i] && pgy_tensor_count(t[i]) == out->count;
    }
    for (size_t i = 0; good && i < out->count; i++) {
        const double root = sqrt(op_f64(t[3])[i] + epsilon);
        out->scale[i] = op_f64(t[0])[i] / root;
        out->shift[i] = op_f64(t[1])[i] - op_f64(t[2])[i] * out->scale[i];
        good = isfinite(out->scale[i]) && isfinite(out->shift[i]);
    }
    for (size_t i = 0; i < 4; i++) pgy_tensor_release(t[i]);
    return good;
}

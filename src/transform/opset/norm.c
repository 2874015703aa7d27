/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations: outputs and modes of BatchNormalization, and newer operators expressed in older
 * ones. */
#include "transform/opset/adapters.h"

/* ---- BatchNormalization --------------------------------------------------------------------- */

static void per_element(rewrite *r)
{
    pgy_value *x = rw_input(r, 0);
    pgy_value *epsilon = rw_scalar_like(r, (double)rw_float(r, "epsilon", 1e-5f), x);
    pgy_value *deviation = rw_emit(r, "Sqrt", 1, rw_emit(r, "Add", 2, rw_input(r, 4), epsilon));
    pgy_value *unit = rw_emit(r, "Div", 2, rw_emit(r, "Sub", 2, x, rw_input(r, 3)), deviation);
    rw_become(r, "Add", 2, rw_emit(r, "Mul", 2, unit, rw_input(r, 1)), rw_input(r, 2));
}

static bool wants_statistics(const rewrite *r)
{
    for (size_t i = 1; i < r->node->output_count; i++)
        if (rw_wants(r, i)) return true;
    return false;
}

void batch_norm_9_up(rewrite *r)
{
    if (rw_int(r, "spatial", 1)) {
        rw_drop(r, "spatial");
        return;
    }
    if (wants_statistics(r))
        rw_refuse(r, "statistics per element (spatial = 0) were removed after opset 8");
    rw_cut_outputs(r, 1);
    per_element(r);
}

/* Before opset 14, more than one output means training mode. */
void batch_norm_14_up(rewrite *r)
{
    if (!wants_statistics(r)) {
        rw_cut_outputs(r, 1);
        return;
    }
    if (rw_wants(r, 3) || rw_wants(r, 4))
        rw_refuse(r, "the outputs saved_mean and saved_var were removed after opset 13");
    rw_cut_outputs(r, 3);
    rw_set_int(r, r->node, "training_mode", 1);
}

void batch_norm_14_down(rewrite *r)
{
    if (rw_int(r, "training_mode", 0)) rw_refuse(r, "training mode was introduced in opset 14");
    rw_drop(r, "training_mode");
    rw_cut_outputs(r, 1);
}

/* ---- Spelled out ---------------------------------------------------------------------------- */

/* Widens 16-bit floats to float32, as `stash_type` requires by default. */
static pgy_value *widened(rewrite *r, pgy_value *x)
{
    const pgy_dtype dtype = rw_dtype(x);
    return dtype == PGY_F32 || dtype == PGY_F64 ? x : rw_cast(r, x, PGY_F32);
}

static pgy_value *narrowed(rewrite *r, pgy_value *v, pgy_value *like)
{
    return rw_dtype(like) && rw_dtype(like) == rw_dtype(v) ? v : rw_cast_like(r, v, like);
}

/* Returns 1 / sqrt(mean(x * x) + epsilon). */
static pgy_value *inverse_root(rewrite *r, pgy_value *x, const int64_t *axes, size_t count)
{
    pgy_value *epsilon = rw_scalar_like(r, (double)rw_float(r, "epsilon", 1e-5f), x);
    pgy_value *squares = rw_reduce(r, "ReduceMean", rw_emit(r, "Mul", 2, x, x), axes, count);
    return rw_emit(r, "Reciprocal", 1,
                   rw_emit(r, "Sqrt", 1, rw_emit(r, "Add", 2, squares, epsilon)));
}

/* Lists the axes from attribute `axis` on; returns 0 after a refusal. */
static size_t normalised_axes(rewrite *r, int64_t axes[PGY_MAX_RANK])
{
    int64_t axis = rw_int(r, "axis", -1);
    const int32_t rank = rw_rank(rw_input(r, 0));
    if (axis >= 0 && rank < 0) rw_refuse(r, "axis %lld needs a known rank", (long long)axis);
    if (axis >= 0) axis -= rank;
    if (axis >= 0 || axis < -PGY_MAX_RANK) rw_refuse(r, "the axis is out of range");
    if (r->status) return 0;
    for (int64_t i = axis; i < 0; i++) axes[i - axis] = i + (rank > 0 ? rank : 0);
    return (size_t)-axis;
}

static void output_is(rewrite *r, size_t i, pgy_value *v)
{
    if (!rw_wants(r, i)) return;
    pgy_value *old = rw_detach(r, i);
    if (old) rw_emit_into(r, old, "Identity", 1, v);
}

void layer_norm_down(rewrite *r)
{
    int64_t axes[PGY_MAX_RANK];
    pgy_value *x = rw_input(r, 0), *scale = rw_input(r, 1), *bias = rw_input(r, 2);
    const size_t count = normalised_axes(r, axes);
    pgy_value *wide = widened(r, x);
    pgy_value *mean = rw_reduce(r, "ReduceMean", wide, axes, count);
    pgy_value *centred = rw_emit(r, "Sub", 2, wide, mean);
    pgy_value *inverse = inverse_root(r, centred, axes, count);
    pgy_value *unit = narrowed(r, rw_emit(r, "Mul", 2, centred, inverse), x);
    output_is(r, 1, mean);
    output_is(r, 2, inverse);
    rw_cut_outputs(r, 1);
    if (bias)
        rw_become(r, "Add", 2, rw_emit(r, "Mul", 2, unit, scale), bias);
    else
        rw_become(r, "Mul", 2, unit, scale);
}

void rms_norm_down(rewrite *r)
{
    int64_t axes[PGY_MAX_RANK];
    pgy_value *x = rw_input(r, 0), *scale = rw_input(r, 1);
    const size_t count = normalised_axes(r, axes);
    pgy_value *wide = widened(r, x);
    pgy_value *unit = rw_emit(r, "Mul", 2, wide, inverse_root(r, wide, axes, count));
    rw_become(r, "Mul", 2, narrowed(r, unit, x), scale);
}

/* The scale is per group in opset 18, per channel from 21 on. */
void group_norm_down(rewrite *r)
{
    const int64_t last = 2, second = 1, groups[3] = {0, rw_int(r, "num_groups", 0), -1};
    const int64_t channels[3] = {0, 0, -1};
    const bool per_channel = r->version >= 20;
    pgy_value *x = rw_input(r, 0), *shape = rw_emit(r, "Shape", 1, x);
    pgy_value *wide = widened(r, x);
    pgy_value *parts = rw_emit(r, "Reshape", 2, wide, rw_vector(r, groups, 3));
    pgy_value *centred = rw_emit(r, "Sub", 2, parts, rw_reduce(r, "ReduceMean", parts, &last, 1));
    pgy_value *unit = rw_emit(r, "Mul", 2, centred, inverse_root(r, centred, &last, 1));
    unit = narrowed(r, unit, x);
    if (per_channel) {
        unit = rw_emit(r, "Reshape", 2, unit, shape);
        unit = rw_emit(r, "Reshape", 2, unit, rw_vector(r, channels, 3));
    }
    pgy_value *scaled = rw_emit(r, "Mul", 2, unit, rw_unsqueeze(r, rw_input(r, 1), &second, 1));
    pgy_value *shifted = rw_emit(r, "Add", 2, scaled, rw_unsqueeze(r, rw_input(r, 2), &second, 1));
    rw_become(r, "Reshape", 2, shifted, shape);
}

/* Repeats the value of each group for each of its channels. */
static pgy_value *repeated(rewrite *r, pgy_value *per_group, pgy_value *times)
{
    const int64_t second = 1;
    pgy_value *column = rw_unsqueeze(r, per_group, &second, 1);
    pgy_value *shape = rw_with_int(r, rw_emit(r, "Concat", 2, rw_vector1(r, 1), times), "axis", 0);
    return rw_emit(r, "Reshape", 2, rw_emit(r, "Expand", 2, column, shape), rw_vector1(r, -1));
}

void group_norm_up(rewrite *r)
{
    const int64_t groups = rw_int(r, "num_groups", 1);
    pgy_value *channels = rw_dim(r, rw_input(r, 0), 1);
    pgy_value *times = rw_emit(r, "Div", 2, channels, rw_vector1(r, groups));
    rw_set_input(r, 1, repeated(r, rw_input(r, 1), times));
    rw_set_input(r, 2, repeated(r, rw_input(r, 2), times));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Upsample and Resize. Version 10 has no coordinate modes: positions are asymmetric; nearest takes
 * the pixel below where an axis grows and the one above where it shrinks. Version 9 only grows. */
#include <math.h>
#include <string.h>

#include "transform/opset/adapters.h"

enum { SCALES_10 = 1, ROI = 1, SCALES = 2, SIZES = 3 };

typedef struct growth {
    bool grows, shrinks, whole; /* whole: all scale factors are integers */
} growth;

/* Reads how the constant scales of input i change the sizes; false: the scales are computed. */
static bool find_growth(growth *out, rewrite *r, size_t i)
{
    const pgy_tensor *t = rw_constant(r, i);
    *out = (growth){.whole = true};
    if (!t || pgy_tensor_dtype(t) != PGY_F64) return false;
    for (size_t k = 0; k < pgy_tensor_count(t); k++) {
        const double scale = op_f64(t)[k];
        out->grows |= scale > 1;
        out->shrinks |= scale < 1;
        out->whole &= scale == floor(scale);
    }
    return true;
}

static bool read_growth(growth *out, rewrite *r, size_t i)
{
    if (r->status) return false;
    if (find_growth(out, r, i)) return true;
    rw_refuse(r, "its scales are not constant, so sizes may grow or shrink");
    return false;
}

/* Sets the coordinate mode that older versions imply. */
static void say_asymmetric(rewrite *r, const char *nearest_mode)
{
    pgy_value *scales = rw_input(r, SCALES_10);
    if (nearest_mode) rw_set_string(r, r->node, "nearest_mode", nearest_mode);
    rw_set_string(r, r->node, "coordinate_transformation_mode", "asymmetric");
    rw_set_input(r, SCALES, scales);
    rw_set_input(r, ROI, r->target >= 13 ? NULL : rw_floats(r, NULL, 0));
}

/* Used only if the target is opset 10; for later targets upsample_11_up converts the Upsample,
 * which is known to enlarge even if its scales are computed. */
void upsample_10_up(rewrite *r)
{
    if (r->target == 10) rw_rename(r, "Resize");
}

void upsample_11_up(rewrite *r)
{
    say_asymmetric(r, rw_is(r, "mode", "linear", "nearest") ? NULL : "floor");
    rw_rename(r, "Resize");
}

void resize_10_down(rewrite *r)
{
    growth g;
    if (!read_growth(&g, r, SCALES_10)) return;
    if (g.shrinks)
        rw_refuse(r, "Upsample of opset 9 cannot shrink");
    else
        rw_rename(r, "Upsample");
}

/* ---- Between opset 10 and 11 ----------------------------------------------------------------- */

/* Resizes the growing axes first, then the shrinking ones, by two nodes. */
static void in_two_steps(rewrite *r)
{
    const float one[1] = {1};
    pgy_value *scales = rw_input(r, SCALES_10), *limit = rw_floats(r, one, 1);
    pgy_value *roi = r->target >= 13 ? NULL : rw_floats(r, NULL, 0);
    pgy_value *grown =
        rw_emit(r, "Resize", 3, rw_input(r, 0), roi, rw_emit(r, "Max", 2, scales, limit));
    if (!grown) return;
    rw_set_string(r, grown->producer, "mode", "nearest");
    rw_set_string(r, grown->producer, "nearest_mode", "floor");
    rw_set_string(r, grown->producer, "coordinate_transformation_mode", "asymmetric");
    rw_set_input(r, 0, grown);
    rw_set_input(r, SCALES_10, rw_emit(r, "Min", 2, scales, limit));
    say_asymmetric(r, "ceil");
}

void resize_11_up(rewrite *r)
{
    growth g;
    if (rw_is(r, "mode", "linear", "nearest"))
        say_asymmetric(r, NULL);
    else if (!find_growth(&g, r, SCALES_10) || (g.grows && g.shrinks))
        in_two_steps(r);
    else
        say_asymmetric(r, g.shrinks ? "ceil" : "floor");
}

/* Replaces sizes by scales if these reproduce the sizes exactly. */
static void scales_from_sizes(rewrite *r)
{
    float scales[PGY_MAX_RANK];
    size_t count = 0;
    if (!rw_input(r, SIZES)) return;
    const int64_t *sizes = rw_constant_ints(r, SIZES, &count);
    if (r->status || count == 0) return;
    if (count > PGY_MAX_RANK) {
        rw_refuse(r, "it has %zu sizes, more than an input can have axes", count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t old = rw_size(rw_input(r, 0), (int32_t)i);
        scales[i] = old > 0 ? (float)sizes[i] / (float)old : 0;
        if (old <= 0 || (int64_t)floorf(scales[i] * (float)old) != sizes[i]) {
            rw_refuse(r, "size %lld of axis %zu cannot be expressed as a scale",
                      (long long)sizes[i], i);
            return;
        }
    }
    rw_set_input(r, SCALES, rw_floats(r, scales, count));
}

/* Do coordinate mode and rounding of this Resize select the same pixels as Resize of opset 10? */
static bool falls_alike(rewrite *r, const growth *g)
{
    static const char KEY[] = "coordinate_transformation_mode", ROUND[] = "nearest_mode";
    const bool asymmetric = rw_is(r, KEY, "asymmetric", "half_pixel");
    const bool centred = rw_is(r, KEY, "half_pixel", "half_pixel");
    const bool below = rw_is(r, ROUND, "floor", "round_prefer_floor");
    const bool above = rw_is(r, ROUND, "ceil", "round_prefer_floor");
    if (!rw_is(r, "mode", "nearest", "nearest"))
        return asymmetric && rw_is(r, "mode", "linear", "nearest");
    if (!g->grows && !g->shrinks) return true;
    if (centred) return !g->shrinks && g->whole && !below && !above;
    return asymmetric && ((below && !g->shrinks) || (above && !g->grows));
}

void resize_11_down(rewrite *r)
{
    static const char *const YOUNG[] = {"coordinate_transformation_mode", "cubic_coeff_a",
                                        "exclude_outside", "extrapolation_value", "nearest_mode"};
    growth g;
    scales_from_sizes(r);
    if (!read_growth(&g, r, SCALES)) return;
    if (!falls_alike(r, &g))
        rw_refuse(r, "opset 10 lacks its combination of mode, coordinates and rounding");
    for (size_t i = 0; i < sizeof YOUNG / sizeof *YOUNG; i++) rw_drop(r, YOUNG[i]);
    rw_set_input(r, SCALES_10, rw_input(r, SCALES));
    rw_cut_inputs(r, 2);
}

/* ---- From opset 13 on ------------------------------------------------------------------------ */

/* (i + 0.5) / scale, rounded down, is the half-pixel position rounded to the nearest, up if tied.
 */
void resize_13_up(rewrite *r)
{
    static const char KEY[] = "coordinate_transformation_mode", ROUND[] = "nearest_mode";
    if (!rw_is(r, KEY, "tf_half_pixel_for_nn", "half_pixel")) return;
    if (!rw_is(r, "mode", "nearest", "nearest") || !rw_is(r, ROUND, "floor", "round_prefer_floor"))
        rw_refuse(r, "coordinates 'tf_half_pixel_for_nn' were removed after opset 12");
    rw_set_string(r, r->node, KEY, "half_pixel");
    rw_set_string(r, r->node, ROUND, "round_prefer_ceil");
}

/* Before opset 13, roi and scales must be present, if only as empty tensors. */
void resize_13_down(rewrite *r)
{
    if (!rw_input(r, ROI)) rw_set_input(r, ROI, rw_floats(r, NULL, 0));
    if (!rw_input(r, SCALES)) rw_set_input(r, SCALES, rw_floats(r, NULL, 0));
}

static int64_t axis_at(rewrite *r, const int64_t *axes, size_t i, int32_t rank)
{
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis >= 0 && axis < rank) return axis;
    rw_refuse(r, "axis %lld is out of range", (long long)axes[i]);
    return 0;
}

static void spread_scales(rewrite *r, const int64_t *axes, size_t count, int32_t rank)
{
    float full[PGY_MAX_RANK];
    const pgy_tensor *t = rw_constant(r, SCALES);
    if (!t || pgy_tensor_dtype(t) != PGY_F64 || pgy_tensor_count(t) != count) {
        rw_refuse(r, "axes were introduced in opset 18, and its scales are not constant");
        return;
    }
    for (int32_t i = 0; i < rank; i++) full[i] = 1;
    for (size_t i = 0; !r->status && i < count; i++)
        full[axis_at(r, axes, i, rank)] = (float)op_f64(t)[i];
    rw_set_input(r, SCALES, rw_floats(r, full, (size_t)rank));
}

static void spread_sizes(rewrite *r, const int64_t *axes, size_t count, int32_t rank)
{
    pgy_value *parts[PGY_MAX_RANK];
    size_t given = 0;
    const int64_t *sizes = rw_constant_ints(r, SIZES, &given);
    if (!r->status && given != count) rw_refuse(r, "it has %zu sizes for %zu axes", given, count);
    for (int32_t i = 0; !r->status && i < rank; i++) parts[i] = NULL;
    for (size_t i = 0; !r->status && i < count; i++)
        parts[axis_at(r, axes, i, rank)] = rw_vector1(r, sizes[i]);
    pgy_value *all = NULL;
    for (int32_t i = 0; !r->status && i < rank; i++) {
        pgy_value *part = parts[i] ? parts[i] : rw_dim(r, rw_input(r, 0), i);
        all = all ? rw_with_int(r, rw_emit(r, "Concat", 2, all, part), "axis", 0) : part;
    }
    rw_set_input(r, SIZES, all);
}

void resize_18_down(rewrite *r)
{
    size_t count = 0;
    const int32_t rank = rw_rank(rw_input(r, 0));
    const int64_t *axes = rw_ints(r, "axes", &count);
    if (!axes) return;
    rw_drop(r, "axes");
    if (rank < 0) rw_refuse(r, "the axes need a known rank, but the rank of the input is unknown");
    if (rw_is(r, "coordinate_transformation_mode", "tf_crop_and_resize", "half_pixel"))
        rw_refuse(r, "a region of interest over some axes was introduced in opset 18");
    if (r->status) return;
    const pgy_tensor *sizes = rw_input(r, SIZES) ? rw_constant(r, SIZES) : NULL;
    if (rw_input(r, SIZES) && !(sizes && pgy_tensor_count(sizes) == 0))
        spread_sizes(r, axes, count, rank);
    else
        spread_scales(r, axes, count, rank);
}

/* True if the scaled sizes are integers; otherwise symmetric coordinates differ from the other
 * modes. */
static bool sizes_are_exact(rewrite *r)
{
    const pgy_tensor *t = rw_input(r, SCALES) ? rw_constant(r, SCALES) : NULL;
    if (rw_input(r, SIZES)) return true;
    if (!t || pgy_tensor_dtype(t) != PGY_F64 || node_attribute(r->node, "axes")) return false;
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        const int64_t size = rw_size(rw_input(r, 0), (int32_t)i);
        const double scaled = op_f64(t)[i] * (double)size;
        if (size < 0 || scaled != floor(scaled)) return false;
    }
    return true;
}

void resize_19_down(rewrite *r)
{
    static const char KEY[] = "coordinate_transformation_mode";
    if (!rw_is(r, KEY, "half_pixel_symmetric", "half_pixel")) return;
    if (sizes_are_exact(r))
        rw_set_string(r, r->node, KEY, "half_pixel");
    else
        rw_refuse(r, "coordinates 'half_pixel_symmetric' were introduced in opset 19");
}

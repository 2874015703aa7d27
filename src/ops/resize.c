/* SPDX-License-Identifier: Apache-2.0 */
/* Resize: output sizes from scales or sizes, and the settings of the resampling. Version 10 knows
 * scales only; 18 brings axes, antialiasing and aspect ratio policies. See class_resize.h. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_resize.h"

static const op_attr_def ATTRS_10[] = {
    {"mode", OP_ATTR_STRING, false, "nearest", "nearest linear cubic"}, {NULL}};

static const op_attr_def ATTRS_11[] = {
    {"coordinate_transformation_mode", OP_ATTR_STRING, false, "half_pixel"},
    {"cubic_coeff_a", OP_ATTR_FLOAT, false, "-0.75"},
    {"exclude_outside", OP_ATTR_INT, false, "0"},
    {"extrapolation_value", OP_ATTR_FLOAT, false, "0"},
    {"mode", OP_ATTR_STRING, false, "nearest", "nearest linear cubic"},
    {"nearest_mode", OP_ATTR_STRING, false, "round_prefer_floor",
     "round_prefer_floor round_prefer_ceil floor ceil"},
    {NULL},
};

static const op_attr_def ATTRS_18[] = {
    {"antialias", OP_ATTR_INT, false, "0"},
    {"axes", OP_ATTR_INTS, false, NULL},
    {"coordinate_transformation_mode", OP_ATTR_STRING, false, "half_pixel"},
    {"cubic_coeff_a", OP_ATTR_FLOAT, false, "-0.75"},
    {"exclude_outside", OP_ATTR_INT, false, "0"},
    {"extrapolation_value", OP_ATTR_FLOAT, false, "0"},
    {"keep_aspect_ratio_policy", OP_ATTR_STRING, false, "stretch",
     "stretch not_larger not_smaller"},
    {"mode", OP_ATTR_STRING, false, "nearest", "nearest linear cubic"},
    {"nearest_mode", OP_ATTR_STRING, false, "round_prefer_floor",
     "round_prefer_floor round_prefer_ceil floor ceil"},
    {NULL},
};

/* Inputs after the first: scales in version 10; roi, scales, sizes later. */
static size_t scales_input(const op_node *n)
{
    return n->def->since == 10 ? 1 : 2;
}

enum { ROI = 1, SIZES = 3 };

static pgy_status find_axes(size_t *axes, size_t *count, const op_node *n, int32_t rank,
                            pgy_error *err)
{
    size_t given = 0;
    const int64_t *list = op_attr_ints(n, "axes", &given);
    pgy_status st = rule_check_rank(n, rank, err);
    if (st) return st;
    *count = given ? given : (size_t)rank;
    for (size_t i = 0; !given && i < (size_t)rank; i++) axes[i] = i;
    return given ? rule_axes(axes, n, list, given, rank, err) : PGY_OK;
}

static pgy_status check_count(const op_node *n, const char *what, size_t have, size_t wanted,
                              pgy_error *err)
{
    if (have == wanted) return PGY_OK;
    return op_error(n, err, PGY_E_SHAPE, "%s has %zu elements, but %zu are needed", what, have,
                    wanted);
}

/* Scales or sizes: a list with one element per axis. */
static pgy_status check_list(const op_infer *c, size_t input, const char *what, size_t count,
                             pgy_error *err)
{
    const op_value *v = &c->inputs[input];
    if (v->rank < 0) return PGY_OK;
    if (v->rank != 1)
        return op_error(c->node, err, PGY_E_SHAPE, "%s must have rank 1, but has rank %d", what,
                        (int)v->rank);
    return dim_is_const(v->dims[0])
               ? check_count(c->node, what, (size_t)v->dims[0].value, count, err)
               : PGY_OK;
}

static bool keeps_ratio(const op_node *n)
{
    return !op_attr_is(n, "keep_aspect_ratio_policy", "stretch", "stretch");
}

/* The common scale with which no axis becomes larger (or none smaller) than requested. */
static double common_scale(const op_node *n, const int64_t *sizes, const int64_t *in,
                           const size_t *axes, size_t count)
{
    bool smaller = op_attr_is(n, "keep_aspect_ratio_policy", "not_larger", "stretch");
    double scale = smaller ? INFINITY : 0;
    for (size_t i = 0; i < count; i++) {
        double s = (double)sizes[i] / (double)in[axes[i]];
        scale = smaller ? fmin(scale, s) : fmax(scale, s);
    }
    return scale;
}

static bool has_elements(const op_infer *c, size_t i)
{
    if (!op_has_input(c, i)) return false;
    const op_value *v = &c->inputs[i];
    return !(v->rank == 1 && dim_is_const(v->dims[0]) && v->dims[0].value == 0);
}

static pgy_status infer_scales(op_infer *c, dim *dims, const size_t *axes, size_t count,
                               pgy_error *err)
{
    const pgy_tensor *scales = c->inputs[scales_input(c->node)].data;
    if (!scales || pgy_tensor_dtype(scales) != PGY_F64) {
        for (size_t i = 0; i < count; i++)
            dims[axes[i]] = dim_unknown(c->dims, "the scales are not known");
        return PGY_OK;
    }
    pgy_status st = check_count(c->node, "scales", pgy_tensor_count(scales), count, err);
    const double *values = pgy_tensor_data(scales);
    for (size_t i = 0; !st && i < count; i++)
        st = resize_scaled(&dims[axes[i]], c, dims[axes[i]], values[i], err);
    return st;
}

static pgy_status infer_ratio(op_infer *c, dim *dims, const dim *sizes, const size_t *axes,
                              size_t count, pgy_error *err)
{
    int64_t wanted[PGY_MAX_RANK] = {0}, in[PGY_MAX_RANK] = {0};
    for (size_t i = 0; i < count; i++) {
        if (!dim_is_const(sizes[i]) || !dim_is_const(dims[axes[i]])) {
            for (size_t j = 0; j < count; j++)
                dims[axes[j]] = dim_unknown(c->dims, "the common scale is not known");
            return PGY_OK;
        }
        wanted[i] = sizes[i].value;
        in[axes[i]] = dims[axes[i]].value;
    }
    double scale = common_scale(c->node, wanted, in, axes, count);
    for (size_t i = 0; i < count; i++) {
        double size = floor(scale * (double)in[axes[i]] + 0.5);
        if (!(size >= 0 && size < 9e18))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "the output would have a dimension of %g, which is out of range", size);
        dims[axes[i]] = dim_const((int64_t)size);
    }
    return PGY_OK;
}

static pgy_status infer_sizes(op_infer *c, dim *dims, const size_t *axes, size_t count,
                              pgy_error *err)
{
    const dim *sizes = NULL;
    size_t given = 0;
    if (!rule_values(c, SIZES, &sizes, &given)) {
        for (size_t i = 0; i < count; i++)
            dims[axes[i]] = dim_unknown(c->dims, "the sizes are not known");
        return PGY_OK;
    }
    pgy_status st = check_count(c->node, "sizes", given, count, err);
    for (size_t i = 0; !st && i < count; i++)
        if (rule_is_negative(sizes[i]))
            return op_error(c->node, err, PGY_E_SHAPE, "sizes has the negative value %" PRId64,
                            sizes[i].value);
    if (st) return st;
    if (keeps_ratio(c->node)) return infer_ratio(c, dims, sizes, axes, count, err);
    for (size_t i = 0; i < count; i++) dims[axes[i]] = sizes[i];
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    size_t axes[PGY_MAX_RANK], count = 0;
    const op_value *x = &c->inputs[0];
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the input's shape is not known");
        return PGY_OK;
    }
    pgy_status st = find_axes(axes, &count, c->node, x->rank, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    bool scales = has_elements(c, scales_input(c->node)),
         sizes = c->node->def->since > 10 && has_elements(c, SIZES);
    if (scales && sizes && c->node->def->since >= 13)
        return op_error(c->node, err, PGY_E_ARGUMENT, "both scales and sizes are given");
    if (!scales && !sizes)
        return op_error(c->node, err, PGY_E_ARGUMENT, "neither scales nor sizes are given");
    st = sizes ? check_list(c, SIZES, "sizes", count, err)
               : check_list(c, scales_input(c->node), "scales", count, err);
    if (st) return st;
    st = sizes ? infer_sizes(c, dims, axes, count, err) : infer_scales(c, dims, axes, count, err);
    if (st) return st;
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

static pgy_status read_word(int *out, const op_node *n, const char *attr, const char *const *words,
                            const char *fallback, pgy_error *err)
{
    for (int i = 0; words[i]; i++)
        if (op_attr_is(n, attr, words[i], fallback)) {
            *out = i;
            return PGY_OK;
        }
    const op_attr *a = op_attr_find(n, attr);
    return op_error(n, err, PGY_E_ARGUMENT, "attribute %s has the unknown value '%.*s'", attr,
                    a ? (int)a->s.size : 0, a && a->s.data ? a->s.data : "");
}

static pgy_status read_settings(resize_settings *s, const op_node *n, pgy_error *err)
{
    static const char *const MODES[] = {"nearest", "linear", "cubic", NULL};
    static const char *const COORDS[] = {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const ROUNDINGS[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                            "ceil", NULL};
    int mode = 0, coords = 0, rounding = 0;
    pgy_status st = read_word(&mode, n, "mode", MODES, "nearest", err);
    if (!st)
        st = read_word(&coords, n, "coordinate_transformation_mode", COORDS, "half_pixel", err);
    if (!st) st = read_word(&rounding, n, "nearest_mode", ROUNDINGS, "round_prefer_floor", err);
    if (st) return st;
    *s = (resize_settings){.mode = (resize_mode)mode,
                           .coords = (resize_coords)coords,
                           .rounding = (resize_rounding)rounding};
    if (n->def->since == 10) {
        s->coords = RESIZE_ASYMMETRIC;
        s->rounding = RESIZE_FLOOR_UP_CEIL_DOWN;
    }
    s->antialias = op_attr_int(n, "antialias", 0) != 0;
    s->exclude_outside = op_attr_int(n, "exclude_outside", 0) != 0;
    s->cubic_a = op_attr_float(n, "cubic_coeff_a", -0.75);
    s->extrapolation = op_attr_float(n, "extrapolation_value", 0);
    return PGY_OK;
}

static pgy_status read_roi(resize_axis *list, const op_eval *c, const size_t *axes, size_t count,
                           pgy_error *err)
{
    const double *roi = in_f64(c, ROI);
    pgy_status st = check_count(c->node, "roi", in_count(c, ROI), 2 * count, err);
    for (size_t i = 0; !st && i < count; i++) {
        list[axes[i]].roi_begin = roi[i];
        list[axes[i]].roi_end = roi[count + i];
    }
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    resize_settings s;
    resize_axis list[PGY_MAX_RANK];
    size_t axes[PGY_MAX_RANK], count = 0, rank = in_rank(c, 0), scales = scales_input(c->node);
    pgy_status st = inputs_check(c, c->node->def->since == 10 ? "!F" : "!ffi", err);
    if (!st) st = read_settings(&s, c->node, err);
    if (!st) st = find_axes(axes, &count, c->node, (int32_t)rank, err);
    if (st) return st;
    const int64_t *in = in_shape(c, 0), *out = out_shape(c, 0), *sizes = in_i64(c, SIZES);
    bool by_size = c->node->def->since > 10 && in_count(c, SIZES) > 0;
    for (size_t i = 0; i < rank; i++) list[i] = (resize_axis){1, 0, 1};
    for (size_t i = 0; out && i < count; i++) {
        size_t a = axes[i];
        if (!by_size)
            list[a].scale = in_f64(c, scales)[i];
        else if (keeps_ratio(c->node))
            list[a].scale = common_scale(c->node, sizes, in, axes, count);
        else
            list[a].scale = (double)out[a] / (double)in[a];
    }
    if (s.coords == RESIZE_TF_CROP) st = read_roi(list, c, axes, count, err);
    return st ? st : resize_run(c, &s, list, err);
}

static double flops(const op_infer *c)
{
    return op_attr_is(c->node, "mode", "nearest", "nearest") ? 0 : 8 * dims_product(&c->outputs[0]);
}

#define ROW(version, least, most, attrs)                                                 \
    {                                                                                    \
        "Resize", "", version, 0, least, most, 1, 1, 0, attrs, "all", infer, eval, flops \
    }
const op_def OP_resize[] = {
    ROW(10, 2, 2, ATTRS_10), ROW(11, 3, 4, ATTRS_11), ROW(13, 1, 4, ATTRS_11),
    ROW(18, 1, 4, ATTRS_18), ROW(19, 1, 4, ATTRS_18), {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign: divides each region into bins, samples each bin bilinearly on a small grid, and takes
 * the average or the largest weighted corner. Version 10 has no half-pixel shift and regions of at
 * least one pixel. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS_10[] = {
    {"mode", OP_ATTR_STRING, false, "avg", "avg max"},
    {"output_height", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"output_width", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"sampling_ratio", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"spatial_scale", OP_ATTR_FLOAT, false, "1"},
    {NULL},
};

static const op_attr_def ATTRS_16[] = {
    {"coordinate_transformation_mode", OP_ATTR_STRING, false, "half_pixel",
     "half_pixel output_half_pixel"},
    {"mode", OP_ATTR_STRING, false, "avg", "avg max"},
    {"output_height", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"output_width", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"sampling_ratio", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"spatial_scale", OP_ATTR_FLOAT, false, "1"},
    {NULL},
};

static pgy_status check_size(const op_node *n, const char *name, pgy_error *err)
{
    int64_t v = op_attr_int(n, name, 1);
    if (v >= 0 && v <= INT32_MAX) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT, "attribute %s is %" PRId64 ", which is out of range",
                    name, v);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = rank_check(c, 0, 4, 4, err);
    if (!st) st = rank_check(c, 1, 2, 2, err);
    if (!st) st = dim_check(c, 1, 1, dim_const(4), "the number of coordinates of a region", err);
    if (!st) st = rank_check(c, 2, 1, 1, err);
    if (!st && rank_known(c, 1))
        st = dim_check(c, 2, 0, c->inputs[1].dims[0], "the number of regions", err);
    if (!st) st = check_size(c->node, "output_height", err);
    if (!st) st = check_size(c->node, "output_width", err);
    if (!st) st = check_size(c->node, "sampling_ratio", err);
    if (st) return st;
    dim *dims = op_dims(c, 4);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = rank_known(c, 1) ? c->inputs[1].dims[0]
                               : dim_unknown(c->dims, "the number of regions is not known");
    dims[0] = dim_joined(c, 2, 0, dims[0]);
    dims[1] = rank_known(c, 0) ? c->inputs[0].dims[1]
                               : dim_unknown(c->dims, "the input's shape is not known");
    dims[2] = dim_const(op_attr_int(c->node, "output_height", 1));
    dims[3] = dim_const(op_attr_int(c->node, "output_width", 1));
    op_set_output(c, 0, c->inputs[0].dtype, 4, dims);
    return PGY_OK;
}

typedef struct align {
    const op_eval *c;
    int64_t height, width, out_height, out_width, ratio;
    size_t channels;
    double scale;
    bool shifted, largest;
} align;

/* Computes the weighted values of the four corners; zeros outside the image. */
static void corners(const align *a, const double *x, double row, double col, double out[4])
{
    for (int i = 0; i < 4; i++) out[i] = 0;
    if (!(row >= -1 && row <= (double)a->height && col >= -1 && col <= (double)a->width)) return;
    row = fmax(row, 0);
    col = fmax(col, 0);
    int64_t r = (int64_t)row, c = (int64_t)col;
    int64_t r1 = r + 1, c1 = c + 1;
    if (r >= a->height - 1) r = r1 = a->height - 1, row = (double)r;
    if (c >= a->width - 1) c = c1 = a->width - 1, col = (double)c;
    double fr = row - (double)r, fc = col - (double)c;
    out[0] = (1 - fr) * (1 - fc) * x[r * a->width + c];
    out[1] = (1 - fr) * fc * x[r * a->width + c1];
    out[2] = fr * (1 - fc) * x[r1 * a->width + c];
    out[3] = fr * fc * x[r1 * a->width + c1];
}

typedef struct region {
    double row, col, bin_height, bin_width;
    int64_t rows, cols; /* number of samples per bin in each direction */
} region;

static region read_region(const align *a, const double *roi)
{
    double shift = a->shifted ? 0.5 : 0;
    double x0 = roi[0] * a->scale - shift, y0 = roi[1] * a->scale - shift;
    double width = roi[2] * a->scale - shift - x0, height = roi[3] * a->scale - shift - y0;
    if (!a->shifted) {
        width = fmax(width, 1);
        height = fmax(height, 1);
    }
    region r = {y0,       x0,      height / (double)a->out_height, width / (double)a->out_width,
                a->ratio, a->ratio};
    if (a->ratio == 0) {
        r.rows = (int64_t)fmin(fmax(ceil(r.bin_height), 0), 4096);
        r.cols = (int64_t)fmin(fmax(ceil(r.bin_width), 0), 4096);
    }
    return r;
}

static double sample_bin(const align *a, const region *r, const double *x, int64_t oy, int64_t ox)
{
    double sum = 0, top = -INFINITY, out[4];
    for (int64_t iy = 0; iy < r->rows; iy++)
        for (int64_t ix = 0; ix < r->cols; ix++) {
            double row = r->row + (double)oy * r->bin_height +
                         ((double)iy + 0.5) * r->bin_height / (double)r->rows;
            double col = r->col + (double)ox * r->bin_width +
                         ((double)ix + 0.5) * r->bin_width / (double)r->cols;
            corners(a, x, row, col, out);
            sum += out[0] + out[1] + out[2] + out[3];
            top = fmax(top, fmax(fmax(out[0], out[1]), fmax(out[2], out[3])));
        }
    double samples = (double)r->rows * (double)r->cols;
    if (a->largest) return samples > 0 ? top : 0;
    return sum / fmax(samples, 1);
}

static void run(size_t begin, size_t end, void *user)
{
    const align *a = user;
    for (size_t i = begin; i < end; i++) {
        size_t roi = i / a->channels, channel = i % a->channels;
        size_t plane = (size_t)in_i64(a->c, 2)[roi] * a->channels + channel;
        const double *x = in_f64(a->c, 0) + plane * (size_t)(a->height * a->width);
        double *y = out_f64(a->c, 0) + i * (size_t)(a->out_height * a->out_width);
        region r = read_region(a, in_f64(a->c, 1) + roi * 4);
        for (int64_t oy = 0; oy < a->out_height; oy++)
            for (int64_t ox = 0; ox < a->out_width; ox++)
                y[oy * a->out_width + ox] = sample_bin(a, &r, x, oy, ox);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFI", err);
    if (st || !out_count(c, 0)) return st;
    const int64_t *x = in_shape(c, 0);
    for (size_t i = 0; i < in_count(c, 2); i++)
        if (in_i64(c, 2)[i] < 0 || in_i64(c, 2)[i] >= x[0])
            return op_error(c->node, err, PGY_E_SHAPE,
                            "batch index %" PRId64 " is not in [0, %" PRId64 ")", in_i64(c, 2)[i],
                            x[0]);
    if (!x[2] || !x[3])
        return op_error(c->node, err, PGY_E_SHAPE, "input 0 is empty, so it cannot be sampled");
    align a = {.c = c, .height = x[2], .width = x[3], .channels = (size_t)x[1]};
    a.out_height = out_shape(c, 0)[2];
    a.out_width = out_shape(c, 0)[3];
    a.ratio = op_attr_int(c->node, "sampling_ratio", 0);
    a.scale = op_attr_float(c->node, "spatial_scale", 1);
    a.largest = op_attr_is(c->node, "mode", "max", "avg");
    a.shifted = c->node->def->since >= 16 &&
                op_attr_is(c->node, "coordinate_transformation_mode", "half_pixel", "half_pixel");
    rows_run((size_t)out_shape(c, 0)[0] * a.channels, (size_t)(a.out_height * a.out_width) * 32,
             run, &a);
    return PGY_OK;
}

#define ROW(version, attrs, words)                                                 \
    {                                                                              \
        "RoiAlign", "", version, 0, 3, 3, 1, 1, 0, attrs, words, infer, eval, NULL \
    }
const op_def OP_roi_align[] = {
    ROW(10, ATTRS_10, TYPES_F3), ROW(16, ATTRS_16, TYPES_F3), ROW(22, ATTRS_16, TYPES_F4), {NULL}};

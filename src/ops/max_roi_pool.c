/* SPDX-License-Identifier: Apache-2.0 */
/* MaxRoiPool: the largest value of each bin of each region [batch, x0, y0, x1, y1], borders rounded
 * to pixels; 0 for an empty bin. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS[] = {
    {"pooled_shape", OP_ATTR_INTS, true, NULL},
    {"spatial_scale", OP_ATTR_FLOAT, false, "1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    size_t count = 0;
    const int64_t *pooled = op_attr_ints(c->node, "pooled_shape", &count);
    pgy_status st = rank_check(c, 0, 4, 4, err);
    if (!st) st = rank_check(c, 1, 2, 2, err);
    if (!st) st = dim_check(c, 1, 1, dim_const(5), "the number of values of a region", err);
    if (st) return st;
    if (count != 2)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute pooled_shape has %zu values, but 2 are needed", count);
    for (size_t i = 0; i < 2; i++)
        if (pooled[i] < 1 || pooled[i] > INT32_MAX)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "attribute pooled_shape has the value %" PRId64
                            ", which is out of range",
                            pooled[i]);
    dim *dims = op_dims(c, 4);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = rank_known(c, 1) ? c->inputs[1].dims[0]
                               : dim_unknown(c->dims, "the number of regions is not known");
    dims[1] = rank_known(c, 0) ? c->inputs[0].dims[1]
                               : dim_unknown(c->dims, "the input's shape is not known");
    dims[2] = dim_const(pooled[0]);
    dims[3] = dim_const(pooled[1]);
    op_set_output(c, 0, c->inputs[0].dtype, 4, dims);
    return PGY_OK;
}

typedef struct bins {
    const op_eval *c;
    int64_t height, width, out_height, out_width;
    size_t channels;
    double scale;
} bins;

typedef struct extent {
    int64_t begin, end;
} extent;

/* The range of pixels of bin i when n bins divide [start, start + size), clamped to [0, limit]. */
static extent bin_extent(int64_t i, int64_t n, double start, double size, int64_t limit)
{
    double begin = floor((double)i * size / (double)n) + start,
           end = ceil((double)(i + 1) * size / (double)n) + start;
    return (extent){(int64_t)fmin(fmax(begin, 0), (double)limit),
                    (int64_t)fmin(fmax(end, 0), (double)limit)};
}

static double largest(const bins *b, const double *x, extent rows, extent cols)
{
    if (rows.end <= rows.begin || cols.end <= cols.begin) return 0;
    double top = -INFINITY;
    for (int64_t r = rows.begin; r < rows.end; r++)
        for (int64_t c = cols.begin; c < cols.end; c++) top = fmax(top, x[r * b->width + c]);
    return top;
}

static void run(size_t begin, size_t end, void *user)
{
    const bins *b = user;
    for (size_t i = begin; i < end; i++) {
        const double *roi = in_f64(b->c, 1) + i / b->channels * 5;
        size_t plane = (size_t)roi[0] * b->channels + i % b->channels;
        const double *x = in_f64(b->c, 0) + plane * (size_t)(b->height * b->width);
        double *y = out_f64(b->c, 0) + i * (size_t)(b->out_height * b->out_width);
        double x0 = round(roi[1] * b->scale), y0 = round(roi[2] * b->scale);
        double width = fmax(round(roi[3] * b->scale) - x0 + 1, 1),
               height = fmax(round(roi[4] * b->scale) - y0 + 1, 1);
        for (int64_t at = 0; at < b->out_height * b->out_width; at++)
            y[at] =
                largest(b, x, bin_extent(at / b->out_width, b->out_height, y0, height, b->height),
                        bin_extent(at % b->out_width, b->out_width, x0, width, b->width));
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FF", err);
    if (st || !out_count(c, 0)) return st;
    const int64_t *x = in_shape(c, 0), *y = out_shape(c, 0);
    for (int64_t i = 0; i < y[0]; i++) {
        double batch = in_f64(c, 1)[i * 5];
        if (!(batch >= 0 && batch < (double)x[0]))
            return op_error(c->node, err, PGY_E_SHAPE, "batch index %g is not in [0, %" PRId64 ")",
                            batch, x[0]);
    }
    bins b = {c, x[2], x[3], y[2], y[3], (size_t)x[1], op_attr_float(c->node, "spatial_scale", 1)};
    rows_run((size_t)y[0] * b.channels, (size_t)(x[2] * x[3]), run, &b);
    return PGY_OK;
}

#define ROW(version, words)                                                                      \
    {                                                                                            \
        "MaxRoiPool", "", version, 0, 2, 2, 1, 1, OP_SAME_TYPES, ATTRS, words, infer, eval, NULL \
    }
const op_def OP_max_roi_pool[] = {ROW(1, TYPES_F3), ROW(22, TYPES_F4), {NULL}};

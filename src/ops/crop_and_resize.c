/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft CropAndResize: boxes of images, resized to one size with their corners kept. Points
 * outside of the image get a constant. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { X, BOXES, IMAGES, SIZE };

static const op_attr_def ATTRS[] = {
    {"extrapolation_value", OP_ATTR_FLOAT, false, "0"},
    {"mode", OP_ATTR_STRING, false, "bilinear", .choices = "bilinear nearest"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X], *boxes = &c->inputs[BOXES];
    const dim *size;
    size_t count;
    pgy_status st = rank_check(c, X, 4, 4, err);
    if (!st) st = rank_check(c, BOXES, 2, 2, err);
    if (!st && boxes->rank == 2) st = dim_check(c, BOXES, 1, dim_const(4), "y1 x1 y2 x2", err);
    if (!st) st = rank_check(c, IMAGES, 1, 1, err);
    if (!st && boxes->rank == 2)
        st = dim_check(c, IMAGES, 0, boxes->dims[0], "the number of boxes", err);
    dim *dims = op_dims(c, 4);
    if (st || !dims) return st ? st : rule_no_memory(c->node, err);
    dims[0] = boxes->rank == 2 ? boxes->dims[0] : dim_unknown(c->dims, "unknown number of boxes");
    dims[1] = x->rank == 4 ? x->dims[1] : dim_unknown(c->dims, "unknown number of channels");
    const bool known = op_input_ints(c, SIZE, &size, &count);
    if (known && count != 2)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "crop_size has %zu elements, but must have a height and a width", count);
    for (size_t i = 0; i < 2; i++) {
        dims[2 + i] = known ? size[i] : dim_unknown(c->dims, "crop_size is computed at run time");
        if (dim_is_const(dims[2 + i]) && dims[2 + i].value < 1)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "crop_size has %" PRId64 ", but must be positive", dims[2 + i].value);
    }
    op_set_output(c, 0, x->dtype, 4, dims);
    return PGY_OK;
}

typedef struct crop {
    const op_eval *c;
    bool nearest;
    double outside;
} crop;

/* Place in the image of point i of `count` between two ends in parts of the image. */
static double place_of(double from, double to, size_t i, size_t count, size_t size)
{
    const double last = (double)size - 1;
    if (count < 2) return 0.5 * (from + to) * last;
    return from * last + (double)i * (to - from) * last / ((double)count - 1);
}

static double sample(const double *image, double y, double x, size_t width, bool nearest)
{
    if (nearest) return image[(size_t)round(y) * width + (size_t)round(x)];
    const size_t top = (size_t)floor(y), left = (size_t)floor(x);
    const size_t bottom = (size_t)ceil(y), right = (size_t)ceil(x);
    const double down = y - (double)top, across = x - (double)left;
    const double *above = image + top * width, *below = image + bottom * width;
    const double first = above[left] + (above[right] - above[left]) * across;
    const double second = below[left] + (below[right] - below[left]) * across;
    return first + (second - first) * down;
}

static void run(size_t begin, size_t end, void *user)
{
    const crop *j = user;
    const size_t channels = (size_t)in_shape(j->c, X)[1];
    const size_t height = (size_t)in_shape(j->c, X)[2], width = (size_t)in_shape(j->c, X)[3];
    const size_t rows = (size_t)out_shape(j->c, 0)[2], columns = (size_t)out_shape(j->c, 0)[3];
    for (size_t i = begin; i < end; i++) {
        const size_t column = i % columns, row = i / columns % rows;
        const size_t channel = i / columns / rows % channels, box = i / columns / rows / channels;
        const double *ends = in_f64(j->c, BOXES) + 4 * box;
        const double y = place_of(ends[0], ends[2], row, rows, height);
        const double x = place_of(ends[1], ends[3], column, columns, width);
        const size_t image = (size_t)in_i64(j->c, IMAGES)[box] * channels + channel;
        const bool inside = y >= 0 && y <= (double)height - 1 && x >= 0 && x <= (double)width - 1;
        out_f64(j->c, 0)[i] =
            !inside ? j->outside
                    : sample(in_f64(j->c, X) + image * height * width, y, x, width, j->nearest);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FFII", err);
    if (st) return st;
    for (size_t i = 0; i < in_count(c, IMAGES); i++)
        if (in_i64(c, IMAGES)[i] < 0 || in_i64(c, IMAGES)[i] >= in_shape(c, X)[0])
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "box %zu names image %" PRId64 " of %" PRId64, i, in_i64(c, IMAGES)[i],
                            in_shape(c, X)[0]);
    crop j = {c, op_attr_is(c->node, "mode", "nearest", "bilinear"),
              op_attr_float(c->node, "extrapolation_value", 0)};
    rows_run(out_count(c, 0), 24, run, &j);
    return PGY_OK;
}

const op_def OP_crop_and_resize[] = {
    {"CropAndResize", "com.microsoft", 1, 0, 4, 4, 1, 1, 0, ATTRS, TYPES_F3, infer, eval, NULL,
     .signature = "T1 = float16 float32 float64; T2 = int32; X:T1, rois:T1, batch_indices:T2, "
                  "crop_size:T2 -> Y:T1"},
    {NULL},
};

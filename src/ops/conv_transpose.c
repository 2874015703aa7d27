/* SPDX-License-Identifier: Apache-2.0 */
/* ConvTranspose: the gradient of a convolution by its input. The product of transposed weights and
 * image gives, per output channel and tap, a plane that is added to the output at the tap's offset.
 * So the window slides over the output: its `in` is this operator's output and its `out` the
 * input. */
#include <inttypes.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_check.h"
#include "ops/class_rows.h"
#include "ops/class_window.h"
#include "ops/gemm.h"

enum { BLOCK_ELEMENTS = 1 << 21 }; /* elements of tap planes in one block: 16 MiB */

static const op_attr_def ATTRS[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"group", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"output_padding", OP_ATTR_INTS, false, NULL},
    {"output_shape", OP_ATTR_INTS, false, NULL},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

typedef struct extra {
    int64_t padding[WINDOW_MAX];
    const int64_t *shape; /* sizes of the output's spatial axes, or NULL */
} extra;

static pgy_status read_extra(extra *e, const op_node *n, size_t spatial, pgy_error *err)
{
    size_t count = 0;
    *e = (extra){0};
    const int64_t *padding = op_attr_ints(n, "output_padding", &count);
    if (count && count != spatial)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute output_padding has %zu values, but %zu are needed", count,
                        spatial);
    for (size_t i = 0; i < count; i++) {
        if (padding[i] < 0 || padding[i] > INT32_MAX)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "attribute output_padding has the value %" PRId64
                            ", which is out of range",
                            padding[i]);
        e->padding[i] = padding[i];
    }
    const int64_t *shape = op_attr_ints(n, "output_shape", &count);
    if (!count) return PGY_OK;
    if (count != spatial && count != spatial + 2)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute output_shape has %zu values, but %zu are needed", count,
                        spatial);
    e->shape = shape + (count - spatial);
    for (size_t i = 0; i < spatial; i++)
        if (e->shape[i] < 1 || e->shape[i] > INT32_MAX)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "attribute output_shape has the value %" PRId64
                            ", which is out of range",
                            e->shape[i]);
    return PGY_OK;
}

static pgy_status out_dim(dim *out, op_infer *c, const window *w, const extra *e, size_t i, dim in,
                          dim kernel, pgy_error *err)
{
    dim_table *t = c->dims;
    dim stride = dim_const(w->stride[i]), one = dim_const(1);
    if (e->shape) {
        *out = dim_const(e->shape[i]);
        return PGY_OK;
    }
    if (w->auto_pad == WINDOW_PAD_SAME_UPPER || w->auto_pad == WINDOW_PAD_SAME_LOWER) {
        *out = dim_mul(t, in, stride);
        return PGY_OK;
    }
    dim extent = dim_add(t, dim_mul(t, dim_sub(t, kernel, one), dim_const(w->dilation[i])), one);
    dim size = dim_add(t, dim_mul(t, dim_sub(t, in, one), stride), extent);
    *out = dim_add(t, size, dim_const(e->padding[i] - w->begin[i] - w->end[i]));
    if (dim_is_const(*out) && out->value < 0)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "pads %" PRId64 " and %" PRId64
                        " are larger than the output along spatial axis %zu",
                        w->begin[i], w->end[i], i);
    return PGY_OK;
}

static pgy_status check_channels(op_infer *c, int64_t group, dim *channels, pgy_error *err)
{
    *channels = dim_unknown(c->dims, "the weights' shape is not known");
    if (!rank_known(c, 1)) return PGY_OK;
    const op_value *w = &c->inputs[1];
    *channels = dim_mul(c->dims, w->dims[1], dim_const(group));
    if (dim_is_const(w->dims[0]) && w->dims[0].value % group)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "attribute group is %" PRId64 ", which does not divide the %" PRId64
                        " input channels",
                        group, w->dims[0].value);
    pgy_status st = dim_check(c, 0, 1, w->dims[0], "dimension 0 of the weights", err);
    if (!st) st = rank_check(c, 2, 1, 1, err);
    return st ? st : dim_check(c, 2, 0, *channels, "the number of output channels", err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    int64_t group = op_attr_int(c->node, "group", 1);
    window w;
    extra e;
    if (group < 1 || group > INT32_MAX)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute group is %" PRId64 "; it must be positive", group);
    if (!rank_known(c, 0)) {
        op_set_unknown(c, 0, c->inputs[0].dtype, rank_known(c, 1) ? c->inputs[1].rank : -1,
                       "the input's shape is not known");
        return PGY_OK;
    }
    int32_t rank = c->inputs[0].rank;
    pgy_status st = rank_check(c, 0, 3, WINDOW_MAX + 2, err);
    if (!st) st = rank_check(c, 1, rank, rank, err);
    if (!st) st = window_read(&w, c->node, (size_t)rank - 2, err);
    if (!st) st = read_extra(&e, c->node, w.rank, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)rank);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = c->inputs[0].dims[0];
    st = check_channels(c, group, &dims[1], err);
    for (size_t i = 0; !st && i < w.rank; i++) {
        dim kernel = rank_known(c, 1) ? c->inputs[1].dims[i + 2] : dim_unknown(c->dims, NULL);
        if (!dim_is_const(kernel) && w.kernel[i]) kernel = dim_const(w.kernel[i]);
        st = out_dim(&dims[i + 2], c, &w, &e, i, c->inputs[0].dims[i + 2], kernel, err);
    }
    if (st) return st;
    op_set_output(c, 0, c->inputs[0].dtype, rank, dims);
    return PGY_OK;
}

typedef struct problem {
    window window;
    size_t batch, groups, in_channels, out_channels, block,
        blocks; /* in_channels, out_channels: of one group; block: output channels per job; blocks:
                   jobs per group */
    const double *x, *w, *bias;
    double *y;
    atomic_bool failed;
} problem;

/* Computes the padding for a given output size. If the padding is odd, SAME_UPPER puts the extra
 * element at the end, other modes at the beginning. */
static void settle_padding(window *w, const extra *e)
{
    bool same = w->auto_pad == WINDOW_PAD_SAME_UPPER || w->auto_pad == WINDOW_PAD_SAME_LOWER;
    for (size_t i = 0; i < w->rank && (same || e->shape); i++) {
        int64_t natural = (w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
        int64_t total = natural + e->padding[i] - w->in[i];
        if (total < 0) total = 0;
        w->begin[i] = w->auto_pad == WINDOW_PAD_SAME_UPPER ? total / 2 : total - total / 2;
        w->end[i] = total - w->begin[i];
    }
}

static void scatter_plane(const window *w, const double *planes, double *y)
{
    size_t last = w->rank - 1, rows = window_out_rows(w), width = (size_t)w->out[last],
           taps = window_taps(w);
    for (size_t tap = 0; tap < taps; tap++)
        for (int64_t t = 0; t < w->kernel[last]; t++) {
            int64_t lo, hi, from;
            const double *plane =
                planes + (tap * (size_t)w->kernel[last] + (size_t)t) * rows * width;
            window_columns(w, t, &lo, &hi, &from);
            for (size_t row = 0; row < rows; row++) {
                size_t y_row;
                if (!window_row(w, row, tap, &y_row)) continue;
                double *to = y + y_row * (size_t)w->in[last] + from;
                for (int64_t i = lo; i < hi; i++, to += w->stride[last])
                    *to += plane[row * width + (size_t)i];
            }
        }
}

static pgy_status run_job(const problem *p, size_t index)
{
    const window *w = &p->window;
    size_t part = index / p->blocks, group = part % p->groups, first = index % p->blocks * p->block;
    size_t count = p->out_channels - first < p->block ? p->out_channels - first : p->block;
    size_t taps = window_kernel_count(w), positions = window_out_count(w),
           size = window_in_count(w);
    double *planes = mem_alloc(count * taps * positions * sizeof *planes);
    if (!planes) return PGY_E_MEMORY;
    gemm_matrix weights = {p->w + group * p->in_channels * p->out_channels * taps + first * taps, 1,
                           (int64_t)(p->out_channels * taps)};
    gemm_matrix image = {p->x + part * p->in_channels * positions, (int64_t)positions, 1};
    pgy_status st = gemm_f64(count * taps, positions, p->in_channels, weights, image, planes,
                             positions, false, NULL);
    for (size_t i = 0; !st && i < count; i++) {
        size_t channel = group * p->out_channels + first + i;
        double *y = p->y + (part * p->out_channels + first + i) * size;
        for (size_t j = 0; j < size; j++) y[j] = p->bias ? p->bias[channel] : 0;
        scatter_plane(w, planes + i * taps * positions, y);
    }
    mem_free(planes);
    return st;
}

static void job_task(size_t index, void *user)
{
    problem *p = user;
    if (run_job(p, index)) atomic_store(&p->failed, true);
}

static pgy_status prepare(problem *p, const op_eval *c, pgy_error *err)
{
    extra e;
    const int64_t *x = in_shape(c, 0), *w = in_shape(c, 1);
    *p = (problem){.x = in_f64(c, 0), .w = in_f64(c, 1), .bias = in_f64(c, 2), .y = out_f64(c, 0)};
    pgy_status st = window_read(&p->window, c->node, in_rank(c, 0) - 2, err);
    if (!st) st = window_kernel(&p->window, c->node, w + 2, err);
    if (!st) st = read_extra(&e, c->node, p->window.rank, err);
    if (st) return st;
    window_pad kept = p->window.auto_pad;
    p->window.auto_pad = WINDOW_PAD_EXPLICIT;
    window_resolve(&p->window, out_shape(c, 0) + 2, x + 2);
    p->window.auto_pad = kept;
    settle_padding(&p->window, &e);
    p->batch = (size_t)x[0];
    p->groups = (size_t)op_attr_int(c->node, "group", 1);
    p->in_channels = (size_t)w[0] / p->groups;
    p->out_channels = (size_t)w[1];
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    problem p;
    pgy_status st = inputs_check(c, "FFf", err);
    if (!st) st = prepare(&p, c, err);
    if (st) return st;
    if (!out_count(c, 0)) return PGY_OK;
    size_t per_channel = 0, bytes = 0;
    if (!size_mul(&per_channel, window_kernel_count(&p.window), window_out_count(&p.window)) ||
        !size_mul(&bytes, per_channel, 8))
        return op_error(c->node, err, PGY_E_MEMORY,
                        "the workspace of one channel is too large for memory");
    p.block = per_channel ? BLOCK_ELEMENTS / per_channel : p.out_channels;
    if (p.block < 1) p.block = 1;
    if (p.block > p.out_channels) p.block = p.out_channels;
    p.blocks = (p.out_channels + p.block - 1) / p.block;
    parallel_for_until_cancelled(p.batch * p.groups * p.blocks, job_task, &p);
    return atomic_load(&p.failed) ? rule_no_memory(c->node, err) : PGY_OK;
}

static double flops(const op_infer *c)
{
    const op_value *w = &c->inputs[1];
    return w->rank > 0 && w->dims[0].value
               ? 2 * dims_product(&c->inputs[0]) * dims_product(w) / (double)w->dims[0].value
               : 0;
}

#define ROW(version, words)                                                                    \
    {                                                                                          \
        "ConvTranspose", "", version, 0, 2, 3, 1, 1, OP_SAME_TYPES, ATTRS, words, infer, eval, \
            flops                                                                              \
    }
const op_def OP_conv_transpose[] = {ROW(1, TYPES_F3), ROW(11, TYPES_F3), ROW(22, TYPES_F4), {NULL}};

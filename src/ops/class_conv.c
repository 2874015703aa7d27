/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution. One group of one image is the product of the weights (out_channels x taps) and the
 * image's columns (taps x output positions). The columns are never stored: a pack function
 * generates them panel by panel. For a 1 x 1 kernel the image itself holds the columns.
 * Convolutions with one input channel per group are computed directly, row by row. */
#include "ops/class_conv.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_rows.h"
#include "ops/gemm.h"

/* With at least this many jobs (one group of one image each), each thread runs whole jobs. With
 * fewer, all threads share each of them. */
enum { MANY_JOBS = 16 };

const op_attr_def conv_attrs[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"group", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

/* ---- Shape ---------------------------------------------------------------------------------- */

static pgy_status check_channels(op_infer *c, size_t weights, size_t bias, int64_t group,
                                 pgy_error *err)
{
    const op_value *w = &c->inputs[weights];
    dim channels = dim_mul(c->dims, w->dims[1], dim_const(group));
    pgy_status st = rank_known(c, 0) ? dim_check(c, 0, 1, channels,
                                                 "group times dimension 1 of the weights", err)
                                     : PGY_OK;
    if (st) return st;
    if (dim_is_const(w->dims[0]) && w->dims[0].value % group)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "attribute group is %" PRId64 ", which does not divide the %" PRId64
                        " output channels",
                        group, w->dims[0].value);
    st = rank_check(c, bias, 1, 1, err);
    return st ? st : dim_check(c, bias, 0, w->dims[0], "the number of output channels", err);
}

static pgy_status check_group(int64_t *group, const op_node *n, pgy_error *err)
{
    *group = op_attr_int(n, "group", 1);
    if (*group >= 1 && *group <= INT32_MAX) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT, "attribute group is %" PRId64 "; it must be positive",
                    *group);
}

static pgy_status spatial_dims(op_infer *c, size_t weights, dim *dims, size_t rank, pgy_error *err)
{
    window w;
    pgy_status st = window_read(&w, c->node, rank - 2, err);
    for (size_t i = 0; !st && i + 2 < rank; i++) {
        dim kernel =
            rank_known(c, weights) ? c->inputs[weights].dims[i + 2] : dim_unknown(c->dims, NULL);
        if (dim_is_const(kernel) && w.kernel[i] && kernel.value != w.kernel[i])
            return op_error(c->node, err, PGY_E_SHAPE,
                            "attribute kernel_shape says %" PRId64 " on spatial axis %zu, but the"
                            " weights have %" PRId64,
                            w.kernel[i], i, kernel.value);
        if (w.kernel[i]) kernel = dim_const(w.kernel[i]);
        if (!rank_known(c, 0)) {
            dims[i + 2] = dim_unknown(c->dims, "the input's shape is not known");
            continue;
        }
        st = window_out(&dims[i + 2], &w, c, i, c->inputs[0].dims[i + 2], kernel, err);
    }
    return st;
}

pgy_status conv_infer(op_infer *c, size_t weights, size_t bias, pgy_dtype dtype, pgy_error *err)
{
    int64_t group = 1;
    pgy_status st = check_group(&group, c->node, err);
    if (st) return st;
    if (!rank_known(c, 0) && !rank_known(c, weights)) {
        op_set_unknown(c, 0, dtype, -1, "the shapes of input and weights are not known");
        return PGY_OK;
    }
    int32_t rank = rank_known(c, 0) ? c->inputs[0].rank : c->inputs[weights].rank;
    if (rank < 3 || rank > WINDOW_MAX + 2)
        return op_error(c->node, err, PGY_E_SHAPE, "input 0 has rank %d; 3 to %d are supported",
                        (int)rank, WINDOW_MAX + 2);
    st = rank_check(c, weights, rank, rank, err);
    if (!st && rank_known(c, weights)) st = check_channels(c, weights, bias, group, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)rank);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = rank_known(c, 0) ? c->inputs[0].dims[0]
                               : dim_unknown(c->dims, "the input's shape is not known");
    dims[1] = rank_known(c, weights) ? c->inputs[weights].dims[0]
                                     : dim_unknown(c->dims, "the weights' shape is not known");
    st = spatial_dims(c, weights, dims, (size_t)rank, err);
    if (st) return st;
    op_set_output(c, 0, dtype, rank, dims);
    return PGY_OK;
}

double conv_flops(const op_infer *c, size_t weights)
{
    const op_value *w = &c->inputs[weights];
    if (w->rank < 2 || !w->dims[0].value) return 0;
    return 2 * dims_product(&c->outputs[0]) * dims_product(w) / (double)w->dims[0].value;
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

pgy_status conv_prepare(conv_problem *p, const op_eval *c, size_t weights, pgy_error *err)
{
    const int64_t *x = in_shape(c, 0), *w = in_shape(c, weights);
    int64_t group = 1;
    *p = (conv_problem){0};
    pgy_status st = check_group(&group, c->node, err);
    if (!st) st = window_read(&p->window, c->node, in_rank(c, 0) - 2, err);
    if (!st) st = window_kernel(&p->window, c->node, w + 2, err);
    if (st) return st;
    window_resolve(&p->window, x + 2, out_shape(c, 0) + 2);
    p->batch = (size_t)x[0];
    p->groups = (size_t)group;
    p->in_channels = (size_t)w[1];
    p->out_channels = (size_t)w[0] / p->groups;
    return PGY_OK;
}

void conv_set_weights(conv_problem *p, const op_eval *c, size_t i)
{
    const bool single = pgy_tensor_dtype(c->inputs[i].value) == PGY_F32;
    p->w = single ? NULL : in_f64(c, i);
    p->w_single = single ? in_data(c, i) : NULL;
}

/* For one kernel position along the last axis: the output columns [lo, hi) whose input lies inside
 * the image, and the input column `from` that column lo reads. */
typedef struct reach {
    int64_t lo, hi, from;
} reach;

/* One group of one image, seen as the matrix (taps x output positions) of the convolution's matrix
 * product. */
typedef struct columns {
    const window *w;
    const double *x;
    const reach *reaches; /* indexed by kernel position along the last axis */
    size_t kernel, taps, plane, in_width, out_width;
} columns;

static void copy_run(double *restrict to, const double *restrict from, int64_t count,
                     int64_t stride)
{
    if (stride == 1 && count == 16)
        memcpy(to, from, 16 * sizeof *to);
    else
        for (int64_t i = 0; i < count; i++) to[i] = from[i * stride];
}

/* Packs columns [begin, begin + run) of one output row at one tap, for all channels within the
 * steps. */
static void pack_tap(const columns *c, double *to, size_t width, size_t begin, size_t run,
                     size_t tap, size_t in_row, bool inside, size_t step, size_t steps)
{
    const reach *r = &c->reaches[tap % c->taps];
    const int64_t stride = c->w->stride[c->w->rank - 1], first = (int64_t)begin;
    int64_t lo = r->lo > first ? r->lo : first, hi = r->hi;
    if (hi > first + (int64_t)run) hi = first + (int64_t)run;
    if (!inside || lo >= hi) lo = hi = first;
    const double *from =
        c->x + in_row * c->in_width + (inside ? r->from + (lo - r->lo) * stride : 0);
    const size_t before = (size_t)(lo - first), count = (size_t)(hi - lo);
    size_t channel = step > tap ? (step - tap + c->kernel - 1) / c->kernel : 0;
    for (size_t p = channel * c->kernel + tap; p < step + steps; p += c->kernel, channel++) {
        double *line = to + (p - step) * width;
        for (size_t i = 0; i < before; i++) line[i] = 0;
        if (count) copy_run(line + before, from + channel * c->plane, (int64_t)count, stride);
        for (size_t i = before + count; i < run; i++) line[i] = 0;
    }
}

/* A gemm_pack: packs the taps of `count` output positions. */
static void pack_columns(void *user, double *to, size_t width, size_t col, size_t count,
                         size_t step, size_t steps)
{
    const columns *c = user;
    if (count < width) memset(to, 0, steps * width * sizeof *to);
    for (size_t done = 0, run; done < count; done += run) {
        const size_t row = (col + done) / c->out_width, begin = (col + done) % c->out_width;
        run = c->out_width - begin < count - done ? c->out_width - begin : count - done;
        for (size_t tap = 0; tap < c->kernel; tap++) {
            size_t in_row = 0;
            const bool inside = window_row(c->w, row, tap / c->taps, &in_row);
            pack_tap(c, to + done, width, begin, run, tap, in_row, inside, step, steps);
        }
    }
}

typedef struct conv_jobs {
    const conv_problem *p;
    const reach *reaches;
    size_t lines, positions;
    bool in_place;
    atomic_bool failed;
} conv_jobs;

static bool is_pointwise(const window *w)
{
    for (size_t i = 0; i < w->rank; i++)
        if (w->kernel[i] != 1 || w->stride[i] != 1 || w->begin[i] || w->end[i]) return false;
    return true;
}

/* Convolves one group of one image. */
static pgy_status run_job(size_t index, conv_jobs *jobs)
{
    const conv_problem *p = jobs->p;
    const window *w = &p->window;
    const size_t group = index % p->groups, last = w->rank - 1;
    const size_t weights = group * p->out_channels * jobs->lines;
    columns image = {.w = w,
                     .x = p->x + index * p->in_channels * window_in_count(w),
                     .reaches = jobs->reaches,
                     .kernel = window_kernel_count(w),
                     .taps = (size_t)w->kernel[last],
                     .plane = window_in_count(w),
                     .in_width = (size_t)w->in[last],
                     .out_width = (size_t)w->out[last]};
    const gemm_call call = {
        .m = p->out_channels,
        .n = jobs->positions,
        .k = jobs->lines,
        .a = {p->w_single ? (const void *)(p->w_single + weights) : p->w + weights,
              p->w_single != NULL, (int64_t)jobs->lines, 1},
        .b = {image.x, false, (int64_t)jobs->positions, 1},
        .pack_b = jobs->in_place ? NULL : pack_columns,
        .user = &image,
        .c = p->y + index * p->out_channels * jobs->positions,
        .ldc = jobs->positions,
        .row_bias = p->bias ? p->bias + group * p->out_channels : NULL};
    return gemm_run(&call, NULL);
}

static void job_task(size_t index, void *user)
{
    conv_jobs *jobs = user;
    if (run_job(index, jobs)) atomic_store(&jobs->failed, true);
}

static reach *find_reaches(const window *w)
{
    const int64_t taps = w->kernel[w->rank - 1];
    reach *r = mem_alloc((size_t)taps * sizeof *r);
    for (int64_t i = 0; r && i < taps; i++) window_columns(w, i, &r[i].lo, &r[i].hi, &r[i].from);
    return r;
}

pgy_status conv_run(const conv_problem *p, pgy_error *err)
{
    const window *w = &p->window;
    conv_jobs jobs = {.p = p, .positions = window_out_count(w), .in_place = is_pointwise(w)};
    const size_t count = p->batch * p->groups;
    if (!jobs.positions || !count || !p->out_channels) return PGY_OK;
    if (p->in_channels == 1 && p->groups > 1) return conv_run_depthwise(p, err);
    if (!size_mul(&jobs.lines, p->in_channels, window_kernel_count(w)))
        return pgy_error_set(err, PGY_E_MEMORY,
                             "the convolution over %zu channels is too large for memory",
                             p->in_channels);
    reach *reaches = find_reaches(w);
    if (!reaches) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a convolution");
    jobs.reaches = reaches;
    if (count >= MANY_JOBS)
        parallel_for_until_cancelled(count, job_task, &jobs);
    else
        for (size_t i = 0; i < count; i++) job_task(i, &jobs);
    mem_free(reaches);
    return atomic_load(&jobs.failed)
               ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a convolution")
               : PGY_OK;
}

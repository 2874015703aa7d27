/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution. One group of one image is the product of the weights (out_channels x taps) and of
 * the image's columns (taps x output positions). A 1 x 1 kernel finds its columns in the image
 * itself; else blocks of columns are gathered into a bounded workspace. Convolutions with one input
 * channel per group go directly, row by row. */
#include "ops/class_conv.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_rows.h"
#include "ops/gemm.h"

enum {
    BLOCK_ELEMENTS = 1 << 19, /* of gathered columns: 4 MiB */
    BLOCK_COLUMNS = 192,      /* at least, so that packing the weights is paid for */
    MANY_JOBS = 16            /* from here on whole jobs go to threads, below their parts do */
};

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
                        "group is %" PRId64 ", which does not divide the %" PRId64
                        " output channels",
                        group, w->dims[0].value);
    st = rank_check(c, bias, 1, 1, err);
    return st ? st : dim_check(c, bias, 0, w->dims[0], "the number of output channels", err);
}

static pgy_status check_group(int64_t *group, const op_node *n, pgy_error *err)
{
    *group = op_attr_int(n, "group", 1);
    if (*group >= 1 && *group <= INT32_MAX) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT, "attribute group is %" PRId64, *group);
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

typedef struct bias_job {
    const conv_problem *p;
    size_t positions;
} bias_job;

static void fill_bias(size_t begin, size_t end, void *user)
{
    const bias_job *job = user;
    const conv_problem *p = job->p;
    size_t channels = p->groups * p->out_channels;
    for (size_t i = begin; i < end; i++) {
        double *y = p->y + i * job->positions, b = p->bias ? p->bias[i % channels] : 0;
        for (size_t j = 0; j < job->positions; j++) y[j] = b;
    }
}

static void depthwise_row(const conv_problem *p, size_t plane, size_t row)
{
    const window *w = &p->window;
    size_t channels = p->groups * p->out_channels, channel = plane % channels, last = w->rank - 1;
    size_t in_plane = plane / channels * p->groups + channel / p->out_channels;
    const double *x = p->x + in_plane * window_in_count(w),
                 *k = p->w + channel * window_kernel_count(w);
    double *y = p->y + (plane * window_out_rows(w) + row) * (size_t)w->out[last];
    double bias = p->bias ? p->bias[channel] : 0;
    for (int64_t i = 0; i < w->out[last]; i++) y[i] = bias;
    for (size_t tap = 0, taps = window_taps(w); tap < taps; tap++) {
        size_t in_row;
        if (!window_row(w, row, tap, &in_row)) continue;
        const double *line = x + in_row * (size_t)w->in[last];
        for (int64_t t = 0; t < w->kernel[last]; t++) {
            int64_t lo, hi, from, stride = w->stride[last];
            double weight = k[tap * (size_t)w->kernel[last] + (size_t)t];
            window_columns(w, t, &lo, &hi, &from);
            for (int64_t i = lo; i < hi; i++, from += stride) y[i] += weight * line[from];
        }
    }
}

static void depthwise_task(size_t begin, size_t end, void *user)
{
    const conv_problem *p = user;
    size_t rows = window_out_rows(&p->window);
    for (size_t i = begin; i < end; i++) depthwise_row(p, i / rows, i % rows);
}

/* The columns of one block, one line per channel and tap. */
typedef struct gather {
    const conv_problem *p;
    const double *x; /* one group of one image */
    double *to;
    size_t first, count;
} gather;

/* Columns [begin, end) of output row `row` for a tap. */
static void gather_run(const window *w, const double *x, size_t row, size_t tap, int64_t column_tap,
                       int64_t begin, int64_t end, double *to)
{
    size_t in_row = 0, last = w->rank - 1;
    int64_t lo = 0, hi = 0, from = 0, stride = w->stride[last];
    if (window_row(w, row, tap, &in_row)) window_columns(w, column_tap, &lo, &hi, &from);
    if (lo < begin) {
        from += (begin - lo) * stride;
        lo = begin;
    }
    if (hi > end) hi = end;
    if (lo >= hi) lo = hi = end;
    const double *line = x + in_row * (size_t)w->in[last] + from;
    for (int64_t i = begin; i < lo; i++) *to++ = 0;
    if (stride == 1 && hi > lo)
        memcpy(to, line, (size_t)(hi - lo) * sizeof *to);
    else
        for (int64_t i = 0; i < hi - lo; i++) to[i] = line[i * stride];
    to += hi - lo;
    for (int64_t i = hi; i < end; i++) *to++ = 0;
}

static void gather_lines(size_t begin, size_t end, void *user)
{
    const gather *g = user;
    const window *w = &g->p->window;
    size_t kernel = window_kernel_count(w), width = (size_t)w->out[w->rank - 1];
    size_t tap_columns = (size_t)w->kernel[w->rank - 1];
    for (size_t line = begin; line < end; line++) {
        const double *x = g->x + line / kernel * window_in_count(w);
        size_t tap = line % kernel / tap_columns;
        int64_t column_tap = (int64_t)(line % tap_columns);
        double *to = g->to + line * g->count;
        for (size_t at = g->first; at < g->first + g->count;) {
            size_t begin_column = at % width, run = width - begin_column;
            if (run > g->first + g->count - at) run = g->first + g->count - at;
            gather_run(w, x, at / width, tap, column_tap, (int64_t)begin_column,
                       (int64_t)(begin_column + run), to);
            to += run;
            at += run;
        }
    }
}

typedef struct conv_jobs {
    const conv_problem *p;
    size_t lines, positions, block, blocks;
    bool in_place;
    atomic_bool failed;
} conv_jobs;

static bool is_pointwise(const window *w)
{
    for (size_t i = 0; i < w->rank; i++)
        if (w->kernel[i] != 1 || w->stride[i] != 1 || w->begin[i] || w->end[i]) return false;
    return true;
}

static pgy_status run_job(size_t index, conv_jobs *jobs)
{
    const conv_problem *p = jobs->p;
    size_t part = index / jobs->blocks, first = index % jobs->blocks * jobs->block,
           group = part % p->groups;
    size_t count = jobs->positions - first < jobs->block ? jobs->positions - first : jobs->block;
    gather g = {p, p->x + part * p->in_channels * window_in_count(&p->window), NULL, first, count};
    gemm_matrix weights = {p->w + group * p->out_channels * jobs->lines, (int64_t)jobs->lines, 1};
    gemm_matrix columns = {g.x + first, (int64_t)jobs->positions, 1};
    if (!jobs->in_place) {
        g.to = mem_alloc(jobs->lines * count * sizeof *g.to);
        if (!g.to) return PGY_E_MEMORY;
        rows_run(jobs->lines, count, gather_lines, &g);
        columns = (gemm_matrix){g.to, (int64_t)count, 1};
    }
    double *y = p->y + part * p->out_channels * jobs->positions + first;
    pgy_status st = gemm_f64(p->out_channels, count, jobs->lines, weights, columns, y,
                             jobs->positions, p->bias != NULL, NULL);
    mem_free(g.to);
    return st;
}

static void job_task(size_t index, void *user)
{
    conv_jobs *jobs = user;
    if (run_job(index, jobs)) atomic_store(&jobs->failed, true);
}

pgy_status conv_run(const conv_problem *p, pgy_error *err)
{
    const window *w = &p->window;
    size_t kernel = window_kernel_count(w);
    conv_jobs jobs = {.p = p, .positions = window_out_count(w), .in_place = is_pointwise(w)};
    size_t channels = p->batch * p->groups * p->out_channels;
    if (!jobs.positions || !channels) return PGY_OK;
    if (p->in_channels == 1 && p->groups > 1) {
        rows_run(channels * window_out_rows(w), kernel * (size_t)w->out[w->rank - 1],
                 depthwise_task, (void *)p);
        return PGY_OK;
    }
    if (p->bias || !p->in_channels)
        rows_run(channels, jobs.positions, fill_bias, &(bias_job){p, jobs.positions});
    if (!p->in_channels) return PGY_OK;
    size_t bytes = 0;
    if (!size_mul(&jobs.lines, p->in_channels, kernel) ||
        !size_mul(&bytes, jobs.lines, 8 * (BLOCK_COLUMNS + 1)))
        return pgy_error_set(err, PGY_E_MEMORY,
                             "a convolution over %zu channels and %zu taps is too large",
                             p->in_channels, kernel);
    jobs.block = BLOCK_ELEMENTS / jobs.lines;
    if (jobs.block < BLOCK_COLUMNS) jobs.block = BLOCK_COLUMNS;
    if (jobs.in_place || jobs.block > jobs.positions) jobs.block = jobs.positions;
    jobs.blocks = (jobs.positions + jobs.block - 1) / jobs.block;
    size_t count = p->batch * p->groups * jobs.blocks;
    if (count >= MANY_JOBS)
        parallel_for(count, job_task, &jobs);
    else
        for (size_t i = 0; i < count; i++) job_task(i, &jobs);
    return atomic_load(&jobs.failed)
               ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a convolution")
               : PGY_OK;
}

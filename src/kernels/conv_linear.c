/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution in float32 between linear tensors, for any axes, groups and weights: it gathers all
 * taps of a panel of output positions, and multiplies them by the weights, which are not packed. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/conv.h"
#include "kernels/extent.h"
#include "kernels/matmul.h"
#include "ops/class_window.h"

enum { DEPTH = 1024 }; /* products in a block of the sum, so that a panel stays in the cache */

typedef struct params {
    window w;
    uint32_t level, activation, has_bias, has_sum, inputs;
    float parameter[2];
    uint64_t batch, groups, in, out;   /* in, out: channels of one group */
    uint64_t depth, positions, panels; /* depth: number of products in the sum of one output */
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool conv_linear_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *w = &u->inputs[1], *y = &u->outputs[0];
    *p = (params){.inputs = (uint32_t)u->input_count};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != PGY_F32) return false;
    if (x->dtype != PGY_F32 || x->rank < 3 || !kernel_count(x) || !kernel_count(w) ||
        !kernel_count(y))
        return false;
    p->has_bias = u->input_count > 2 && u->inputs[2].dtype;
    p->has_sum = u->input_count > 3 && u->inputs[3].dtype;
    if (p->has_sum && kernel_count(&u->inputs[3]) != kernel_count(y)) return false;
    if (!conv_read_activation(&p->activation, p->parameter, u->node)) return false;
    if (window_read(&p->w, u->node, (size_t)x->rank - 2, NULL) ||
        window_kernel(&p->w, u->node, w->shape + 2, NULL))
        return false;
    window_resolve(&p->w, x->shape + 2, y->shape + 2);
    p->batch = (uint64_t)x->shape[0];
    p->groups = (uint64_t)op_attr_int(u->node, "group", 1);
    p->in = (uint64_t)w->shape[1];
    p->out = (uint64_t)w->shape[0] / p->groups;
    p->depth = kernel_count(w) / (uint64_t)w->shape[0];
    p->positions = window_out_count(&p->w);
    return true;
}

/* Is every channel its own group? Then rows are computed tap by tap. */
static bool conv_linear_is_deep(const params *p)
{
    return p->in == 1 && p->out == 1;
}

/* Does every output position read the input position of the same number, and no other? */
static bool conv_linear_is_pointwise(const params *p)
{
    for (size_t i = 0; i < p->w.rank; i++)
        if (p->w.kernel[i] != 1 || p->w.stride[i] != 1 || p->w.begin[i] ||
            p->w.in[i] != p->w.out[i])
            return false;
    return true;
}

static uint64_t unit_count(const params *p)
{
    return p->batch * p->groups * (conv_linear_is_deep(p) ? window_out_rows(&p->w) : p->panels);
}

static bool conv_linear_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    params p;
    if (!conv_linear_describe(&p, u)) return false;
    const double width = (double)matmul_tile_of(level)->columns;
    const double panels = ceil((double)p.positions / width), taps = (double)p.depth;
    const double rows = p.out < 4 ? 4 : (double)p.out; /* with fewer rows, multiply units idle */
    /* Each row of output positions in a panel is gathered tap by tap. */
    const double lines = (double)p.positions / (double)p.w.out[p.w.rank - 1] + panels;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    if (conv_linear_is_deep(&p)) {
        *cost_ns = 200 + (double)unit_count(&p) * (20 + taps * 6) +
                   (double)(p.batch * p.groups * p.positions) * taps *
                       (p.w.stride[p.w.rank - 1] == 1 ? 0.12 : 0.5);
        return true;
    }
    const double gathering = conv_linear_is_pointwise(&p) ? panels * 4 + (double)p.positions * 0.05
                                                          : lines * 8 + (double)p.positions * 0.3;
    *cost_ns =
        200 + (double)(p.batch * p.groups) *
                  (panels * (50 + taps * rows * width * 2 / flops_per_ns) + taps * gathering);
    return true;
}

/* Rows of results in scratch memory: those of all output channels if the sum is computed in blocks,
 * else of one tile. */
static size_t conv_linear_tile_rows(const params *p, const matmul_tile *t)
{
    return p->depth > DEPTH ? p->out + t->rows : t->rows;
}

static pgy_status conv_linear_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const cpu_level level = u->self->needs;
    const matmul_tile *t = matmul_tile_of(level);
    size_t scratch;
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_linear_describe(p, u); /* cannot fail after `accept` */
    p->level = level;
    p->panels = (p->positions + t->columns - 1) / t->columns;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t units = unit_count(p);
    out->parts = (uint32_t)(units < 256 ? units : 256);
    if (!size_mul(&scratch, p->depth + conv_linear_tile_rows(p, t), t->columns * sizeof(float))) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY,
                             "the convolution is too large: it sums %llu products for each result",
                             (unsigned long long)p->depth);
    }
    out->scratch_bytes = scratch;
    return PGY_OK;
}

/* Sizes below 2^31 keep products of two within int64_t. */
static bool has_valid_window(const window *w)
{
    const int64_t most = INT32_MAX;
    if (w->rank < 1 || w->rank > WINDOW_MAX) return false;
    for (size_t i = 0; i < w->rank; i++)
        if (!extent_between(w->in[i], 1, most) || !extent_between(w->out[i], 1, most) ||
            !extent_between(w->kernel[i], 1, most) || !extent_between(w->stride[i], 1, most) ||
            !extent_between(w->dilation[i], 1, most) || !extent_between(w->begin[i], 0, most))
            return false;
    return true;
}

static uint64_t product_of(const int64_t *sizes, size_t count)
{
    uint64_t product = 1;
    for (size_t i = 0; i < count; i++) product = extent_mul(product, extent_size(sizes[i]));
    return product;
}

static bool conv_linear_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) ||
        !extent_enum(e, p->activation, CONV_FAST_GELU + 1, "activation"))
        return false;
    if (p->inputs != q->input_count || p->inputs < 2 || (p->has_bias && p->inputs < 3) ||
        (p->has_sum && p->inputs < 4))
        return extent_refuse(e, "number of inputs");
    if (!has_valid_window(&p->w) || !p->in || !p->out || !p->groups)
        return extent_refuse(e, "sizes");
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t in = product_of(p->w.in, p->w.rank), area = product_of(p->w.kernel, p->w.rank);
    if (in > INT64_MAX || p->positions > INT64_MAX || p->out > INT64_MAX ||
        p->depth != extent_mul(p->in, area) || p->positions != product_of(p->w.out, p->w.rank) ||
        p->panels != (p->positions + t->columns - 1) / t->columns)
        return extent_refuse(e, "sizes");
    const uint64_t jobs = extent_mul(p->batch, p->groups), rows = extent_mul(p->groups, p->out);
    const uint64_t y = extent_mul3(jobs, p->out, p->positions);
    extent_tensor(e, 0, extent_mul3(jobs, p->in, in), sizeof(float));
    extent_tensor(e, 1, extent_mul(rows, p->depth), sizeof(float));
    if (p->has_bias) extent_tensor(e, 2, rows, sizeof(float));
    if (p->has_sum) extent_tensor(e, 3, y, sizeof(float));
    extent_tensor(e, p->inputs, y, sizeof(float));
    if (!conv_linear_is_deep(p))
        e->scratch = extent_mul(extent_add(p->depth, conv_linear_tile_rows(p, t)),
                                t->columns * sizeof(float));
    return true;
}

/* ---- Gathering ------------------------------------------------------------------------------ */

/* Gathers one tap of `run` positions of one output row, from `begin`, for all channels. */
static void gather_tap(const params *p, float *to, const float *x, size_t width, int64_t begin,
                       int64_t run, size_t tap, bool inside)
{
    const size_t last = p->w.rank - 1, area = window_kernel_count(&p->w);
    const size_t plane = window_in_count(&p->w);
    const int64_t stride = p->w.stride[last];
    int64_t lo, hi, from;
    window_columns(&p->w, (int64_t)(tap % (size_t)p->w.kernel[last]), &lo, &hi, &from);
    int64_t first = lo > begin ? lo : begin, end = hi < begin + run ? hi : begin + run;
    if (!inside || first >= end) first = end = begin;
    x += inside ? from + (first - lo) * stride : 0;
    for (size_t c = 0; c < p->in; c++, x += plane) {
        float *line = to + (c * area + tap) * width;
        for (int64_t i = 0; i < first - begin; i++) line[i] = 0;
        line += first - begin;
        if (stride == 1)
            memcpy(line, x, (size_t)(end - first) * sizeof *line);
        else
            for (int64_t i = 0; i < end - first; i++) line[i] = x[i * stride];
        line += end - first;
        for (int64_t i = 0; i < begin + run - end; i++) line[i] = 0;
    }
}

/* Gathers the taps of `count` output positions from `first` into [taps of all channels][width]. */
static void conv_linear_gather(const params *p, float *to, const float *x, size_t width,
                               size_t first, size_t count)
{
    const size_t last = p->w.rank - 1, out = (size_t)p->w.out[last];
    const size_t area = window_kernel_count(&p->w), taps = (size_t)p->w.kernel[last];
    if (count < width) memset(to, 0, p->depth * width * sizeof *to);
    if (conv_linear_is_pointwise(p)) {
        for (size_t c = 0; c < p->in; c++)
            memcpy(to + c * width, x + c * p->positions + first, count * sizeof *to);
        return;
    }
    for (size_t done = 0, run; done < count; done += run) {
        const size_t row = (first + done) / out, begin = (first + done) % out;
        run = out - begin < count - done ? out - begin : count - done;
        for (size_t tap = 0; tap < area; tap++) {
            size_t in_row = 0;
            const bool inside = window_row(&p->w, row, tap / taps, &in_row);
            gather_tap(p, to + done, x + in_row * (size_t)p->w.in[last], width, (int64_t)begin,
                       (int64_t)run, tap, inside);
        }
    }
}

/* ---- Running -------------------------------------------------------------------------------- */

static inline float conv_linear_within(float x, float low, float high)
{
    const float more = x < low ? low : x; /* NaN stays NaN, as in Clip */
    return more > high ? high : more;
}

static void conv_linear_activate(const params *p, float *y, size_t count)
{
    const float a = p->parameter[0], b = p->parameter[1];
    switch ((conv_activation)p->activation) {
    case CONV_NO_ACTIVATION: break;
    case CONV_RELU:
        for (size_t i = 0; i < count; i++) y[i] = y[i] < 0 ? 0 : y[i];
        break;
    case CONV_LEAKY_RELU:
        for (size_t i = 0; i < count; i++) y[i] = y[i] < 0 ? a * y[i] : y[i];
        break;
    case CONV_CLIP:
        for (size_t i = 0; i < count; i++) y[i] = conv_linear_within(y[i], a, b);
        break;
    case CONV_HARD_SIGMOID:
        for (size_t i = 0; i < count; i++) y[i] = conv_linear_within(a * y[i] + b, 0, 1);
        break;
    case CONV_HARD_SWISH:
        for (size_t i = 0; i < count; i++)
            y[i] *= conv_linear_within(y[i] * (1 / 6.0f) + 0.5f, 0, 1);
        break;
    default: conv_activate(p->activation, y, count); break;
    }
}

/* Applies the epilogue to one output channel (bias, sum, activation) and stores it. */
static void conv_linear_finish_row(const params *p, float *y, float *row, size_t count, float bias,
                                   const float *sum)
{
    for (size_t i = 0; i < count; i++) row[i] += bias;
    if (sum)
        for (size_t i = 0; i < count; i++) row[i] += sum[i];
    conv_linear_activate(p, row, count);
    memcpy(y, row, count * sizeof *y);
}

/* Adds up to DEPTH products, from index `from` on, to the sums of all output channels. */
static void multiply_all(const params *p, const matmul_tile *t, const float *w, const float *taps,
                         float *tile, size_t from)
{
    const size_t depth = p->depth - from < DEPTH ? p->depth - from : DEPTH;
    for (size_t i = 0; i < p->out; i += t->rows) {
        const size_t rows = p->out - i < t->rows ? p->out - i : t->rows;
        matmul_tile_run(t, rows, depth, w + i * p->depth + from, p->depth, taps + from * t->columns,
                        tile + i * t->columns, t->columns, from > 0);
    }
}

static void conv_linear_unit(const params *p, const kernel_run *r, size_t index)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const size_t panel = index % p->panels, job = index / p->panels, group = job % p->groups;
    const size_t first = panel * t->columns;
    const size_t count = p->positions - first < t->columns ? p->positions - first : t->columns;
    const float *w = (const float *)r->tensors[1] + group * p->out * p->depth;
    const float *bias = p->has_bias ? (const float *)r->tensors[2] + group * p->out : NULL;
    const size_t at = job * p->out * p->positions + first;
    const float *sum = p->has_sum ? (const float *)r->tensors[3] + at : NULL;
    float *y = (float *)r->tensors[p->inputs] + at;
    float *tile = r->scratch, *taps = tile + conv_linear_tile_rows(p, t) * t->columns;
    conv_linear_gather(p, taps, (const float *)r->tensors[0] + job * p->in * window_in_count(&p->w),
                       t->columns, first, count);
    for (size_t d = 0; p->depth > DEPTH && d < p->depth; d += DEPTH)
        multiply_all(p, t, w, taps, tile, d);
    for (size_t i = 0; i < p->out; i += t->rows) {
        const size_t rows = p->out - i < t->rows ? p->out - i : t->rows;
        float *row = p->depth > DEPTH ? tile + i * t->columns : tile;
        if (p->depth <= DEPTH)
            t->run[rows](p->depth, w + i * p->depth, p->depth, taps, tile, t->columns, false, 1,
                         (const char *)(w + (i + rows) * p->depth), rows * sizeof *w);
        for (size_t k = 0; k < rows; k++) {
            const size_t offset = (i + k) * p->positions;
            conv_linear_finish_row(p, y + offset, row + k * t->columns, count,
                                   bias ? bias[i + k] : 0, sum ? sum + offset : NULL);
        }
    }
}

static void conv_linear_add_tap(float *y, const float *x, float w, int64_t n, int64_t stride)
{
    if (stride == 1)
        for (int64_t i = 0; i < n; i++) y[i] += w * x[i];
    else
        for (int64_t i = 0; i < n; i++) y[i] += w * x[i * stride];
}

/* Computes one output row of a depthwise convolution tap by tap. */
static void conv_linear_deep(const params *p, const kernel_run *r, size_t index)
{
    const size_t rows = window_out_rows(&p->w), last = p->w.rank - 1;
    const size_t plane = index / rows, row = index % rows, channel = plane % p->groups;
    const size_t width = (size_t)p->w.out[last], outer = window_taps(&p->w);
    const int64_t taps = p->w.kernel[last], stride = p->w.stride[last];
    const float *x = (const float *)r->tensors[0] + plane * window_in_count(&p->w);
    const float *w = (const float *)r->tensors[1] + channel * p->depth;
    const float *sum = p->has_sum ? (const float *)r->tensors[3] + index * width : NULL;
    const float bias = p->has_bias ? ((const float *)r->tensors[2])[channel] : 0;
    float *y = (float *)r->tensors[p->inputs] + index * width;
    for (size_t i = 0; i < width; i++) y[i] = bias;
    for (size_t tap = 0; tap < outer; tap++) {
        size_t in_row = 0;
        if (!window_row(&p->w, row, tap, &in_row)) continue;
        for (int64_t t = 0; t < taps; t++) {
            int64_t lo, hi, first;
            window_columns(&p->w, t, &lo, &hi, &first);
            const float *from = x + in_row * (size_t)p->w.in[last] + first;
            conv_linear_add_tap(y + lo, from, w[tap * (size_t)taps + (size_t)t], hi - lo, stride);
        }
    }
    for (size_t i = 0; sum && i < width; i++) y[i] += sum[i];
    conv_linear_activate(p, y, width);
}

static void conv_linear_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, unit_count(p), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++)
        if (conv_linear_is_deep(p))
            conv_linear_deep(p, r, i);
        else
            conv_linear_unit(p, r, i);
}

#define ROW(suffix, level, flops_per_ns)                                                       \
    {                                                                                          \
        .name = "conv_f32_linear_" #suffix, .version = 1,                                      \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .needs = level,                   \
        .rates = {flops_per_ns}, .flags = KERNEL_SHARES_WEIGHTS, .accept = conv_linear_accept, \
        .prepare = conv_linear_prepare, .run = conv_linear_run, .extent = conv_linear_extent   \
    }
const kernel KERNELS_conv_linear[] = {
    ROW(portable, CPU_PORTABLE, 9),
    ROW(avx2, CPU_AVX2, 65),
    ROW(avx512, CPU_AVX512, 75),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling in float32 on tensors blocked by channels: MaxPool, AveragePool and their global forms
 * over up to three spatial axes, and ReduceMean over all spatial axes. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/blocked.h"
#include "kernels/extent.h"
#include "ops/class_window.h"

enum { AXES = 3 };

typedef struct params {
    uint32_t level, average, count_padding, inputs;
    uint64_t block, blocks, channels, planes; /* planes: number of channel blocks in all images */
    int64_t in[AXES], out[AXES], window[AXES], stride[AXES], dilation[AXES], begin[AXES], end[AXES];
} params;

static void read_global(params *p, const kernel_tensor *x)
{
    for (int32_t d = 0; d < AXES; d++) {
        p->in[d] = p->out[d] = p->window[d] = p->stride[d] = p->dilation[d] = 1;
        const int32_t axis = x->rank - AXES + d;
        if (axis >= 2) p->in[d] = p->window[d] = x->shape[axis];
    }
}

static bool read_window(params *p, const kernel_problem *u)
{
    window w;
    const kernel_tensor *x = &u->inputs[0];
    const size_t rank = (size_t)x->rank - 2;
    if (window_read(&w, u->node, rank, NULL) || !w.kernel[0]) return false;
    window_resolve(&w, x->shape + 2, u->outputs[0].shape + 2);
    for (size_t d = 0; d < AXES; d++) {
        p->in[d] = p->out[d] = p->window[d] = p->stride[d] = p->dilation[d] = 1;
        if (d + rank < AXES) continue;
        const size_t i = d + rank - AXES;
        p->in[d] = w.in[i];
        p->out[d] = w.out[i];
        p->window[d] = w.kernel[i];
        p->stride[d] = w.stride[i];
        p->dilation[d] = w.dilation[i];
        p->begin[d] = w.begin[i];
        p->end[d] = w.end[i];
    }
    return true;
}

/* Does ReduceMean reduce exactly the axes from 2 on? The output then lacks them, or has them with
 * size 1. */
static bool is_global_mean(const kernel_problem *u)
{
    const kernel_tensor *given = &u->inputs[1];
    const int32_t rank = u->inputs[0].rank;
    uint32_t seen = 0;
    size_t count;
    const int64_t *axes = op_attr_ints(u->node, "axes", &count);
    if (u->input_count > 1 && given->dtype) {
        count = given->dtype == PGY_I64 && given->data ? kernel_count(given) : 0;
        axes = given->data;
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t d = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (d < 2 || d >= rank) return false;
        seen |= 1u << d;
    }
    return seen == (1u << rank) - 4;
}

static bool pool_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const char *name = u->node->def->name;
    const bool mean = strcmp(name, "ReduceMean") == 0;
    *p = (params){.average = mean || strstr(name, "Average") != NULL,
                  .inputs = (uint32_t)u->input_count};
    if (x->dtype != PGY_F32 || y->dtype != PGY_F32 || x->rank < 3 || x->rank > 2 + AXES)
        return false;
    if (u->output_count > 1 && u->outputs[1].dtype) return false; /* Indices output of MaxPool */
    if (!kernel_count(x) || !kernel_count(y) || x->data) return false;
    p->channels = (uint64_t)x->shape[1];
    p->planes = (uint64_t)x->shape[0];
    p->count_padding = op_attr_int(u->node, "count_include_pad", 0) != 0;
    if (mean && !is_global_mean(u)) return false;
    if (!mean && strncmp(name, "Global", 6)) return read_window(p, u);
    read_global(p, x);
    return true;
}

static bool pool_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    params p;
    if (!pool_describe(&p, u)) return false;
    const size_t block = blocked_loops_of(level)->block;
    const double pixels = (double)(p.planes * ((p.channels + block - 1) / block)) *
                          (double)(p.out[0] * p.out[1] * p.out[2]);
    const double taps = (double)p.window[0] * (double)(p.window[1] * p.window[2]);
    /* An [N, C] output has no room for padding lanes. */
    if (u->outputs[0].rank < 3 && p.channels % block) return false;
    u->inputs[0].layout = u->outputs[0].layout = blocked_layout(block);
    if (u->input_count > 1) u->inputs[1].layout = KERNEL_LINEAR;
    if (u->outputs[0].rank < 3) u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = pixels * (8 + taps * 0.5) * u->self->rates[0];
    return true;
}

static pgy_status pool_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const cpu_level level = u->self->needs;
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)pool_describe(p, u); /* cannot fail after `accept` */
    p->level = level;
    p->block = blocked_loops_of(level)->block;
    p->blocks = (p->channels + p->block - 1) / p->block;
    p->planes *= p->blocks;
    const uint64_t rows = p->planes * (uint64_t)(p->out[0] * p->out[1]);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(rows < 256 ? rows : 256);
    return PGY_OK;
}

/* Sizes and steps below 2^31 keep products of two within int64_t. */
static bool has_valid_axes(const params *p)
{
    const int64_t most = INT32_MAX;
    for (int d = 0; d < AXES; d++)
        if (!extent_between(p->in[d], 1, most) || !extent_between(p->out[d], 1, most) ||
            !extent_between(p->window[d], 1, most) || !extent_between(p->stride[d], 1, most) ||
            !extent_between(p->dilation[d], 1, most) || !extent_between(p->begin[d], -most, most) ||
            !extent_between(p->end[d], -most, most))
            return false;
    return true;
}

static uint64_t volume(const int64_t *sizes)
{
    return extent_mul3(extent_size(sizes[0]), extent_size(sizes[1]), extent_size(sizes[2]));
}

static bool pool_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count) return extent_refuse(e, "number of inputs");
    if (p->block != blocked_loops_of(p->level)->block || !p->blocks)
        return extent_refuse(e, "blocks");
    const uint64_t pixels = extent_mul(p->planes, p->block);
    const uint64_t in = volume(p->in), step = extent_mul(in, p->block);
    if (!has_valid_axes(p) || volume(p->window) > INT64_MAX ||
        extent_mul(step, extent_size(p->dilation[0])) > INT64_MAX ||
        extent_mul(step, extent_size(p->dilation[1])) > INT64_MAX)
        return extent_refuse(e, "window");
    extent_tensor(e, 0, extent_mul(pixels, in), sizeof(float));
    extent_tensor(e, p->inputs, extent_mul(pixels, volume(p->out)), sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* At one output position, taps [from, from + count) of an axis fall inside the input; `counted`
 * taps count for the mean. */
typedef struct reach {
    int64_t from, count, counted;
} reach;

static int64_t taps_until(int64_t limit, int64_t start, int64_t step, int64_t most)
{
    const int64_t count = start < limit ? (limit - start + step - 1) / step : 0;
    return count < most ? count : most;
}

static reach find_reach(const params *p, int d, int64_t o)
{
    const int64_t start = o * p->stride[d] - p->begin[d], step = p->dilation[d];
    reach r = {.from = start < 0 ? (-start + step - 1) / step : 0};
    const int64_t to = taps_until(p->in[d], start, step, p->window[d]);
    r.count = to > r.from ? to - r.from : 0;
    r.counted =
        p->count_padding ? taps_until(p->in[d] + p->end[d], start, step, p->window[d]) : r.count;
    return r;
}

static void pool_row(const params *p, const float *x, float *y, int64_t plane, int64_t row)
{
    const reach z = find_reach(p, 0, plane), v = find_reach(p, 1, row);
    const int64_t b = (int64_t)p->block;
    const blocked_loops *loops = blocked_loops_of(p->level);
    blocked_window w = {.planes = (size_t)z.count,
                        .rows = (size_t)v.count,
                        .plane_step = (size_t)(p->dilation[0] * p->in[1] * p->in[2] * b),
                        .row_step = (size_t)(p->dilation[1] * p->in[2] * b),
                        .column_step = (size_t)(p->dilation[2] * b),
                        .average = p->average};
    const int64_t in_plane = plane * p->stride[0] - p->begin[0] + z.from * p->dilation[0];
    const int64_t in_row = row * p->stride[1] - p->begin[1] + v.from * p->dilation[1];
    for (int64_t o = 0; o < p->out[2]; o++) {
        const reach h = find_reach(p, 2, o);
        const int64_t column = o * p->stride[2] - p->begin[2] + h.from * p->dilation[2];
        w.columns = (size_t)h.count;
        w.divisor = (float)(z.counted * v.counted * h.counted);
        w.x = x;
        if (z.count && v.count && h.count)
            w.x += ((in_plane * p->in[1] + in_row) * p->in[2] + column) * b;
        loops->pool(y + o * b, &w);
    }
}

static void pool_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint64_t rows = (uint64_t)(p->out[0] * p->out[1]), b = p->block;
    const uint64_t in = (uint64_t)(p->in[0] * p->in[1] * p->in[2]), width = (uint64_t)p->out[2];
    size_t from, to;
    kernel_share(&from, &to, p->planes * rows, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t plane = i / rows, row = i % rows;
        float *y = (float *)r->tensors[p->inputs] + i * width * b;
        pool_row(p, (const float *)r->tensors[0] + plane * in * b, y, (int64_t)row / p->out[1],
                 (int64_t)row % p->out[1]);
        const uint64_t first = plane % p->blocks * b;
        if (p->channels - first < b) blocked_clear(y, width, b, p->channels - first);
    }
}

static int32_t pool_free_axes(const kernel_problem *u)
{
    return u->output_count == 1 ? kernel_axes_before(u, 2) : 0;
}

#define ROW(suffix, level, slower)                                                               \
    {                                                                                            \
        .name = "pool_f32_" #suffix, .version = 1,                                               \
        .ops = "MaxPool AveragePool GlobalMaxPool GlobalAveragePool ReduceMean", .needs = level, \
        .rates = {slower}, .free_axes = pool_free_axes, .accept = pool_accept,                   \
        .prepare = pool_prepare, .run = pool_run, .extent = pool_extent                          \
    }
const kernel KERNELS_pool[] = {
    ROW(portable, CPU_PORTABLE, 3),
    ROW(avx2, CPU_AVX2, 1),
    ROW(avx512, CPU_AVX512, 1),
    {0},
};

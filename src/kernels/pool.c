/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling in float32 on tensors blocked by channels: MaxPool, AveragePool and their global forms
 * over up to three spatial axes, and ReduceMean over all spatial axes. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/blocked.h"
#include "kernels/extent.h"
#include "kernels/pool_axes.h"

typedef struct params {
    uint32_t level, average, count_padding, inputs;
    uint64_t block, blocks, channels, planes; /* planes: number of channel blocks in all images */
    pool_axes axes;
} params;

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
    if (x->dtype != PGY_F32 || y->dtype != PGY_F32 || x->rank < 3 || x->rank > 2 + POOL_AXES)
        return false;
    if (u->output_count > 1 && u->outputs[1].dtype) return false; /* Indices output of MaxPool */
    if (!kernel_count(x) || !kernel_count(y) || x->data) return false;
    p->channels = (uint64_t)x->shape[1];
    p->planes = (uint64_t)x->shape[0];
    p->count_padding = op_attr_int(u->node, "count_include_pad", 0) != 0;
    if (mean && !is_global_mean(u)) return false;
    if (!mean && strncmp(name, "Global", 6)) return pool_axes_read(&p->axes, u);
    pool_axes_set_global(&p->axes, x);
    return true;
}

static bool pool_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    params p;
    if (!pool_describe(&p, u)) return false;
    const size_t block = blocked_loops_of(level)->block;
    const double pixels = (double)(p.planes * ((p.channels + block - 1) / block)) *
                          (double)(p.axes.out[0] * p.axes.out[1] * p.axes.out[2]);
    const double taps = (double)p.axes.window[0] * (double)(p.axes.window[1] * p.axes.window[2]);
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
    const uint64_t rows = p->planes * (uint64_t)(p->axes.out[0] * p->axes.out[1]);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(rows < 256 ? rows : 256);
    return PGY_OK;
}

static bool pool_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count) return extent_refuse(e, "number of inputs");
    if (p->block != blocked_loops_of(p->level)->block || !p->blocks)
        return extent_refuse(e, "blocks");
    const uint64_t pixels = extent_mul(p->planes, p->block);
    const uint64_t in = pool_axes_volume(p->axes.in), step = extent_mul(in, p->block);
    if (!pool_axes_are_valid(&p->axes) || pool_axes_volume(p->axes.window) > INT64_MAX ||
        extent_mul(step, extent_size(p->axes.dilation[0])) > INT64_MAX ||
        extent_mul(step, extent_size(p->axes.dilation[1])) > INT64_MAX)
        return extent_refuse(e, "window");
    extent_tensor(e, 0, extent_mul(pixels, in), sizeof(float));
    extent_tensor(e, p->inputs, extent_mul(pixels, pool_axes_volume(p->axes.out)), sizeof(float));
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
    const int64_t start = o * p->axes.stride[d] - p->axes.begin[d], step = p->axes.dilation[d];
    reach r = {.from = start < 0 ? (-start + step - 1) / step : 0};
    const int64_t to = taps_until(p->axes.in[d], start, step, p->axes.window[d]);
    r.count = to > r.from ? to - r.from : 0;
    r.counted = p->count_padding
                    ? taps_until(p->axes.in[d] + p->axes.end[d], start, step, p->axes.window[d])
                    : r.count;
    return r;
}

static void pool_row(const params *p, const float *x, float *y, int64_t plane, int64_t row)
{
    const reach z = find_reach(p, 0, plane), v = find_reach(p, 1, row);
    const int64_t b = (int64_t)p->block;
    const blocked_loops *loops = blocked_loops_of(p->level);
    blocked_window w = {.planes = (size_t)z.count,
                        .rows = (size_t)v.count,
                        .plane_step =
                            (size_t)(p->axes.dilation[0] * p->axes.in[1] * p->axes.in[2] * b),
                        .row_step = (size_t)(p->axes.dilation[1] * p->axes.in[2] * b),
                        .column_step = (size_t)(p->axes.dilation[2] * b),
                        .average = p->average};
    const int64_t in_plane =
        plane * p->axes.stride[0] - p->axes.begin[0] + z.from * p->axes.dilation[0];
    const int64_t in_row =
        row * p->axes.stride[1] - p->axes.begin[1] + v.from * p->axes.dilation[1];
    for (int64_t o = 0; o < p->axes.out[2]; o++) {
        const reach h = find_reach(p, 2, o);
        const int64_t column =
            o * p->axes.stride[2] - p->axes.begin[2] + h.from * p->axes.dilation[2];
        w.columns = (size_t)h.count;
        w.divisor = (float)(z.counted * v.counted * h.counted);
        w.x = x;
        if (z.count && v.count && h.count)
            w.x += ((in_plane * p->axes.in[1] + in_row) * p->axes.in[2] + column) * b;
        loops->pool(y + o * b, &w);
    }
}

static void pool_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint64_t rows = (uint64_t)(p->axes.out[0] * p->axes.out[1]), b = p->block;
    const uint64_t in = (uint64_t)(p->axes.in[0] * p->axes.in[1] * p->axes.in[2]),
                   width = (uint64_t)p->axes.out[2];
    size_t from, to;
    kernel_share(&from, &to, p->planes * rows, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t plane = i / rows, row = i % rows;
        float *y = (float *)r->tensors[p->inputs] + i * width * b;
        pool_row(p, (const float *)r->tensors[0] + plane * in * b, y, (int64_t)row / p->axes.out[1],
                 (int64_t)row % p->axes.out[1]);
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

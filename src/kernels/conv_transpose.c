/* SPDX-License-Identifier: Apache-2.0 */
/* ConvTranspose in float32 between linear tensors, with constant weights. For each output channel,
 * a matrix product of its weights and the input computes the term of every input position at every
 * tap; then each term is added to its output position, in rows sorted by the columns' remainders.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/matmul.h"
#include "kernels/packing.h"
#include "ops/class_window.h"

/* MOST_SUMS: limit of a thread's scratch memory, in floats */
enum { AXES = 3, MOST_SUMS = 1 << 26 };

typedef struct params {
    uint32_t level, has_bias, inputs;
    uint64_t batch, groups, in, out; /* in, out: channels of one group */
    /* positions: number of input positions; area: number of output positions */
    uint64_t positions, panels, taps, area;
    int64_t from[AXES], to[AXES], window[AXES], stride[AXES], dilation[AXES], pad[AXES];
} params;

static bool read_axes(params *p, const kernel_problem *u)
{
    window w;
    size_t count;
    const kernel_tensor *x = &u->inputs[0], *f = &u->inputs[1], *y = &u->outputs[0];
    const size_t rank = (size_t)x->rank - 2;
    if (window_read(&w, u->node, rank, NULL) || window_kernel(&w, u->node, f->shape + 2, NULL))
        return false;
    (void)op_attr_ints(u->node, "output_shape", &count);
    if (count || w.auto_pad != WINDOW_PAD_EXPLICIT) return false;
    for (size_t d = 0; d < AXES; d++) {
        p->from[d] = p->to[d] = p->window[d] = p->stride[d] = p->dilation[d] = 1;
        if (d + rank < AXES) continue;
        const size_t i = d + rank - AXES;
        p->from[d] = x->shape[i + 2];
        p->to[d] = y->shape[i + 2];
        p->window[d] = w.kernel[i];
        p->stride[d] = w.stride[i];
        p->dilation[d] = w.dilation[i];
        p->pad[d] = w.begin[i];
    }
    return true;
}

/* Columns of one phase: those that are equal modulo the stride. */
static int64_t phase_width(const params *p)
{
    return (p->to[2] + p->stride[2] - 1) / p->stride[2];
}

/* Floats of an output plane by phases. */
static uint64_t phase_floats(const params *p)
{
    return extent_mul(extent_mul((uint64_t)p->to[0], (uint64_t)p->to[1]),
                      (uint64_t)(phase_width(p) * p->stride[2]));
}

/* Output channels of a unit of work, enough to fill the rows of a tile. */
static uint64_t per_unit(const params *p)
{
    const uint64_t rows = matmul_tile_of((cpu_level)p->level)->rows;
    const uint64_t most = p->taps < rows ? rows / p->taps : 1;
    return most < p->out ? most : p->out;
}

static bool conv_transpose_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *w = &u->inputs[1], *y = &u->outputs[0];
    *p = (params){.inputs = (uint32_t)u->input_count};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != PGY_F32) return false;
    if (x->dtype != PGY_F32 || x->rank < 3 || x->rank > 2 + AXES || !w->data) return false;
    if (!kernel_count(x) || !kernel_count(w) || !kernel_count(y)) return false;
    p->has_bias = u->input_count > 2 && u->inputs[2].dtype;
    p->batch = (uint64_t)x->shape[0];
    p->groups = (uint64_t)op_attr_int(u->node, "group", 1);
    p->in = (uint64_t)x->shape[1] / p->groups;
    p->out = (uint64_t)w->shape[1];
    if (!read_axes(p, u)) return false;
    p->positions = (uint64_t)(p->from[0] * p->from[1] * p->from[2]);
    p->area = (uint64_t)(p->to[0] * p->to[1] * p->to[2]);
    p->taps = (uint64_t)(p->window[0] * p->window[1] * p->window[2]);
    return (double)p->taps * (double)p->positions + (double)phase_floats(p) < MOST_SUMS;
}

static bool conv_transpose_accept(kernel_problem *u, double *cost_ns)
{
    const double flops_per_ns = u->self->rates[0];
    params p;
    if (!conv_transpose_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double added = (double)(p.batch * p.groups * p.out * p.taps) * (double)p.positions;
    *cost_ns = 200 + added * (2 * (double)p.in / flops_per_ns + 0.3);
    return true;
}

/* Packs the weights as [group][output channel][tap][input channel]. */
static bool conv_transpose_fill(void *packed, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const float *w = u->inputs[1].data;
    float *to = packed;
    for (uint64_t g = 0; g < p->groups; g++)
        for (uint64_t row = 0; row < p->out * p->taps; row++)
            for (uint64_t c = 0; c < p->in; c++)
                *to++ = w[(g * p->in + c) * p->out * p->taps + row];
    return true;
}

static pgy_status conv_transpose_pack(kernel_plan *out, const params *p, const kernel_problem *u,
                                      pgy_error *err)
{
    const kernel_packing how = {.form = "conv_transpose",
                                .numbers = {p->groups, p->in, p->out, p->taps},
                                .inputs = 2,
                                .size_bytes = kernel_size_bytes(&u->inputs[1]),
                                .fill = conv_transpose_fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    return kernel_pack(out, u, &how, err);
}

static pgy_status conv_transpose_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const cpu_level level = u->self->needs;
    const matmul_tile *t = matmul_tile_of(level);
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_transpose_describe(p, u); /* cannot fail after `accept` */
    p->level = level;
    p->panels = (p->positions + t->columns - 1) / t->columns;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    const uint64_t units = p->batch * p->groups * ((p->out + per_unit(p) - 1) / per_unit(p));
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->workspace_bytes = p->batch * p->groups * p->in * p->panels * t->columns * sizeof(float);
    out->scratch_bytes =
        (per_unit(p) * p->taps * p->panels * t->columns + phase_floats(p)) * sizeof(float);
    const pgy_status st = conv_transpose_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

/* Sizes below 2^31 keep products of two within int64_t. */
static bool has_valid_axes(const params *p)
{
    const int64_t most = INT32_MAX;
    for (int d = 0; d < AXES; d++)
        if (!extent_between(p->from[d], 1, most) || !extent_between(p->to[d], 1, most) ||
            !extent_between(p->window[d], 1, most) || !extent_between(p->stride[d], 1, most) ||
            !extent_between(p->dilation[d], 1, most) || !extent_between(p->pad[d], -most, most))
            return false;
    return true;
}

static uint64_t volume(const int64_t *sizes)
{
    return extent_mul3(extent_size(sizes[0]), extent_size(sizes[1]), extent_size(sizes[2]));
}

static bool conv_transpose_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->inputs < (p->has_bias ? 3 : 2))
        return extent_refuse(e, "number of inputs");
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    if (!has_valid_axes(p) || !p->groups || !p->in || !p->out || p->positions > INT64_MAX ||
        p->area > INT64_MAX || p->taps > INT64_MAX || p->positions != volume(p->from) ||
        p->area != volume(p->to) || p->taps != volume(p->window) ||
        p->panels != (p->positions + columns - 1) / columns)
        return extent_refuse(e, "sizes");
    const uint64_t channels = extent_mul(p->groups, p->out);
    const uint64_t in = extent_mul3(p->batch, p->groups, p->in);
    const uint64_t width = extent_mul(p->panels, columns * sizeof(float));
    extent_tensor(e, 0, extent_mul(in, p->positions), sizeof(float));
    if (p->has_bias) extent_tensor(e, 2, channels, sizeof(float));
    extent_tensor(e, p->inputs, extent_mul3(p->batch, channels, p->area), sizeof(float));
    e->phases = 2;
    e->workspace = extent_mul(in, width);
    e->scratch = extent_add(extent_mul3(per_unit(p), p->taps, width),
                            extent_mul(phase_floats(p), sizeof(float)));
    e->packed = extent_mul(extent_mul3(channels, p->taps, p->in), sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Packs the input into panels: [image and group][panel][channel][position]. */
static void conv_transpose_packing(const params *p, const kernel_run *r)
{
    const size_t width = matmul_tile_of((cpu_level)p->level)->columns;
    size_t from, to;
    kernel_share(&from, &to, p->batch * p->groups * p->panels, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t job = i / p->panels, first = i % p->panels * width;
        const size_t count = p->positions - first < width ? p->positions - first : width;
        const float *x = (const float *)r->tensors[0] + job * p->in * p->positions + first;
        float *panel = (float *)r->workspace + i * p->in * width;
        for (size_t c = 0; c < p->in; c++, panel += width, x += p->positions) {
            memcpy(panel, x, count * sizeof *x);
            memset(panel + count, 0, (width - count) * sizeof *x);
        }
    }
}

/* Adds the terms of all input positions at one tap to the sums of the output plane, whose rows are
 * [phase][column / stride], so that both sides are contiguous. */
static void conv_transpose_add_tap(const params *p, float *to, const float *sums,
                                   const int64_t *tap)
{
    const int64_t step = p->stride[2], offset = tap[2] * p->dilation[2] - p->pad[2];
    const int64_t width = phase_width(p), left = p->to[2] - offset;
    const int64_t low = offset < 0 ? (step - 1 - offset) / step : 0;
    int64_t high = left > 0 ? (left + step - 1) / step : 0;
    if (high > p->from[2]) high = p->from[2];
    if (low >= high) return;
    const int64_t first = low * step + offset, at = first % step * width + first / step;
    for (int64_t z = 0; z < p->from[0]; z++) {
        const int64_t plane = z * p->stride[0] + tap[0] * p->dilation[0] - p->pad[0];
        for (int64_t v = 0; v < p->from[1]; v++, sums += p->from[2]) {
            const int64_t row = v * p->stride[1] + tap[1] * p->dilation[1] - p->pad[1];
            if (plane < 0 || plane >= p->to[0] || row < 0 || row >= p->to[1]) continue;
            float *line = to + (plane * p->to[1] + row) * step * width + at - low;
            for (int64_t h = low; h < high; h++) line[h] += sums[h];
        }
    }
}

/* Brings the columns of all phases into their order and adds the bias. */
static void conv_transpose_join(const params *p, float *y, const float *from, float bias)
{
    const int64_t step = p->stride[2], width = phase_width(p), columns = p->to[2];
    for (int64_t row = 0; row < p->to[0] * p->to[1]; row++, y += columns, from += step * width) {
        if (step == 2) {
            for (int64_t i = 0; i < columns / 2; i++) {
                y[2 * i] = from[i] + bias;
                y[2 * i + 1] = from[width + i] + bias;
            }
            if (columns % 2) y[columns - 1] = from[width - 1] + bias;
            continue;
        }
        for (int64_t phase = 0; phase < step && phase < columns; phase++)
            for (int64_t i = 0; phase + i * step < columns; i++)
                y[phase + i * step] = from[phase * width + i] + bias;
    }
}

/* Computes channels [first, first + count) of one group and image, whose products are one matrix.
 */
static void conv_transpose_channels(const params *p, const kernel_run *r, size_t job, size_t first,
                                    size_t count)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const size_t width = p->panels * t->columns, rows = count * p->taps;
    const size_t channel = job % p->groups * p->out + first;
    const float *w = (const float *)r->packed + channel * p->taps * p->in;
    const float *x = (const float *)r->workspace + job * p->in * width;
    float *sums = r->scratch, *phases = sums + per_unit(p) * p->taps * width;
    for (size_t panel = 0; panel < p->panels; panel++)
        for (size_t i = 0; i < rows; i += t->rows)
            matmul_tile_run(t, rows - i < t->rows ? rows - i : t->rows, p->in, w + i * p->in, p->in,
                            x + panel * p->in * t->columns, sums + i * width + panel * t->columns,
                            width, false);
    for (size_t c = 0; c < count; c++, sums += p->taps * width) {
        memset(phases, 0, phase_floats(p) * sizeof *phases);
        for (size_t i = 0; i < p->taps; i++) {
            const int64_t n = (int64_t)i;
            const int64_t tap[AXES] = {n / (p->window[1] * p->window[2]),
                                       n / p->window[2] % p->window[1], n % p->window[2]};
            conv_transpose_add_tap(p, phases, sums + i * width, tap);
        }
        conv_transpose_join(p,
                            (float *)r->tensors[p->inputs] + (job * p->out + first + c) * p->area,
                            phases, p->has_bias ? ((const float *)r->tensors[2])[channel + c] : 0);
    }
}

static void conv_transpose_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    if (r->phase == 0) {
        conv_transpose_packing(p, r);
        return;
    }
    const uint64_t each = per_unit(p), units = (p->out + each - 1) / each;
    kernel_share(&from, &to, p->batch * p->groups * units, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t first = i % units * each, left = p->out - first;
        conv_transpose_channels(p, r, i / units, first, left < each ? left : each);
    }
}

#define ROW(suffix, level, flops_per_ns)                                                       \
    {                                                                                          \
        .name = "conv_transpose_f32_" #suffix, .version = 3, .ops = "ConvTranspose",           \
        .needs = level, .rates = {flops_per_ns},                                               \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, .accept = conv_transpose_accept, \
        .prepare = conv_transpose_prepare, .run = conv_transpose_run,                          \
        .extent = conv_transpose_extent                                                        \
    }
const kernel KERNELS_conv_transpose[] = {
    ROW(portable, CPU_PORTABLE, 9),
    ROW(avx2, CPU_AVX2, 60),
    ROW(avx512, CPU_AVX512, 70),
    {0},
};

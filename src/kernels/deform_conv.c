/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv over two spatial axes in float32 with constant weights. A first phase moves the
 * channels of the images last. Then, for some output positions at a time, the samples of all taps
 * become rows of a matrix, whose product with the weights gives all output channels. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/channels_last.h"
#include "kernels/extent.h"
#include "kernels/matmul.h"
#include "kernels/matmul_tile.h"
#include "kernels/packing.h"
#include "kernels/squares.h"
#include "ops/class_window.h"

/* POSITIONS: output positions of a unit of work. MOST: limit of sizes, so that products of two fit.
 */
enum { X, W, OFFSET, BIAS, MASK, INPUTS = 5, POSITIONS = 24, MOST = INT32_MAX };

typedef struct params {
    uint32_t level, inputs, has_bias, has_mask;
    uint64_t batch, groups, in, out, offset_groups; /* in, out: channels of one group */
    uint64_t taps, panels;                          /* panels: of one group */
    int64_t from[2], to[2], window[2], stride[2], dilation[2], pad[2];
} params;

static bool deform_conv_axes(params *p, const kernel_problem *u)
{
    window w;
    const kernel_tensor *x = &u->inputs[X], *f = &u->inputs[W], *y = &u->outputs[0];
    if (window_read(&w, u->node, 2, NULL) || window_kernel(&w, u->node, f->shape + 2, NULL))
        return false;
    for (size_t d = 0; d < 2; d++) {
        p->from[d] = x->shape[d + 2];
        p->to[d] = y->shape[d + 2];
        p->window[d] = w.kernel[d];
        p->stride[d] = w.stride[d];
        p->dilation[d] = w.dilation[d];
        p->pad[d] = w.begin[d];
        if (p->from[d] >= MOST || p->to[d] >= MOST || p->window[d] >= MOST ||
            p->stride[d] >= MOST || p->dilation[d] >= MOST || p->pad[d] < 0 || p->pad[d] >= MOST)
            return false;
    }
    return true;
}

static bool deform_conv_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[X], *w = &u->inputs[W], *y = &u->outputs[0];
    *p = (params){.level = u->self->needs, .inputs = (uint32_t)u->input_count};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != PGY_F32) return false;
    if (x->rank != 4 || w->rank != 4 || !w->data || u->input_count > INPUTS || !kernel_count(x) ||
        !kernel_count(w) || !kernel_count(y) || !deform_conv_axes(p, u))
        return false;
    p->has_bias = u->input_count > BIAS && u->inputs[BIAS].dtype;
    p->has_mask = u->input_count > MASK && u->inputs[MASK].dtype;
    p->batch = (uint64_t)x->shape[0];
    p->groups = (uint64_t)op_attr_int(u->node, "group", 1);
    p->offset_groups = (uint64_t)op_attr_int(u->node, "offset_group", 1);
    if (!p->groups || !p->offset_groups || (uint64_t)x->shape[1] % p->groups ||
        (uint64_t)x->shape[1] % p->offset_groups || (uint64_t)y->shape[1] % p->groups)
        return false;
    p->in = (uint64_t)x->shape[1] / p->groups;
    p->out = (uint64_t)y->shape[1] / p->groups;
    p->taps = (uint64_t)p->window[0] * (uint64_t)p->window[1];
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    p->panels = (p->out + columns - 1) / columns;
    return (uint64_t)w->shape[1] == p->in && (uint64_t)w->shape[0] == p->out * p->groups;
}

static bool deform_conv_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!deform_conv_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double samples = (double)p.batch * (double)p.to[0] * (double)p.to[1] * (double)p.taps;
    const double channels = (double)(p.groups * p.in);
    *cost_ns = 500 + samples * ((double)p.offset_groups * 20 + channels * 0.3 +
                                2 * channels * (double)p.out / u->self->rates[0]);
    return true;
}

/* Packs the weights as [group][panel][tap][input channel][column]. */
static bool deform_conv_fill(void *packed, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const float *w = u->inputs[W].data;
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    float *to = packed;
    for (uint64_t g = 0; g < p->groups; g++)
        for (uint64_t panel = 0; panel < p->panels; panel++)
            for (uint64_t k = 0; k < p->taps * p->in; k++)
                for (uint64_t c = 0; c < columns; c++) {
                    const uint64_t o = panel * columns + c;
                    const uint64_t tap = k / p->in, channel = k % p->in;
                    *to++ =
                        o < p->out ? w[((g * p->out + o) * p->in + channel) * p->taps + tap] : 0;
                }
    return true;
}

static uint64_t deform_conv_packed(const params *p)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    return extent_mul(extent_mul3(p->groups, p->panels, columns),
                      extent_mul3(p->taps, p->in, sizeof(float)));
}

/* Floats of the matrices of a unit: samples, and the results of a group. */
static uint64_t deform_conv_samples(const params *p)
{
    return extent_mul(POSITIONS * p->taps, extent_mul(p->groups, p->in));
}

static uint64_t deform_conv_results(const params *p)
{
    return extent_mul3(POSITIONS, p->panels, matmul_tile_of((cpu_level)p->level)->columns);
}

static uint64_t deform_conv_scratch(const params *p)
{
    return extent_mul(extent_add(deform_conv_samples(p), deform_conv_results(p)), sizeof(float));
}

static uint64_t deform_conv_chunks(const params *p)
{
    return ((uint64_t)(p->to[0] * p->to[1]) - 1) / POSITIONS + 1;
}

static pgy_status deform_conv_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)deform_conv_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    const uint64_t units = p->batch * deform_conv_chunks(p);
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->workspace_bytes = kernel_size_bytes(&u->inputs[X]);
    out->scratch_bytes = deform_conv_scratch(p);
    const kernel_packing how = {.form = "deform_conv",
                                .numbers = {p->groups, p->in, p->out, p->taps,
                                            matmul_tile_of((cpu_level)p->level)->columns},
                                .inputs = 1u << W,
                                .size_bytes = deform_conv_packed(p),
                                .fill = deform_conv_fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    const pgy_status st = kernel_pack(out, u, &how, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool deform_conv_valid_axes(const params *p)
{
    for (int d = 0; d < 2; d++)
        if (!extent_between(p->from[d], 1, MOST) || !extent_between(p->to[d], 1, MOST) ||
            !extent_between(p->window[d], 1, MOST) || !extent_between(p->stride[d], 1, MOST) ||
            !extent_between(p->dilation[d], 1, MOST) || !extent_between(p->pad[d], 0, MOST))
            return false;
    return p->taps == (uint64_t)p->window[0] * (uint64_t)p->window[1];
}

static bool deform_conv_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->inputs <= OFFSET || p->inputs > INPUTS ||
        (p->has_bias && p->inputs <= BIAS) || (p->has_mask && p->inputs <= MASK))
        return extent_refuse(e, "number of inputs");
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    if (!deform_conv_valid_axes(p) || p->taps > MOST || !p->batch || !p->groups || !p->in ||
        !p->out || !p->offset_groups || p->out > INT64_MAX ||
        p->panels != (p->out + columns - 1) / columns)
        return extent_refuse(e, "sizes");
    const uint64_t channels = extent_mul(p->groups, p->in);
    if (channels == EXTENT_TOO_MUCH || channels % p->offset_groups)
        return extent_refuse(e, "offset groups");
    const uint64_t area = (uint64_t)(p->to[0] * p->to[1]);
    const uint64_t pixels = extent_mul(p->batch, (uint64_t)(p->from[0] * p->from[1]));
    const uint64_t fields = extent_mul3(p->batch, p->offset_groups, extent_mul(p->taps, area));
    const uint64_t out = extent_mul(p->groups, p->out);
    extent_tensor(e, X, extent_mul(pixels, channels), sizeof(float));
    extent_tensor(e, OFFSET, extent_mul(fields, 2), sizeof(float));
    if (p->has_bias) extent_tensor(e, BIAS, out, sizeof(float));
    if (p->has_mask) extent_tensor(e, MASK, fields, sizeof(float));
    extent_tensor(e, p->inputs, extent_mul3(p->batch, out, area), sizeof(float));
    e->phases = 2;
    e->workspace = extent_mul3(pixels, channels, sizeof(float));
    e->scratch = deform_conv_scratch(p);
    e->packed = deform_conv_packed(p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Elements around a position that have a weight, for bilinear interpolation; none outside of the
 * image. */
static size_t deform_conv_corners(const params *p, channels_tap *taps, double row, double column,
                                  float mask)
{
    const double top = floor(row), left = floor(column);
    size_t count = 0;
    for (int corner = 0; corner < 4; corner++) {
        const double r = top + (corner >> 1), c = left + (corner & 1);
        const double weight = (corner >> 1 ? row - top : 1 - (row - top)) *
                              (corner & 1 ? column - left : 1 - (column - left));
        if (!(r >= 0 && r < (double)p->from[0] && c >= 0 && c < (double)p->from[1]) || weight == 0)
            continue;
        taps[count++] =
            (channels_tap){(size_t)r * (size_t)p->from[1] + (size_t)c, (float)weight * mask};
    }
    return count;
}

typedef struct deform {
    const params *p;
    const channels_loops *loops;
    const float *image, *offsets, *masks; /* of one image; channels last */
    size_t area;
} deform;

/* Writes the samples of a tap for channels [from, to) of all groups to a row of the matrix. */
static void deform_conv_write(const deform *d, float *row, size_t tap, size_t from, size_t to,
                              const channels_tap *taps, size_t count)
{
    const params *p = d->p;
    while (from < to) { /* the row is [group][tap][input channel] */
        const size_t group = from / p->in,
                     end = (group + 1) * p->in < to ? (group + 1) * p->in : to;
        d->loops->sum(row + (group * p->taps + tap) * p->in + from % p->in, d->image + from,
                      p->groups * p->in, end - from, taps, count, false);
        from = end;
    }
}

/* Makes the matrix's row of an output position. */
static void deform_conv_row(const deform *d, float *row, size_t position)
{
    const params *p = d->p;
    const size_t each = p->groups * p->in / p->offset_groups;
    const int64_t y = (int64_t)position / p->to[1], x = (int64_t)position % p->to[1];
    for (size_t g = 0; g < p->offset_groups; g++)
        for (size_t tap = 0; tap < p->taps; tap++) {
            channels_tap taps[4] = {{0, 0}};
            const size_t field = (g * p->taps + tap) * d->area + position;
            const size_t offset = 2 * (g * p->taps + tap) * d->area + position;
            const int64_t first = (int64_t)tap / p->window[1], second = (int64_t)tap % p->window[1];
            const double at_row = (double)(y * p->stride[0] - p->pad[0] + first * p->dilation[0]);
            const double at = (double)(x * p->stride[1] - p->pad[1] + second * p->dilation[1]);
            const float mask = d->masks ? d->masks[field] : 1;
            const size_t count =
                deform_conv_corners(p, taps, at_row + (double)d->offsets[offset],
                                    at + (double)d->offsets[offset + d->area], mask);
            deform_conv_write(d, row, tap, g * each, (g + 1) * each, taps, count);
        }
}

/* The product of the samples of n positions and a group's weights. */
static void deform_conv_product(const params *p, const kernel_run *r, float *results,
                                const float *samples, size_t group, size_t n)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const size_t depth = p->taps * p->in, width = p->panels * t->columns;
    const float *packed = (const float *)r->packed + group * width * depth;
    for (size_t panel = 0; panel < p->panels; panel++)
        for (size_t i = 0; i < n; i += t->rows)
            matmul_tile_run(t, n - i < t->rows ? n - i : t->rows, depth,
                            samples + (i * p->groups + group) * depth, p->groups * depth,
                            packed + panel * t->columns * depth,
                            results + i * width + panel * t->columns, width, false);
}

static void deform_conv_unit(const params *p, const kernel_run *r, size_t unit)
{
    const size_t chunks = deform_conv_chunks(p), image = unit / chunks;
    const size_t channels = p->groups * p->in, out = p->groups * p->out;
    const size_t depth = p->taps * channels;
    const size_t width = p->panels * matmul_tile_of((cpu_level)p->level)->columns;
    deform d = {.p = p,
                .loops = channels_loops_of((cpu_level)p->level),
                .area = (size_t)(p->to[0] * p->to[1])};
    const size_t first = unit % chunks * POSITIONS, fields = p->offset_groups * p->taps * d.area;
    const size_t n = d.area - first < POSITIONS ? d.area - first : POSITIONS;
    float *samples = r->scratch, *results = samples + deform_conv_samples(p);
    d.image = (const float *)r->workspace + image * (size_t)(p->from[0] * p->from[1]) * channels;
    d.offsets = (const float *)r->tensors[OFFSET] + image * 2 * fields;
    if (p->has_mask) d.masks = (const float *)r->tensors[MASK] + image * fields;
    for (size_t i = 0; i < n; i++) deform_conv_row(&d, samples + i * depth, first + i);
    for (size_t g = 0; g < p->groups; g++) {
        float *y = (float *)r->tensors[p->inputs] + (image * out + g * p->out) * d.area + first;
        deform_conv_product(p, r, results, samples, g, n);
        if (p->has_bias)
            for (size_t i = 0; i < n; i++)
                for (size_t o = 0; o < p->out; o++)
                    results[i * width + o] += ((const float *)r->tensors[BIAS])[g * p->out + o];
        squares_transpose(y, d.area, results, width, n, p->out);
    }
}

static void deform_conv_run(const kernel_run *r)
{
    const params *p = r->params;
    const size_t pixels = (size_t)(p->from[0] * p->from[1]);
    size_t from, to;
    if (r->phase == 0) {
        kernel_share(&from, &to, p->batch * pixels, r->part, r->parts);
        channels_to_last(r->workspace, r->tensors[X], p->groups * p->in, pixels, from, to);
        return;
    }
    kernel_share(&from, &to, p->batch * deform_conv_chunks(p), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) deform_conv_unit(p, r, i);
}

#define ROW(suffix, level, flops_per_ns)                                                       \
    {                                                                                          \
        .name = "deform_conv_f32_" #suffix, .version = 1, .ops = "DeformConv", .needs = level, \
        .rates = {flops_per_ns}, .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED,         \
        .accept = deform_conv_accept, .prepare = deform_conv_prepare, .run = deform_conv_run,  \
        .extent = deform_conv_extent                                                           \
    }
const kernel KERNELS_deform_conv[] = {
    ROW(portable, CPU_PORTABLE, 9),
    ROW(avx2, CPU_AVX2, 60),
    ROW(avx512, CPU_AVX512, 70),
    {0},
};

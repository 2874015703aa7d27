/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution in float32 between tensors blocked by channels: each channel is its own
 * group. Pixels at the left and right edge are computed one by one, with only the taps that fall
 * inside the input. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/conv_plan.h"
#include "kernels/extent.h"
#include "kernels/packing.h"

typedef struct params {
    conv_shape s;
    uint32_t level;
    uint64_t block, blocks;
    int64_t from, to; /* output columns whose taps all fall inside the input */
} params;

static bool is_depthwise(const conv_shape *s)
{
    return s->groups == s->in_channels && s->groups == s->out_channels && s->groups > 1;
}

static bool conv_depthwise_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    conv_shape s;
    if (!conv_describe(&s, u) || !is_depthwise(&s)) return false;
    const size_t block = conv_tiles_of(level)->block;
    const kernel_layout layout = block == 16 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
    conv_set_layouts(u, layout, layout);
    const double padding = (double)(conv_blocks(s.groups, block) * block) / (double)s.groups;
    *cost_ns =
        conv_flop_count(&s) * padding / flops_per_ns +
        (double)(kernel_size_bytes(&u->inputs[0]) + kernel_size_bytes(&u->outputs[0])) * 0.05;
    return true;
}

static void find_inside(params *p)
{
    const conv_shape *s = &p->s;
    const int64_t reach = (s->kernel[1] - 1) * s->dilation[1], stride = s->stride[1];
    const int64_t last = s->in[1] - 1 - reach + s->pad[1];
    p->from = (s->pad[1] + stride - 1) / stride;
    p->to = last < 0 ? 0 : last / stride + 1;
    if (p->to > s->out[1]) p->to = s->out[1];
    if (p->from > p->to) p->from = p->to = 0;
}

/* Packs the biases of all blocks, then the weights as [block][row][column][lane]. */
static bool conv_depthwise_fill(void *packed, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const float *w = u->inputs[1].data, *bias = p->s.has_bias ? u->inputs[2].data : NULL;
    float *to = packed;
    const conv_shape *s = &p->s;
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]);
    for (uint64_t i = 0; i < p->blocks * p->block; i++) *to++ = bias && i < s->groups ? bias[i] : 0;
    for (uint64_t b = 0; b < p->blocks; b++)
        for (uint64_t tap = 0; tap < taps; tap++)
            for (uint64_t lane = 0; lane < p->block; lane++) {
                const uint64_t channel = b * p->block + lane;
                *to++ = channel < s->groups ? w[channel * taps + tap] : 0;
            }
    return true;
}

static pgy_status conv_depthwise_pack(kernel_plan *out, const params *p, const kernel_problem *u,
                                      pgy_error *err)
{
    const uint64_t taps = (uint64_t)(p->s.kernel[0] * p->s.kernel[1]);
    const kernel_packing how = {.form = "conv_depthwise",
                                .numbers = {p->block, p->s.groups, taps},
                                .inputs = p->s.has_bias ? 6 : 2,
                                .size_bytes = p->blocks * p->block * (taps + 1) * sizeof(float),
                                .fill = conv_depthwise_fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    return kernel_pack(out, u, &how, err);
}

static pgy_status conv_depthwise_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const cpu_level level = u->self->needs;
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_describe(&p->s, u); /* cannot fail after `accept` */
    p->level = level;
    p->block = conv_tiles_of(level)->block;
    p->blocks = conv_blocks(p->s.groups, p->block);
    find_inside(p);
    const uint64_t rows = p->s.batch * p->blocks * (uint64_t)p->s.out[0];
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(rows < 256 ? rows : 256);
    const pgy_status st = conv_depthwise_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool conv_depthwise_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !conv_extent(e, q, &p->s)) return false;
    params own = *p;
    find_inside(&own);
    if (p->block != conv_tiles_of(p->level)->block ||
        p->blocks != conv_blocks(p->s.groups, p->block) || p->from != own.from || p->to != own.to)
        return extent_refuse(e, "blocks");
    const conv_shape *s = &p->s;
    const uint64_t block = extent_mul(p->blocks, p->block), all = extent_mul(s->batch, block);
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]);
    conv_extent_tensors(e, s, extent_mul(all, (uint64_t)(s->in[0] * s->in[1])),
                        extent_mul(all, (uint64_t)(s->out[0] * s->out[1])));
    e->packed = extent_mul3(block, taps + 1, sizeof(float));
    return true;
}

/* Where the operands of one output row start. */
typedef struct line {
    const float *x, *w, *sum; /* x: column 0 of the input row under the first row of taps */
    float *y;
} line;

static void conv_depthwise_edge(const params *p, conv_tile_call *c, const line *l, int64_t from,
                                int64_t to)
{
    const conv_shape *s = &p->s;
    const int64_t b = (int64_t)p->block, step = s->dilation[1];
    for (int64_t column = from; column < to; column++) {
        const int64_t start = column * s->stride[1] - s->pad[1];
        const int64_t first = start < 0 ? (-start + step - 1) / step : 0;
        int64_t last = start < s->in[1] ? (s->in[1] - start + step - 1) / step : 0;
        if (last > s->kernel[1]) last = s->kernel[1];
        c->columns = first < last ? (size_t)(last - first) : 0;
        c->x = c->columns ? l->x + (start + first * step) * b : l->x;
        c->w = l->w + (c->columns ? first * b : 0);
        c->y = l->y + column * b;
        c->sum = l->sum ? l->sum + column * b : NULL;
        conv_tiles_of(p->level)->deep[1](c);
    }
}

static void conv_depthwise_inside(const params *p, conv_tile_call *c, const line *l)
{
    const conv_tiles *t = conv_tiles_of(p->level);
    const int64_t b = (int64_t)p->block, count = p->to - p->from;
    const int64_t tiles = (count + (int64_t)t->deep_pixels - 1) / (int64_t)t->deep_pixels;
    c->columns = (size_t)p->s.kernel[1];
    c->w = l->w;
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t from = p->from + i * count / tiles, to = p->from + (i + 1) * count / tiles;
        c->x = l->x + (from * p->s.stride[1] - p->s.pad[1]) * b;
        c->y = l->y + from * b;
        c->sum = l->sum ? l->sum + from * b : NULL;
        t->deep[to - from](c);
    }
}

static void conv_depthwise_row(const params *p, const kernel_run *r, uint64_t index)
{
    const conv_shape *s = &p->s;
    const uint64_t row = index % (uint64_t)s->out[0], plane = index / (uint64_t)s->out[0];
    const uint64_t block = plane % p->blocks, b = p->block;
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]), width = (uint64_t)s->out[1];
    const float *packed = r->packed;
    int64_t first, last;
    conv_row_taps(s, (int64_t)row, &first, &last);
    const int64_t in_row =
        first < last ? (int64_t)row * s->stride[0] - s->pad[0] + first * s->dilation[0] : 0;
    const uint64_t at = (plane * (uint64_t)s->out[0] + row) * width * b;
    const line l = {.x = (const float *)r->tensors[0] +
                         (plane * (uint64_t)s->in[0] + (uint64_t)in_row) * (uint64_t)s->in[1] * b,
                    .w = packed + p->blocks * b + block * taps * b,
                    .sum = s->has_sum ? (const float *)r->tensors[3] + at : NULL,
                    .y = (float *)r->tensors[s->inputs] + at};
    conv_tile_call c = {.bias = packed + block * b,
                        .pixel = (uint64_t)s->stride[1] * b,
                        .rows = (size_t)(last - first),
                        .w_first = (size_t)first,
                        .row_step = (uint64_t)(s->dilation[0] * s->in[1]) * b,
                        .column_step = (uint64_t)s->dilation[1] * b,
                        .w_row_step = (uint64_t)s->kernel[1] * b,
                        .activation = s->activation,
                        .parameter = {s->parameter[0], s->parameter[1]}};
    conv_depthwise_edge(p, &c, &l, 0, p->from);
    conv_depthwise_inside(p, &c, &l);
    conv_depthwise_edge(p, &c, &l, p->to, s->out[1]);
    const uint64_t lanes = s->groups - block * b;
    if (conv_must_finish(s, b, lanes)) conv_finish(s, l.y, width, b, lanes);
}

static void conv_depthwise_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->s.batch * p->blocks * (uint64_t)p->s.out[0], r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) conv_depthwise_row(p, r, i);
}

#define ROW(suffix, level, flops_per_ns)                                               \
    {                                                                                  \
        .name = "conv_f32_depthwise_" #suffix, .version = 1,                           \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .needs = level,           \
        .rates = {flops_per_ns}, .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, \
        .accept = conv_depthwise_accept, .prepare = conv_depthwise_prepare,            \
        .run = conv_depthwise_run, .extent = conv_depthwise_extent                     \
    }
const kernel KERNELS_conv_depthwise[] = {
    ROW(portable, CPU_PORTABLE, 6),
    ROW(avx2, CPU_AVX2, 35),
    ROW(avx512, CPU_AVX512, 50),
    {0},
};

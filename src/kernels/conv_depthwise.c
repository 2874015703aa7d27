/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution in float32 between tensors blocked by channels: each channel is its own
 * group. Where the image is wide, pixels at the left and right edge are computed one by one, with
 * only the taps that fall inside the input. Of narrow images rows are copied with their padding, so
 * that whole rows are tiles. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/conv_depthwise.h"
#include "kernels/extent.h"
#include "kernels/packing.h"

bool conv_is_depthwise(const conv_shape *s)
{
    return s->groups == s->in_channels && s->groups == s->out_channels && s->groups > 1;
}

static bool conv_depthwise_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    conv_shape s;
    if (!conv_describe(&s, u) || !conv_is_depthwise(&s)) return false;
    if (conv_is_scale(&s)) return false; /* blocked_elementwise divides it by pixels */
    const size_t block = conv_tiles_of(level)->block;
    const kernel_layout layout = block == 16 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
    conv_set_layouts(u, layout, layout);
    const double padding = (double)(conv_blocks(s.groups, block) * block) / (double)s.groups;
    *cost_ns =
        conv_flop_count(&s) * padding / flops_per_ns +
        (double)(kernel_size_bytes(&u->inputs[0]) + kernel_size_bytes(&u->outputs[0])) * 0.02;
    return true;
}

/* Sets the copy of padded rows, as many as `size_bytes` holds. False: a row is too long. */
static bool set_band(conv_depthwise_plan *p, int64_t size_bytes)
{
    enum { MOST_BYTES = 128 << 10 };
    const conv_shape *s = &p->s;
    const int64_t width = (s->out[1] - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] + 1;
    const int64_t row_bytes = width * (int64_t)(p->block * sizeof(float));
    if (s->pad[1] > width || row_bytes > MOST_BYTES ||
        conv_depthwise_reads(s, 1) > MOST_BYTES / row_bytes)
        return false;
    const int64_t band = (size_bytes / row_bytes - conv_depthwise_reads(s, 1)) / s->stride[0] + 1;
    p->width = width;
    p->band = band < 1 ? 1 : band < s->out[0] ? band : s->out[0];
    p->from = 0;
    p->to = s->out[1];
    return true;
}

static void set_inside(conv_depthwise_plan *p)
{
    const conv_shape *s = &p->s;
    const int64_t reach = (s->kernel[1] - 1) * s->dilation[1], stride = s->stride[1];
    const int64_t last = s->in[1] - 1 - reach + s->pad[1];
    p->from = (s->pad[1] + stride - 1) / stride;
    p->to = last < 0 ? 0 : last / stride + 1;
    if (p->to > s->out[1]) p->to = s->out[1];
    if (p->from > p->to) p->from = p->to = 0;
}

/* In cycles: a pixel at the edge takes a call, and three more for each product than in a tile; a
 * copied pixel takes one and a half. */
static bool copy_is_faster(const conv_depthwise_plan *copied, int64_t edges)
{
    enum { CALL = 25, ROW = 20 };
    const conv_shape *s = &copied->s;
    const int64_t taps = s->kernel[0] * s->kernel[1], band = copied->band;
    return 2 * edges * (3 * taps + CALL) * band >
           3 * (copied->width + ROW) * conv_depthwise_reads(s, band);
}

/* Clears gaps between members, too, as plan files store them. */
static void begin_plan(conv_depthwise_plan *p, const conv_shape *s, cpu_level level)
{
    memset(p, 0, sizeof *p);
    p->s = *s;
    p->level = level;
    p->block = conv_tiles_of(level)->block;
    p->blocks = conv_blocks(s->groups, p->block);
}

void conv_depthwise_make(conv_depthwise_plan *p, const conv_shape *s, cpu_level level)
{
    enum { COPY_BYTES = 64 << 10 };
    conv_depthwise_plan copied;
    begin_plan(p, s, level);
    set_inside(p);
    begin_plan(&copied, s, level);
    if (set_band(&copied, COPY_BYTES) && copy_is_faster(&copied, s->out[1] - (p->to - p->from)))
        memcpy(p, &copied, sizeof *p);
}

bool conv_depthwise_make_padded(conv_depthwise_plan *p, const conv_shape *s, cpu_level level,
                                int64_t size_bytes)
{
    begin_plan(p, s, level);
    return set_band(p, size_bytes);
}

size_t conv_depthwise_copy_bytes(const conv_depthwise_plan *p)
{
    return p->band ? (size_t)(conv_depthwise_reads(&p->s, p->band) * p->width) * p->block *
                         sizeof(float)
                   : 0;
}

size_t conv_depthwise_packed_floats(const conv_depthwise_plan *p)
{
    return p->blocks * p->block * (size_t)(p->s.kernel[0] * p->s.kernel[1] + 1);
}

void conv_depthwise_fill(float *to, const conv_depthwise_plan *p, const float *w, const float *bias)
{
    const conv_shape *s = &p->s;
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]);
    for (uint64_t i = 0; i < p->blocks * p->block; i++) *to++ = bias && i < s->groups ? bias[i] : 0;
    for (uint64_t b = 0; b < p->blocks; b++)
        for (uint64_t tap = 0; tap < taps; tap++)
            for (uint64_t lane = 0; lane < p->block; lane++) {
                const uint64_t channel = b * p->block + lane;
                *to++ = channel < s->groups ? w[channel * taps + tap] : 0;
            }
}

static bool fill(void *packed, const kernel_problem *u, const void *user)
{
    const conv_depthwise_plan *p = user;
    conv_depthwise_fill(packed, p, u->inputs[1].data, p->s.has_bias ? u->inputs[2].data : NULL);
    return true;
}

static pgy_status conv_depthwise_pack(kernel_plan *out, const conv_depthwise_plan *p,
                                      const kernel_problem *u, pgy_error *err)
{
    const uint64_t taps = (uint64_t)(p->s.kernel[0] * p->s.kernel[1]);
    const kernel_packing how = {.form = "conv_depthwise",
                                .numbers = {p->block, p->s.groups, taps},
                                .inputs = p->s.has_bias ? 6 : 2,
                                .size_bytes = conv_depthwise_packed_floats(p) * sizeof(float),
                                .fill = fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    return kernel_pack(out, u, &how, err);
}

static pgy_status conv_depthwise_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    conv_shape s;
    conv_depthwise_plan *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_describe(&s, u); /* cannot fail after `accept` */
    conv_depthwise_make(p, &s, u->self->needs);
    const uint64_t rows = s.batch * p->blocks * (uint64_t)s.out[0];
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(rows < 256 ? rows : 256);
    out->scratch_bytes = conv_depthwise_copy_bytes(p);
    const pgy_status st = conv_depthwise_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool is_same(kernel_extent *e, const conv_depthwise_plan *p, const conv_depthwise_plan *own)
{
    return (p->block == own->block && p->blocks == own->blocks && p->from == own->from &&
            p->to == own->to && p->width == own->width && p->band == own->band) ||
           extent_refuse(e, "blocks");
}

bool conv_depthwise_extent_of(kernel_extent *e, const conv_depthwise_plan *p,
                              const conv_depthwise_plan *own)
{
    if (!is_same(e, p, own)) return false;
    const conv_shape *s = &p->s;
    const uint64_t block = extent_mul(p->blocks, p->block), all = extent_mul(s->batch, block);
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]);
    conv_extent_tensors(e, s, extent_mul(all, (uint64_t)(s->in[0] * s->in[1])),
                        extent_mul(all, (uint64_t)(s->out[0] * s->out[1])));
    e->packed = extent_mul3(block, taps + 1, sizeof(float));
    e->scratch = conv_depthwise_copy_bytes(own);
    return true;
}

static bool conv_depthwise_extent(kernel_extent *e, const kernel_claim *q)
{
    const conv_depthwise_plan *p = extent_params(e, q, sizeof *p);
    conv_depthwise_plan own;
    if (!p || !extent_level(e, p->level) || !conv_extent(e, q, &p->s)) return false;
    conv_depthwise_make(&own, &p->s, (cpu_level)p->level);
    return conv_depthwise_extent_of(e, p, &own);
}

static void conv_depthwise_run(const kernel_run *r)
{
    conv_depthwise_run_plan(r, r->params);
}

/* ---- Linear tensors ------------------------------------------------------------------------- */

/* Blocks of small images are transposed in the cache. Larger ones would pass through memory. */
enum { MOST_LINEAR_BYTES = 256 << 10 };

size_t conv_depthwise_linear_scratch(const conv_depthwise_plan *p)
{
    const size_t pixels = (size_t)(p->s.in[0] * p->s.in[1] + p->s.out[0] * p->s.out[1]);
    return conv_depthwise_copy_bytes(p) + pixels * p->block * sizeof(float);
}

static bool is_small(const conv_depthwise_plan *p)
{
    const int64_t most = MOST_LINEAR_BYTES;
    return !p->s.has_sum && p->s.in[0] <= most && p->s.in[1] <= most && p->s.out[0] <= most &&
           p->s.out[1] <= most && conv_depthwise_linear_scratch(p) <= MOST_LINEAR_BYTES;
}

static bool conv_depthwise_linear_accept(kernel_problem *u, double *cost_ns)
{
    conv_shape s;
    conv_depthwise_plan p;
    if (!conv_depthwise_accept(u, cost_ns) || !conv_describe(&s, u)) return false;
    conv_depthwise_make(&p, &s, u->self->needs);
    if (!is_small(&p)) return false;
    conv_set_layouts(u, KERNEL_LINEAR, KERNEL_LINEAR);
    *cost_ns +=
        (double)(kernel_size_bytes(&u->inputs[0]) + kernel_size_bytes(&u->outputs[0])) * 0.03;
    return true;
}

static pgy_status conv_depthwise_linear_prepare(kernel_plan *out, const kernel_problem *u,
                                                pgy_error *err)
{
    const pgy_status st = conv_depthwise_prepare(out, u, err);
    if (st) return st;
    const conv_depthwise_plan *p = out->params;
    const uint64_t units = p->s.batch * p->blocks;
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->scratch_bytes = conv_depthwise_linear_scratch(p);
    return PGY_OK;
}

static bool conv_depthwise_linear_extent(kernel_extent *e, const kernel_claim *q)
{
    const conv_depthwise_plan *p = extent_params(e, q, sizeof *p);
    conv_depthwise_plan own;
    if (!p || !extent_level(e, p->level) || !conv_extent(e, q, &p->s)) return false;
    conv_depthwise_make(&own, &p->s, (cpu_level)p->level);
    if (!is_same(e, p, &own)) return false;
    if (!is_small(&own)) return extent_refuse(e, "sizes");
    const conv_shape *s = &p->s;
    const uint64_t planes = extent_mul(s->batch, s->groups);
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]);
    conv_extent_tensors(e, s, extent_mul(planes, (uint64_t)(s->in[0] * s->in[1])),
                        extent_mul(planes, (uint64_t)(s->out[0] * s->out[1])));
    e->packed = extent_mul3(extent_mul(p->blocks, p->block), taps + 1, sizeof(float));
    e->scratch = conv_depthwise_linear_scratch(&own);
    return true;
}

static void conv_depthwise_linear_run(const kernel_run *r)
{
    conv_depthwise_run_linear(r, r->params);
}

#define ROW(suffix, level, flops_per_ns, version_, function, more)                            \
    {                                                                                         \
        .name = "conv_f32_" #function "_" #suffix, .version = version_,                       \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .needs = level,                  \
        .rates = {flops_per_ns}, .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED | more, \
        .accept = conv_##function##_accept, .prepare = conv_##function##_prepare,             \
        .run = conv_##function##_run, .extent = conv_##function##_extent                      \
    }
const kernel KERNELS_conv_depthwise[] = {
    ROW(portable, CPU_PORTABLE, 6, 3, depthwise, KERNEL_ROUNDS),
    ROW(avx2, CPU_AVX2, 60, 3, depthwise, KERNEL_ROUNDS),
    ROW(avx512, CPU_AVX512, 75, 3, depthwise, KERNEL_ROUNDS),
    ROW(portable, CPU_PORTABLE, 6, 2, depthwise_linear, 0),
    ROW(avx2, CPU_AVX2, 60, 2, depthwise_linear, 0),
    ROW(avx512, CPU_AVX512, 75, 2, depthwise_linear, 0),
    {0},
};

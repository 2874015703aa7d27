/* SPDX-License-Identifier: Apache-2.0 */
/* Direct convolution in float32 between tensors blocked by channels. Few input channels (the first
 * layer of most networks) are read from a linear tensor. */
#include "base/alloc.h"
#include "kernels/conv_plan.h"
#include "kernels/extent.h"

/* MOST_SCRATCH: limit of a thread's scratch memory, in floats */
enum { FEW_CHANNELS = 4, MOST_SCRATCH = 1 << 26 };

static kernel_layout layout_of(size_t block)
{
    return block == 16 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
}

static bool can_read_linear(const conv_shape *s)
{
    return s->groups == 1 && s->in_channels <= FEW_CHANNELS && s->dilation[1] == 1;
}

/* Counts partial tiles and padded lanes as full ones, because they take as long. */
static double padded_flops(const conv_plan *p)
{
    const conv_shape *s = &p->s;
    const double in = p->linear
                          ? (double)s->in_channels
                          : (double)(p->in_blocks - 1) * (double)p->lanes + (double)p->last_lanes;
    const double out = (double)(p->out_blocks * p->block);
    double pixels = (double)(s->out[0] * s->out[1]);
    const double tile = (double)s->out[1] / (double)p->row_tiles;
    if (tile < 4) pixels *= 4 / tile; /* too few independent sums to keep the multipliers busy */
    return 2 * (double)(s->batch * s->groups) * in * out * pixels *
           (double)(s->kernel[0] * s->kernel[1]);
}

static bool conv_direct_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    conv_shape s;
    conv_plan p;
    if (!conv_describe(&s, u)) return false;
    const size_t block = conv_tiles_of(level)->block;
    const bool linear = can_read_linear(&s);
    if (s.groups > 1 && (s.in_channels / s.groups % block || s.out_channels / s.groups % block))
        return false;
    conv_plan_make(&p, &s, level, linear ? KERNEL_LINEAR : layout_of(block));
    if (conv_plan_scratch(&p) > MOST_SCRATCH) return false;
    conv_set_layouts(u, linear ? KERNEL_LINEAR : layout_of(block), layout_of(block));
    const double weights = (double)kernel_size_bytes(&u->inputs[1]);
    *cost_ns = padded_flops(&p) / flops_per_ns + weights / 20 +
               (double)kernel_size_bytes(&u->outputs[0]) * 0.03;
    if (p.copied) *cost_ns += (double)kernel_size_bytes(&u->inputs[0]) * 0.05;
    return true;
}

static pgy_status conv_direct_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    conv_shape s;
    conv_plan *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_describe(&s, u); /* cannot fail after `accept` */
    conv_plan_make(p, &s, u->self->needs, u->inputs[0].layout);
    const size_t grains = conv_plan_grains(p);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(grains < CONV_PLAN_PARTS ? grains : CONV_PLAN_PARTS);
    out->scratch_bytes = conv_plan_scratch(p) * sizeof(float);
    const pgy_status st = conv_plan_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool conv_direct_extent(kernel_extent *e, const kernel_claim *q)
{
    const conv_plan *p = extent_params(e, q, sizeof *p);
    return p && conv_plan_extent(e, q, p);
}

static void conv_direct_run(const kernel_run *r)
{
    conv_plan_run(r, r->params);
}

#define ROW(suffix, level, flops_per_ns)                                                      \
    {                                                                                         \
        .name = "conv_f32_direct_" #suffix, .version = 5,                                     \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .needs = level,                  \
        .rates = {flops_per_ns},                                                              \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED | KERNEL_ROUNDS,                 \
        .accept = conv_direct_accept, .prepare = conv_direct_prepare, .run = conv_direct_run, \
        .extent = conv_direct_extent                                                          \
    }
const kernel KERNELS_conv_direct[] = {
    ROW(portable, CPU_PORTABLE, 10),
    ROW(avx2, CPU_AVX2, 85),
    ROW(avx512, CPU_AVX512, 100),
    {0},
};

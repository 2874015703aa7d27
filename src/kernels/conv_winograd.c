/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution 3 x 3 with stride 1 by Winograd's F(4x4, 3x3): tiles of 6 x 6 inputs are transformed
 * to 36 points, multiplied by the transformed weights, and transformed back to 4 x 4 outputs. This
 * takes 2.25 multiplications for each output and channel instead of 9. A unit of work is a run of
 * tiles by two blocks of output channels. The transformed tiles of a run serve all output
 * channels.
 *
 * The weights are packed as for a direct convolution. Transformed ones are four times as large, and
 * to read them from memory, or from another processor's cache, takes longer than to make them from
 * the plain ones. So each thread makes its own: those of some input channels before it multiplies
 * by them, or, if all are small, those of a unit's output channels when it first comes to them. */
#include "kernels/conv_winograd_parts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/conv_plan.h"
#include "kernels/conv_tile.h"
#include "kernels/extent.h"

enum { RUN_OF_LARGE = 56, MOST_PARTS = 256 };

static bool is_possible(const conv_shape *s, size_t block)
{
    for (int d = 0; d < 2; d++)
        if (s->kernel[d] != 3 || s->stride[d] != 1 || s->dilation[d] != 1 || s->pad[d] > 2 ||
            s->out[d] < WINOGRAD_OUT)
            return false;
    return s->groups == 1 && s->in_channels >= block && s->out_channels >= block;
}

/* Divides the work; the result follows from the shape and the processor level. */
static void conv_winograd_cut(winograd_params *p)
{
    p->in_blocks = conv_blocks(p->s.in_channels, p->block);
    p->out_blocks = conv_blocks(p->s.out_channels, p->block);
    p->out_units = (p->out_blocks + 1) / 2;
    p->rows = (uint64_t)(p->s.out[0] + WINOGRAD_OUT - 1) / WINOGRAD_OUT;
    p->columns = (uint64_t)(p->s.out[1] + WINOGRAD_OUT - 1) / WINOGRAD_OUT;
    p->tiles = p->s.batch * p->rows * p->columns;
    uint64_t run =
        WINOGRAD_FAST_BYTES / (WINOGRAD_POINTS * p->in_blocks * p->block * sizeof(float));
    const uint64_t least = winograd_weight_bytes(p) > 4 * WINOGRAD_FAST_BYTES
                               ? RUN_OF_LARGE
                               : conv_tiles_of(p->level)->pixels;
    if (run < least) run = least;
    p->runs = (p->tiles + run - 1) / run;
    p->run = (p->tiles + p->runs - 1) / p->runs;
}

static bool conv_winograd_describe(winograd_params *p, const kernel_problem *u, cpu_level level)
{
    *p = (winograd_params){.level = level, .block = conv_tiles_of(level)->block};
    if (!conv_describe(&p->s, u) || !is_possible(&p->s, p->block)) return false;
    conv_winograd_cut(p);
    return true;
}

static bool conv_winograd_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    const double transform_ns = u->self->rates[1];
    winograd_params p;
    if (!conv_winograd_describe(&p, u, level)) return false;
    const kernel_layout layout = p.block == 16 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
    conv_set_layouts(u, layout, layout);
    const double products = 2.0 * WINOGRAD_POINTS * (double)p.tiles * (double)p.s.in_channels *
                            (double)(p.out_blocks * p.block);
    const double idle = p.run < 4 ? 4 / (double)p.run : 1;
    const double bytes = winograd_weight_bytes(&p);
    *cost_ns = products * idle / flops_per_ns +
               (double)(p.tiles * (p.in_blocks + p.out_blocks)) * transform_ns +
               bytes * (double)p.runs / (bytes > WINOGRAD_FAST_BYTES * 2 ? 20 : 80);
    return true;
}

static pgy_status conv_winograd_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    winograd_params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_winograd_describe(p, u, u->self->needs); /* cannot fail after `accept` */
    const winograd_params finest = winograd_cut_finer(p, MOST_PARTS);
    const uint64_t units = finest.runs * p->out_units;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = 1;
    out->parts = (uint32_t)(units < MOST_PARTS ? units : MOST_PARTS);
    out->scratch_bytes = winograd_scratch_bytes(p);
    conv_plan direct;
    conv_plan_make(&direct, &p->s, u->self->needs, u->inputs[0].layout);
    const pgy_status st = conv_plan_pack(out, &direct, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

/* All other members follow from the shape and the level: recompute and compare them. */
static bool conv_winograd_extent(kernel_extent *e, const kernel_claim *q)
{
    const winograd_params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !conv_extent(e, q, &p->s)) return false;
    const conv_shape *s = &p->s;
    winograd_params own = *p;
    if (p->block != conv_tiles_of(p->level)->block || !is_possible(s, p->block))
        return extent_refuse(e, "sizes");
    const uint64_t out = extent_mul(s->batch, (uint64_t)(s->out[0] * s->out[1]));
    if (out > INT64_MAX) return extent_refuse(e, "sizes");
    conv_winograd_cut(&own);
    if (memcmp(&own, p, sizeof own)) return extent_refuse(e, "blocks");
    const uint64_t padded = p->out_blocks * p->block;
    conv_extent_tensors(
        e, s, extent_mul3(s->batch, p->in_blocks * p->block, (uint64_t)(s->in[0] * s->in[1])),
        extent_mul(out, padded));
    e->packed = extent_mul3(padded, 1 + 9 * s->in_channels, sizeof(float));
    e->phases = 1;
    e->scratch = winograd_scratch_bytes(p);
    return true;
}

#define ROW(suffix, level, flops_per_ns, transform_ns)                        \
    {                                                                         \
        .name = "conv_f32_winograd_" #suffix, .version = 9,                   \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .needs = level,  \
        .rates = {flops_per_ns, transform_ns},                                \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED | KERNEL_ROUNDS, \
        .accept = conv_winograd_accept, .prepare = conv_winograd_prepare,     \
        .run = conv_winograd_run, .extent = conv_winograd_extent              \
    }
const kernel KERNELS_conv_winograd[] = {
    ROW(portable, CPU_PORTABLE, 10, 300),
    ROW(avx2, CPU_AVX2, 75, 45),
    ROW(avx512, CPU_AVX512, 90, 60),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution over flat positions: the kernels, and the packing of weights. */
#include "kernels/conv_flat.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/packing.h"
#include "ops/class_window.h"

enum { MOST_DILATION = 4096, MOST_KERNEL = 1024, MOST_PAD = 8192 };

/* ---- The problem ---------------------------------------------------------------------------- */

static bool has_valid_sizes(const conv_flat *p)
{
    for (int d = 0; d < CONV_FLAT_AXES; d++)
        if (!extent_between(p->from[d], 1, INT32_MAX) || !extent_between(p->to[d], 1, INT32_MAX) ||
            !extent_between(p->kernel[d], 1, MOST_KERNEL + 1) ||
            !extent_between(p->stride[d], 1, CONV_FLAT_SLOTS + 1) ||
            !extent_between(p->dilation[d], 1, MOST_DILATION + 1) ||
            !extent_between(p->pad[d], 0, MOST_PAD + 1))
            return false;
    return p->batch - 1 < INT32_MAX && p->groups - 1 < INT32_MAX && p->in - 1 < INT32_MAX >> 9 &&
           p->out - 1 < INT32_MAX;
}

static bool read_axes(conv_flat *p, const kernel_problem *u)
{
    window w;
    const kernel_tensor *x = &u->inputs[0], *f = &u->inputs[1], *y = &u->outputs[0];
    const size_t rank = (size_t)x->rank - 2;
    if (window_read(&w, u->node, rank, NULL) || window_kernel(&w, u->node, f->shape + 2, NULL))
        return false;
    window_resolve(&w, x->shape + 2, y->shape + 2);
    for (size_t d = 0; d < CONV_FLAT_AXES; d++) {
        p->from[d] = p->to[d] = p->kernel[d] = p->stride[d] = p->dilation[d] = 1;
        if (d + rank < CONV_FLAT_AXES) continue;
        const size_t i = d + rank - CONV_FLAT_AXES;
        p->from[d] = w.in[i];
        p->to[d] = w.out[i];
        p->kernel[d] = w.kernel[i];
        p->stride[d] = w.stride[i];
        p->dilation[d] = w.kernel[i] > 1 ? w.dilation[i] : 1;
        p->pad[d] = w.begin[i];
    }
    return true;
}

/* ConvTranspose with stride 1 is the convolution with the weights turned, and as much more padding
 * as its own padding cuts off. */
static bool turn_axes(conv_flat *p, const kernel_problem *u)
{
    size_t count;
    (void)op_attr_ints(u->node, "output_shape", &count);
    if (count || !(op_attr_is(u->node, "auto_pad", "NOTSET", "NOTSET"))) return false;
    for (int d = 0; d < CONV_FLAT_AXES; d++) {
        if (p->stride[d] != 1) return false;
        p->pad[d] = (p->kernel[d] - 1) * p->dilation[d] - p->pad[d];
    }
    p->turned = 1;
    p->in = (uint64_t)u->inputs[1].shape[0] / p->groups;
    p->out = (uint64_t)u->inputs[1].shape[1];
    return true;
}

bool conv_flat_describe(conv_flat *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *w = &u->inputs[1], *y = &u->outputs[0];
    *p = (conv_flat){.level = u->self->needs, .inputs = (uint32_t)u->input_count};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != PGY_F32) return false;
    if (x->dtype != PGY_F32 || x->rank < 3 || x->rank > 2 + CONV_FLAT_AXES || !w->data)
        return false;
    if (!kernel_count(x) || !kernel_count(w) || !kernel_count(y)) return false;
    p->has_bias = u->input_count > 2 && u->inputs[2].dtype;
    p->has_sum = u->input_count > 3 && u->inputs[3].dtype;
    if (p->has_bias && !u->inputs[2].data) return false;
    if (p->has_sum && (kernel_count(&u->inputs[3]) != kernel_count(y) || u->inputs[3].data))
        return false;
    if (!conv_read_activation(&p->activation, p->parameter, u->node)) return false;
    p->batch = (uint64_t)x->shape[0];
    p->groups = (uint64_t)op_attr_int(u->node, "group", 1);
    p->in = (uint64_t)w->shape[1];
    p->out = (uint64_t)w->shape[0] / p->groups;
    if (!read_axes(p, u)) return false;
    const bool transposed = strcmp(u->node->def->name, "ConvTranspose") == 0;
    return (!transposed || turn_axes(p, u)) && has_valid_sizes(p);
}

static double floats_of(const int64_t *sizes)
{
    return (double)sizes[0] * (double)sizes[1] * (double)sizes[2];
}

/* Tiles of few channels load an input vector for each one or two products. */
static double products_cost(const conv_flat *p, const conv_flat_geometry *g, double rate)
{
    static const double SLOWER[CONV_FLAT_HEIGHTS] = {2.2, 1.5, 1.1, 1};
    double sum = 0;
    for (uint64_t i = 0; i < g->blocks; i++) {
        uint64_t first;
        uint32_t log;
        conv_flat_block(p, i, &first, &log);
        sum += SLOWER[log] * (double)(1u << log);
        if (i == 0 && p->out >> log > 1) { /* all blocks of this size at once */
            sum *= (double)(p->out >> log);
            i = (p->out >> log) - 1;
        }
    }
    return sum * 2 * (double)g->taps / rate;
}

static bool conv_flat_accept(kernel_problem *u, double *cost_ns)
{
    conv_flat p;
    conv_flat_geometry g;
    if (!conv_flat_describe(&p, u) || !conv_flat_divide(&g, &p)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double lanes = (double)conv_flat_loops_of(p.level)->lanes;
    const double bands = (double)(g.bands[0] * g.bands[1] * g.bands[2]);
    const double last =
        ((double)(g.band[0] - 1) * (double)g.rows[1] + (double)g.band[1] - 1) * (double)g.pitch +
        (double)g.band[2];
    const double vectors = bands * ceil(last / lanes);
    const double copied = bands * (double)(p.in * g.channel_floats);
    const double copied_rows =
        bands * (double)(p.in * g.slots[0] * g.slots[1] * g.slots[2] * g.rows[0] * g.rows[1]);
    *cost_ns =
        200 + (double)g.taps +
        (double)g.jobs *
            (vectors * (lanes * products_cost(&p, &g, u->self->rates[0]) + 1.5 * (double)p.out) +
             copied * u->self->rates[1] + copied_rows * (p.stride[2] > 1 ? 3 : 1) +
             bands * (double)(10 * p.in) + bands * 20 * (double)g.blocks) +
        (double)p.batch * (double)(p.groups * p.out) * floats_of(p.to) * 0.06;
    return true;
}

/* ---- Weights -------------------------------------------------------------------------------- */

/* The weight of tap k for output channel o of a group; w: the group's weights. */
static float weight_of(const conv_flat *p, const float *w, uint64_t taps, uint64_t o, uint64_t k)
{
    const uint64_t area = taps / p->in;
    if (!p->turned) return w[o * taps + k];
    return w[(k / area * p->out + o) * area + area - 1 - k % area];
}

/* Packs the biases, then the weights as [group][block][tap][channel of the block]. */
static bool conv_flat_fill(void *packed, const kernel_problem *u, const void *user)
{
    const conv_flat *p = user;
    conv_flat_geometry g;
    const float *w = u->inputs[1].data, *bias = p->has_bias ? u->inputs[2].data : NULL;
    float *to = packed;
    (void)conv_flat_divide(&g, p);
    for (uint64_t i = 0; i < p->groups * p->out; i++) *to++ = bias ? bias[i] : 0;
    for (uint64_t group = 0; group < p->groups; group++, w += p->out * g.taps)
        for (uint64_t i = 0; i < g.blocks; i++) {
            uint64_t first;
            uint32_t log;
            conv_flat_block(p, i, &first, &log);
            for (uint64_t k = 0; k < g.taps; k++)
                for (uint64_t o = 0; o < 1u << log; o++)
                    *to++ = weight_of(p, w, g.taps, first + o, k);
        }
    return true;
}

pgy_status conv_flat_pack(kernel_plan *out, const conv_flat *p, const kernel_problem *u,
                          pgy_error *err)
{
    const uint64_t taps = p->in * (uint64_t)(p->kernel[0] * p->kernel[1] * p->kernel[2]);
    const kernel_packing how = {.form = p->turned ? "conv_flat_turned" : "conv_flat",
                                .numbers = {conv_flat_loops_of(p->level)->widths[3] ? 8 : 4,
                                            p->groups, p->out, taps, p->in},
                                .inputs = p->has_bias ? 6 : 2,
                                .size_bytes = p->groups * p->out * (taps + 1) * sizeof(float),
                                .fill = conv_flat_fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    return kernel_pack(out, u, &how, err);
}

static pgy_status conv_flat_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    conv_flat_geometry g;
    conv_flat *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_flat_describe(p, u); /* cannot fail after `accept`, nor can the next */
    (void)conv_flat_divide(&g, p);
    const uint64_t units = g.bands[0] * g.bands[1] * g.bands[2] * g.jobs * g.blocks;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->scratch_bytes = g.scratch_bytes;
    const pgy_status st = conv_flat_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

bool conv_flat_claim(kernel_extent *e, const kernel_claim *q, const conv_flat *p)
{
    if (!extent_level(e, p->level) ||
        !extent_enum(e, p->activation, CONV_FAST_GELU + 1, "activation"))
        return false;
    if (p->inputs != q->input_count || p->inputs < (p->has_sum ? 4 : 1))
        return extent_refuse(e, "number of inputs");
    if (!has_valid_sizes(p)) return extent_refuse(e, "sizes");
    const uint64_t in =
        extent_mul3((uint64_t)p->from[0], (uint64_t)p->from[1], (uint64_t)p->from[2]);
    const uint64_t out = extent_mul3((uint64_t)p->to[0], (uint64_t)p->to[1], (uint64_t)p->to[2]);
    const uint64_t taps =
        extent_mul3((uint64_t)p->kernel[0], (uint64_t)p->kernel[1], (uint64_t)p->kernel[2]);
    const uint64_t channels = extent_mul(p->groups, p->out);
    const uint64_t y = extent_mul3(p->batch, channels, out);
    extent_tensor(e, 0, extent_mul3(extent_mul(p->batch, p->groups), p->in, in), sizeof(float));
    if (p->has_sum) extent_tensor(e, 3, y, sizeof(float));
    extent_tensor(e, p->inputs, y, sizeof(float));
    e->packed = extent_mul3(channels, extent_add(extent_mul(p->in, taps), 1), sizeof(float));
    return true;
}

static bool conv_flat_extent(kernel_extent *e, const kernel_claim *q)
{
    const conv_flat *p = extent_params(e, q, sizeof *p);
    conv_flat_geometry g;
    if (!p || !conv_flat_claim(e, q, p)) return false;
    if (!conv_flat_divide(&g, p)) return extent_refuse(e, "sizes");
    e->scratch = g.scratch_bytes;
    return true;
}

#define ROW(suffix, level, flops_per_ns, copy_ns)                                               \
    {                                                                                           \
        .name = "conv_f32_flat_" #suffix, .version = 1,                                         \
        .ops = "Conv ConvTranspose com.microsoft:FusedConv pgy:FusedConv", .needs = level,      \
        .rates = {flops_per_ns, copy_ns}, .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, \
        .accept = conv_flat_accept, .prepare = conv_flat_prepare, .run = conv_flat_run,         \
        .extent = conv_flat_extent                                                              \
    }
const kernel KERNELS_conv_flat[] = {
    ROW(portable, CPU_PORTABLE, 9, 0.2),
    ROW(avx2, CPU_AVX2, 75, 0.1),
    ROW(avx512, CPU_AVX512, 90, 0.08),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* ExpandedConv of pgy in float32 between tensors blocked by channels. The expanded tensor is
 * several times as large as input and output. `expanded_conv_f32` never stores it: bands of its
 * rows stay in the second-level cache. `expanded_conv_f32_apart` runs the two convolutions one
 * after the other, which is faster where rows are too short for tiles of their own. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/blocked.h"
#include "kernels/expanded_conv.h"
#include "ops/class_expanded_conv.h"

/* BAND_BYTES: expanded rows of one block of channels; two are in scratch memory */
enum { BAND_BYTES = 96 << 10 };

/* ---- The problem ---------------------------------------------------------------------------- */

static kernel_tensor input_of(const kernel_problem *u, size_t i)
{
    return i < u->input_count ? u->inputs[i] : (kernel_tensor){0};
}

/* Describes the depthwise convolution, whose input has the given shape. */
static bool describe_deep(conv_shape *s, const kernel_problem *u, const int64_t *shape)
{
    kernel_problem second = {.self = u->self, .node = u->node, .input_count = 3, .output_count = 1};
    second.inputs[0] = u->inputs[EXPANDED_X];
    second.inputs[0].shape = shape;
    second.inputs[1] = u->inputs[EXPANDED_V];
    second.inputs[2] = input_of(u, EXPANDED_C);
    second.outputs[0] = u->outputs[0];
    return conv_describe(s, &second) && conv_is_depthwise(s);
}

static bool expanded_conv_describe(conv_shape *expand, conv_shape *deep, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[EXPANDED_X], *w = &u->inputs[EXPANDED_W];
    const kernel_tensor bias = input_of(u, EXPANDED_B);
    expanded_conv_inner inner;
    int64_t shape[4];
    if (x->dtype != PGY_F32 || x->rank < 3 || x->rank > 4 || !w->data || w->dtype != PGY_F32 ||
        (bias.dtype && (bias.dtype != PGY_F32 || !bias.data)) || !kernel_count(x))
        return false;
    memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
    shape[1] = w->shape[0];
    if (!describe_deep(deep, u, shape)) return false;
    *expand = (conv_shape){.batch = deep->batch,
                           .groups = 1,
                           .in_channels = (uint64_t)x->shape[1],
                           .out_channels = deep->in_channels,
                           .inputs = 3,
                           .has_bias = bias.dtype != 0};
    for (int d = 0; d < 2; d++) {
        expand->in[d] = expand->out[d] = deep->in[d];
        expand->kernel[d] = expand->stride[d] = expand->dilation[d] = 1;
    }
    expanded_conv_inner_read(&inner, u->node);
    return conv_read_activation(&expand->activation, expand->parameter, &inner.node);
}

/* False: a band of rows would be too large. */
static bool make(expanded_conv_plan *p, const conv_shape *expand, const conv_shape *deep,
                 cpu_level level, bool apart, uint32_t inputs)
{
    memset(p, 0, sizeof *p);
    conv_plan_make(&p->expand, expand, level, blocked_layout(conv_tiles_of(level)->block));
    p->apart = apart;
    p->inputs = inputs;
    if (apart) {
        conv_depthwise_make(&p->deep, deep, level);
        return true;
    }
    return conv_depthwise_make_padded(&p->deep, deep, level, BAND_BYTES) &&
           conv_depthwise_inner(&p->deep) > 0;
}

static uint64_t expanded_floats(const expanded_conv_plan *p)
{
    const conv_shape *s = &p->deep.s;
    return extent_mul3(extent_mul(s->batch, p->deep.blocks), p->deep.block,
                       (uint64_t)(s->in[0] * s->in[1]));
}

/* In nanoseconds: a tile takes a fifth of the time of a full one besides its pixels, and bands have
 * tiles of each row, not of the whole image. The expanded tensor costs little within the cache. */
static double estimate(const expanded_conv_plan *p, const kernel *k)
{
    const conv_shape *s = &p->expand.s;
    const double tile = (double)conv_tiles_of(p->deep.level)->pixels;
    const double row = (double)(p->apart ? s->out[1] : p->deep.s.in[1]);
    const double full = 1 + 0.2 * tile * ceil(row / tile) / row;
    const double flops = 2 * (double)s->batch * (double)s->in_channels * (double)s->in[1] *
                         (double)(p->expand.out_blocks * p->expand.block);
    const double deep = conv_flop_count(&p->deep.s) / (double)p->deep.s.groups *
                        (double)(p->deep.blocks * p->deep.block);
    const double bytes = (double)expanded_floats(p) * sizeof(float);
    return flops * full / k->rates[0] + deep / k->rates[1] + bytes * (p->apart ? 0.05 : 0.01);
}

static bool expanded_conv_accept_as(kernel_problem *u, double *cost_ns, bool apart)
{
    conv_shape expand, deep;
    expanded_conv_plan p;
    if (!expanded_conv_describe(&expand, &deep, u) ||
        !make(&p, &expand, &deep, u->self->needs, apart, (uint32_t)u->input_count))
        return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->inputs[0].layout = u->outputs[0].layout = blocked_layout(p.deep.block);
    *cost_ns = estimate(&p, u->self) + (double)kernel_size_bytes(&u->outputs[0]) * 0.02;
    return true;
}

static bool expanded_conv_accept(kernel_problem *u, double *cost_ns)
{
    return expanded_conv_accept_as(u, cost_ns, false);
}

static bool expanded_conv_accept_apart(kernel_problem *u, double *cost_ns)
{
    return expanded_conv_accept_as(u, cost_ns, true);
}

/* ---- Preparing ------------------------------------------------------------------------------ */

static bool fill(void *packed, const kernel_problem *u, const void *user)
{
    const expanded_conv_plan *p = user;
    conv_plan_fill(packed, &p->expand, u->inputs[EXPANDED_W].data, input_of(u, EXPANDED_B).data);
    conv_depthwise_fill((float *)packed + conv_plan_packed_floats(&p->expand), &p->deep,
                        u->inputs[EXPANDED_V].data, input_of(u, EXPANDED_C).data);
    return true;
}

static uint64_t packed_floats(const expanded_conv_plan *p)
{
    return conv_plan_packed_floats(&p->expand) + conv_depthwise_packed_floats(&p->deep);
}

static pgy_status pack(kernel_plan *out, const expanded_conv_plan *p, const kernel_problem *u,
                       pgy_error *err)
{
    const conv_shape *s = &p->deep.s;
    kernel_packing how = {.form = "expanded_conv",
                          .numbers = {p->expand.block, p->expand.s.in_channels, s->groups,
                                      (uint64_t)(s->kernel[0] * s->kernel[1]), p->expand.s.has_bias,
                                      s->has_bias},
                          .inputs = 1 << EXPANDED_W | 1 << EXPANDED_V,
                          .size_bytes = packed_floats(p) * sizeof(float),
                          .fill = fill,
                          .user = p};
    if (p->expand.s.has_bias) how.inputs |= 1 << EXPANDED_B;
    if (s->has_bias) how.inputs |= 1 << EXPANDED_C;
    out->packed_inputs = how.inputs;
    return kernel_pack(out, u, &how, err);
}

/* Scratch memory holds the bands of two blocks. */
static size_t scratch_bytes(const expanded_conv_plan *p)
{
    return conv_depthwise_copy_bytes(&p->deep) * (p->apart ? 1 : 2);
}

/* Neighbouring parts both compute the expanded rows that they share. So a part has several rows of
 * the output, lest this work grows too much. */
static uint32_t parts_of(const expanded_conv_plan *p)
{
    enum { PART_ROWS = 7 };
    const conv_shape *s = &p->deep.s;
    const uint64_t height = (uint64_t)s->out[0];
    const uint64_t pieces = height < PART_ROWS ? 1 : height / PART_ROWS;
    const uint64_t parts = s->batch * p->expand.out_units * pieces;
    return (uint32_t)(parts < CONV_PLAN_PARTS ? parts : CONV_PLAN_PARTS);
}

static pgy_status expanded_conv_prepare_as(kernel_plan *out, const kernel_problem *u, bool apart,
                                           pgy_error *err)
{
    conv_shape expand, deep;
    expanded_conv_plan *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)expanded_conv_describe(&expand, &deep, u); /* neither can fail after `accept` */
    (void)make(p, &expand, &deep, u->self->needs, apart, (uint32_t)u->input_count);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .phases = apart ? 2 : 1,
                         .parts = parts_of(p),
                         .scratch_bytes = scratch_bytes(p),
                         .in_place = -1};
    if (apart) out->workspace_bytes = expanded_floats(p) * sizeof(float);
    const pgy_status st = pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static pgy_status expanded_conv_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return expanded_conv_prepare_as(out, u, false, err);
}

static pgy_status expanded_conv_prepare_apart(kernel_plan *out, const kernel_problem *u,
                                              pgy_error *err)
{
    return expanded_conv_prepare_as(out, u, true, err);
}

/* ---- Plan files ----------------------------------------------------------------------------- */

/* Are the two convolutions what `describe` makes, one behind the other? */
static bool fit_together(const expanded_conv_plan *p)
{
    const conv_shape *a = &p->expand.s, *b = &p->deep.s;
    bool fit = conv_is_depthwise(b) && a->groups == 1 && a->batch == b->batch &&
               a->out_channels == b->in_channels && a->in[0] == 1 &&
               a->in[1] == b->in[0] * b->in[1] && !a->has_sum && !b->has_sum;
    for (int d = 0; d < 2; d++)
        fit = fit && a->out[d] == a->in[d] && a->kernel[d] == 1 && a->stride[d] == 1 &&
              a->dilation[d] == 1 && !a->pad[d];
    return fit && p->expand.level == p->deep.level && !p->expand.linear;
}

static bool expanded_conv_extent_as(kernel_extent *e, const kernel_claim *q, bool apart)
{
    const expanded_conv_plan *p = extent_params(e, q, sizeof *p);
    const kernel_claim part = {.self = q->self, .input_count = 3, .output_count = 1};
    kernel_extent first = {0}, second = {0};
    expanded_conv_plan own;
    if (!p) return false;
    if (p->inputs != q->input_count || p->inputs <= EXPANDED_V)
        return extent_refuse(e, "number of inputs");
    if (p->apart != apart) return extent_refuse(e, "phases");
    if (!extent_level(e, p->deep.level)) return false;
    if (!conv_plan_extent(&first, &part, &p->expand)) return extent_refuse(e, first.why);
    if (!conv_extent(&second, &part, &p->deep.s)) return extent_refuse(e, second.why);
    if (!fit_together(p)) return extent_refuse(e, "sizes that do not fit together");
    if (!make(&own, &p->expand.s, &p->deep.s, (cpu_level)p->deep.level, p->apart, p->inputs))
        return extent_refuse(e, "rows");
    if (!conv_depthwise_extent_of(&second, &p->deep, &own.deep))
        return extent_refuse(e, second.why);
    extent_tensor(e, EXPANDED_X, first.tensors[0], 1);
    extent_tensor(e, p->inputs, second.tensors[3], 1);
    e->packed = extent_add(first.packed, second.packed);
    e->scratch = scratch_bytes(&own);
    if (p->apart) {
        e->phases = 2;
        e->workspace = second.tensors[0];
    }
    return true;
}

static bool expanded_conv_extent(kernel_extent *e, const kernel_claim *q)
{
    return expanded_conv_extent_as(e, q, false);
}

static bool expanded_conv_extent_apart(kernel_extent *e, const kernel_claim *q)
{
    return expanded_conv_extent_as(e, q, true);
}

/* ---- Running -------------------------------------------------------------------------------- */

static void expanded_conv_run_apart(const kernel_run *r)
{
    const expanded_conv_plan *p = r->params;
    kernel_run part = *r;
    void *const first[] = {r->tensors[EXPANDED_X], NULL, NULL, r->workspace};
    void *const second[] = {r->workspace, NULL, NULL, r->tensors[p->inputs]};
    part.tensors = r->phase ? second : first;
    if (r->phase) part.packed = (const float *)r->packed + conv_plan_packed_floats(&p->expand);
    if (r->phase)
        conv_depthwise_run_plan(&part, &p->deep);
    else
        conv_plan_run(&part, &p->expand);
}

#define ROWS(suffix, level, flops_per_ns, deep_flops_per_ns)                                 \
    {.name = "expanded_conv_f32_" #suffix,                                                   \
     .version = 2,                                                                           \
     .ops = "pgy:ExpandedConv",                                                              \
     .needs = level,                                                                         \
     .rates = {flops_per_ns, deep_flops_per_ns},                                             \
     .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED | KERNEL_ROUNDS,                   \
     .accept = expanded_conv_accept,                                                         \
     .prepare = expanded_conv_prepare,                                                       \
     .run = expanded_conv_run_bands,                                                         \
     .extent = expanded_conv_extent},                                                        \
    {                                                                                        \
        .name = "expanded_conv_f32_apart_" #suffix, .version = 2, .ops = "pgy:ExpandedConv", \
        .needs = level, .rates = {flops_per_ns, deep_flops_per_ns},                          \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED | KERNEL_ROUNDS,                \
        .accept = expanded_conv_accept_apart, .prepare = expanded_conv_prepare_apart,        \
        .run = expanded_conv_run_apart, .extent = expanded_conv_extent_apart                 \
    }
const kernel KERNELS_expanded_conv[] = {
    ROWS(portable, CPU_PORTABLE, 12, 6),
    ROWS(avx2, CPU_AVX2, 100, 60),
    ROWS(avx512, CPU_AVX512, 120, 75),
    {0},
};

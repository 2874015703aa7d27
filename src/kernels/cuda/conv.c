/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions on CUDA devices: one input channel in each group by a kernel of its own, all others
 * as products of the weights and the image. The problem is described as for the host
 * (kernels/conv.h). */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/product.h"

typedef struct params {
    conv_shape s;
    product_cut cut;
    uint32_t type; /* pgy_dtype of image and weights */
    uint32_t bias_type, sum_type, out_type;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static uint64_t taps(const conv_shape *s)
{
    return (uint64_t)(s->kernel[0] * s->kernel[1]);
}

/* m, n and k of the matrix product of one group. */
static uint64_t product_m(const conv_shape *s)
{
    return s->out_channels / s->groups;
}

static uint64_t product_n(const conv_shape *s)
{
    return extent_mul3(s->batch, (uint64_t)s->out[0], (uint64_t)s->out[1]);
}

static uint64_t product_k(const conv_shape *s)
{
    return s->in_channels / s->groups * taps(s);
}

static bool is_depthwise(const conv_shape *s)
{
    return s->in_channels == s->groups && s->groups > 1;
}

/* Weights are packed so that k counts the channels of a tap first: then all k of a step of the
 * kernel belong to one tap, whose place is found once. */
static bool is_taps_first(const conv_shape *s)
{
    return taps(s) > 1 && !is_depthwise(s) && s->in_channels / s->groups % 32 == 0;
}

static bool has_types(const kernel_problem *u)
{
    const pgy_dtype type = u->inputs[0].dtype;
    if (!cuda_is_float(type) || u->inputs[1].dtype != type) return false;
    for (size_t i = 2; i < u->input_count; i++)
        if (u->inputs[i].dtype && !cuda_is_float(u->inputs[i].dtype)) return false;
    return cuda_is_float(u->outputs[0].dtype);
}

static bool cuda_conv_describe(params *p, const kernel_problem *u)
{
    kernel_problem wide;
    cuda_room room;
    *p = (params){.bias_type = PGY_F32, .sum_type = PGY_F32};
    if (u->input_count < 2 || u->output_count != 1 || !has_types(u)) return false;
    cuda_widen(&wide, room, u);
    if (!conv_describe(&p->s, &wide)) return false;
    p->type = u->inputs[0].dtype;
    p->out_type = u->outputs[0].dtype;
    if (p->s.has_bias) p->bias_type = u->inputs[2].dtype;
    if (p->s.has_sum) p->sum_type = u->inputs[3].dtype;
    p->cut = product_cut_of(product_m(&p->s), product_n(&p->s), product_k(&p->s), p->s.groups);
    return product_k(&p->s) <= INT32_MAX;
}

static bool cuda_conv_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    cuda_set_linear(u);
    if (!cuda_conv_describe(&p, u)) return false;
    const double slow = cuda_is_half((pgy_dtype)p.type) ? 1.8 : 1; /* it gathers single elements */
    *cost_ns = cuda_cost(cuda_bytes(u) * slow, conv_flop_count(&p.s) * slow,
                         cuda_is_half((pgy_dtype)p.type));
    return true;
}

static uint64_t workspace_of(const params *p)
{
    if (is_depthwise(&p->s)) return 0;
    return product_workspace(&p->cut, product_m(&p->s), product_n(&p->s), p->s.groups);
}

/* From [m][channel][tap] to [m][tap][channel]. */
static void turn_weights(char *to, const char *from, const conv_shape *s, uint32_t item)
{
    const uint64_t channels = s->in_channels / s->groups, count = taps(s);
    for (uint64_t m = 0; m < s->out_channels; m++)
        for (uint64_t c = 0; c < channels; c++)
            for (uint64_t t = 0; t < count; t++)
                memcpy(to + ((m * count + t) * channels + c) * item,
                       from + ((m * channels + c) * count + t) * item, item);
}

static pgy_status pack(kernel_plan *out, const params *p, const kernel_problem *u, pgy_error *err)
{
    if (!is_taps_first(&p->s)) return PGY_OK;
    out->packed_bytes = kernel_size_bytes(&u->inputs[1]);
    out->packed = mem_alloc_aligned(64, out->packed_bytes);
    out->packed_inputs = 2;
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    turn_weights(out->packed, u->inputs[1].data, &p->s, cuda_item((pgy_dtype)p->type));
    return PGY_OK;
}

static pgy_status cuda_conv_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)cuda_conv_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .phases = 1,
                         .parts = 1,
                         .in_place = -1,
                         .workspace_bytes = workspace_of(p)};
    return pack(out, p, u, err);
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool has_valid_types(const params *p)
{
    const uint32_t types[] = {p->type, p->bias_type, p->sum_type, p->out_type};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!cuda_is_float((pgy_dtype)types[i])) return false;
    return true;
}

static bool cuda_conv_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    const conv_shape *s = p ? &p->s : NULL;
    if (!p || !conv_extent(e, q, s)) return false;
    if (!has_valid_types(p)) return extent_refuse(e, "types");
    if (s->inputs < (s->has_bias ? 3 : 2)) return extent_refuse(e, "number of inputs");
    const uint64_t in = extent_mul3(s->batch, s->in_channels, (uint64_t)(s->in[0] * s->in[1]));
    const uint64_t out = extent_mul(product_n(s), s->out_channels);
    if (in > INT64_MAX || out > INT64_MAX || product_k(s) > INT32_MAX ||
        s->out[0] * s->out[1] > INT32_MAX)
        return extent_refuse(e, "sizes");
    if (!product_cut_extent(e, &p->cut, product_k(s))) return false;
    extent_tensor(e, 0, in, cuda_item((pgy_dtype)p->type));
    const uint64_t weights =
        extent_mul3(s->out_channels, product_k(s), cuda_item((pgy_dtype)p->type));
    if (is_taps_first(s))
        e->packed = weights;
    else
        extent_tensor(e, 1, weights, 1);
    if (s->has_bias) extent_tensor(e, 2, s->out_channels, cuda_item((pgy_dtype)p->bias_type));
    if (s->has_sum) extent_tensor(e, 3, out, cuda_item((pgy_dtype)p->sum_type));
    extent_tensor(e, s->inputs, out, cuda_item((pgy_dtype)p->out_type));
    e->workspace = workspace_of(p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Neighbours of a row that a thread computes together; few if they share few elements. */
static uint32_t depthwise_run(const conv_shape *s)
{
    uint32_t run = s->out[1] >= 28 ? 8 : s->out[1] >= 7 ? 4 : 1;
    while (run > 1 && (run - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] >= 24)
        run /= 2;
    return run;
}

/* Is the image itself the matrix B? */
static bool is_plain(const conv_shape *s)
{
    return taps(s) == 1 && s->stride[0] == 1 && s->stride[1] == 1 && !s->pad[0] && !s->pad[1] &&
           s->in[0] == s->out[0] && s->in[1] == s->out[1];
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    static const cuda_source TILE = {"tile",
                                     CUDA_SOURCE_tile,
                                     {"tile", "finish"},
                                     {CUDA_SOURCE_mma}},
                             DEPTHWISE = {"depthwise", CUDA_SOURCE_depthwise, {"run"}};
    const params *p = plan->params;
    const conv_shape *s = &p->s;
    const uint64_t row = product_k(s), pixels = (uint64_t)(s->out[0] * s->out[1]);
    str defines = {0};
    (void)self;
    cuda_define_int(&defines, "ACTIVATION", s->activation);
    cuda_define_int(&defines, "BIASED", s->has_bias ? 3 : 0);
    cuda_define_int(&defines, "ADDED", s->has_sum != 0);
    cuda_define_int(&defines, "KH", s->kernel[0]);
    cuda_define_int(&defines, "KW", s->kernel[1]);
    cuda_define_type(&defines, "BIAS", (pgy_dtype)p->bias_type);
    cuda_define_type(&defines, "RESIDUAL", (pgy_dtype)p->sum_type);
    cuda_define_type(&defines, "Y", (pgy_dtype)p->out_type);
    if (is_depthwise(s)) {
        cuda_define_type(&defines, "X", (pgy_dtype)p->type);
        cuda_define_int(&defines, "RUN", depthwise_run(s));
        cuda_define_int(&defines, "STRIDE", s->stride[1]);
        cuda_define_int(&defines, "DILATION", s->dilation[1]);
        return cuda_load(out, d, &DEPTHWISE, &defines, err);
    }
    product_define(&defines, &p->cut, (pgy_dtype)p->type);
    /* Where the place of each k is computed, registers do not suffice for two blocks. */
    cuda_define_int(&defines, "BLOCKS",
                    cuda_is_half((pgy_dtype)p->type) && (taps(s) == 1 || is_taps_first(s)) ? 2 : 1);
    cuda_define_int(&defines, "CONV", 1);
    cuda_define_int(&defines, "PAIRED", pixels % 2 == 0);
    cuda_define_int(&defines, "TAPS_FIRST", is_taps_first(s));
    cuda_define_int(&defines, "A_TURNED", 0);
    cuda_define_int(&defines, "B_TURNED", 0);
    cuda_define_int(&defines, "A_VECTOR", product_vector((pgy_dtype)p->type, &row, 1));
    cuda_define_int(&defines, "B_VECTOR",
                    is_plain(s) ? product_vector((pgy_dtype)p->type, &pixels, 1) : 1);
    return cuda_load(out, d, &TILE, &defines, err);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Arguments of the kernel in depthwise.cu: the same struct as there. */
typedef struct depthwise_call {
    uint64_t x, w, bias, residual, y, count, channels, multiplier;
    int32_t in_height, in_width, out_height, out_width;
    int32_t stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
    float first, second;
} depthwise_call;

static pgy_status launch_depthwise(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const conv_shape *s = &p->s;
    const cuda_loaded *l = r->loaded;
    const uint32_t run = depthwise_run(s);
    depthwise_call c = {.x = address(r->tensors[0]),
                        .w = address(r->tensors[1]),
                        .bias = s->has_bias ? address(r->tensors[2]) : 0,
                        .residual = s->has_sum ? address(r->tensors[3]) : 0,
                        .y = address(r->tensors[s->inputs]),
                        .count = s->batch * (uint64_t)s->out[0] * s->out_channels *
                                 (((uint64_t)s->out[1] + run - 1) / run),
                        .channels = s->out_channels,
                        .multiplier = s->out_channels / s->groups,
                        .in_height = (int32_t)s->in[0],
                        .in_width = (int32_t)s->in[1],
                        .out_height = (int32_t)s->out[0],
                        .out_width = (int32_t)s->out[1],
                        .stride_y = (int32_t)s->stride[0],
                        .stride_x = (int32_t)s->stride[1],
                        .dilation_y = (int32_t)s->dilation[0],
                        .dilation_x = (int32_t)s->dilation[1],
                        .pad_y = (int32_t)s->pad[0],
                        .pad_x = (int32_t)s->pad[1],
                        .first = s->parameter[0],
                        .second = s->parameter[1]};
    return cuda_launch_for(stream, l->functions[0], c.count, CUDA_BLOCK, &c, err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const conv_shape *s = &p->s;
    if (is_depthwise(s)) return launch_depthwise(r, stream, err);
    product_call c = {.a = address(is_taps_first(s) ? r->packed : r->tensors[1]),
                      .b = address(r->tensors[0]),
                      .bias = s->has_bias ? address(r->tensors[2]) : 0,
                      .residual = s->has_sum ? address(r->tensors[3]) : 0,
                      .c = address(r->tensors[s->inputs]),
                      .partial = address(r->workspace),
                      .m = product_m(s),
                      .n = product_n(s),
                      .k = product_k(s),
                      .batch = s->groups,
                      .a_row = product_k(s),
                      .a_column = 1,
                      .alpha = 1,
                      .beta = 1,
                      .first = s->parameter[0],
                      .second = s->parameter[1],
                      .channels = s->in_channels / s->groups,
                      .pixels = (uint64_t)(s->out[0] * s->out[1]),
                      .in_height = (int32_t)s->in[0],
                      .in_width = (int32_t)s->in[1],
                      .out_width = (int32_t)s->out[1],
                      .stride_y = (int32_t)s->stride[0],
                      .stride_x = (int32_t)s->stride[1],
                      .dilation_y = (int32_t)s->dilation[0],
                      .dilation_x = (int32_t)s->dilation[1],
                      .pad_y = (int32_t)s->pad[0],
                      .pad_x = (int32_t)s->pad[1]};
    return product_launch(stream, r->loaded, &p->cut, (pgy_dtype)p->type, &c, err);
}

const kernel KERNELS_cuda_conv[] = {
    {.name = "cuda_conv",
     .version = 3,
     .ops = "Conv com.microsoft:FusedConv pgy:FusedConv",
     .device = "cuda",
     .accept = cuda_conv_accept,
     .prepare = cuda_conv_prepare,
     .extent = cuda_conv_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with one channel in each group, of 16-bit floats in channels last on CUDA devices.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/conv.h"
#include "kernels/cuda/code.h"
#include "tensor/convert.h"

enum { PACK = 8, MANY = 1 << 16, WIDEST = 7 };

typedef struct params {
    conv_shape s;
    uint32_t type, bias_type, sum_type, out_type; /* pgy_dtype */
    uint32_t finite;                              /* are all weights finite? */
} params;

static uint64_t taps(const conv_shape *s)
{
    return (uint64_t)(s->kernel[0] * s->kernel[1]);
}

/* A row of the window is in registers, so it must not be long. */
static bool is_possible(const conv_shape *s)
{
    return s->groups == s->in_channels && s->out_channels == s->in_channels &&
           s->in_channels % PACK == 0 && s->kernel[1] <= WIDEST && s->stride[1] <= 4 &&
           s->dilation[1] <= 4 && conv_image_elements(s) <= INT32_MAX;
}

static bool has_types(const kernel_problem *u)
{
    const pgy_dtype type = u->inputs[0].dtype;
    if (!cuda_is_half(type) || u->inputs[1].dtype != type || u->outputs[0].dtype != type)
        return false;
    for (size_t i = 2; i < u->input_count; i++)
        if (u->inputs[i].dtype && !cuda_is_float(u->inputs[i].dtype)) return false;
    return true;
}

static bool depthwise_last_describe(params *p, const kernel_problem *u)
{
    kernel_problem wide;
    cuda_room room;
    *p = (params){.bias_type = PGY_F32, .sum_type = PGY_F32};
    if (u->input_count < 2 || u->output_count != 1 || !has_types(u)) return false;
    cuda_widen(&wide, room, u);
    if (!conv_describe(&p->s, &wide) || !is_possible(&p->s)) return false;
    p->type = u->inputs[0].dtype;
    p->out_type = u->outputs[0].dtype;
    if (p->s.has_bias) p->bias_type = u->inputs[2].dtype;
    if (p->s.has_sum) p->sum_type = u->inputs[3].dtype;
    return true;
}

static bool depthwise_last_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    conv_set_layouts(u, KERNEL_CHANNELS_LAST, KERNEL_CHANNELS_LAST);
    if (!depthwise_last_describe(&p, u)) return false;
    *cost_ns = cuda_cost(cuda_bytes(u), conv_flop_count(&p.s), false);
    return true;
}

static bool are_finite(const kernel_tensor *t)
{
    for (size_t i = 0; i < kernel_count(t); i++)
        if (!isfinite(element_as_f64(t->dtype, t->data, i))) return false;
    return true;
}

static pgy_status depthwise_last_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)depthwise_last_describe(p, u); /* cannot fail after `accept` */
    p->finite = are_finite(&u->inputs[1]);
    const uint64_t count = taps(&p->s), channels = p->s.in_channels;
    const uint32_t item = cuda_item((pgy_dtype)p->type);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .packed = mem_alloc_aligned(64, count * channels * item),
                         .packed_bytes = count * channels * item,
                         .packed_inputs = 2,
                         .phases = 1,
                         .parts = 1,
                         .in_place = -1};
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    for (uint64_t c = 0; c < channels; c++)
        for (uint64_t t = 0; t < count; t++)
            memcpy((char *)out->packed + (t * channels + c) * item,
                   (const char *)u->inputs[1].data + (c * count + t) * item, item);
    return PGY_OK;
}

static bool depthwise_last_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    const conv_shape *s = p ? &p->s : NULL;
    if (!p || !conv_extent(e, q, s)) return false;
    if (!cuda_is_half((pgy_dtype)p->type) || p->out_type != p->type ||
        !cuda_is_float((pgy_dtype)p->bias_type) || !cuda_is_float((pgy_dtype)p->sum_type))
        return extent_refuse(e, "types");
    if (s->inputs < (s->has_bias ? 3 : 2)) return extent_refuse(e, "number of inputs");
    if (!is_possible(s) || conv_result_elements(s) > INT64_MAX) return extent_refuse(e, "sizes");
    const uint32_t item = cuda_item((pgy_dtype)p->type);
    extent_tensor(e, 0, extent_mul(s->batch, conv_image_elements(s)), item);
    e->packed = extent_mul3(s->in_channels, taps(s), item);
    if (s->has_bias) extent_tensor(e, 2, s->out_channels, cuda_item((pgy_dtype)p->bias_type));
    if (s->has_sum) extent_tensor(e, 3, conv_result_elements(s), cuda_item((pgy_dtype)p->sum_type));
    extent_tensor(e, s->inputs, conv_result_elements(s), item);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static uint64_t run_count(const conv_shape *s, uint32_t run)
{
    return s->batch * (uint64_t)s->out[0] * (((uint64_t)s->out[1] + run - 1) / run) *
           (s->in_channels / PACK);
}

/* Neighbours of a row that a thread computes together; few if there are few threads. */
static uint32_t run_of(const conv_shape *s)
{
    uint32_t run = 4;
    while (run > 1 && run_count(s, run) < MANY) run /= 2;
    return run;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    static const cuda_source SOURCE = {"depthwise_last", CUDA_SOURCE_depthwise_last, {"run"}};
    const params *p = plan->params;
    const conv_shape *s = &p->s;
    str defines = {0};
    (void)self;
    cuda_define_int(&defines, "ACTIVATION", s->activation);
    cuda_define_int(&defines, "BIASED", s->has_bias != 0);
    cuda_define_int(&defines, "ADDED", s->has_sum != 0);
    cuda_define_int(&defines, "FINITE", p->finite != 0);
    cuda_define_int(&defines, "KH", s->kernel[0]);
    cuda_define_int(&defines, "KW", s->kernel[1]);
    cuda_define_int(&defines, "RUN", run_of(s));
    cuda_define_int(&defines, "STRIDE", s->stride[1]);
    cuda_define_int(&defines, "DILATION", s->dilation[1]);
    cuda_define_type(&defines, "X", (pgy_dtype)p->type);
    cuda_define_type(&defines, "BIAS", (pgy_dtype)p->bias_type);
    cuda_define_type(&defines, "RESIDUAL", (pgy_dtype)p->sum_type);
    cuda_define_type(&defines, "Y", (pgy_dtype)p->out_type);
    return cuda_load(out, d, &SOURCE, &defines, err);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Arguments of the kernel in depthwise_last.cu: the same struct as there. */
typedef struct depthwise_call {
    uint64_t x, w, bias, residual, y, count, channels;
    int32_t in_height, in_width, out_height, out_width;
    int32_t stride_y, dilation_y, pad_y, pad_x;
    float first, second;
} depthwise_call;

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const conv_shape *s = &p->s;
    const cuda_loaded *l = r->loaded;
    depthwise_call c = {.x = address(r->tensors[0]),
                        .w = address(r->packed),
                        .bias = s->has_bias ? address(r->tensors[2]) : 0,
                        .residual = s->has_sum ? address(r->tensors[3]) : 0,
                        .y = address(r->tensors[s->inputs]),
                        .count = run_count(s, run_of(s)),
                        .channels = s->in_channels,
                        .in_height = (int32_t)s->in[0],
                        .in_width = (int32_t)s->in[1],
                        .out_height = (int32_t)s->out[0],
                        .out_width = (int32_t)s->out[1],
                        .stride_y = (int32_t)s->stride[0],
                        .dilation_y = (int32_t)s->dilation[0],
                        .pad_y = (int32_t)s->pad[0],
                        .pad_x = (int32_t)s->pad[1],
                        .first = s->parameter[0],
                        .second = s->parameter[1]};
    return cuda_launch_for(stream, l->functions[0], c.count, CUDA_BLOCK, &c, err);
}

const kernel KERNELS_cuda_depthwise_last[] = {
    {.name = "cuda_depthwise_last",
     .version = 3,
     .ops = "Conv com.microsoft:FusedConv pgy:FusedConv",
     .device = "cuda",
     .accept = depthwise_last_accept,
     .prepare = depthwise_last_prepare,
     .extent = depthwise_last_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};

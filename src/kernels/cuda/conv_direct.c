/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of an image with few channels into channels last on CUDA devices: a window has too
 * few numbers for tensor cores, so threads multiply (conv_direct.cu). An image of up to four
 * channels, as three colours, is linear; one of 8 or 16 has its channels last, too. */
#include "base/alloc.h"
#include "kernels/conv.h"
#include "kernels/cuda/code.h"
#include "kernels/extent.h"

/* RUN: neighbours of a row that a thread computes; CHANNELS: of a thread. */
enum { RUN = 2, CHANNELS = 16, MOST_LINEAR = 4, PACK = 8, MOST_IN = 16 };
enum { MOST_TAPS = 3, MOST_OUT = 64, MOST_STRIDE = 4 };

typedef struct params {
    conv_shape s;
    uint32_t type, bias_type; /* pgy_dtype of image, weights and result; of the bias */
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static uint64_t weights_of(const conv_shape *s)
{
    return extent_mul3(s->out_channels, s->in_channels, (uint64_t)(s->kernel[0] * s->kernel[1]));
}

static bool is_linear(const conv_shape *s)
{
    return s->in_channels <= MOST_LINEAR;
}

static bool is_possible(const conv_shape *s)
{
    for (int i = 0; i < 2; i++)
        if (s->kernel[i] > MOST_TAPS || s->dilation[i] != 1 || s->stride[i] > MOST_STRIDE ||
            s->pad[i] < 0 || s->pad[i] > MOST_TAPS)
            return false;
    return s->groups == 1 && (is_linear(s) || s->in_channels % PACK == 0) &&
           s->in_channels <= MOST_IN && s->out_channels % CHANNELS == 0 &&
           s->out_channels <= MOST_OUT && !s->has_sum && conv_image_elements(s) <= INT32_MAX &&
           s->out[0] <= INT32_MAX / MOST_STRIDE && s->out[1] <= INT32_MAX / MOST_STRIDE &&
           conv_result_elements(s) <= INT64_MAX;
}

static bool conv_direct_describe(params *p, const kernel_problem *u)
{
    kernel_problem wide;
    cuda_room room;
    *p = (params){.bias_type = PGY_F32};
    if (u->input_count < 2 || u->output_count != 1 || !cuda_is_half(u->inputs[0].dtype))
        return false;
    p->type = u->inputs[0].dtype;
    if (u->inputs[1].dtype != p->type || u->outputs[0].dtype != p->type) return false;
    for (size_t i = 2; i < u->input_count; i++)
        if (u->inputs[i].dtype && !cuda_is_float(u->inputs[i].dtype)) return false;
    cuda_widen(&wide, room, u);
    if (!conv_describe(&p->s, &wide) || !is_possible(&p->s)) return false;
    if (p->s.has_bias) p->bias_type = u->inputs[2].dtype;
    return true;
}

static bool conv_direct_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    conv_set_layouts(u, KERNEL_CHANNELS_LAST, KERNEL_CHANNELS_LAST);
    if (!conv_direct_describe(&p, u)) return false;
    if (is_linear(&p.s)) u->inputs[0].layout = KERNEL_LINEAR;
    *cost_ns = cuda_cost(cuda_bytes(u), conv_flop_count(&p.s), false);
    return true;
}

static pgy_status conv_direct_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_direct_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

static bool conv_direct_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    const conv_shape *s = p ? &p->s : NULL;
    if (!p || !conv_extent(e, q, s)) return false;
    if (!cuda_is_half((pgy_dtype)p->type) || !cuda_is_float((pgy_dtype)p->bias_type))
        return extent_refuse(e, "types");
    if (s->inputs < (s->has_bias ? 3 : 2)) return extent_refuse(e, "number of inputs");
    if (!is_possible(s)) return extent_refuse(e, "sizes");
    const uint32_t item = cuda_item((pgy_dtype)p->type);
    extent_tensor(e, 0, extent_mul(s->batch, conv_image_elements(s)), item);
    extent_tensor(e, 1, weights_of(s), item);
    if (s->has_bias) extent_tensor(e, 2, s->out_channels, cuda_item((pgy_dtype)p->bias_type));
    extent_tensor(e, s->inputs, conv_result_elements(s), item);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    static const cuda_source SOURCE = {"conv_direct", CUDA_SOURCE_conv_direct, {"run"}};
    const params *p = plan->params;
    const conv_shape *s = &p->s;
    str defines = {0};
    (void)self;
    cuda_define_int(&defines, "ACTIVATION", s->activation);
    cuda_define_int(&defines, "BIASED", s->has_bias != 0);
    cuda_define_int(&defines, "LINEAR", is_linear(s));
    cuda_define_int(&defines, "IN", (int64_t)s->in_channels);
    cuda_define_int(&defines, "KH", s->kernel[0]);
    cuda_define_int(&defines, "KW", s->kernel[1]);
    cuda_define_int(&defines, "STRIDE", s->stride[1]);
    cuda_define_int(&defines, "RUN", RUN);
    cuda_define_int(&defines, "CHANNELS", CHANNELS);
    cuda_define_type(&defines, "X", (pgy_dtype)p->type);
    cuda_define_type(&defines, "BIAS", (pgy_dtype)p->bias_type);
    cuda_define_type(&defines, "Y", (pgy_dtype)p->type);
    return cuda_load(out, d, &SOURCE, &defines, err);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Arguments of the kernel in conv_direct.cu: the same struct as there. */
typedef struct direct_call {
    uint64_t x, w, bias, y, count;
    uint32_t channels;
    int32_t in_height, in_width, out_height, out_width;
    int32_t stride_y, pad_y, pad_x;
    float first, second;
} direct_call;

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const uint64_t most = 1 << 20;
    const params *p = r->params;
    const conv_shape *s = &p->s;
    const cuda_loaded *l = r->loaded;
    direct_call c = {.x = address(r->tensors[0]),
                     .w = address(r->tensors[1]),
                     .bias = s->has_bias ? address(r->tensors[2]) : 0,
                     .y = address(r->tensors[s->inputs]),
                     .count =
                         s->batch * (uint64_t)s->out[0] * (((uint64_t)s->out[1] + RUN - 1) / RUN),
                     .channels = (uint32_t)s->out_channels,
                     .in_height = (int32_t)s->in[0],
                     .in_width = (int32_t)s->in[1],
                     .out_height = (int32_t)s->out[0],
                     .out_width = (int32_t)s->out[1],
                     .stride_y = (int32_t)s->stride[0],
                     .pad_y = (int32_t)s->pad[0],
                     .pad_x = (int32_t)s->pad[1],
                     .first = s->parameter[0],
                     .second = s->parameter[1]};
    const uint64_t blocks = (c.count + CUDA_BLOCK - 1) / CUDA_BLOCK;
    const cuda_grid g = {.grid = {(uint32_t)(blocks < most ? blocks : most),
                                  (uint32_t)(s->out_channels / CHANNELS), 1},
                         .block = {CUDA_BLOCK, 1, 1}};
    return cuda_launch(stream, l->functions[0], &g, (void *[]){&c}, err);
}

const kernel KERNELS_cuda_conv_direct[] = {
    {.name = "cuda_conv_direct",
     .version = 1,
     .ops = "Conv com.microsoft:FusedConv pgy:FusedConv",
     .device = "cuda",
     .accept = conv_direct_accept,
     .prepare = conv_direct_prepare,
     .extent = conv_direct_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};

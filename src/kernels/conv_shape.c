/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a convolution problem from the node and the shapes; checks shapes from plan files. */
#include <math.h>
#include <string.h>

#include "kernels/conv.h"
#include "kernels/half.h"
#include "kernels/vec_math.h"
#include "ops/class_window.h"

static const struct {
    const char *name;
    conv_activation activation;
    float parameter[2]; /* default parameters of the activation */
} ACTIVATIONS[] = {
    {"Relu", CONV_RELU, {0}},
    {"LeakyRelu", CONV_LEAKY_RELU, {0.01f, 0}},
    {"Clip", CONV_CLIP, {-INFINITY, INFINITY}},
    {"HardSigmoid", CONV_HARD_SIGMOID, {0.2f, 0.5f}},
    {"Sigmoid", CONV_SIGMOID, {0}},
    {"Tanh", CONV_TANH, {0}},
    {"HardSwish", CONV_HARD_SWISH, {0}},
    {"Silu", CONV_SILU, {0}},
    {"Gelu", CONV_GELU, {0}},
    {"FastGelu", CONV_FAST_GELU, {0}},
};

bool conv_read_activation(uint32_t *activation, float *parameter, const op_node *n)
{
    const op_attr *name = op_attr_find(n, "activation");
    size_t count;
    const float *given = op_attr_floats(n, "activation_params", &count);
    *activation = CONV_NO_ACTIVATION;
    if (!name || name->kind != OP_ATTR_STRING || !name->s.size) return true;
    for (size_t i = 0; i < sizeof ACTIVATIONS / sizeof *ACTIVATIONS; i++) {
        if (!op_attr_is(n, "activation", ACTIVATIONS[i].name, NULL)) continue;
        *activation = ACTIVATIONS[i].activation;
        memcpy(parameter, ACTIVATIONS[i].parameter, sizeof ACTIVATIONS[i].parameter);
        for (size_t k = 0; k < count && k < 2; k++) parameter[k] = given[k];
        return true;
    }
    return false;
}

enum { MOST_STEP = 64, MOST_KERNEL = 256, MOST_PAD = 1024 };

static bool read_window(conv_shape *s, const kernel_problem *u)
{
    window w;
    const kernel_tensor *x = &u->inputs[0], *f = &u->inputs[1], *y = &u->outputs[0];
    const size_t rank = (size_t)x->rank - 2;
    if (window_read(&w, u->node, rank, NULL) || window_kernel(&w, u->node, f->shape + 2, NULL))
        return false;
    window_resolve(&w, x->shape + 2, y->shape + 2);
    for (size_t d = 0; d < 2; d++) {
        s->in[d] = s->out[d] = s->kernel[d] = s->stride[d] = s->dilation[d] = 1;
        if (d + rank < 2) continue;
        const size_t i = d + rank - 2;
        s->in[d] = w.in[i];
        s->out[d] = w.out[i];
        s->kernel[d] = w.kernel[i];
        s->stride[d] = w.stride[i];
        s->dilation[d] = w.dilation[i];
        s->pad[d] = w.begin[i];
        if (w.stride[i] > MOST_STEP || w.dilation[i] > MOST_STEP || w.kernel[i] > MOST_KERNEL ||
            w.begin[i] > MOST_PAD || w.begin[i] < 0)
            return false;
    }
    return true;
}

bool conv_describe(conv_shape *s, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *w = &u->inputs[1], *y = &u->outputs[0];
    *s = (conv_shape){.inputs = (uint32_t)u->input_count, .rounds = (uint32_t)y->rounds};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != PGY_F32) return false;
    if (x->dtype != PGY_F32 || x->rank < 3 || x->rank > 4 || w->rank != x->rank || !w->data)
        return false;
    if (!kernel_count(x) || !kernel_count(w) || !kernel_count(y)) return false;
    s->batch = (uint64_t)x->shape[0];
    s->in_channels = (uint64_t)x->shape[1];
    s->out_channels = (uint64_t)y->shape[1];
    s->groups = (uint64_t)op_attr_int(u->node, "group", 1);
    s->has_bias = u->input_count > 2 && u->inputs[2].dtype;
    s->has_sum = u->input_count > 3 && u->inputs[3].dtype;
    if (s->has_bias && !u->inputs[2].data) return false;
    if (s->has_sum && kernel_count(&u->inputs[3]) != kernel_count(y)) return false;
    if (s->has_sum && (u->inputs[3].rank != y->rank || u->inputs[3].data)) return false;
    return conv_read_activation(&s->activation, s->parameter, u->node) && read_window(s, u);
}

bool conv_extent(kernel_extent *e, const kernel_claim *q, const conv_shape *s)
{
    if (s->inputs != q->input_count || s->inputs < (s->has_sum ? 4 : 1))
        return extent_refuse(e, "number of inputs");
    const uint64_t counts[] = {s->batch, s->groups, s->in_channels, s->out_channels};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!counts[i] || counts[i] > INT32_MAX) return extent_refuse(e, "channels");
    if (s->in_channels % s->groups || s->out_channels % s->groups)
        return extent_refuse(e, "channels");
    for (int d = 0; d < 2; d++)
        if (!extent_between(s->in[d], 1, INT32_MAX) || !extent_between(s->out[d], 1, INT32_MAX) ||
            !extent_between(s->kernel[d], 1, MOST_KERNEL + 1) ||
            !extent_between(s->stride[d], 1, MOST_STEP + 1) ||
            !extent_between(s->dilation[d], 1, MOST_STEP + 1) ||
            !extent_between(s->pad[d], 0, MOST_PAD + 1))
            return extent_refuse(e, "window");
    if (s->rounds && !half_is((pgy_dtype)s->rounds)) return extent_refuse(e, "type");
    return extent_enum(e, s->activation, CONV_FAST_GELU + 1, "activation");
}

void conv_extent_tensors(kernel_extent *e, const conv_shape *s, uint64_t x, uint64_t y)
{
    extent_tensor(e, 0, x, sizeof(float));
    extent_tensor(e, s->inputs, y, sizeof(float));
    if (s->has_sum) extent_tensor(e, 3, y, sizeof(float));
}

void conv_set_layouts(kernel_problem *u, kernel_layout in, kernel_layout out)
{
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->inputs[0].layout = in;
    if (u->input_count > 3) u->inputs[3].layout = out;
    u->outputs[0].layout = out;
}

bool conv_is_scale(const conv_shape *s)
{
    for (int d = 0; d < 2; d++)
        if (s->kernel[d] != 1 || s->stride[d] != 1 || s->pad[d] || s->in[d] != s->out[d])
            return false;
    return s->groups == s->in_channels && s->groups == s->out_channels && !s->has_sum &&
           (s->activation == CONV_NO_ACTIVATION || s->activation == CONV_RELU);
}

uint64_t conv_image_elements(const conv_shape *s)
{
    return extent_mul3(s->in_channels, (uint64_t)s->in[0], (uint64_t)s->in[1]);
}

uint64_t conv_result_elements(const conv_shape *s)
{
    return extent_mul3(s->batch, s->out_channels, (uint64_t)s->out[0] * (uint64_t)s->out[1]);
}

double conv_flop_count(const conv_shape *s)
{
    return 2.0 * (double)s->batch * (double)s->out_channels * (double)(s->in_channels / s->groups) *
           (double)(s->out[0] * s->out[1]) * (double)(s->kernel[0] * s->kernel[1]);
}

static bool keeps_zero(const conv_shape *s)
{
    if (s->activation == CONV_SIGMOID) return false;
    if (s->activation == CONV_HARD_SIGMOID) return s->parameter[1] <= 0;
    return s->activation != CONV_CLIP || (s->parameter[0] <= 0 && s->parameter[1] >= 0);
}

void conv_row_taps(const conv_shape *s, int64_t y, int64_t *from, int64_t *to)
{
    const int64_t start = y * s->stride[0] - s->pad[0], step = s->dilation[0];
    *from = start < 0 ? (-start + step - 1) / step : 0;
    const int64_t end = start < s->in[0] ? (s->in[0] - start + step - 1) / step : 0;
    *to = end < s->kernel[0] ? end : s->kernel[0];
    if (*from > *to) *from = *to;
}

bool conv_must_finish(const conv_shape *s, size_t block, size_t lanes)
{
    return s->activation >= CONV_SIGMOID || s->rounds || (lanes < block && !keeps_zero(s));
}

void conv_activate(uint32_t activation, float *y, size_t count)
{
    const vec_math *v = vec_math_of(cpu_features());
    if (activation == CONV_SIGMOID) v->sigmoid(y, y, count);
    if (activation == CONV_TANH) v->tanh(y, y, count);
    if (activation == CONV_SILU) v->silu(y, y, count);
    if (activation == CONV_GELU) v->gelu(y, y, count);
    if (activation == CONV_FAST_GELU) v->fast_gelu(y, y, count);
}

void conv_finish(const conv_shape *s, float *y, size_t pixels, size_t block, size_t lanes)
{
    conv_activate(s->activation, y, pixels * block);
    if (s->rounds) half_loops_of((pgy_dtype)s->rounds, cpu_features())->round(y, y, pixels * block);
    for (size_t i = 0; lanes < block && i < pixels; i++)
        memset(y + i * block + lanes, 0, (block - lanes) * sizeof *y);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pgy QuantizedConv, which the engine's passes make: an exact convolution of bytes, scaled to
 * floats, plus bias and residual, and an activation. */
#include "ops/class_conv.h"
#include "ops/class_integer.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, BIAS, RESIDUAL };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL, "Relu"},
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"group", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = conv_infer(c, W, BIAS, PGY_F32, err);
    const op_value *y = &c->outputs[0];
    if (st || y->rank < 0 || !op_has_input(c, RESIDUAL)) return st;
    st = rank_check(c, RESIDUAL, y->rank, y->rank, err);
    for (int32_t d = 0; !st && d < y->rank; d++)
        st = dim_check(c, RESIDUAL, (size_t)d, y->dims[d], "the same dimension of the output", err);
    return st;
}

static pgy_status finish(const op_eval *c, const conv_problem *p, pgy_error *err)
{
    const size_t channels = p->groups * p->out_channels, positions = window_out_count(&p->window);
    const size_t scales = in_count(c, W_SCALE);
    const double *scale = in_f64(c, W_SCALE), *bias = in_f64(c, BIAS), *more = in_f64(c, RESIDUAL);
    const bool relu = op_attr_is(c->node, "activation", "Relu", "");
    double *y = out_f64(c, 0);
    if (in_count(c, X_SCALE) != 1 || (scales != 1 && scales != channels) ||
        (more && in_count(c, RESIDUAL) != out_count(c, 0)))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "there are %zu scales for %zu output channels, or another input has the "
                        "wrong number of elements",
                        scales, channels);
    for (size_t i = 0; i < out_count(c, 0); i++) {
        const size_t channel = i / positions % channels;
        y[i] *= in_f64(c, X_SCALE)[0] * scale[scales == 1 ? 0 : channel];
        y[i] += (bias ? bias[channel] : 0) + (more ? more[i] : 0);
        if (relu && y[i] < 0) y[i] = 0;
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    conv_problem p;
    double *x = NULL, *w = NULL;
    pgy_status st = inputs_check(c, "IFIIFIff", err);
    if (!st) st = conv_prepare(&p, c, W, err);
    if (!st) st = integer_shifted(&x, c, X, X_ZERO, 0, err);
    if (!st) st = integer_shifted(&w, c, W, W_ZERO, 0, err);
    if (!st) {
        p.x = x;
        p.w = w;
        p.y = out_f64(c, 0);
        st = conv_run(&p, err);
    }
    if (!st) st = finish(c, &p, err);
    mem_free(x);
    mem_free(w);
    return st;
}

static double flops(const op_infer *c)
{
    return conv_flops(c, W);
}

const op_def OP_pgy_quantized_conv[] = {
    {"QuantizedConv", "pgy", 1, 0, 6, 8, 1, 1, 0, ATTRS, "int8 uint8", infer, eval, flops,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; x:T1, x_scale:float32, x_zero_point:T1, "
                  "w:T2, w_scale:float32, w_zero_point:T2, ?bias:float32, ?residual:float32 -> "
                  "y:float32"},
    {NULL},
};

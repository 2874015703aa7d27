/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearConv: an exact integer convolution, then y = saturate(round(acc * x_scale * w_scale /
 * y_scale) + y_zero_point). */
#include <math.h>

#include "ops/class_conv.h"
#include "ops/class_integer.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return conv_infer(c, W, B, c->inputs[Y_ZERO].dtype, err);
}

static pgy_status check_scales(const op_eval *c, size_t channels, pgy_error *err)
{
    size_t scales = in_count(c, W_SCALE);
    if (in_count(c, X_SCALE) != 1 || in_count(c, Y_SCALE) != 1 || in_count(c, X_ZERO) != 1 ||
        in_count(c, Y_ZERO) != 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "scales and zero points of x and y must have one element");
    if (scales != 1 && scales != channels)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input %d (w_scale) has %zu elements, but there are %zu output channels",
                        W_SCALE, scales, channels);
    return PGY_OK;
}

static void store(const op_eval *c, const conv_problem *p)
{
    size_t channels = p->groups * p->out_channels, positions = window_out_count(&p->window);
    double x_scale = in_f64(c, X_SCALE)[0], y_scale = in_f64(c, Y_SCALE)[0];
    const double *w_scale = in_f64(c, W_SCALE);
    int64_t zero = in_i64(c, Y_ZERO)[0], *y = out_i64(c, 0);
    size_t count = out_count(c, 0);
    for (size_t i = 0; i < count; i++) {
        size_t channel = i / positions % channels;
        double scale = x_scale * w_scale[in_count(c, W_SCALE) == 1 ? 0 : channel] / y_scale;
        double bias = in_i64(c, B) ? (double)in_i64(c, B)[channel] : 0;
        y[i] = integer_quantize((p->y[i] + bias) * scale, zero, c->outputs[0].dtype);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    conv_problem p;
    double *x = NULL, *w = NULL, *y = NULL;
    pgy_status st = inputs_check(c, "IFIIFIFIi", err);
    if (!st) st = conv_prepare(&p, c, W, err);
    if (!st) st = check_scales(c, p.groups * p.out_channels, err);
    if (!st) st = integer_shifted(&x, c, X, X_ZERO, 0, err);
    if (!st) st = integer_shifted(&w, c, W, W_ZERO, 0, err);
    if (!st) st = workspace_alloc((void **)&y, c, out_count(c, 0), sizeof *y, err);
    if (st) goto done;
    p.x = x;
    p.w = w;
    p.y = y;
    st = conv_run(&p, err);
    if (!st) store(c, &p);
done:
    mem_free(x);
    mem_free(w);
    mem_free(y);
    return st;
}

static double flops(const op_infer *c)
{
    return conv_flops(c, W);
}

const op_def OP_qlinear_conv[] = {
    {"QLinearConv", "", 10, 0, 8, 9, 1, 1, 0, conv_attrs, "int8 uint8", infer, eval, flops},
    {NULL},
};

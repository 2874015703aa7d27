/* SPDX-License-Identifier: Apache-2.0 */
/* CausalConvWithState: convolves every channel of [batch, channels, length] with its own kernel of
 * k weights, over the current and earlier positions. The past state (or zeros) supplies k - 1
 * positions before the first; the last k - 1 become the state for the next call. */
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { X, W, BIAS, PAST };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, "none", "none silu swish"},
    {NULL},
};

static bool is_swish(const op_node *n)
{
    return op_attr_is(n, "activation", "silu", "none") ||
           op_attr_is(n, "activation", "swish", "none");
}

static pgy_status check_inputs(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    pgy_status st = rank_check(c, X, 3, 3, err);
    if (!st) st = rank_check(c, W, 3, 3, err);
    if (!st) st = rank_check(c, BIAS, 1, 1, err);
    if (!st) st = rank_check(c, PAST, 3, 3, err);
    if (!st) st = dim_check(c, W, 1, dim_const(1), "the number of channels of each kernel", err);
    if (!st && x->rank >= 0) st = dim_check(c, W, 0, x->dims[1], "the number of channels", err);
    if (!st && x->rank >= 0) st = dim_check(c, BIAS, 0, x->dims[1], "the number of channels", err);
    if (!st && x->rank >= 0) st = dim_check(c, PAST, 0, x->dims[0], "the batch", err);
    if (!st && x->rank >= 0) st = dim_check(c, PAST, 1, x->dims[1], "the number of channels", err);
    if (!st && !is_swish(c->node) && !op_attr_is(c->node, "activation", "none", "none"))
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "attribute activation must be none, silu or swish");
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X], *w = &c->inputs[W];
    pgy_status st = check_inputs(c, err);
    if (st) return st;
    op_set_like(c, 0, X);
    if (x->rank < 0 || w->rank < 0) {
        op_set_unknown(c, 1, x->dtype, 3, "the shape of an input is not known");
        return PGY_OK;
    }
    if (dim_is_const(w->dims[2]) && w->dims[2].value < 1)
        return op_error(c->node, err, PGY_E_SHAPE, "the kernel has size 0");
    dim *dims = rule_copy_dims(c, x), *state = rule_copy_dims(c, x);
    if (!dims || !state) return rule_no_memory(c->node, err);
    state[0] = dims[0] = dim_joined(c, PAST, 0, dims[0]);
    state[1] = dims[1] =
        dim_joined(c, PAST, 1, dim_joined(c, BIAS, 0, dim_joined(c, W, 0, dims[1])));
    state[2] = dim_joined(c, PAST, 2, dim_sub(c->dims, w->dims[2], dim_const(1)));
    op_set_output(c, 0, x->dtype, 3, dims);
    output_set(c, 1, x->dtype, 3, state);
    return dim_check(c, PAST, 2, state[2], "the kernel's size minus 1", err);
}

typedef struct conv {
    const double *x, *w, *bias, *past;
    double *y, *state;
    size_t channels, length, taps;
    bool swish;
} conv;

/* Element `at` of a channel's past state followed by its input. */
static double padded(const conv *v, size_t line, size_t at)
{
    const size_t before = v->taps - 1;
    if (at >= before) return v->x[line * v->length + at - before];
    return v->past ? v->past[line * before + at] : 0;
}

static void run_lines(size_t begin, size_t end, void *user)
{
    const conv *v = user;
    for (size_t line = begin; line < end; line++) {
        const size_t channel = line % v->channels;
        const double *w = v->w + channel * v->taps;
        for (size_t i = 0; i < v->length; i++) {
            double sum = v->bias ? v->bias[channel] : 0;
            for (size_t k = 0; k < v->taps; k++) sum += w[k] * padded(v, line, i + k);
            v->y[line * v->length + i] = v->swish ? sum / (1 + exp(-sum)) : sum;
        }
        for (size_t k = 0; v->state && k + 1 < v->taps; k++)
            v->state[line * (v->taps - 1) + k] = padded(v, line, v->length + k);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "FFff", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    if (!in_count(c, X) && !out_count(c, 1)) return PGY_OK;
    const int64_t *shape = in_shape(c, X);
    conv v = {in_f64(c, X),     in_f64(c, W),     in_f64(c, BIAS),
              in_f64(c, PAST),  out_f64(c, 0),    out_f64(c, 1),
              (size_t)shape[1], (size_t)shape[2], (size_t)in_shape(c, W)[2],
              is_swish(c->node)};
    rows_run((size_t)(shape[0] * shape[1]), v.length * v.taps, run_lines, &v);
    return PGY_OK;
}

const op_def OP_causal_conv_with_state[] = {
    {"CausalConvWithState", "", 27, 0, 2, 4, 2, 2, OP_SAME_TYPES, ATTRS, TYPES_F4, infer, eval,
     NULL},
    {NULL},
};

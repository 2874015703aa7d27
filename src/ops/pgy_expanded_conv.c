/* SPDX-License-Identifier: Apache-2.0 */
/* pgy ExpandedConv, which the engine's passes make: a pointwise convolution with an activation,
 * then a convolution of its result (usually depthwise) with another, as in inverted residual
 * blocks. The attributes without `inner_` are those of the second convolution. */
#include <string.h>

#include "base/alloc.h"
#include "ops/class_activation.h"
#include "ops/class_conv.h"
#include "ops/class_expanded_conv.h"

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL},
    {"activation_params", OP_ATTR_FLOATS, false, NULL},
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"group", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"inner_activation", OP_ATTR_STRING, false, NULL},
    {"inner_activation_params", OP_ATTR_FLOATS, false, NULL},
    {"kernel_shape", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

void expanded_conv_inner_read(expanded_conv_inner *out, const op_node *n)
{
    static const char *const NAMES[][2] = {{"inner_activation", "activation"},
                                           {"inner_activation_params", "activation_params"}};
    *out = (expanded_conv_inner){.node = *n};
    out->node.attr_count = 0;
    for (size_t i = 0; i < 2; i++) {
        const op_attr *a = op_attr_find(n, NAMES[i][0]);
        if (!a) continue;
        out->attrs[out->node.attr_count] = *a;
        out->attrs[out->node.attr_count++].name = NAMES[i][1];
    }
    out->node.attrs = out->attrs;
}

static pgy_status read_activations(activation *inner, activation *last, const op_node *n,
                                   pgy_error *err)
{
    expanded_conv_inner own;
    expanded_conv_inner_read(&own, n);
    const pgy_status st = activation_read_pgy(inner, &own.node, err);
    return st ? st : activation_read_pgy(last, n, err);
}

/* ---- Shape ---------------------------------------------------------------------------------- */

static pgy_status check_pointwise(const op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[EXPANDED_X], *w = &c->inputs[EXPANDED_W];
    if (x->rank < 3 || x->rank > WINDOW_MAX + 2)
        return op_error(c->node, err, PGY_E_SHAPE, "input 0 has rank %d; 3 to %d are supported",
                        (int)x->rank, WINDOW_MAX + 2);
    pgy_status st = rank_check(c, EXPANDED_W, x->rank, x->rank, err);
    if (st || !rank_known(c, EXPANDED_W)) return st;
    for (int32_t d = 2; !st && d < w->rank; d++)
        st = dim_check(c, EXPANDED_W, (size_t)d, dim_const(1),
                       "the size of a pointwise convolution's kernel", err);
    if (!st)
        st = dim_check(c, EXPANDED_X, 1, w->dims[1], "dimension 1 of the pointwise weights", err);
    if (!st) st = rank_check(c, EXPANDED_B, 1, 1, err);
    return st ? st
              : dim_check(c, EXPANDED_B, 0, w->dims[0], "the number of expanded channels", err);
}

/* The rule of the second convolution sees the expanded tensor as its input. */
static pgy_status infer(op_infer *c, pgy_error *err)
{
    activation inner, last;
    const op_value *x = &c->inputs[EXPANDED_X], *w = &c->inputs[EXPANDED_W];
    op_value values[EXPANDED_INPUTS];
    pgy_status st = read_activations(&inner, &last, c->node, err);
    if (st) return st;
    if (!rank_known(c, EXPANDED_X)) {
        op_set_unknown(c, 0, x->dtype, -1, "the input's shape is not known");
        return PGY_OK;
    }
    st = check_pointwise(c, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)x->rank);
    if (!dims) return rule_no_memory(c->node, err);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[1] = rank_known(c, EXPANDED_W) ? w->dims[0]
                                        : dim_unknown(c->dims, "the weights' shape is not known");
    memcpy(values, c->inputs, c->node->input_count * sizeof *values);
    values[EXPANDED_X].dims = dims;
    op_infer second = *c;
    second.inputs = values;
    return conv_infer(&second, EXPANDED_V, EXPANDED_C, x->dtype, err);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

static conv_problem pointwise(const op_eval *c)
{
    const int64_t *x = in_shape(c, EXPANDED_X), *w = in_shape(c, EXPANDED_W);
    conv_problem p = {.window = {.rank = in_rank(c, EXPANDED_X) - 2},
                      .batch = (size_t)x[0],
                      .groups = 1,
                      .in_channels = (size_t)w[1],
                      .out_channels = (size_t)w[0],
                      .x = in_f64(c, EXPANDED_X),
                      .w = in_f64(c, EXPANDED_W),
                      .bias = in_f64(c, EXPANDED_B)};
    for (size_t i = 0; i < p.window.rank; i++) {
        p.window.kernel[i] = p.window.stride[i] = p.window.dilation[i] = 1;
        p.window.in[i] = p.window.out[i] = x[2 + i];
    }
    return p;
}

/* Counts the elements of the expanded tensor. The sizes may overflow where the input is empty. */
static bool count_expanded(size_t *out, const conv_problem *p)
{
    bool fits = size_mul(out, p->batch, p->out_channels);
    for (size_t i = 0; i < p->window.rank; i++)
        fits = fits && size_mul(out, *out, (size_t)p->window.out[i]);
    return fits;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    conv_problem first, second;
    activation inner, last;
    void *expanded = NULL;
    pgy_status st = inputs_check(c, "FFFff", err);
    if (!st) st = read_activations(&inner, &last, c->node, err);
    if (!st) st = conv_prepare(&second, c, EXPANDED_V, err);
    if (st) return st;
    first = pointwise(c);
    size_t count;
    if (!count_expanded(&count, &first)) count = SIZE_MAX;
    st = workspace_alloc(&expanded, c, count, sizeof(double), err);
    if (st) return st;
    first.y = expanded;
    st = conv_run(&first, err);
    if (!st) activation_apply(&inner, first.y, count);
    second.x = first.y;
    second.w = in_f64(c, EXPANDED_V);
    second.bias = in_f64(c, EXPANDED_C);
    second.y = out_f64(c, 0);
    if (!st) st = conv_run(&second, err);
    if (!st) activation_apply(&last, second.y, out_count(c, 0));
    mem_free(expanded);
    return st;
}

static double flops(const op_infer *c)
{
    const op_value *x = &c->inputs[EXPANDED_X], *w = &c->inputs[EXPANDED_W];
    return 2 * dims_product(x) * (double)w->dims[0].value + conv_flops(c, EXPANDED_V);
}

const op_def OP_pgy_expanded_conv[] = {
    {"ExpandedConv", "pgy", 1, 0, 3, 5, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4, infer, eval, flops,
     .signature = "T = float16 float32 float64 bfloat16; X:T, W:T, V:T, ?B:T, ?C:T -> Y:T"},
    {NULL},
};

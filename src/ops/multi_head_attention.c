/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MultiHeadAttention on query, key and value of shape [batch, length, heads * size],
 * with an optional bias for all three, one after the other. */
#include <string.h>

#include "ops/class_packed_attention.h"

enum { QUERY, KEY, VALUE, BIAS, PADDING, SCORES, PAST_K, PAST_V };

static const op_attr_def ATTRS[] = {
    {"mask_filter_value", OP_ATTR_FLOAT, false, "-10000"},
    {"num_heads", OP_ATTR_INT, true, NULL},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {"unidirectional", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *q = &c->inputs[QUERY];
    const int64_t heads = op_attr_int(c->node, "num_heads", 0);
    pgy_status st = PGY_OK;
    if (!op_has_input(c, KEY) || !op_has_input(c, VALUE))
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "packed query, key and value are not supported");
    if (heads < 1)
        return op_error(c->node, err, PGY_E_ARGUMENT, "num_heads is %lld", (long long)heads);
    for (size_t i = QUERY; !st && i <= VALUE; i++) {
        if (c->inputs[i].rank > 3)
            return op_error(c->node, err, PGY_E_UNSUPPORTED,
                            "input %zu of rank %d is not supported", i, c->inputs[i].rank);
        st = rank_check(c, i, 3, 3, err);
    }
    for (size_t i = PAST_K; !st && i <= PAST_V; i++) st = rank_check(c, i, 4, 4, err);
    if (st) return st;
    if (!rank_known(c, QUERY) || !rank_known(c, KEY) || !rank_known(c, VALUE)) {
        for (size_t i = 0; i < c->node->output_count; i++)
            op_set_unknown(c, i, q->dtype, i ? 4 : 3, "the shape of an input is not known");
        return PGY_OK;
    }
    dim *out = op_dims(c, 11);
    if (!out) return rule_no_memory(c->node, err);
    dim total = c->inputs[KEY].dims[1];
    if (op_has_input(c, PAST_K))
        total = rank_known(c, PAST_K) ? dim_add(c->dims, total, c->inputs[PAST_K].dims[2])
                                      : dim_unknown(c->dims, "the cache is not known");
    const dim count = dim_const(heads), width = c->inputs[VALUE].dims[2];
    memcpy(out, (dim[]){q->dims[0], q->dims[1], width}, 3 * sizeof *out);
    memcpy(out + 3, (dim[]){q->dims[0], count, total, dim_div_floor(c->dims, q->dims[2], count)},
           4 * sizeof *out);
    memcpy(out + 7, (dim[]){q->dims[0], count, total, dim_div_floor(c->dims, width, count)},
           4 * sizeof *out);
    op_set_output(c, 0, q->dtype, 3, out);
    output_set(c, 1, q->dtype, 4, out + 3);
    output_set(c, 2, q->dtype, 4, out + 7);
    if (c->node->output_count > 3 && c->wanted[3])
        return op_error(c->node, err, PGY_E_UNSUPPORTED, "output 3 is not supported");
    return PGY_OK;
}

/* A copy of an input with its part of the bias added to every row. */
static pgy_status add_bias(op_tensor *out, const op_eval *c, size_t input, size_t *at,
                           pgy_error *err)
{
    const size_t width = (size_t)in_shape(c, input)[2];
    const double *bias = in_f64(c, BIAS);
    if (bias && (in_rank(c, BIAS) != 1 || in_count(c, BIAS) - *at < width))
        return op_error(c->node, err, PGY_E_SHAPE, "the bias has %zu elements, which are too few",
                        in_count(c, BIAS));
    pgy_status st = pgy_tensor_copy(&out->value, pgy_tensor_view(c->inputs[input].value), err);
    if (st) return st;
    out->dtype = c->inputs[input].dtype;
    for (size_t i = 0; bias && i < in_count(c, input); i++)
        op_f64(out->value)[i] += bias[*at + i % width];
    *at += width;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    packed_attention a = {.mask = PADDING, .bias = SCORES};
    size_t at = 0;
    pgy_status st = inputs_check(c, "FFFfifff", err);
    for (size_t i = QUERY; !st && i <= VALUE; i++) st = add_bias(&a.parts[i], c, i, &at, err);
    for (size_t i = PAST_K; !st && i <= PAST_V && i < c->node->input_count; i++)
        a.parts[i - PAST_K + 4] = op_tensor_retain(&c->inputs[i]);
    if (!st) st = packed_attention_run(&a, c, err);
    for (size_t i = 0; !st && i < c->node->output_count && i < 3; i++) {
        op_tensor_release(&c->outputs[i]);
        c->outputs[i] = op_tensor_retain(&a.made[i]);
    }
    packed_attention_deinit(&a);
    return st;
}

const op_def OP_multi_head_attention[] = {
    {"MultiHeadAttention", "com.microsoft", 1, 0, 1, 8, 1, 4, 0, ATTRS, TYPES_F4, infer, eval,
     NULL},
    {NULL},
};

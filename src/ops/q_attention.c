/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QAttention: Attention whose input and weights are 8-bit integers. They are
 * dequantised, which is exact in double precision, and Attention runs on them. */
#include "ops/class_check.h"

enum { X, WEIGHTS, BIAS, X_SCALE, W_SCALE, MASK, X_ZERO, W_ZERO, PAST };
enum { INNER_INPUTS = 5 };

static const op_attr_def ATTRS[] = {
    {"do_rotary", OP_ATTR_INT, false, "0"},
    {"mask_filter_value", OP_ATTR_FLOAT, false, "-10000"},
    {"num_heads", OP_ATTR_INT, true, NULL},
    {"past_present_share_buffer", OP_ATTR_INT, false, "0"},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {"unidirectional", OP_ATTR_INT, false, "0"},
    {NULL},
};

/* Indexed by input of Attention: the input of this node to pass there. */
static const size_t SOURCES[INNER_INPUTS] = {X, WEIGHTS, BIAS, MASK, PAST};

static op_node inner_node(const op_node *n)
{
    op_node inner = *n;
    inner.signature = NULL;
    inner.def = op_find("com.microsoft", "Attention", 1);
    inner.opset = 1;
    inner.input_count = INNER_INPUTS;
    return inner;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value values[INNER_INPUTS];
    bool present[INNER_INPUTS];
    const op_node node = inner_node(c->node);
    for (size_t i = 0; i < INNER_INPUTS; i++) {
        present[i] = op_has_input(c, SOURCES[i]);
        values[i] = present[i] ? c->inputs[SOURCES[i]] : (op_value){.rank = -1};
        if (i < 2) values[i].dtype = c->inputs[BIAS].dtype;
    }
    op_infer inner = *c;
    inner.node = &node;
    inner.inputs = values;
    inner.present = present;
    const pgy_status st = node.def->infer(&inner, err);
    c->why = inner.why;
    return st;
}

/* Scales and zero points are per tensor or, for weights, per column. */
static pgy_status dequantise(op_tensor *out, const op_eval *c, size_t input, pgy_error *err)
{
    const bool weights = input == WEIGHTS;
    const size_t scale = weights ? W_SCALE : X_SCALE, zero = weights ? W_ZERO : X_ZERO;
    const pgy_tensor *x = c->inputs[input].value;
    const size_t columns = weights ? (size_t)in_shape(c, input)[1] : 1;
    const size_t scales = in_count(c, scale), zeros = in_count(c, zero);
    if ((scales != 1 && scales != columns) || (zeros > 1 && zeros != columns))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "there are %zu scales and %zu zero points, which does not fit input %zu",
                        scales, zeros, input);
    pgy_status st =
        pgy_tensor_create(&out->value, PGY_F64, pgy_tensor_rank(x), pgy_tensor_shape(x), err);
    if (st) return st;
    out->dtype = c->inputs[BIAS].dtype;
    for (size_t i = 0; i < pgy_tensor_count(x); i++) {
        const size_t column = i % columns;
        const int64_t shift = zeros ? in_i64(c, zero)[zeros == 1 ? 0 : column] : 0;
        op_f64(out->value)[i] =
            (double)(op_i64(x)[i] - shift) * in_f64(c, scale)[scales == 1 ? 0 : column];
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node node = inner_node(c->node);
    op_tensor in[INNER_INPUTS] = {{0}}, made[2] = {{0}};
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    pgy_status st = inputs_check(c, "IIFFFiiif", err);
    for (size_t i = 0; !st && i < 2; i++) st = dequantise(&in[i], c, SOURCES[i], err);
    for (size_t i = 2; !st && i < INNER_INPUTS; i++)
        if (op_has_value(c, SOURCES[i])) in[i] = op_tensor_retain(&c->inputs[SOURCES[i]]);
    if (!st) st = op_run(&node, in, made, c->wanted, &host, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        op_tensor_release(&c->outputs[i]);
        c->outputs[i] = made[i];
    }
    for (size_t i = 0; i < INNER_INPUTS; i++) op_tensor_release(&in[i]);
    return st;
}

const op_def OP_q_attention[] = {
    {"QAttention", "com.microsoft", 1, 0, 5, 9, 1, 2, 0, ATTRS, "int8 uint8", infer, eval, NULL,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; T3 = float16 float32; T4 = int32; "
                  "input:T1, weight:T2, bias:T3, input_scale:T3, weight_scale:T3, "
                  "?mask_index:T4, ?input_zero_point:T1, ?weight_zero_point:T2, ?past:T3 -> "
                  "output:T3, ?present:T3"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft DynamicQuantizeLSTM: an LSTM whose weights [directions, in, 4 * hidden] are 8-bit
 * integers. They are dequantised and the standard operator runs on them. Input and state are not
 * rounded to 8 bits, which runtimes do only for speed. */
#include "ops/class_check.h"

enum { X, W, R, B, LENGTHS, H0, C0, P, W_SCALE, W_ZERO, R_SCALE, R_ZERO };
enum { INNER_INPUTS = 8 };

static const op_attr_def ATTRS[] = {
    {"activation_alpha", OP_ATTR_FLOATS, false, NULL},
    {"activation_beta", OP_ATTR_FLOATS, false, NULL},
    {"activations", OP_ATTR_STRINGS, false, NULL},
    {"clip", OP_ATTR_FLOAT, false, NULL},
    {"direction", OP_ATTR_STRING, false, "forward"},
    {"hidden_size", OP_ATTR_INT, false, NULL},
    {"input_forget", OP_ATTR_INT, false, "0"},
    {NULL},
};

static op_node inner_node(const op_node *n)
{
    op_node inner = *n;
    inner.signature = NULL;
    inner.def = op_find("", "LSTM", 14);
    inner.opset = 14;
    inner.input_count = INNER_INPUTS;
    return inner;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value values[INNER_INPUTS];
    const op_node node = inner_node(c->node);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < INNER_INPUTS; i++) {
        values[i] = c->inputs[i];
        if (i != W && i != R) continue;
        st = rank_check(c, i, 3, 3, err);
        values[i].dtype = c->inputs[X].dtype;
        if (st || values[i].rank < 0) continue;
        dim *dims = op_dims(c, 3);
        if (!dims) return rule_no_memory(c->node, err);
        dims[0] = c->inputs[i].dims[0];
        dims[1] = c->inputs[i].dims[2];
        dims[2] = c->inputs[i].dims[1];
        values[i].dims = dims;
    }
    if (st) return st;
    op_infer inner = *c;
    inner.node = &node;
    inner.inputs = values;
    st = node.def->infer(&inner, err);
    c->why = inner.why;
    return st;
}

/* Dequantises weights that have one scale and zero point per direction, or one per column of a
 * direction. */
static pgy_status dequantise(op_tensor *out, const op_eval *c, size_t input, size_t scale,
                             pgy_error *err)
{
    const int64_t *s = in_shape(c, input);
    const size_t rows = (size_t)s[1], columns = (size_t)s[2], directions = (size_t)s[0];
    const size_t scales = in_count(c, scale), zeros = in_count(c, scale + 1);
    if ((scales != directions && scales != directions * columns) || zeros != scales)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "there are %zu scales and %zu zero points, which does not fit input %zu",
                        scales, zeros, input);
    pgy_status st = pgy_tensor_create(&out->value, PGY_F64, 3, (int64_t[]){s[0], s[2], s[1]}, err);
    if (st) return st;
    out->dtype = c->inputs[X].dtype;
    for (size_t i = 0; i < in_count(c, input); i++) {
        const size_t column = i % columns, row = i / columns % rows, d = i / columns / rows;
        const size_t at = scales == directions ? d : d * columns + column;
        op_f64(out->value)[(d * columns + column) * rows + row] =
            (double)(in_i64(c, input)[i] - in_i64(c, scale + 1)[at]) * in_f64(c, scale)[at];
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node node = inner_node(c->node);
    op_tensor in[INNER_INPUTS] = {{0}}, made[3] = {{0}};
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    pgy_status st = inputs_check(c, "FIIfifffFIFI", err);
    for (size_t i = 0; !st && i < INNER_INPUTS; i++) {
        if (i == W || i == R)
            st = dequantise(&in[i], c, i, i == W ? W_SCALE : R_SCALE, err);
        else if (op_has_value(c, i))
            in[i] = op_tensor_retain(&c->inputs[i]);
    }
    if (!st) st = op_run(&node, in, made, c->wanted, &host, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        op_tensor_release(&c->outputs[i]);
        c->outputs[i] = made[i];
    }
    for (size_t i = 0; i < INNER_INPUTS; i++) op_tensor_release(&in[i]);
    return st;
}

const op_def OP_dynamic_quantize_lstm[] = {
    {"DynamicQuantizeLSTM", "com.microsoft", 1, 0, 12, 12, 0, 3, 0, ATTRS, "float32", infer, eval,
     NULL,
     .signature = "T = float32; T1 = int32; T2 = int8 uint8; X:T, W:T2, R:T2, ?B:T, "
                  "?sequence_lens:T1, ?initial_h:T, ?initial_c:T, ?P:T, W_scale:T, "
                  "W_zero_point:T2, R_scale:T, R_zero_point:T2 -> ?Y:T, ?Y_h:T, ?Y_c:T"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QEmbedLayerNormalization: EmbedLayerNormalization whose tables, scale and shift are
 * 8-bit integers, each with one scale and zero point. */
#include "ops/class_check.h"

enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, SCALES, ZEROS = 13 };
enum { INNER_INPUTS = 8 };

static const op_attr_def ATTRS[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-12"},
    {NULL},
};

static op_node inner_node(const op_node *n)
{
    op_node inner = *n;
    inner.signature = NULL;
    inner.def = op_find("com.microsoft", "EmbedLayerNormalization", 1);
    inner.opset = 1;
    inner.input_count = INNER_INPUTS;
    return inner;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value values[INNER_INPUTS];
    const op_node node = inner_node(c->node);
    for (size_t i = 0; i < INNER_INPUTS; i++) {
        values[i] = c->inputs[i];
        if (i >= WORD && i <= BETA) values[i].dtype = c->inputs[SCALES].dtype;
    }
    op_infer inner = *c;
    inner.node = &node;
    inner.inputs = values;
    const pgy_status st = node.def->infer(&inner, err);
    c->why = inner.why;
    return st;
}

static pgy_status dequantise(op_tensor *out, const op_eval *c, size_t input, pgy_error *err)
{
    const size_t scale = SCALES + input - WORD, zero = ZEROS + input - WORD;
    const pgy_tensor *x = c->inputs[input].value;
    if (in_count(c, scale) != 1 || in_count(c, zero) != 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input %zu needs one scale (input %zu) and zero point (input %zu)", input,
                        scale, zero);
    pgy_status st =
        pgy_tensor_create(&out->value, PGY_F64, pgy_tensor_rank(x), pgy_tensor_shape(x), err);
    if (st) return st;
    out->dtype = c->inputs[SCALES].dtype;
    for (size_t i = 0; i < pgy_tensor_count(x); i++)
        op_f64(out->value)[i] = (double)(op_i64(x)[i] - in_i64(c, zero)[0]) * in_f64(c, scale)[0];
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node node = inner_node(c->node);
    op_tensor in[INNER_INPUTS] = {{0}}, made[2] = {{0}};
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    pgy_status st = inputs_check(c, "IiIIiIIiFFfFFIIiII", err);
    for (size_t i = 0; !st && i < INNER_INPUTS; i++) {
        if (!op_has_value(c, i)) continue;
        if (i >= WORD && i <= BETA)
            st = dequantise(&in[i], c, i, err);
        else
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

const op_def OP_q_embed_layer_normalization[] = {
    {"QEmbedLayerNormalization", "com.microsoft", 1, 0, 18, 18, 1, 2, 0, ATTRS, "int32", infer,
     eval, NULL,
     .signature = "I = int32; Q = int8 uint8; T = float32; input_ids:I, ?segment_ids:I, word:Q, "
                  "position:Q, ?segment:Q, gamma:Q, beta:Q, ?mask:I, word_scale:T, "
                  "position_scale:T, ?segment_scale:T, gamma_scale:T, beta_scale:T, "
                  "word_zero_point:Q, position_zero_point:Q, ?segment_zero_point:Q, "
                  "gamma_zero_point:Q, beta_zero_point:Q -> layernorm_out:T, ?mask_index_out:I"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft DecoderMaskedMultiHeadAttention: MultiHeadAttention for one new token, with its
 * inputs in another order. A cache that is updated in place has room for the longest sequence;
 * past_sequence_length gives its filled length. */
#include <inttypes.h>
#include <string.h>

#include "ops/class_check.h"

enum { QUERY, KEY, VALUE, MASK, SCORES, PAST_K, PAST_V, PAST_LENGTH, BEAM_WIDTH, BEAMS, BIAS };
enum { INNER_INPUTS = 8, INNER_PAST_K = 6 };

static const op_attr_def ATTRS[] = {
    {"mask_filter_value", OP_ATTR_FLOAT, false, "-10000"},
    {"num_heads", OP_ATTR_INT, true, NULL},
    {"output_qk", OP_ATTR_INT, false, "0"},
    {"past_present_share_buffer", OP_ATTR_INT, false, "0"},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {NULL},
};

/* Indexed by input of MultiHeadAttention: the input of this node to pass there. */
static const size_t SOURCES[INNER_INPUTS] = {QUERY, KEY, VALUE, BIAS, MASK, SCORES, PAST_K, PAST_V};

static op_node inner_node(const op_node *n)
{
    op_node inner = *n;
    inner.signature = NULL;
    inner.def = op_find("com.microsoft", "MultiHeadAttention", 1);
    inner.opset = 1;
    inner.input_count = INNER_INPUTS;
    return inner;
}

static bool is_shared(const op_node *n, bool past)
{
    return past && op_attr_int(n, "past_present_share_buffer", 0) != 0;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value values[INNER_INPUTS];
    bool present[INNER_INPUTS];
    const op_node node = inner_node(c->node);
    if (op_has_input(c, BEAMS))
        return op_error(c->node, err, PGY_E_UNSUPPORTED, "cache_indirection is not supported");
    if (is_shared(c->node, op_has_input(c, PAST_K)) && !op_has_input(c, PAST_LENGTH))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "a shared cache needs input %d (past_sequence_length)", PAST_LENGTH);
    for (size_t i = 0; i < INNER_INPUTS; i++) {
        present[i] = op_has_input(c, SOURCES[i]);
        values[i] = present[i] ? c->inputs[SOURCES[i]] : (op_value){.rank = -1};
    }
    op_infer inner = *c;
    inner.node = &node;
    inner.inputs = values;
    inner.present = present;
    const pgy_status st = node.def->infer(&inner, err);
    c->why = inner.why;
    for (size_t i = 1; !st && i < 3 && i < c->node->output_count; i++)
        if (is_shared(c->node, op_has_input(c, PAST_K))) op_set_like(c, i, PAST_K + i - 1);
    return st;
}

/* Copies the first `length` entries of a cache, which are filled. */
static pgy_status take_filled(op_tensor *out, const op_eval *c, size_t input, size_t length,
                              pgy_error *err)
{
    const int64_t *s = in_shape(c, input);
    const size_t size = (size_t)s[3], rows = (size_t)(s[0] * s[1]);
    pgy_status st = pgy_tensor_create(&out->value, PGY_F64, 4,
                                      (int64_t[]){s[0], s[1], (int64_t)length, s[3]}, err);
    if (st) return st;
    out->dtype = c->inputs[input].dtype;
    for (size_t i = 0; i < rows && length && size; i++)
        memcpy(op_f64(out->value) + i * length * size, in_f64(c, input) + i * (size_t)s[2] * size,
               length * size * sizeof(double));
    return PGY_OK;
}

/* Writes the new entries after the filled part of the cache in output `output`. */
static void put_back(const op_eval *c, size_t output, const pgy_tensor *made)
{
    const int64_t *s = out_shape(c, output);
    const size_t room = (size_t)(s[2] * s[3]);
    const size_t filled = (size_t)(pgy_tensor_shape(made)[2] * s[3]);
    memcpy(out_f64(c, output), in_f64(c, PAST_K + output - 1),
           out_count(c, output) * sizeof(double));
    for (size_t i = 0; i < (size_t)(s[0] * s[1]) && filled; i++)
        memcpy(out_f64(c, output) + i * room, op_f64(made) + i * filled, filled * sizeof(double));
}

static pgy_status read_length(size_t *length, const op_eval *c, pgy_error *err)
{
    const int64_t room = in_shape(c, PAST_K)[2];
    const int64_t given = in_count(c, PAST_LENGTH) == 1 ? in_i64(c, PAST_LENGTH)[0] : -1;
    if (in_rank(c, KEY) != 3 || given < 0 || given > room || in_shape(c, KEY)[1] > room - given)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "past_sequence_length is %" PRId64
                        ", which does not fit a cache of %" PRId64 " tokens",
                        given, room);
    *length = (size_t)given;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node node = inner_node(c->node);
    const bool shared = is_shared(c->node, in_f64(c, PAST_K) && in_f64(c, PAST_V));
    static const bool wanted[4] = {true, true, true, true};
    op_tensor in[INNER_INPUTS] = {{0}}, made[4] = {{0}};
    op_host host = c->host ? *c->host : (op_host){0};
    size_t length = 0;
    pgy_status st = inputs_check(c, "Fffifffi**f", err);
    host.model_precision = false;
    if (!st && shared) st = read_length(&length, c, err);
    for (size_t i = 0; !st && i < INNER_INPUTS; i++) {
        if (SOURCES[i] >= c->node->input_count || !op_has_value(c, SOURCES[i])) continue;
        if (shared && i >= INNER_PAST_K)
            st = take_filled(&in[i], c, SOURCES[i], length, err);
        else
            in[i] = op_tensor_retain(&c->inputs[SOURCES[i]]);
    }
    if (!st) st = op_run(&node, in, made, wanted, &host, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        if (shared && (i == 1 || i == 2)) {
            put_back(c, i, made[i].value);
            continue;
        }
        op_tensor_release(&c->outputs[i]);
        c->outputs[i] = op_tensor_retain(&made[i]);
    }
    for (size_t i = 0; i < 4; i++) op_tensor_release(&made[i]);
    for (size_t i = 0; i < INNER_INPUTS; i++) op_tensor_release(&in[i]);
    return st;
}

const op_def OP_decoder_masked_multi_head_attention[] = {
    {"DecoderMaskedMultiHeadAttention", "com.microsoft", 1, 0, 1, 11, 1, 4, 0, ATTRS, TYPES_F4,
     infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; M = int32; query:T, ?key:T, ?value:T, "
                  "?mask_index:M, ?attention_bias:T, ?past_key:T, ?past_value:T, "
                  "?past_sequence_length:M, ?beam_width:M, ?cache_indirection:M, ?bias:T -> "
                  "output:T, ?present_key:T, ?present_value:T, ?qk:T"},
    {NULL},
};

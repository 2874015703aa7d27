/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GroupQueryAttention: causal attention of a decoder with a cache; query, key and
 * value are separate or packed into one input. seqlens_k holds the number of keys minus 1. */
#include <math.h>
#include <string.h>

#include "ops/class_group_attention.h"

enum {
    QUERY,
    KEY,
    VALUE,
    PAST_K,
    PAST_V,
    LENGTHS,
    TOTAL,
    COS,
    SIN,
    POSITIONS,
    BIAS,
    SINK,
    K_SCALE,
    V_SCALE,
    Q_NORM,
    K_NORM
};
enum { SCORES = 3 }; /* index of the output with the scores */

static const op_attr_def ATTRS[] = {
    {"causal", OP_ATTR_INT, false, "1"},
    {"do_rotary", OP_ATTR_INT, false, "0"},
    {"k_quant_type", OP_ATTR_STRING, false, "NONE"},
    {"kv_cache_bit_width", OP_ATTR_INT, false, NULL},
    {"kv_num_heads", OP_ATTR_INT, true, NULL},
    {"local_window_size", OP_ATTR_INT, false, "-1"},
    {"num_heads", OP_ATTR_INT, true, NULL},
    {"qk_norm_epsilon", OP_ATTR_FLOAT, false, "1e-6"},
    {"qk_output", OP_ATTR_INT, false, "0"},
    {"rotary_interleaved", OP_ATTR_INT, false, "0"},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {"sliding_window_cache", OP_ATTR_INT, false, "0"},
    {"smooth_softmax", OP_ATTR_INT, false, "-1"},
    {"softcap", OP_ATTR_FLOAT, false, "0"},
    {"v_quant_type", OP_ATTR_STRING, false, "NONE"},
    {NULL},
};

static const group_inputs INPUTS = {.query = QUERY,
                                    .key = KEY,
                                    .value = VALUE,
                                    .past_key = PAST_K,
                                    .past_value = PAST_V,
                                    .lengths = LENGTHS,
                                    .total = TOTAL,
                                    .cos = COS,
                                    .sin = SIN,
                                    .positions = POSITIONS,
                                    .q_norm = Q_NORM,
                                    .k_norm = K_NORM,
                                    .length_shift = 1};

static pgy_status check_support(const op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t causal = op_attr_int(n, "causal", 1), scores = op_attr_int(n, "qk_output", 0);
    if (!op_attr_is(n, "k_quant_type", "NONE", "NONE") ||
        !op_attr_is(n, "v_quant_type", "NONE", "NONE") || op_has_input(c, K_SCALE) ||
        op_has_input(c, V_SCALE))
        return op_error(n, err, PGY_E_UNSUPPORTED, "a quantised cache is not supported");
    if (op_attr_int(n, "sliding_window_cache", 0))
        return op_error(n, err, PGY_E_UNSUPPORTED, "sliding_window_cache = 1 is not supported");
    if (scores < 0 || scores > 2)
        return op_error(n, err, PGY_E_ARGUMENT, "attribute qk_output is %lld, but must be 0 to 2",
                        (long long)scores);
    if (!causal && op_attr_int(n, "local_window_size", -1) >= 0)
        return op_error(n, err, PGY_E_ARGUMENT, "local_window_size needs causal = 1");
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *q = &c->inputs[QUERY];
    pgy_status st = check_support(c, err);
    if (!st) st = group_attention_infer(c, &INPUTS, err);
    if (st || c->node->output_count <= SCORES) return st;
    const dim *total;
    size_t count;
    if (q->rank < 0 || !op_input_ints(c, TOTAL, &total, &count) || count != 1) {
        op_set_unknown(c, SCORES, q->dtype, 4, "the total sequence length is not known");
        return PGY_OK;
    }
    dim *out = op_dims(c, 4);
    if (!out) return rule_no_memory(c->node, err);
    memcpy(
        out,
        (dim[]){q->dims[0], dim_const(op_attr_int(c->node, "num_heads", 1)), q->dims[1], total[0]},
        4 * sizeof *out);
    op_set_output(c, SCORES, q->dtype, 4, out);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t scores = op_attr_int(n, "qk_output", 0);
    pgy_status st = inputs_check(c, "FffffIIffiff**ff", err);
    if (st) return st;
    group_attention g = {.causal = op_attr_int(n, "causal", 1) != 0,
                         .window = op_attr_int(n, "local_window_size", -1),
                         .cap = op_attr_float(n, "softcap", 0),
                         .smooth = op_attr_int(n, "smooth_softmax", -1) > 0,
                         .sinks = in_f64(c, SINK),
                         .bias = BIAS,
                         .scores = scores ? out_f64(c, SCORES) : NULL,
                         .scores_after = scores == 2};
    if (g.sinks && in_count(c, SINK) != (uint64_t)op_attr_int(n, "num_heads", 0))
        return op_error(n, err, PGY_E_SHAPE,
                        "head_sink has %zu elements, but must have one for each query head",
                        in_count(c, SINK));
    st = group_attention_prepare(&g, c, &INPUTS, err);
    if (!st) st = group_attention_run(&g, err);
    group_attention_deinit(&g);
    return st;
}

static double flops(const op_infer *c)
{
    const op_value *q = &c->inputs[QUERY];
    const double total =
        c->node->output_count > 1 ? (double)c->outputs[1].dims[2].value : (double)q->dims[1].value;
    return 4 * dims_product(&c->outputs[0]) * total;
}

const op_def OP_group_query_attention[] = {
    {"GroupQueryAttention", "com.microsoft", 1, 0, 7, 16, 1, 4, 0, ATTRS, TYPES_F4, infer, eval,
     flops,
     .signature = "T = float16 float32 float64 bfloat16; T_CACHE = float16 float32 bfloat16 "
                  "int8 uint8 float8e4m3fn; T_KV_SCALE = float32; M = int32; query:T, ?key:T, "
                  "?value:T, ?past_key:T_CACHE, ?past_value:T_CACHE, seqlens_k:M, "
                  "total_sequence_length:M, ?cos_cache:T, ?sin_cache:T, ?position_ids:int64, "
                  "?attention_bias:T, ?head_sink:T, ?k_scale:T_KV_SCALE, ?v_scale:T_KV_SCALE, "
                  "?q_norm_weight:T, ?k_norm_weight:T -> output:T, ?present_key:T_CACHE, "
                  "?present_value:T_CACHE, ?output_qk:T"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft PagedAttention: shapes and checks. The computation is class_paged_attention.c. */
#include "ops/class_paged_attention.h"

#include <inttypes.h>

static const op_attr_def ATTRS[] = {
    {"do_rotary", OP_ATTR_INT, false, "0", .range = "0..1"},
    {"is_causal", OP_ATTR_INT, false, "1", .range = "0..1"},
    {"k_cache_dtype", OP_ATTR_STRING, false, ""},
    {"k_quant_type", OP_ATTR_STRING, false, "NONE", .choices = "NONE PER_TENSOR PER_CHANNEL"},
    {"kv_cache_layout", OP_ATTR_STRING, false, "SEPARATE", .choices = "SEPARATE LATENT"},
    {"kv_num_heads", OP_ATTR_INT, true, NULL, .range = "1..1048576"},
    {"local_window_size", OP_ATTR_INT, false, "-1"},
    {"num_heads", OP_ATTR_INT, true, NULL, .range = "1..1048576"},
    {"qk_norm_epsilon", OP_ATTR_FLOAT, false, "1e-06"},
    {"rotary_interleaved", OP_ATTR_INT, false, "0", .range = "0..1"},
    {"rotary_offset", OP_ATTR_INT, false, "0", .range = "0..1048576"},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {"softcap", OP_ATTR_FLOAT, false, "0"},
    {"v_cache_dtype", OP_ATTR_STRING, false, ""},
    {"v_head_size", OP_ATTR_INT, false, "0", .range = "0..1048576"},
    {"v_quant_type", OP_ATTR_STRING, false, "NONE", .choices = "NONE PER_TENSOR PER_CHANNEL"},
    {NULL},
};

static pgy_status check_latent(const op_infer *c, pgy_error *err)
{
    const int64_t v_size = op_attr_int(c->node, "v_head_size", 0);
    const bool latent = paged_is_latent(c->node);
    const char *fault = NULL;
    if (latent && (op_has_input(c, PAGED_VALUE) || op_has_input(c, PAGED_VALUE_CACHE) ||
                   op_has_input(c, PAGED_VALUE_SCALE)))
        fault = "value, value_cache and v_scale must be omitted";
    else if (latent && !op_has_input(c, PAGED_KEY))
        fault = "key must be given";
    else if (latent && op_attr_int(c->node, "kv_num_heads", 1) != 1)
        fault = "kv_num_heads must be 1";
    else if (latent && v_size && op_attr_float(c->node, "scale", 0) == 0)
        fault = "v_head_size needs scale";
    else if (!latent && (!op_has_input(c, PAGED_VALUE_CACHE) || v_size))
        fault = "value_cache must be given and v_head_size be 0";
    else if (!latent && op_has_input(c, PAGED_KEY) != op_has_input(c, PAGED_VALUE))
        fault = "key and value must both be given or both be omitted";
    if (!fault) return PGY_OK;
    return op_error(c->node, err, PGY_E_ARGUMENT, "with kv_cache_layout = %s, %s",
                    latent ? "LATENT" : "SEPARATE", fault);
}

static pgy_status check_attrs(const op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t heads = op_attr_int(n, "num_heads", 1), kv = op_attr_int(n, "kv_num_heads", 1);
    if (heads % kv)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "num_heads = %" PRId64 " is not a multiple of kv_num_heads = %" PRId64,
                        heads, kv);
    if (op_attr_int(n, "rotary_offset", 0) % 8)
        return op_error(n, err, PGY_E_ARGUMENT, "rotary_offset must be a multiple of 8");
    if (op_has_input(c, PAGED_Q_NORM) != op_has_input(c, PAGED_K_NORM))
        return op_error(n, err, PGY_E_ARGUMENT,
                        "q_norm_weight and k_norm_weight must both be given or both be omitted");
    if (op_attr_int(n, "do_rotary", 0) &&
        (!op_has_input(c, PAGED_COS) || !op_has_input(c, PAGED_SIN)))
        return op_error(n, err, PGY_E_ARGUMENT, "do_rotary needs cos_cache and sin_cache");
    return check_latent(c, err);
}

/* The ranks of all inputs, in their order; 0: checked with the cache. */
static pgy_status check_ranks(const op_infer *c, pgy_error *err)
{
    static const int32_t RANKS[PAGED_INPUTS] = {2, 2, 2, 4, 4, 1, 1, 2, 2, 2, 1, 1, 1, 1, 0, 0, 1};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < PAGED_INPUTS; i++)
        if (RANKS[i]) st = rank_check(c, i, RANKS[i], RANKS[i], err);
    return st;
}

static pgy_status check_same(const op_infer *c, size_t input, size_t axis, dim wanted,
                             const char *what, pgy_error *err)
{
    return rank_known(c, input) ? dim_check(c, input, axis, wanted, what, err) : PGY_OK;
}

static pgy_status check_sizes(const op_infer *c, dim size, pgy_error *err)
{
    const dim tokens = c->inputs[PAGED_QUERY].dims[0];
    const dim heads = dim_const(op_attr_int(c->node, "num_heads", 1));
    const dim width = dim_mul(c->dims, size, dim_const(op_attr_int(c->node, "kv_num_heads", 1)));
    const int64_t v_size = op_attr_int(c->node, "v_head_size", 0);
    pgy_status st = PGY_OK;
    for (size_t i = PAGED_KEY; !st && i <= PAGED_VALUE; i++) {
        st = check_same(c, i, 0, tokens, "the number of tokens", err);
        if (!st) st = check_same(c, i, 1, width, "the width of all heads of keys", err);
    }
    if (!st) st = check_same(c, PAGED_SLOTS, 0, tokens, "the number of tokens", err);
    if (!st) st = check_same(c, PAGED_SINK, 0, heads, "num_heads", err);
    if (!st) st = check_same(c, PAGED_Q_NORM, 0, size, "the size of a head", err);
    if (!st) st = check_same(c, PAGED_K_NORM, 0, size, "the size of a head", err);
    if (!st && rank_known(c, PAGED_TABLE)) {
        st = check_same(c, PAGED_PASTS, 0, c->inputs[PAGED_TABLE].dims[0], "the batch", err);
        if (!st)
            st = check_same(c, PAGED_FIRSTS, 0,
                            dim_add(c->dims, c->inputs[PAGED_TABLE].dims[0], dim_const(1)),
                            "the batch and one more", err);
    }
    if (!st && dim_is_const(size) && v_size > size.value)
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "v_head_size = %" PRId64 " is larger than a head of keys, %" PRId64, v_size,
                      size.value);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *q = &c->inputs[PAGED_QUERY];
    const int64_t heads = op_attr_int(c->node, "num_heads", 1);
    const int64_t kv_heads = op_attr_int(c->node, "kv_num_heads", 1);
    const int64_t parts = op_has_input(c, PAGED_KEY) ? heads : heads + 2 * kv_heads;
    const int64_t v_size = op_attr_int(c->node, "v_head_size", 0);
    dim size = dim_unknown(c->dims, "the shape of the query is not known");
    pgy_status st = check_attrs(c, err);
    if (!st) st = check_ranks(c, err);
    if (st) return st;
    op_set_unknown(c, 0, q->dtype, 2, "the shape of the query is not known");
    if (rank_known(c, PAGED_QUERY)) {
        if (dim_is_const(q->dims[1]) && (q->dims[1].value % parts || !q->dims[1].value))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "the query has %" PRId64
                            " columns, which is not a multiple of its %" PRId64 " heads",
                            q->dims[1].value, parts);
        size = dim_div_floor(c->dims, q->dims[1], dim_const(parts));
        dim *dims = op_dims(c, 2);
        if (!dims) return rule_no_memory(c->node, err);
        dims[0] = q->dims[0];
        dims[1] = dim_mul(c->dims, dim_const(heads), v_size ? dim_const(v_size) : size);
        op_set_output(c, 0, q->dtype, 2, dims);
        st = check_sizes(c, size, err);
    }
    if (!st) st = paged_cache_infer(c, &PAGED_KEYS, dim_const(kv_heads), size, err);
    if (!st && op_has_input(c, PAGED_VALUE_CACHE))
        return paged_cache_infer(c, &PAGED_VALUES, dim_const(kv_heads), size, err);
    if (!st && c->node->output_count > 2)
        op_set_unknown(c, 2, c->inputs[PAGED_KEY_CACHE].dtype, 4, "there is no cache of values");
    return st;
}

const op_def OP_paged_attention[] = {
    {"PagedAttention", "com.microsoft", 1, 0, 8, PAGED_INPUTS, 1, 3, 0, ATTRS, "float16 bfloat16",
     infer, paged_attention_eval, NULL,
     .signature =
         "T = float16 bfloat16; C = float16 bfloat16 int8 float8e4m3fn uint8; K = float32; S = "
         "int32; query:T, ?key:T, ?value:T, key_cache:C, ?value_cache:C, "
         "cumulative_sequence_length:S, past_seqlens:S, block_table:S, ?cos_cache:T, ?sin_cache:T, "
         "?slot_mapping:S, ?head_sink:T, ?q_norm_weight:T, ?k_norm_weight:T, ?k_scale:K, "
         "?v_scale:K, ?attention_metadata:S -> output:T, ?key_cache_out:C, ?value_cache_out:C"},
    {NULL},
};

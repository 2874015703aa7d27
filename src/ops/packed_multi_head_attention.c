/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft PackedMultiHeadAttention: query, key and value are inputs [tokens, width], or one
 * input [tokens, heads, 3, size]. */
#include <math.h>

#include "ops/class_token_attention.h"

enum { QUERY, KEY, VALUE, BIAS, OFFSETS, FIRSTS, ADDED };

static const op_attr_def ATTRS[] = {
    {"mask_filter_value", OP_ATTR_FLOAT, false, "-10000"},
    {"num_heads", OP_ATTR_INT, true, NULL, .range = "1.."},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {NULL},
};

static pgy_status check_together(const op_infer *c, int64_t heads, pgy_error *err)
{
    if (op_has_input(c, KEY) || op_has_input(c, VALUE))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "a query of rank 4 holds keys and values, too: inputs 1 and 2 must be "
                        "omitted");
    const pgy_status st = dim_check(c, QUERY, 1, dim_const(heads), "num_heads", err);
    return st ? st : dim_check(c, QUERY, 2, dim_const(3), "query, key and value", err);
}

static pgy_status check_apart(const op_infer *c, int64_t heads, pgy_error *err)
{
    const op_value *q = &c->inputs[QUERY];
    pgy_status st = PGY_OK;
    if (!op_has_input(c, KEY) || !op_has_input(c, VALUE))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "a query of rank 2 needs inputs 1 (key) and 2 (value)");
    for (size_t i = QUERY; !st && i <= VALUE; i++) {
        const op_value *v = &c->inputs[i];
        st = rank_check(c, i, 2, 2, err);
        if (!st && v->rank == 2) st = dim_check(c, i, 0, q->dims[0], "the number of tokens", err);
        if (!st && v->rank == 2 && dim_is_const(v->dims[1]) && v->dims[1].value % heads)
            st = op_error(c->node, err, PGY_E_SHAPE,
                          "input %zu has %lld columns, which is not a multiple of num_heads = %lld",
                          i, (long long)v->dims[1].value, (long long)heads);
    }
    return st || c->inputs[KEY].rank != 2
               ? st
               : dim_check(c, KEY, 1, q->dims[1], "the width of the query", err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *q = &c->inputs[QUERY];
    const int64_t heads = op_attr_int(c->node, "num_heads", 1);
    op_set_unknown(c, 0, q->dtype, 2, "the shape of the query is not known");
    if (q->rank < 0) return PGY_OK;
    if (q->rank != 2 && q->rank != 4)
        return op_error(c->node, err, PGY_E_SHAPE, "the query has rank %d, but needs 2 or 4",
                        (int)q->rank);
    const pgy_status st = q->rank == 4 ? check_together(c, heads, err) : check_apart(c, heads, err);
    dim *dims = op_dims(c, 2);
    if (st || !dims) return st ? st : rule_no_memory(c->node, err);
    dims[0] = q->dims[0];
    if (q->rank == 4)
        dims[1] = dim_mul(c->dims, dim_const(heads), q->dims[3]);
    else if (c->inputs[VALUE].rank == 2)
        dims[1] = c->inputs[VALUE].dims[1];
    else
        dims[1] = dim_unknown(c->dims, "the shape of the values is not known");
    op_set_output(c, 0, q->dtype, 2, dims);
    return PGY_OK;
}

static token_part part_of(const op_eval *c, size_t which, size_t heads)
{
    if (in_rank(c, QUERY) == 4) {
        const size_t size = (size_t)in_shape(c, QUERY)[3];
        return (token_part){in_f64(c, QUERY) + which * size, 3 * heads * size, 3 * size, size,
                            NULL};
    }
    const size_t width = (size_t)in_shape(c, which)[1];
    return (token_part){in_f64(c, which), width, width / heads, width / heads, NULL};
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    token_attention a = {.c = c, .offsets = OFFSETS, .firsts = FIRSTS, .bias = ADDED};
    pgy_status st = inputs_check(c, "FfffIIf", err);
    if (st) return st;
    a.heads = (size_t)op_attr_int(c->node, "num_heads", 1);
    a.tokens = (size_t)in_shape(c, QUERY)[0];
    token_part *parts[] = {&a.query, &a.key, &a.value};
    size_t width = 0;
    for (size_t i = 0; i < 3; i++) {
        *parts[i] = part_of(c, i, a.heads);
        if (in_f64(c, BIAS)) parts[i]->bias = in_f64(c, BIAS) + width;
        width += a.heads * parts[i]->size;
    }
    if (in_f64(c, BIAS) && in_count(c, BIAS) != width)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the bias has %zu elements, but query, key and value have %zu",
                        in_count(c, BIAS), width);
    a.scale = op_attr_float(c->node, "scale", 0);
    if (a.scale == 0) a.scale = 1 / sqrt((double)a.query.size);
    st = token_attention_check(&a, err);
    return st ? st : token_attention_run(&a, err);
}

const op_def OP_packed_multi_head_attention[] = {
    {"PackedMultiHeadAttention", "com.microsoft", 1, 0, 6, 7, 1, 1, 0, ATTRS, "float16 float32",
     infer, eval, NULL,
     .signature = "T = float16 float32; M = int32; query:T, ?key:T, ?value:T, ?bias:T, "
                  "token_offset:M, cumulative_sequence_length:M, ?attention_bias:T -> output:T"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft PackedAttention: projects packed tokens [tokens, width] to query, key and value by
 * weights [width, heads * (size + size + v_size)] and a bias. */
#include <math.h>

#include "base/alloc.h"
#include "ops/class_token_attention.h"
#include "ops/gemm.h"

enum { X, WEIGHTS, BIAS, OFFSETS, FIRSTS, ADDED };

static const op_attr_def ATTRS[] = {
    {"num_heads", OP_ATTR_INT, true, NULL, .range = "1.."},
    {"qkv_hidden_sizes", OP_ATTR_INTS, false, NULL},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {NULL},
};

/* Widths of the three projections: from the attribute, or thirds of the weights. */
static pgy_status find_widths(int64_t *widths, const op_node *n, int64_t columns, pgy_error *err)
{
    size_t count;
    const int64_t *given = op_attr_ints(n, "qkv_hidden_sizes", &count);
    const int64_t heads = op_attr_int(n, "num_heads", 1);
    bool fits = !given || count == 3;
    for (size_t i = 0; i < 3; i++) {
        widths[i] = given && count == 3 ? given[i] : columns / 3;
        fits &= widths[i] >= 0 && widths[i] <= columns && widths[i] % heads == 0;
    }
    if (fits && widths[0] == widths[1] && widths[0] + widths[1] + widths[2] == columns)
        return PGY_OK;
    return op_error(n, err, PGY_E_SHAPE,
                    "weights of %lld columns do not fit num_heads = %lld and qkv_hidden_sizes",
                    (long long)columns, (long long)heads);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X], *w = &c->inputs[WEIGHTS];
    int64_t widths[3];
    pgy_status st = rank_check(c, X, 2, 2, err);
    if (!st) st = rank_check(c, WEIGHTS, 2, 2, err);
    if (!st) st = rank_check(c, BIAS, 1, 1, err);
    op_set_unknown(c, 0, x->dtype, 2, "the shape of an input is not known");
    if (st || x->rank < 0 || w->rank < 0 || !dim_is_const(w->dims[1])) return st;
    st = dim_check(c, WEIGHTS, 0, x->dims[1], "the width of the input", err);
    if (!st) st = dim_check(c, BIAS, 0, w->dims[1], "the columns of the weights", err);
    if (!st) st = find_widths(widths, c->node, w->dims[1].value, err);
    dim *dims = op_dims(c, 2);
    if (st || !dims) return st ? st : rule_no_memory(c->node, err);
    dims[0] = x->dims[0];
    dims[1] = dim_const(widths[2]);
    op_set_output(c, 0, x->dtype, 2, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    token_attention a = {.c = c, .offsets = OFFSETS, .firsts = FIRSTS, .bias = ADDED};
    double *projected = NULL;
    int64_t widths[3];
    pgy_status st = inputs_check(c, "FFFIIf", err);
    if (!st) st = find_widths(widths, c->node, in_shape(c, WEIGHTS)[1], err);
    if (st) return st;
    const size_t columns = (size_t)in_shape(c, WEIGHTS)[1], depth = (size_t)in_shape(c, X)[1];
    a.heads = (size_t)op_attr_int(c->node, "num_heads", 1);
    a.tokens = (size_t)in_shape(c, X)[0];
    st = token_attention_check(&a, err);
    if (!st) st = workspace_alloc((void **)&projected, c, a.tokens * columns, sizeof(double), err);
    if (!st)
        st = gemm_f64(a.tokens, columns, depth, (gemm_matrix){in_f64(c, X), (int64_t)depth, 1},
                      (gemm_matrix){in_f64(c, WEIGHTS), (int64_t)columns, 1}, projected, columns,
                      false, err);
    if (st) goto done;
    token_part *parts[] = {&a.query, &a.key, &a.value};
    size_t first = 0;
    for (size_t i = 0; i < 3; i++) {
        const size_t size = (size_t)widths[i] / a.heads;
        *parts[i] = (token_part){projected + first, columns, size, size, in_f64(c, BIAS) + first};
        first += (size_t)widths[i];
    }
    a.scale = op_attr_float(c->node, "scale", 0);
    if (a.scale == 0) a.scale = 1 / sqrt((double)a.query.size);
    st = token_attention_run(&a, err);
done:
    mem_free(projected);
    return st;
}

const op_def OP_packed_token_attention[] = {
    {"PackedAttention", "com.microsoft", 1, 0, 5, 6, 1, 1, 0, ATTRS, "float16 float32", infer, eval,
     NULL,
     .signature = "T = float16 float32; M = int32; input:T, weights:T, bias:T, token_offset:M, "
                  "cumulative_sequence_length:M, ?attention_bias:T -> output:T"},
    {NULL},
};

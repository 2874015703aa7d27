/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Attention: projects one input to query, key and value by a bias and weights
 * [in, heads * (size + size + v_size)]; the cache holds keys and values in one tensor
 * [2, batch, heads, length, size]. ProjectedAttention of domain pgy, which the engine's passes
 * make, is the rest of it, behind the projection. */
#include <string.h>

#include "ops/class_packed_attention.h"
#include "ops/gemm.h"

enum { X, WEIGHTS, BIAS };

/* Indices of the inputs behind the projection. */
typedef struct operands {
    size_t mask, past, scores;
} operands;

static operands operands_of(const op_node *n)
{
    return strcmp(n->def->domain, "pgy") ? (operands){3, 4, 5} : (operands){1, 2, 3};
}

static const op_attr_def ATTRS[] = {
    {"do_rotary", OP_ATTR_INT, false, "0"},
    {"mask_filter_value", OP_ATTR_FLOAT, false, "-10000"},
    {"num_heads", OP_ATTR_INT, true, NULL},
    {"past_present_share_buffer", OP_ATTR_INT, false, "0"},
    {"qkv_hidden_sizes", OP_ATTR_INTS, false, NULL},
    {"rotary_embedding_dim", OP_ATTR_INT, false, "0"},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {"unidirectional", OP_ATTR_INT, false, "0"},
    {NULL},
};

static const op_attr_def PROJECTED_ATTRS[] = {
    {"mask_filter_value", OP_ATTR_FLOAT, false, "-10000"}, {"num_heads", OP_ATTR_INT, true, NULL},
    {"qkv_hidden_sizes", OP_ATTR_INTS, false, NULL},       {"scale", OP_ATTR_FLOAT, false, NULL},
    {"unidirectional", OP_ATTR_INT, false, "0"},           {NULL},
};

/* Widths of the three projections: from the attribute, or thirds of the weights. */
static pgy_status find_widths(int64_t *widths, const op_node *n, int64_t columns, pgy_error *err)
{
    size_t count;
    const int64_t *given = op_attr_ints(n, "qkv_hidden_sizes", &count);
    const int64_t heads = op_attr_int(n, "num_heads", 0);
    for (size_t i = 0; i < 3; i++) widths[i] = count == 3 ? given[i] : columns / 3;
    for (size_t i = 0; i < 3; i++)
        if (widths[i] < 0 || widths[i] > columns || heads < 1 || widths[i] % heads)
            return op_error(n, err, PGY_E_SHAPE,
                            "a projection has width %lld, which does not fit %lld heads",
                            (long long)widths[i], (long long)heads);
    if (widths[0] + widths[1] + widths[2] != columns || widths[0] != widths[1])
        return op_error(n, err, PGY_E_SHAPE,
                        "the projections have widths %lld, %lld and %lld, which does not fit "
                        "weights of %lld columns",
                        (long long)widths[0], (long long)widths[1], (long long)widths[2],
                        (long long)columns);
    return PGY_OK;
}

static pgy_status check_support(op_infer *c, pgy_error *err)
{
    if (op_attr_int(c->node, "do_rotary", 0) ||
        op_attr_int(c->node, "past_present_share_buffer", 0))
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "do_rotary and past_present_share_buffer are not supported");
    pgy_status st = rank_check(c, X, 3, 3, err);
    if (!st) st = rank_check(c, WEIGHTS, 2, 2, err);
    if (!st) st = rank_check(c, BIAS, 1, 1, err);
    if (!st && rank_known(c, X) && rank_known(c, WEIGHTS))
        st = dim_check(c, WEIGHTS, 0, c->inputs[X].dims[2], "the width of the input", err);
    if (!st && rank_known(c, WEIGHTS))
        st = dim_check(c, BIAS, 0, c->inputs[WEIGHTS].dims[1], "the columns of the weights", err);
    return st;
}

/* Shapes of the outputs for `columns` projected columns. */
static pgy_status infer_projected(op_infer *c, int64_t columns, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    const size_t past = operands_of(c->node).past;
    int64_t widths[3];
    pgy_status st = find_widths(widths, c->node, columns, err);
    if (!st) st = rank_check(c, past, 5, 5, err);
    if (st) return st;
    const int64_t heads = op_attr_int(c->node, "num_heads", 1);
    if (widths[0] != widths[2] && (op_has_input(c, past) || c->node->output_count > 1))
        return op_error(c->node, err, PGY_E_SHAPE, "a cache needs keys and values of equal width");
    dim *out = op_dims(c, 8);
    if (!out) return rule_no_memory(c->node, err);
    dim total = x->dims[1];
    if (op_has_input(c, past))
        total = rank_known(c, past) ? dim_add(c->dims, total, c->inputs[past].dims[3])
                                    : dim_unknown(c->dims, "the shape of the cache is not known");
    memcpy(out, (dim[]){x->dims[0], x->dims[1], dim_const(widths[2])}, 3 * sizeof *out);
    memcpy(out + 3,
           (dim[]){dim_const(2), x->dims[0], dim_const(heads), total, dim_const(widths[0] / heads)},
           5 * sizeof *out);
    op_set_output(c, 0, x->dtype, 3, out);
    output_set(c, 1, x->dtype, 5, out + 3);
    return dim_check(c, past, 0, dim_const(2), "the number for keys and values", err);
}

static void set_unknown(op_infer *c)
{
    op_set_unknown(c, 0, c->inputs[X].dtype, 3, "the shape of an input is not known");
    op_set_unknown(c, 1, c->inputs[X].dtype, 5, "the shape of an input is not known");
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X], *w = &c->inputs[WEIGHTS];
    const pgy_status st = check_support(c, err);
    if (st) return st;
    if (x->rank < 0 || w->rank < 0 || !dim_is_const(w->dims[1])) {
        set_unknown(c);
        return PGY_OK;
    }
    return infer_projected(c, w->dims[1].value, err);
}

static pgy_status projected_infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    const pgy_status st = rank_check(c, X, 3, 3, err);
    if (st) return st;
    if (x->rank < 0 || !dim_is_const(x->dims[2])) {
        set_unknown(c);
        return PGY_OK;
    }
    return infer_projected(c, x->dims[2].value, err);
}

static pgy_status project(op_tensor *out, const op_eval *c, size_t first, int64_t width,
                          pgy_error *err)
{
    const int64_t *x = in_shape(c, X), columns = in_shape(c, WEIGHTS)[1];
    const double *bias = in_f64(c, BIAS);
    const size_t rows = (size_t)(x[0] * x[1]);
    pgy_status st = pgy_tensor_create(&out->value, PGY_F64, 3, (int64_t[]){x[0], x[1], width}, err);
    if (st) return st;
    out->dtype = c->inputs[X].dtype;
    double *y = op_f64(out->value);
    st = gemm_f64(rows, (size_t)width, (size_t)x[2], (gemm_matrix){in_f64(c, X), x[2], 1},
                  (gemm_matrix){in_f64(c, WEIGHTS) + first, columns, 1}, y, (size_t)width, false,
                  err);
    for (size_t i = 0; !st && bias && i < rows * (size_t)width; i++)
        y[i] += bias[first + i % (size_t)width];
    return st;
}

/* Columns [first, first + width) of what has been projected already. */
static pgy_status take_columns(op_tensor *out, const op_eval *c, size_t first, int64_t width,
                               pgy_error *err)
{
    const int64_t *x = in_shape(c, X);
    pgy_status st = pgy_tensor_create(&out->value, PGY_F64, 3, (int64_t[]){x[0], x[1], width}, err);
    if (st) return st;
    out->dtype = c->inputs[X].dtype;
    for (int64_t row = 0; row < x[0] * x[1]; row++)
        memcpy(op_f64(out->value) + row * width, in_f64(c, X) + row * x[2] + (int64_t)first,
               (size_t)width * sizeof(double));
    return PGY_OK;
}

/* Half `which` of the cache. */
static pgy_status take_past(op_tensor *out, const op_eval *c, size_t past, size_t which,
                            pgy_error *err)
{
    if (!in_f64(c, past)) return PGY_OK;
    pgy_status st = pgy_tensor_create(&out->value, PGY_F64, 4, in_shape(c, past) + 1, err);
    if (st) return st;
    const size_t count = pgy_tensor_count(out->value);
    out->dtype = c->inputs[past].dtype;
    memcpy(op_f64(out->value), in_f64(c, past) + which * count, count * sizeof(double));
    return PGY_OK;
}

static pgy_status run(op_eval *c, int64_t columns,
                      pgy_status (*take)(op_tensor *out, const op_eval *c, size_t first,
                                         int64_t width, pgy_error *err),
                      pgy_error *err)
{
    const operands at = operands_of(c->node);
    packed_attention a = {.mask = at.mask, .bias = at.scores};
    int64_t widths[3];
    size_t first = 0;
    pgy_tensor *y;
    pgy_status st = rule_output(c, 0, &y, err);
    if (!st) st = find_widths(widths, c->node, columns, err);
    for (size_t i = 0; !st && i < 3; i++) {
        st = take(&a.parts[i], c, first, widths[i], err);
        first += (size_t)widths[i];
    }
    for (size_t i = 0; !st && i < 2; i++) st = take_past(&a.parts[4 + i], c, at.past, i, err);
    if (!st) st = packed_attention_run(&a, c, err);
    if (!st) {
        memcpy(out_f64(c, 0), op_f64(a.made[0].value), out_count(c, 0) * sizeof(double));
        const size_t half = out_count(c, 1) / 2;
        for (size_t i = 0; out_f64(c, 1) && i < 2; i++)
            memcpy(out_f64(c, 1) + i * half, op_f64(a.made[1 + i].value), half * sizeof(double));
    }
    packed_attention_deinit(&a);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FFfiff", err);
    return st ? st : run(c, in_shape(c, WEIGHTS)[1], project, err);
}

static pgy_status projected_eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "Fiff", err);
    return st ? st : run(c, in_shape(c, X)[2], take_columns, err);
}

const op_def OP_packed_attention[] = {
    {"Attention", "com.microsoft", 1, 0, 2, 7, 1, 2, 0, ATTRS, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; M = int32; input:T, weights:T, ?bias:T, "
                  "?mask_index:M, ?past:T, ?attention_bias:T, "
                  "?past_sequence_length:M -> output:T, ?present:T"},
    {"ProjectedAttention", "pgy", 1, 0, 1, 4, 1, 2, 0, PROJECTED_ATTRS, TYPES_F4, projected_infer,
     projected_eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; M = int32; X:T, ?mask_index:M, ?past:T, "
                  "?attention_bias:T -> Y:T, ?present:T"},
    {NULL},
};

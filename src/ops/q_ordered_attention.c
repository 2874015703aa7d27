/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QOrderedAttention: self-attention whose projections, scores, probabilities and
 * results are each rounded to int8 with a scale of their own. The softmax takes the largest score
 * of all keys, masked ones included, as ONNX Runtime's kernel does. */
#include <math.h>

#include "base/alloc.h"
#include "ops/class_ordered.h"
#include "ops/class_rows.h"

enum {
    X,
    X_SCALE,
    GEMM_SCALE, /* three: query, key, value */
    WEIGHT = GEMM_SCALE + 3,
    WEIGHT_SCALE = WEIGHT + 3,
    BIAS = WEIGHT_SCALE + 3,
    SCORE_SCALE = BIAS + 3,
    SOFTMAX_SCALE,
    Y_SCALE,
    MASK,
    PAST,
    ADDED
};

static const op_attr_def ATTRS[] = {
    {"num_heads", OP_ATTR_INT, true, NULL, .range = "1.."},
    ORDERED_ATTR("order_input", true),
    ORDERED_ATTR("order_output", true),
    ORDERED_ATTR("order_weight", true),
    {"qkv_hidden_sizes", OP_ATTR_INTS, false, NULL, .range = "1.."},
    {"unidirectional", OP_ATTR_INT, false, "0", .range = "0..1"},
    {NULL},
};

static const ordered_rule ORDERS[] = {
    {"order_input", ORDERED_ROW}, {"order_weight", ORDERED_COL}, {"order_output", ORDERED_ROW}};

/* ---- Shapes --------------------------------------------------------------------------------- */

static pgy_status check_given(const op_infer *c, pgy_error *err)
{
    pgy_status st = ordered_check(c->node, ORDERS, sizeof ORDERS / sizeof *ORDERS, err);
    if (!st && (op_has_input(c, PAST) || op_has_input(c, ADDED)))
        st = op_error(c->node, err, PGY_E_UNSUPPORTED,
                      "inputs past and attention_bias are not defined yet by the operator");
    if (!st && (!op_has_input(c, SCORE_SCALE) || !op_has_input(c, SOFTMAX_SCALE)))
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "inputs scale_QKT_gemm and scale_QKT_softmax must be given");
    return st;
}

/* The width of all heads; the three projections have the same. */
static pgy_status read_width(const op_infer *c, dim *width, pgy_error *err)
{
    size_t count;
    const int64_t *sizes = op_attr_ints(c->node, "qkv_hidden_sizes", &count);
    const int64_t heads = op_attr_int(c->node, "num_heads", 1);
    *width = rank_known(c, WEIGHT) ? c->inputs[WEIGHT].dims[1]
                                   : dim_unknown(c->dims, "the shape of the weights is not known");
    for (size_t i = 0; i < count; i++)
        if (count != 3 || sizes[i] != sizes[0] || sizes[i] % heads)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "qkv_hidden_sizes must be three equal multiples of num_heads = %lld",
                            (long long)heads);
    if (count) *width = dim_const(sizes[0]);
    if (dim_is_const(*width) && width->value % heads)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the weights have %lld columns, which is not a multiple of num_heads = "
                        "%lld",
                        (long long)width->value, (long long)heads);
    return PGY_OK;
}

static pgy_status check_weights(const op_infer *c, dim width, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 3; i++) {
        if (rank_known(c, WEIGHT + i)) {
            st = dim_check(c, WEIGHT + i, 0, x->dims[2], "the width of the input", err);
            if (!st) st = dim_check(c, WEIGHT + i, 1, width, "the width of all heads", err);
        }
        if (!st) st = rank_check(c, BIAS + i, 1, 1, err);
        if (!st && rank_known(c, BIAS + i))
            st = dim_check(c, BIAS + i, 0, width, "the width of all heads", err);
    }
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    dim width;
    pgy_status st = check_given(c, err);
    if (!st) st = rank_check(c, X, 3, 3, err);
    for (size_t i = 0; !st && i < 3; i++) st = rank_check(c, WEIGHT + i, 2, 2, err);
    if (!st) st = read_width(c, &width, err);
    if (st) return st;
    op_set_unknown(c, 0, PGY_I8, 3, "the shape of the input is not known");
    if (!rank_known(c, X)) return PGY_OK;
    st = check_weights(c, width, err);
    if (!st) st = rank_check(c, MASK, 2, 2, err);
    for (size_t d = 0; !st && d < 2 && rank_known(c, MASK); d++)
        st = dim_check(c, MASK, d, x->dims[d], d ? "the number of tokens" : "the batch", err);
    dim *dims = rule_copy_dims(c, x);
    if (st || !dims) return st ? st : rule_no_memory(c->node, err);
    dims[2] = width;
    op_set_output(c, 0, PGY_I8, 3, dims);
    return PGY_OK;
}

/* ---- Attention ------------------------------------------------------------------------------ */

typedef struct attention {
    const op_eval *c;
    size_t batch, tokens, in_width, width, heads;
    double x_scale, gemm[3], score_scale, softmax_scale, y_scale;
    int64_t *qkv;   /* [batch, tokens, 3, width] */
    double *scores; /* [batch, tokens, tokens]: of one head of each query */
} attention;

static void project_rows(size_t begin, size_t end, void *user)
{
    const attention *a = user;
    for (size_t row = begin; row < end; row++) {
        const int64_t *x = in_i64(a->c, X) + row * a->in_width;
        for (size_t n = 0; n < 3 * a->width; n++) {
            const size_t part = n / a->width, j = n % a->width;
            const int64_t *w = in_i64(a->c, WEIGHT + part) + j * a->in_width;
            int64_t sum = 0;
            for (size_t k = 0; k < a->in_width; k++) sum += x[k] * w[k];
            const double scale = a->x_scale * ordered_scale_at(a->c, WEIGHT_SCALE + part, j);
            a->qkv[row * 3 * a->width + n] =
                ordered_byte(((double)sum * scale + in_f64(a->c, BIAS + part)[j]) / a->gemm[part]);
        }
    }
}

static bool sees(const attention *a, size_t query, size_t key)
{
    if (key > query && op_attr_int(a->c->node, "unidirectional", 0)) return false;
    return !in_i64(a->c, MASK) || in_i64(a->c, MASK)[key] != 0;
}

static void attend(const attention *a, size_t query, size_t head)
{
    const size_t size = a->width / a->heads, first = query / a->tokens * a->tokens;
    const int64_t *q = a->qkv + query * 3 * a->width + head * size;
    const double base = a->score_scale / sqrt((double)size);
    double *p = a->scores + query * a->tokens, most = -128, sum = 0;
    for (size_t i = 0; i < a->tokens; i++) {
        const int64_t *k = a->qkv + (first + i) * 3 * a->width + a->width + head * size;
        int64_t dot = 0;
        for (size_t d = 0; d < size; d++) dot += q[d] * k[d];
        p[i] = (double)ordered_byte((double)dot * a->gemm[0] * a->gemm[1] / a->score_scale);
        most = fmax(most, p[i]);
    }
    for (size_t i = 0; i < a->tokens; i++) {
        p[i] = sees(a, query, first + i) ? exp(base * (p[i] - most)) : 0;
        sum += p[i];
    }
    for (size_t i = 0; i < a->tokens; i++)
        p[i] = sum > 0 ? (double)ordered_byte(p[i] / (sum * a->softmax_scale)) : 0;
    for (size_t d = 0; d < size; d++) {
        double y = 0;
        for (size_t i = 0; i < a->tokens; i++)
            y += p[i] * (double)a->qkv[((first + i) * 3 + 2) * a->width + head * size + d];
        out_i64(a->c, 0)[query * a->width + head * size + d] =
            ordered_byte(y * a->softmax_scale * a->gemm[2] / a->y_scale);
    }
}

static void attend_rows(size_t begin, size_t end, void *user)
{
    const attention *a = user;
    for (size_t row = begin; row < end; row++)
        for (size_t head = 0; head < a->heads; head++) attend(a, row, head);
}

static pgy_status read_scales(attention *a, pgy_error *err)
{
    pgy_status st = ordered_scale(&a->x_scale, a->c, X_SCALE, err);
    for (size_t i = 0; !st && i < 3; i++) {
        st = ordered_scale(&a->gemm[i], a->c, GEMM_SCALE + i, err);
        if (!st) st = ordered_scales(a->c, WEIGHT_SCALE + i, a->width, err);
    }
    if (!st) st = ordered_scale(&a->score_scale, a->c, SCORE_SCALE, err);
    if (!st) st = ordered_scale(&a->softmax_scale, a->c, SOFTMAX_SCALE, err);
    return st ? st : ordered_scale(&a->y_scale, a->c, Y_SCALE, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "IFFFFIIIFFFFFFFFFi", err);
    if (st) return st;
    const int64_t *shape = in_shape(c, X), *out = out_shape(c, 0);
    attention a = {.c = c,
                   .batch = (size_t)shape[0],
                   .tokens = (size_t)shape[1],
                   .in_width = (size_t)shape[2],
                   .width = (size_t)out[2],
                   .heads = (size_t)op_attr_int(c->node, "num_heads", 1)};
    const size_t rows = a.batch * a.tokens;
    st = read_scales(&a, err);
    if (!st) st = workspace_alloc((void **)&a.qkv, c, rows, 3 * a.width * sizeof *a.qkv, err);
    if (!st) st = workspace_alloc((void **)&a.scores, c, rows, a.tokens * sizeof *a.scores, err);
    if (!st && rows && a.width) {
        rows_run(rows, 6 * a.in_width * a.width, project_rows, &a);
        rows_run(rows, 4 * a.tokens * a.width, attend_rows, &a);
    }
    mem_free(a.qkv);
    mem_free(a.scores);
    return st;
}

const op_def OP_q_ordered_attention[] = {
    {"QOrderedAttention", "com.microsoft", 1, 0, 17, 20, 1, 1, 0, ATTRS, "int8", infer, eval, NULL,
     .signature =
         "Q = int8; S = float32; G = int32; input:Q, scale_input:S, scale_Q_gemm:S, "
         "scale_K_gemm:S, scale_V_gemm:S, Q_weight:Q, K_weight:Q, V_weight:Q, scale_Q_weight:S, "
         "scale_K_weight:S, scale_V_weight:S, Q_bias:S, K_bias:S, V_bias:S, ?scale_QKT_gemm:S, "
         "?scale_QKT_softmax:S, scale_values_gemm:S, ?mask_index:G, ?past:Q, ?attention_bias:S -> "
         "output:Q"},
    {NULL},
};

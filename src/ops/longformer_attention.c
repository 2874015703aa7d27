/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft LongformerAttention: a token attends to the tokens at most `window` away and to all
 * global tokens. A global token attends to all tokens, with a query, keys and values of weights of
 * its own. The mask is added to the scores of its keys. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_check.h"
#include "ops/gemm.h"

enum { X, WEIGHT, BIAS, MASK, GLOBAL_WEIGHT, GLOBAL_BIAS, GLOBAL };

static const op_attr_def ATTRS[] = {
    {"num_heads", OP_ATTR_INT, true, NULL, .range = "1.."},
    {"window", OP_ATTR_INT, true, NULL, .range = "1..1073741823"},
    {NULL},
};

static pgy_status check_weights(op_infer *c, dim width, pgy_error *err)
{
    const dim wide = dim_mul(c->dims, width, dim_const(3));
    pgy_status st = PGY_OK;
    for (size_t i = WEIGHT; !st && i <= GLOBAL_BIAS; i++) {
        if (i == MASK) continue;
        const size_t rank = i == BIAS || i == GLOBAL_BIAS ? 1 : 2;
        st = rank_check(c, i, (int32_t)rank, (int32_t)rank, err);
        if (!st && rank == 2) st = dim_check(c, i, 0, width, "the width of the input", err);
        if (!st) st = dim_check(c, i, rank - 1, wide, "3 times the width of the input", err);
    }
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    const int64_t heads = op_attr_int(c->node, "num_heads", 1);
    const int64_t step = 2 * op_attr_int(c->node, "window", 1);
    pgy_status st = rank_check(c, X, 3, 3, err);
    if (!st) st = rank_check(c, MASK, 2, 2, err);
    if (!st) st = rank_check(c, GLOBAL, 2, 2, err);
    op_set_like(c, 0, X);
    if (st || x->rank != 3) return st;
    for (size_t d = 0; !st && d < 2; d++) {
        st = dim_check(c, MASK, d, x->dims[d], "the same dimension of the input", err);
        if (!st) st = dim_check(c, GLOBAL, d, x->dims[d], "the same dimension of the input", err);
    }
    if (!st && dim_is_const(x->dims[1]) && x->dims[1].value % step)
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "the sequence has %" PRId64 " tokens, which is not a multiple of %" PRId64
                      " (twice the window)",
                      x->dims[1].value, step);
    if (!st && dim_is_const(x->dims[2]) && x->dims[2].value % heads)
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "the input's width %" PRId64 " is not a multiple of num_heads = %" PRId64,
                      x->dims[2].value, heads);
    return st ? st : check_weights(c, x->dims[2], err);
}

typedef struct longformer {
    const op_eval *c;
    size_t tokens, heads, size, window;
    double *local, *global; /* [batch * tokens, 3, heads, size] */
    double *scores;         /* a row for each head of the batch */
} longformer;

static void attend(const longformer *l, size_t batch, size_t head, size_t i, double *scores)
{
    const int64_t *flags = in_i64(l->c, GLOBAL) + batch * l->tokens;
    const double *mask = in_f64(l->c, MASK) + batch * l->tokens;
    const size_t width = l->heads * l->size;
    const double *rows = (flags[i] ? l->global : l->local) + batch * l->tokens * 3 * width;
    const double *q = rows + i * 3 * width + head * l->size, *k = q + width - i * 3 * width;
    double most = -INFINITY, sum = 0;
    for (size_t j = 0; j < l->tokens; j++) {
        const size_t apart = i < j ? j - i : i - j;
        double dot = 0;
        scores[j] = -INFINITY;
        if (apart > l->window && !flags[i] && !flags[j]) continue;
        for (size_t e = 0; e < l->size; e++) dot += q[e] * k[j * 3 * width + e];
        scores[j] = dot / sqrt((double)l->size) + mask[j];
        if (scores[j] > most) most = scores[j];
    }
    double *y = out_f64(l->c, 0) + (batch * l->tokens + i) * width + head * l->size;
    for (size_t j = 0; j < l->tokens; j++) {
        if (scores[j] == -INFINITY) continue;
        const double weight = exp(scores[j] - most);
        sum += weight;
        for (size_t e = 0; e < l->size; e++) y[e] += weight * k[width + j * 3 * width + e];
    }
    for (size_t e = 0; e < l->size; e++) y[e] /= sum;
}

static void run_head(size_t index, void *user)
{
    const longformer *l = user;
    for (size_t i = 0; i < l->tokens && l->size; i++)
        attend(l, index / l->heads, index % l->heads, i, l->scores + index * l->tokens);
}

static pgy_status project(double **out, const op_eval *c, size_t weight, pgy_error *err)
{
    const int64_t *x = in_shape(c, X);
    const size_t rows = (size_t)(x[0] * x[1]), width = (size_t)x[2], columns = 3 * width;
    const double *bias = in_f64(c, weight + 1);
    pgy_status st = workspace_alloc((void **)out, c, rows * columns, sizeof **out, err);
    if (st) return st;
    st = gemm_f64(rows, columns, width, (gemm_matrix){in_f64(c, X), x[2], 1},
                  (gemm_matrix){in_f64(c, weight), (int64_t)columns, 1}, *out, columns, false, err);
    for (size_t i = 0; !st && i < rows * columns; i++) (*out)[i] += bias[i % columns];
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFFFFFI", err);
    if (st || !out_count(c, 0)) return st;
    const int64_t *x = in_shape(c, X);
    longformer l = {.c = c,
                    .tokens = (size_t)x[1],
                    .heads = (size_t)op_attr_int(c->node, "num_heads", 1),
                    .window = (size_t)op_attr_int(c->node, "window", 1)};
    l.size = (size_t)x[2] / l.heads;
    const size_t rows = (size_t)x[0] * l.heads;
    st = project(&l.local, c, WEIGHT, err);
    if (!st) st = project(&l.global, c, GLOBAL_WEIGHT, err);
    if (!st) st = workspace_alloc((void **)&l.scores, c, rows * l.tokens, sizeof *l.scores, err);
    if (!st) parallel_for_until_cancelled(rows, run_head, &l);
    mem_free(l.local);
    mem_free(l.global);
    mem_free(l.scores);
    return st;
}

const op_def OP_longformer_attention[] = {
    {"LongformerAttention", "com.microsoft", 1, 0, 7, 7, 1, 1, 0, ATTRS, "float16 float32", infer,
     eval, NULL,
     .signature = "T = float16 float32; G = int32; input:T, weight:T, bias:T, mask:T, "
                  "global_weight:T, global_bias:T, global:G -> output:T"},
    {NULL},
};

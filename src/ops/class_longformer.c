/* SPDX-License-Identifier: Apache-2.0 */
/* A token whose mask is negative is padding: nobody sees it, and its result is 0. */
#include "ops/class_longformer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_rows.h"

/* ---- Shapes --------------------------------------------------------------------------------- */

static pgy_status check_width(const op_infer *c, const longformer_inputs *in, dim width,
                              pgy_error *err)
{
    const dim three = dim_mul(c->dims, width, dim_const(3));
    const int64_t heads = op_attr_int(c->node, "num_heads", 1);
    const size_t weights[] = {in->weight, in->global_weight},
                 biases[] = {in->bias, in->global_bias};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 2; i++) {
        st = rank_check(c, weights[i], 2, 2, err);
        if (!st && rank_known(c, weights[i]))
            st = dim_check(c, weights[i], 0, width, "the width of the input", err);
        if (!st && rank_known(c, weights[i]))
            st = dim_check(c, weights[i], 1, three, "three times the width of the input", err);
        if (!st) st = rank_check(c, biases[i], 1, 1, err);
        if (!st && rank_known(c, biases[i]))
            st = dim_check(c, biases[i], 0, three, "three times the width of the input", err);
    }
    if (!st && dim_is_const(width) && width.value % heads)
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "the input has %" PRId64
                      " columns, which is not a multiple of num_heads = %" PRId64,
                      width.value, heads);
    return st;
}

static pgy_status check_tokens(const op_infer *c, const longformer_inputs *in, pgy_error *err)
{
    const op_value *x = &c->inputs[in->x];
    const uint64_t window = (uint64_t)op_attr_int(c->node, "window", 1);
    const size_t each[] = {in->mask, in->flags};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 2; i++) {
        st = rank_check(c, each[i], 2, 2, err);
        for (size_t d = 0; !st && d < 2 && rank_known(c, each[i]); d++)
            st =
                dim_check(c, each[i], d, x->dims[d], d ? "the number of tokens" : "the batch", err);
    }
    if (!st && dim_is_const(x->dims[1]) && (uint64_t)x->dims[1].value % (2 * window))
        st =
            op_error(c->node, err, PGY_E_SHAPE,
                     "a sequence of %" PRId64 " tokens is not a multiple of the window's two sides "
                     "of %" PRIu64 " each: pad it",
                     x->dims[1].value, window);
    return st;
}

pgy_status longformer_infer(op_infer *c, const longformer_inputs *in, pgy_error *err)
{
    op_set_like(c, 0, in->x);
    pgy_status st = rank_check(c, in->x, 3, 3, err);
    if (st || !rank_known(c, in->x)) return st;
    st = check_width(c, in, c->inputs[in->x].dims[2], err);
    return st ? st : check_tokens(c, in, err);
}

/* ---- Attention ------------------------------------------------------------------------------ */

typedef struct attention {
    const op_eval *c;
    const longformer_inputs *in;
    longformer_project project;
    const void *user;
    size_t batch, tokens, heads, width, window;
    double *local, *global; /* [batch, tokens, 3 * width] */
    double *scores;         /* [batch, tokens, tokens]: of one head of each query */
    double *to;
} attention;

static bool is_padding(const attention *a, size_t row)
{
    return in_f64(a->c, a->in->mask)[row] < 0;
}

static bool is_global(const attention *a, size_t row)
{
    return in_i64(a->c, a->in->flags)[row] != 0;
}

/* Is the key of row `key` seen by the query of row `query`, of the same sequence? */
static bool sees(const attention *a, size_t query, size_t key)
{
    const size_t distance = query > key ? query - key : key - query;
    if (is_padding(a, key)) return false;
    return distance <= a->window || is_global(a, query) || is_global(a, key);
}

static void project_rows(size_t begin, size_t end, void *user)
{
    const attention *a = user;
    for (size_t row = begin; row < end; row++) {
        a->project(a->local + row * 3 * a->width, row, false, a->user);
        a->project(a->global + row * 3 * a->width, row, true, a->user);
    }
}

static void attend(const attention *a, size_t query, size_t head)
{
    const size_t size = a->width / a->heads, first = query / a->tokens * a->tokens;
    const double *qkv = is_global(a, query) ? a->global : a->local;
    const double *q = qkv + query * 3 * a->width + head * size, scale = 1 / sqrt((double)size);
    double *scores = a->scores + query * a->tokens, *to = a->to + query * a->width + head * size;
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < a->tokens; i++) {
        const double *k = qkv + (first + i) * 3 * a->width + a->width + head * size;
        double score = -INFINITY;
        if (sees(a, query, first + i)) {
            score = 0;
            for (size_t d = 0; d < size; d++) score += q[d] * k[d];
            score *= scale;
        }
        scores[i] = score;
        if (score > most || isnan(score)) most = score;
    }
    for (size_t i = 0; i < a->tokens; i++) {
        scores[i] = sees(a, query, first + i) ? exp(scores[i] - most) : 0;
        sum += scores[i];
    }
    for (size_t i = 0; i < a->tokens; i++) {
        const double *v = qkv + (first + i) * 3 * a->width + 2 * a->width + head * size;
        for (size_t d = 0; scores[i] != 0 && d < size; d++) to[d] += scores[i] / sum * v[d];
    }
}

static void attend_rows(size_t begin, size_t end, void *user)
{
    const attention *a = user;
    for (size_t row = begin; row < end; row++) {
        memset(a->to + row * a->width, 0, a->width * sizeof *a->to);
        for (size_t head = 0; !is_padding(a, row) && head < a->heads; head++) attend(a, row, head);
    }
}

pgy_status longformer_run(double *to, const op_eval *c, const longformer_inputs *in,
                          longformer_project project, const void *user, pgy_error *err)
{
    const int64_t *shape = in_shape(c, in->x);
    attention a = {.c = c,
                   .in = in,
                   .project = project,
                   .user = user,
                   .batch = (size_t)shape[0],
                   .tokens = (size_t)shape[1],
                   .width = (size_t)shape[2],
                   .heads = (size_t)op_attr_int(c->node, "num_heads", 1),
                   .window = (size_t)op_attr_int(c->node, "window", 1),
                   .to = to};
    const size_t rows = a.batch * a.tokens;
    if (!rows || !a.width) return PGY_OK;
    pgy_status st = workspace_alloc((void **)&a.local, c, rows, 3 * a.width * sizeof *to, err);
    if (!st) st = workspace_alloc((void **)&a.global, c, rows, 3 * a.width * sizeof *to, err);
    if (!st) st = workspace_alloc((void **)&a.scores, c, rows, a.tokens * sizeof *to, err);
    if (!st) {
        rows_run(rows, 12 * a.width * a.width, project_rows, &a);
        rows_run(rows, 4 * a.tokens * a.width, attend_rows, &a);
    }
    mem_free(a.local);
    mem_free(a.global);
    mem_free(a.scores);
    return st;
}

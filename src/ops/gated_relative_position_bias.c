/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GatedRelativePositionBias: scales position biases [1, heads, tokens, tokens] of
 * each query. A small layer [size, 2 * n] maps each head of the query to two sums u and r, whose
 * logistic functions give the factor u * (r * eco_a - 1) + 2. With token_offset the query holds
 * real tokens only; a token of padding has a query of zeros. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { QUERY, QUERY_BIAS, POSITIONS, WEIGHT, BIAS, ECO_A, OFFSETS };

static const op_attr_def ATTRS[] = {
    {"num_heads", OP_ATTR_INT, true, NULL, .range = "1.."},
    {NULL},
};

static pgy_status check_sizes(op_infer *c, dim *batch, pgy_error *err)
{
    static const int32_t RANKS[] = {0, 1, 4, 2, 1, 4};
    const dim heads = dim_const(op_attr_int(c->node, "num_heads", 1));
    const bool packed = op_has_input(c, OFFSETS);
    pgy_status st = rank_check(c, QUERY, packed ? 2 : 3, packed ? 2 : 3, err);
    for (size_t i = QUERY_BIAS; !st && i <= ECO_A; i++)
        st = rank_check(c, i, RANKS[i], RANKS[i], err);
    if (!st) st = rank_check(c, OFFSETS, 2, 2, err);
    if (!st) st = dim_check(c, POSITIONS, 0, dim_const(1), "1", err);
    if (!st) st = dim_check(c, POSITIONS, 1, heads, "num_heads", err);
    for (size_t d = 0; !st && d < 4; d++)
        st = dim_check(c, ECO_A, d, d == 1 ? heads : dim_const(1), d == 1 ? "num_heads" : "1", err);
    if (!st && rank_known(c, POSITIONS))
        st = dim_check(c, POSITIONS, 3, c->inputs[POSITIONS].dims[2], "the number of tokens", err);
    const size_t from = packed ? OFFSETS : QUERY;
    *batch = rank_known(c, from) ? c->inputs[from].dims[0]
                                 : dim_unknown(c->dims, "the batch is not known");
    if (!st && rank_known(c, from) && rank_known(c, POSITIONS))
        st = dim_check(c, from, 1, c->inputs[POSITIONS].dims[2], "the number of tokens", err);
    if (!st && rank_known(c, WEIGHT)) {
        const dim wide = c->inputs[WEIGHT].dims[1],
                  width = dim_mul(c->dims, heads, c->inputs[WEIGHT].dims[0]);
        st = dim_check(c, BIAS, 0, wide, "the columns of the weight", err);
        if (!st && dim_is_const(wide) && wide.value % 2)
            st = op_error(c->node, err, PGY_E_SHAPE,
                          "the weight has %" PRId64 " columns, but needs an even number",
                          wide.value);
        if (!st)
            st = dim_check(c, QUERY, packed ? 1 : 2, width, "heads times the weight's rows", err);
        if (!st) st = dim_check(c, QUERY_BIAS, 0, width, "heads times the weight's rows", err);
    }
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *positions = &c->inputs[POSITIONS];
    dim batch;
    const pgy_status st = check_sizes(c, &batch, err);
    if (st) return st;
    if (positions->rank < 0) {
        op_set_unknown(c, 0, c->inputs[QUERY].dtype, 4, "the shape of rel_pos is not known");
        return PGY_OK;
    }
    dim *dims = rule_copy_dims(c, positions);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = batch;
    op_set_output(c, 0, c->inputs[QUERY].dtype, 4, dims);
    return PGY_OK;
}

typedef struct gates {
    const op_eval *c;
    size_t heads, tokens, size, columns;
    int64_t
        *places; /* for each token of the batch its row of the query, or -1; NULL: all in order */
} gates;

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* The logistic function of the summed columns [first, first + count) of the layer. */
static double gate(const gates *g, const double *query, const double *bias, size_t first)
{
    const size_t half = g->columns / 2;
    const double *w = in_f64(g->c, WEIGHT), *b = in_f64(g->c, BIAS);
    double sum = 0;
    for (size_t j = first; j < first + half; j++) sum += b[j];
    for (size_t i = 0; query && i < g->size; i++)
        for (size_t j = first; j < first + half; j++)
            sum += (query[i] + bias[i]) * w[i * g->columns + j];
    return logistic(sum);
}

static void run(size_t begin, size_t end, void *user)
{
    const gates *g = user;
    for (size_t row = begin; row < end; row++) {
        const size_t token = row % g->tokens, head = row / g->tokens % g->heads;
        const size_t place = row / g->tokens / g->heads * g->tokens + token;
        const int64_t at = g->places ? g->places[place] : (int64_t)place;
        const double *query =
            at < 0 ? NULL : in_f64(g->c, QUERY) + ((size_t)at * g->heads + head) * g->size;
        const double *bias = in_f64(g->c, QUERY_BIAS) + head * g->size;
        const double u = gate(g, query, bias, 0), r = gate(g, query, bias, g->columns / 2);
        const double factor = u * (r * in_f64(g->c, ECO_A)[head] - 1) + 2;
        const double *from = in_f64(g->c, POSITIONS) + (head * g->tokens + token) * g->tokens;
        for (size_t i = 0; i < g->tokens; i++)
            out_f64(g->c, 0)[row * g->tokens + i] = factor * from[i];
    }
}

/* The first entries of token_offset are the places of the query's rows. */
static pgy_status find_places(gates *g, pgy_error *err)
{
    const op_eval *c = g->c;
    const size_t count = in_count(c, OFFSETS), rows = (size_t)in_shape(c, QUERY)[0];
    if (rows > count)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the query has %zu tokens, but token_offset has only %zu", rows, count);
    const pgy_status st = workspace_alloc((void **)&g->places, c, count, sizeof *g->places, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++) g->places[i] = -1;
    for (size_t i = 0; i < rows; i++) {
        const int64_t at = in_i64(c, OFFSETS)[i];
        if (at < 0 || (uint64_t)at >= count)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "token_offset has %" PRId64 ", but there are only %zu places", at,
                            count);
        g->places[at] = (int64_t)i;
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFFFFFi", err);
    if (st || !out_count(c, 0)) return st;
    gates g = {c,
               (size_t)out_shape(c, 0)[1],
               (size_t)out_shape(c, 0)[2],
               (size_t)in_shape(c, WEIGHT)[0],
               (size_t)in_shape(c, WEIGHT)[1],
               NULL};
    if (in_i64(c, OFFSETS)) st = find_places(&g, err);
    if (!st) rows_run(out_count(c, 0) / g.tokens, g.size * g.columns * 2 + g.tokens, run, &g);
    mem_free(g.places);
    return st;
}

const op_def OP_gated_relative_position_bias[] = {
    {"GatedRelativePositionBias", "com.microsoft", 1, 0, 6, 7, 1, 1, 0, ATTRS, "float16 float32",
     infer, eval, NULL,
     .signature = "T = float16 float32; M = int32; query_layer:T, query_bias:T, rel_pos:T, "
                  "weight:T, bias:T, eco_a:T, ?token_offset:M -> output:T"},
    {NULL},
};

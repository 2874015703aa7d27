/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor parallelism: makes the graph of one rank. MatMuls before an attention or gated MLP keep a
 * part of their weight's columns, and the MatMul after it keeps the matching rows. Its results are
 * partial sums, which an AllReduce adds up. The nodes in between work on each column separately. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/gs.h"
#include "gs/shard/shard.h"

static const char LOG_PATH[] = "gs/shard/ranks.c";

enum { MAX_WALK = 64 }; /* limit of the number of nodes between two MatMuls */

typedef struct ranks_work {
    shard_work base;
    shard_cut cut;
    pgy_gs_node **sums; /* MatMuls whose results are partial sums */
    size_t sum_count, sum_capacity;
} ranks_work;

static bool is_op(const pgy_gs_node *n, const char *op)
{
    return n && !strcmp(n->op, op);
}

/* ---- Paths between MatMuls ------------------------------------------------------------------- */

static bool is_weight(const pgy_gs_tensor *t)
{
    if (t->kind == PGY_GS_CONSTANT) return true;
    return t->producer_count == 1 && is_op(t->producers[0], "Constant");
}

/* The input to follow upwards from n: the first that is not a weight; NULL: none. */
static pgy_gs_tensor *way_up(const pgy_gs_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (!is_weight(n->inputs[i])) return n->inputs[i];
    return NULL;
}

static pgy_gs_node *product_above(const pgy_gs_tensor *t)
{
    for (int i = 0; t && i < MAX_WALK; i++) {
        pgy_gs_node *n = t->producer_count == 1 ? t->producers[0] : NULL;
        if (!n || is_op(n, "MatMul")) return n;
        t = way_up(n);
    }
    return NULL;
}

static pgy_gs_node *product_below(const pgy_gs_tensor *t)
{
    for (int i = 0; i < MAX_WALK; i++) {
        if (!t->consumer_count) return NULL;
        pgy_gs_node *n = t->consumers[0];
        if (is_op(n, "MatMul") || !n->output_count) return n->output_count ? n : NULL;
        t = n->outputs[0];
    }
    return NULL;
}

/* Splits biases that are added between the MatMul and t. Warns of a Reshape to a constant shape,
 * which is not adapted. */
static pgy_status cut_way(ranks_work *w, const pgy_gs_tensor *t, const pgy_gs_node *product,
                          int64_t columns, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (int i = 0; !st && t && i < MAX_WALK; i++) {
        const pgy_gs_node *n = t->producers[0];
        if (n == product) break;
        pgy_gs_tensor *other = n->input_count == 2 ? n->inputs[n->inputs[0] == way_up(n)] : NULL;
        const bool weight = other && is_weight(other);
        if (is_op(n, "Add") && weight && other->rank > 0 &&
            other->dims[other->rank - 1].value == columns && columns > 1)
            st = shard_cut_bias(&w->cut, other, err);
        else if (is_op(n, "Reshape") && weight)
            LOG(WARNING,
                "%s (Reshape) is between split weights; its constant shape may still have the "
                "sizes of the whole tensor",
                gs_node_label(n));
        t = way_up(n);
    }
    return st;
}

/* ---- Attention ------------------------------------------------------------------------------- */

static pgy_status divide(int64_t *out, int64_t value, const ranks_work *w, const pgy_gs_node *n,
                         const char *what, pgy_error *err)
{
    if (value % w->cut.ranks)
        return gs_node_error(n, err, PGY_E_SHAPE, "%s %lld cannot be divided by %lld ranks", what,
                             (long long)value, (long long)w->cut.ranks);
    *out = value / w->cut.ranks;
    return PGY_OK;
}

static pgy_status divide_heads(ranks_work *w, pgy_gs_node *n, const char *name, pgy_error *err)
{
    int64_t heads = pgy_gs_attr_as_int(n, name, -1);
    if (heads < 0) return PGY_OK;
    pgy_status st = divide(&heads, heads, w, n, name, err);
    if (st) return st;
    const pgy_gs_attr a = pgy_gs_attr_int(name, heads);
    return pgy_gs_set_attr(n, &a, err);
}

/* Divides axis 2 of a key or value cache among the ranks, if its size is known. */
static pgy_status divide_cache(ranks_work *w, const pgy_gs_node *n, pgy_gs_tensor *t,
                               pgy_error *err)
{
    pgy_dim dims[PGY_MAX_RANK];
    if (!t || pgy_gs_is_omitted(t) || t->kind == PGY_GS_CONSTANT || t->rank < 3 ||
        t->rank > PGY_MAX_RANK || t->dims[2].value < 0)
        return PGY_OK;
    memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
    pgy_status st =
        divide(&dims[2].value, dims[2].value, w, n, "axis 2 of the cache, of size", err);
    return st ? st : pgy_gs_set_type(t, t->dtype, t->rank, dims, err);
}

static int64_t column_count(const pgy_gs_node *product)
{
    const pgy_gs_tensor *t = product->input_count > 1 ? product->inputs[1] : NULL;
    return t && t->rank == 2 ? t->dims[1].value : -1;
}

static pgy_status cut_columns(ranks_work *w, const pgy_gs_tensor *t, pgy_gs_node *product,
                              pgy_error *err)
{
    const int64_t columns = column_count(product);
    pgy_status st = shard_cut_weight(&w->cut, product, 1, err);
    return st ? st : cut_way(w, t, product, columns, err);
}

static pgy_status cut_rows(ranks_work *w, pgy_gs_node *product, pgy_error *err)
{
    if (!mem_grow((void **)&w->sums, &w->sum_capacity, w->sum_count + 1, sizeof *w->sums))
        return gs_no_memory(err);
    w->sums[w->sum_count++] = product;
    return shard_cut_weight(&w->cut, product, 0, err);
}

static pgy_status cut_attention(ranks_work *w, pgy_gs_node *n, pgy_error *err)
{
    static const char *const NAMES[] = {"Q", "K", "V"};
    pgy_status st = PGY_OK;
    pgy_gs_node *result = n->output_count ? product_below(n->outputs[0]) : NULL;
    if (n->input_count < 3 || !result)
        return gs_node_error(n, err, PGY_E_UNSUPPORTED,
                             "its inputs Q, K, V or the MatMul behind it are missing");
    for (size_t i = 0; !st && i < 3; i++) {
        pgy_gs_node *product = product_above(n->inputs[i]);
        st = product ? cut_columns(w, n->inputs[i], product, err)
                     : gs_node_error(n, err, PGY_E_UNSUPPORTED, "no MatMul computes its input %s",
                                     NAMES[i]);
    }
    if (!st) st = cut_rows(w, result, err);
    if (!st) st = divide_heads(w, n, "num_q_heads", err);
    if (!st) st = divide_heads(w, n, "num_kv_heads", err);
    if (!st) st = divide_cache(w, n, n->input_count > 3 ? n->inputs[3] : NULL, err);
    if (!st) st = divide_cache(w, n, n->output_count > 1 ? n->outputs[1] : NULL, err);
    return st;
}

/* ---- Gated MLPs ------------------------------------------------------------------------------ */

static pgy_gs_node *only_product(const pgy_gs_tensor *t)
{
    pgy_gs_node *n = t->consumer_count == 1 ? t->consumers[0] : NULL;
    return is_op(n, "Mul") && n->input_count == 2 && n->output_count == 1 ? n : NULL;
}

static pgy_gs_tensor *other_factor(const pgy_gs_node *mul, const pgy_gs_tensor *t)
{
    return mul->inputs[mul->inputs[0] == t];
}

/* Finds the products behind a Sigmoid: gate * Sigmoid(gate) * up, or Sigmoid(gate) * up. */
static bool find_gate(pgy_gs_tensor **up, const pgy_gs_node **joined, const pgy_gs_node *sigmoid)
{
    const pgy_gs_tensor *t = sigmoid->outputs[0];
    const pgy_gs_node *mul = only_product(t);
    if (!mul) return false;
    if (other_factor(mul, t) == sigmoid->inputs[0]) {
        t = mul->outputs[0];
        mul = only_product(t);
        if (!mul) return false;
    }
    *up = other_factor(mul, t);
    *joined = mul;
    return true;
}

static bool has_weight(const pgy_gs_node *product)
{
    const pgy_gs_tensor *t = product && product->input_count > 1 ? product->inputs[1] : NULL;
    for (int i = 0; t && i < MAX_WALK; i++) {
        if (is_weight(t)) return true;
        const pgy_gs_node *n = t->producer_count == 1 ? t->producers[0] : NULL;
        t = n && n->input_count ? n->inputs[0] : NULL;
    }
    return false;
}

static pgy_status cut_mlp(ranks_work *w, const pgy_gs_node *sigmoid, pgy_error *err)
{
    pgy_gs_tensor *up_end = NULL;
    const pgy_gs_node *joined = NULL;
    if (sigmoid->input_count != 1 || sigmoid->output_count != 1) return PGY_OK;
    const bool found = find_gate(&up_end, &joined, sigmoid);
    pgy_gs_node *gate = product_above(sigmoid->inputs[0]);
    pgy_gs_node *up = found ? product_above(up_end) : NULL;
    pgy_gs_node *down = found ? product_below(joined->outputs[0]) : NULL;
    if (!has_weight(gate) || !has_weight(up) || !has_weight(down) || gate == up) {
        LOG(WARNING,
            "%s (Sigmoid) is not a gate between MatMuls, so the weights around it are not split",
            gs_node_label(sigmoid));
        return PGY_OK;
    }
    pgy_status st = cut_columns(w, up_end, up, err);
    if (!st) st = cut_rows(w, down, err);
    return st ? st : cut_columns(w, sigmoid->inputs[0], gate, err);
}

/* ---- The graph ------------------------------------------------------------------------------- */

static pgy_status cut_all(ranks_work *w, pgy_error *err)
{
    const pgy_gs_graph *g = w->base.g;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++)
        if (is_op(g->nodes[i], "AttentionPlugin")) st = cut_attention(w, g->nodes[i], err);
    for (size_t i = 0; !st && i < g->node_count; i++)
        if (is_op(g->nodes[i], "Sigmoid")) st = cut_mlp(w, g->nodes[i], err);
    return st;
}

pgy_status pgy_shard_tensors(pgy_gs_graph *g, const pgy_shard_hints *hints, int64_t rank,
                             pgy_error *err)
{
    ranks_work w = {.cut = {.rank = rank, .ranks = hints->nb_rank}};
    pgy_gs_tensor *made;
    if (hints->nb_rank < 1 || rank < 0 || rank >= hints->nb_rank)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "rank %lld does not exist: the hints have %lld ranks, from 0",
                             (long long)rank, (long long)hints->nb_rank);
    pgy_status st = shard_begin(&w.base, g, hints, err);
    if (!st) st = cut_all(&w, err);
    if (!st) st = shard_check_cuts(&w.cut, g, err);
    for (size_t i = 0; !st && i < w.sum_count; i++)
        st = shard_insert(&made, &w.base, w.sums[i]->outputs[0],
                          (shard_collective){"all_reduce", "sum", 0, -1}, err);
    if (!st && !w.sum_count)
        LOG(WARNING,
            "The model has no layer whose weights can be split: every rank gets the whole model");
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    if (!st) st = pgy_gs_toposort(g, NULL, err);
    mem_free(w.sums);
    shard_cut_deinit(&w.cut);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds attention layers: MatMul(q, k), Softmax, and MatMul with v, where nothing else reads the
 * values in between. In pattern 1, q and k are first multiplied by the square root of a scale that
 * is computed from q's shape; is_scale recognises that computation by its operators. */
#include <string.h>

#include "base/alloc.h"
#include "gs/graph/gs.h"
#include "gs/shard/shard.h"

pgy_gs_tensor *shard_q(const shard_attention *a)
{
    return a->q_reader->inputs[0];
}

pgy_gs_tensor *shard_k(const shard_attention *a)
{
    return a->k_reader->inputs[a->k_reader == a->q_reader];
}

pgy_gs_tensor *shard_v(const shard_attention *a)
{
    return a->result->inputs[1];
}

static bool is_op(const pgy_gs_node *n, const char *op, size_t inputs)
{
    return n && n->input_count == inputs && n->output_count == 1 && !*n->domain &&
           !strcmp(n->op, op);
}

/* The only consumer of a node's only output; NULL if it has several, or if the output is a graph
 * output. */
static pgy_gs_node *only_reader(const pgy_gs_node *n)
{
    const pgy_gs_tensor *t = n->outputs[0];
    if (t->consumer_count != 1 || t->consumers[0]->graph != n->graph) return NULL;
    return gs_is_graph_output(n->graph, t) ? NULL : t->consumers[0];
}

static pgy_gs_node *maker(const pgy_gs_node *n, size_t slot)
{
    const pgy_gs_tensor *t = n->inputs[slot];
    return t->producer_count == 1 ? t->producers[0] : NULL;
}

static bool find_plain(shard_attention *out, pgy_gs_node *n)
{
    if (!is_op(n, "MatMul", 2)) return false;
    pgy_gs_node *softmax = only_reader(n);
    if (!is_op(softmax, "Softmax", 1)) return false;
    pgy_gs_node *result = only_reader(softmax);
    if (!is_op(result, "MatMul", 2) || result->inputs[0] != softmax->outputs[0]) return false;
    *out = (shard_attention){n, softmax, result, n, n};
    return true;
}

/* True if `root` computes Sqrt(Cast(Div(., Cast(Sqrt(Cast(Slice(Shape(q)))))))); *scale: the input
 * of that outer Sqrt. */
static bool is_scale(pgy_gs_tensor **scale, const pgy_gs_node *root, const pgy_gs_tensor *q)
{
    static const struct {
        const char *op;
        size_t inputs, slot; /* index of the input that leads on towards q */
    } CHAIN[] = {{"Cast", 1, 0}, {"Div", 2, 1},   {"Cast", 1, 0}, {"Sqrt", 1, 0},
                 {"Cast", 1, 0}, {"Slice", 3, 0}, {"Shape", 1, 0}};
    if (!is_op(root, "Sqrt", 1)) return false;
    const pgy_gs_node *n = root;
    size_t slot = 0;
    for (size_t i = 0; i < sizeof CHAIN / sizeof *CHAIN; i++) {
        n = maker(n, slot);
        if (!is_op(n, CHAIN[i].op, CHAIN[i].inputs)) return false;
        slot = CHAIN[i].slot;
    }
    *scale = root->inputs[0];
    return n->inputs[0] == q;
}

static bool find_scaled(shard_attention *out, pgy_gs_node *n)
{
    shard_attention a;
    pgy_gs_tensor *q_scale = NULL, *k_scale = NULL;
    if (!find_plain(&a, n)) return false;
    pgy_gs_node *q = maker(n, 0), *k = maker(n, 1);
    if (!is_op(q, "Mul", 2) || !is_op(k, "Mul", 2) || q == k) return false;
    if (!is_scale(&q_scale, maker(q, 1), q->inputs[0]) ||
        !is_scale(&k_scale, maker(k, 1), q->inputs[0]) || q_scale != k_scale)
        return false;
    if (!only_reader(q) || !only_reader(k)) return false;
    a.q_reader = q;
    a.k_reader = k;
    *out = a;
    return true;
}

pgy_status shard_find_attention(shard_attention **out, size_t *count, const pgy_gs_graph *g,
                                int pattern, pgy_error *err)
{
    shard_attention *items = NULL, found;
    size_t n = 0, capacity = 0;
    if (pattern != 0 && pattern != 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%d is not an attention pattern", pattern);
    for (size_t i = 0; i < g->node_count; i++) {
        if (!(pattern ? find_scaled : find_plain)(&found, g->nodes[i])) continue;
        if (!mem_grow((void **)&items, &capacity, n + 1, sizeof *items)) {
            mem_free(items);
            return gs_no_memory(err);
        }
        items[n++] = found;
    }
    *out = items;
    *count = n;
    return PGY_OK;
}

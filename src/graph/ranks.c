/* SPDX-License-Identifier: Apache-2.0 */
/* Models for several ranks: their number, and the outputs that differ between ranks. A value
 * differs if a DistCollective gives each rank another part, if it is a weight that differs, or if
 * it is computed from such values; an all_reduce, all_gather or broadcast of all ranks makes it
 * whole again. */
#include <string.h>

#include "base/communicator.h"
#include "graph/edit.h"

/* ---- The number ----------------------------------------------------------------------------- */

static int64_t find_int(const pgy_node *n, const char *name, int64_t otherwise)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    return a ? a->i : otherwise;
}

static bool is_collective(const pgy_node *n)
{
    return node_is(n, "DistCollective");
}

static pgy_status set_nb_rank(pgy_node *n, int64_t ranks, pgy_error *err)
{
    const pgy_onnx_attribute *a = attribute_create(
        n->graph->model, "nb_rank", &(pgy_onnx_attribute){.type = PGY_ATTR_INT, .i = ranks});
    return a ? node_replace_attribute(n, "nb_rank", a, err) : graph_no_memory(err);
}

static pgy_status set_node(pgy_node *n, int64_t ranks, pgy_error *err)
{
    const pgy_onnx_attribute *groups = node_attribute(n, "groups");
    const int64_t nb_rank = find_int(n, "nb_rank", 1), size = find_int(n, "group_size", 0);
    if (nb_rank != 1 && nb_rank != ranks)
        return node_error(n, err, PGY_E_ARGUMENT,
                          "its model is for %lld ranks (nb_rank), but %lld are to run",
                          (long long)nb_rank, (long long)ranks);
    if (groups && groups->int_count) return PGY_OK;
    if (size > 0 && size != ranks)
        return node_error(n, err, PGY_E_ARGUMENT,
                          "its model is for %lld ranks (group_size), but %lld are to run",
                          (long long)size, (long long)ranks);
    return set_nb_rank(n, ranks, err);
}

pgy_status pgy_graph_set_ranks(pgy_graph *g, int64_t ranks, size_t *count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (!g->parent) *count = 0;
    if (ranks < 1 || ranks > PGY_MAX_RANKS)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%lld ranks; expected 1 to %d", (long long)ranks,
                             PGY_MAX_RANKS);
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        if (node_is(n, "Attention") && node_attribute(n, "nb_rank") && ranks > 1)
            st = node_error(n, err, PGY_E_UNSUPPORTED,
                            "with nb_rank it gathers keys and values of other ranks itself, which "
                            "only TensorRT does; divide the model without fused attention");
        if (!st && is_collective(n)) {
            st = set_node(n, ranks, err);
            ++*count;
        }
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = pgy_graph_set_ranks(n->subgraphs[k], ranks, count, err);
    }
    return st;
}

/* ---- Parts ---------------------------------------------------------------------------------- */

typedef struct search {
    pgy_graph *const *graphs;
    size_t count;
    strmap parts; /* names of values of the main graph that differ */
} search;

static bool same_weight(const pgy_onnx_tensor *a, const pgy_onnx_tensor *b)
{
    if (a == b) return true;
    return a->data_type == b->data_type && a->dim_count == b->dim_count &&
           (!a->dim_count || !memcmp(a->dims, b->dims, a->dim_count * sizeof *a->dims));
}

/* Do the elements of a weight differ between the ranks? */
static pgy_status compare_weight(bool *differs, const search *s, pgy_value *v, pgy_error *err)
{
    pgy_tensor *own = NULL, *other = NULL;
    pgy_status st = PGY_OK;
    *differs = false;
    for (size_t i = 1; !st && !*differs && i < s->count; i++) {
        pgy_value *w = pgy_graph_find_value(s->graphs[i], v->name);
        if (!w || !w->initializer || !v->initializer ||
            !same_weight(v->initializer, w->initializer)) {
            *differs = true;
            break;
        }
        if (w->initializer == v->initializer) continue;
        st = own ? PGY_OK : pgy_graph_value_data(&own, v, err);
        if (!st) st = pgy_graph_value_data(&other, w, err);
        if (!st)
            *differs = pgy_tensor_size_bytes(own) != pgy_tensor_size_bytes(other) ||
                       memcmp(pgy_tensor_data(own), pgy_tensor_data(other),
                              pgy_tensor_size_bytes(own)) != 0;
        pgy_tensor_release(other);
        other = NULL;
    }
    pgy_tensor_release(own);
    return st;
}

typedef enum effect { FOLLOWS, JOINS, PARTS } effect;

/* What a collective makes of its input. With groups, ranks outside have something else. */
static effect effect_of(const pgy_node *n)
{
    static const char *const JOINING[] = {"all_reduce", "all_gather", "broadcast"};
    const pgy_onnx_attribute *a = node_attribute(n, "collective_operation"),
                             *groups = node_attribute(n, "groups");
    if (!a || (groups && groups->int_count)) return PARTS;
    for (size_t i = 0; i < sizeof JOINING / sizeof *JOINING; i++)
        if (strlen(JOINING[i]) == a->s.size && !memcmp(a->s.data, JOINING[i], a->s.size))
            return JOINS;
    return PARTS;
}

static bool has_collective(const pgy_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        if (is_collective(g->nodes[i])) return true;
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++)
            if (has_collective(g->nodes[i]->subgraphs[k])) return true;
    }
    return false;
}

static bool is_part(const search *s, const pgy_value *v)
{
    return v && strmap_has(&s->parts, v->name);
}

static bool reads_parts(const search *s, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    for (size_t i = 0; i < n->input_count; i++)
        if (is_part(s, n->inputs[i])) return true;
    for (size_t i = 0; i < box->captured_count; i++)
        if (is_part(s, box->captured[i])) return true;
    for (size_t i = 0; i < n->subgraph_count; i++)
        if (has_collective(n->subgraphs[i])) return true; /* bodies are not followed */
    return false;
}

/* Marks the outputs of a node. *changed: one was not marked so far. */
static pgy_status mark(search *s, const pgy_node *n, bool *changed, pgy_error *err)
{
    const effect e = is_collective(n) ? effect_of(n) : FOLLOWS;
    if (e == JOINS || (e == FOLLOWS && !reads_parts(s, n))) return PGY_OK;
    for (size_t i = 0; i < n->output_count; i++) {
        pgy_value *v = n->outputs[i];
        if (!v || is_part(s, v)) continue;
        if (!strmap_put(&s->parts, v->name, v)) return graph_no_memory(err);
        *changed = true;
    }
    return PGY_OK;
}

static pgy_status search_all(search *s, pgy_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool changed = true;
    for (size_t i = 0; !st && i < g->initializer_count; i++) {
        bool differs;
        st = compare_weight(&differs, s, g->initializers[i], err);
        if (!st && differs && !strmap_put(&s->parts, g->initializers[i]->name, g->initializers[i]))
            st = graph_no_memory(err);
    }
    while (!st && changed) { /* once more for each time that nodes are not in order */
        changed = false;
        for (size_t i = 0; !st && i < g->node_count; i++) st = mark(s, g->nodes[i], &changed, err);
    }
    return st;
}

pgy_status pgy_graph_find_parts(const char *const **out, size_t *out_count,
                                pgy_graph *const *graphs, size_t count, pgy_error *err)
{
    search s = {.graphs = graphs, .count = count};
    pgy_graph *g = graphs[0];
    size_t found = 0;
    const char **names =
        arena_alloc_array(&state_of(g)->memory, g->output_count + 1, sizeof *names);
    pgy_status st = names ? search_all(&s, g, err) : graph_no_memory(err);
    for (size_t i = 0; !st && i < g->output_count; i++)
        if (is_part(&s, g->outputs[i])) names[found++] = g->outputs[i]->name;
    strmap_deinit(&s.parts);
    if (st) return st;
    *out = names;
    *out_count = found;
    return PGY_OK;
}

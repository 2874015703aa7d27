/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces single nodes of a level by several, for inlining a function call and for taking one
 * branch of an If. The new list is built beside the old one, so any number of replacements takes
 * one pass over the level. */
#include <string.h>

#include "base/alloc.h"
#include "graph/edit.h"

void splice_deinit(node_splice *s)
{
    mem_free(s->nodes);
    *s = (node_splice){0};
}

pgy_status splice_keep(node_splice *s, pgy_node *n, pgy_error *err)
{
    void *nodes = s->nodes;
    const bool grown = mem_grow(&nodes, &s->capacity, s->count + 1, sizeof *s->nodes);
    s->nodes = nodes;
    if (!grown) return graph_no_memory(err);
    s->nodes[s->count++] = n;
    return PGY_OK;
}

pgy_status splice_move(node_splice *s, pgy_graph *from, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < from->node_count; i++) {
        pgy_node *n = from->nodes[i];
        n->graph = s->level;
        for (size_t k = 0; k < n->subgraph_count; k++) n->subgraphs[k]->parent = s->level;
        st = splice_keep(s, n, err);
    }
    from->node_count = 0;
    return st;
}

pgy_status splice_identity(node_splice *s, pgy_value *from, pgy_value *to, pgy_error *err)
{
    pgy_node *made = NULL;
    const pgy_status st = node_create(&made, s->level, "Identity", &from, 1, &to, 1, err);
    if (st) return st;
    s->level->node_count--; /* the new node must be in the new list only */
    return splice_keep(s, made, err);
}

pgy_status splice_install(const node_splice *s, pgy_error *err)
{
    pgy_graph *g = s->level;
    pgy_node **nodes = arena_alloc_array(&state_of(g)->memory, s->count, sizeof *nodes);
    if (!nodes) return graph_no_memory(err);
    if (s->count) memcpy(nodes, s->nodes, s->count * sizeof *nodes);
    g->nodes = nodes;
    g->node_count = level_of(g)->node_capacity = s->count;
    graph_reindex(g);
    return PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Execution order of a level. Nodes are taken in stored order and each is put behind the nodes that
 * it needs, so a valid order stays as it is. If a subgraph uses values of this level, the
 * node that holds it needs their producers. */
#include <string.h>

#include "graph/graph.h"
#include "graph/order.h"

static pgy_status add_needs(order *o, pgy_node *n, pgy_error *err)
{
    pgy_status st = n->subgraph_count ? node_captures(n, err) : PGY_OK;
    const node_box *box = node_box_of(n);
    order_open(o, n->index);
    for (size_t i = 0; !st && i < n->input_count + box->captured_count; i++) {
        const pgy_value *v = i < n->input_count ? n->inputs[i] : box->captured[i - n->input_count];
        if (v && v->graph == n->graph && v->producer) st = order_need(o, v->producer->index, err);
    }
    return st;
}

pgy_status graph_order(pgy_node ***out, pgy_graph *g, arena *memory, pgy_error *err)
{
    order o = {0};
    pgy_node **nodes = arena_alloc_array(memory, g->node_count, sizeof *nodes);
    pgy_status st = nodes ? order_init(&o, g->node_count, err) : graph_no_memory(err);
    if (st) return st;
    graph_reindex(g);
    for (size_t i = 0; !st && i < g->node_count; i++) st = add_needs(&o, g->nodes[i], err);
    if (!st) st = order_settle(&o, err);
    if (o.cycle)
        node_error(g->nodes[o.cycle[0]], err, st,
                   "the node is part of a cycle: it depends on its own output");
    for (size_t i = 0; !st && i < g->node_count; i++) nodes[i] = g->nodes[o.settled[i]];
    if (!st) *out = nodes;
    order_deinit(&o);
    return st;
}

pgy_status pgy_graph_sort(pgy_graph *g, pgy_error *err)
{
    arena memory = {0};
    pgy_node **sorted = NULL;
    pgy_status st = graph_order(&sorted, g, &memory, err);
    if (!st && g->node_count && memcmp(sorted, g->nodes, g->node_count * sizeof *sorted) != 0) {
        memcpy(g->nodes, sorted, g->node_count * sizeof *sorted);
        graph_mark_changed(g);
    }
    graph_reindex(g);
    arena_deinit(&memory);
    for (size_t i = 0; !st && i < g->node_count; i++)
        for (size_t k = 0; !st && k < g->nodes[i]->subgraph_count; k++)
            st = pgy_graph_sort(g->nodes[i]->subgraphs[k], err);
    return st;
}

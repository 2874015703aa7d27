/* SPDX-License-Identifier: Apache-2.0 */
/* Topological order by depth-first search with a stack of its own: nodes are taken in stored order
 * and each is put behind what it needs, so an order that is already right stays as it is. A
 * subgraph's uses of this level's values are needs of the node that holds it. */
#include <string.h>

#include "graph/graph.h"

enum { NEW, OPEN, DONE };

typedef struct frame {
    pgy_node *node;
    size_t next; /* need to look at */
} frame;

static pgy_node *need(const pgy_node *n, size_t i)
{
    const node_box *box = node_box_of(n);
    const pgy_value *v = i < n->input_count ? n->inputs[i] : box->captured[i - n->input_count];
    return v && v->graph == n->graph ? v->producer : NULL;
}

static pgy_status cycle_error(const pgy_node *n, pgy_error *err)
{
    return node_error(n, err, PGY_E_FORMAT, "is part of a cycle: it needs its own output");
}

static pgy_status visit(pgy_node *start, frame *stack, pgy_node **order, size_t *count,
                        pgy_error *err)
{
    size_t depth = 0;
    stack[depth++] = (frame){start, 0};
    node_box_of(start)->mark = OPEN;
    while (depth) {
        frame *top = &stack[depth - 1];
        node_box *box = node_box_of(top->node);
        if (top->next == top->node->input_count + box->captured_count) {
            box->mark = DONE;
            order[(*count)++] = top->node;
            depth--;
            continue;
        }
        pgy_node *needed = need(top->node, top->next++);
        if (!needed || node_box_of(needed)->mark == DONE) continue;
        if (node_box_of(needed)->mark == OPEN) return cycle_error(needed, err);
        node_box_of(needed)->mark = OPEN;
        stack[depth++] = (frame){needed, 0};
    }
    return PGY_OK;
}

pgy_status graph_order(pgy_node ***out, pgy_graph *g, arena *memory, pgy_error *err)
{
    pgy_node **order = arena_alloc_array(memory, g->node_count, sizeof *order);
    frame *stack = arena_alloc_array(memory, g->node_count, sizeof *stack);
    size_t count = 0;
    pgy_status st = order && stack ? PGY_OK : graph_no_memory(err);
    for (size_t i = 0; !st && i < g->node_count; i++) {
        node_box_of(g->nodes[i])->mark = NEW;
        if (g->nodes[i]->subgraph_count) st = node_captures(g->nodes[i], err);
    }
    for (size_t i = 0; !st && i < g->node_count; i++)
        if (node_box_of(g->nodes[i])->mark == NEW)
            st = visit(g->nodes[i], stack, order, &count, err);
    if (!st) *out = order;
    return st;
}

pgy_status pgy_graph_sort(pgy_graph *g, pgy_error *err)
{
    arena memory = {0};
    pgy_node **order = NULL;
    pgy_status st = graph_order(&order, g, &memory, err);
    if (!st && g->node_count && memcmp(order, g->nodes, g->node_count * sizeof *order) != 0) {
        memcpy(g->nodes, order, g->node_count * sizeof *order);
        graph_mark_changed(g);
    }
    graph_reindex(g);
    arena_deinit(&memory);
    for (size_t i = 0; !st && i < g->node_count; i++)
        for (size_t k = 0; !st && k < g->nodes[i]->subgraph_count; k++)
            st = pgy_graph_sort(g->nodes[i]->subgraphs[k], err);
    return st;
}

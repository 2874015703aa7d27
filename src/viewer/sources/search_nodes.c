/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a reduction again, with sets of nodes instead of models. */
#include "viewer/sources/search_nodes.h"

#include <string.h>

#include "base/cancel.h"

/* Tensors that nodes of the whole read. */
static void note_reads(reduce_walk *w)
{
    for (size_t k = 0; k < w->node_count; k++) {
        const view_node *n = &w->graph->nodes[w->nodes[k]];
        w->in_whole[w->nodes[k]] = true;
        for (uint32_t i = 0; i < n->input_count; i++)
            if (n->inputs[i] != VIEW_NONE) w->is_read[n->inputs[i]] = true;
    }
}

pgy_status reduce_walk_start(reduce_walk *w, const view_graph *g, const main_nodes *main,
                             const node_set *of, bool cuts_outputs, bool linear, pgy_error *err)
{
    *w = (reduce_walk){.graph = g, .cuts_outputs = cuts_outputs};
    w->nodes = arena_alloc_array(&w->memory, main->count, sizeof *w->nodes);
    w->in_whole = arena_alloc_array(&w->memory, g->node_count, sizeof *w->in_whole);
    w->in_candidate = arena_alloc_array(&w->memory, g->node_count, sizeof *w->in_candidate);
    w->is_read = arena_alloc_array(&w->memory, g->tensor_count, sizeof *w->is_read);
    w->is_border = arena_alloc_array(&w->memory, g->tensor_count, sizeof *w->is_border);
    w->stack = arena_alloc_array(&w->memory, g->node_count, sizeof *w->stack);
    if (!w->nodes || !w->in_whole || !w->in_candidate || !w->is_read || !w->is_border || !w->stack)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the steps of a search");
    for (size_t i = 0; i < main->count; i++)
        if (!of || of->has[main->items[i]]) w->nodes[w->node_count++] = main->items[i];
    w->order = bisection_start(w->node_count, linear, cuts_outputs);
    note_reads(w);
    return PGY_OK;
}

void reduce_walk_deinit(reduce_walk *w)
{
    arena_deinit(&w->memory);
}

/* ---- Candidates ----------------------------------------------------------------------------- */

static void add_node(reduce_walk *w, size_t *depth, uint32_t node)
{
    if (node == VIEW_NONE || w->in_candidate[node] || !w->in_whole[node]) return;
    w->in_candidate[node] = true;
    w->stack[(*depth)++] = node;
}

/* Marks the nodes that those on the stack need, up to the border. */
static void sweep_back(reduce_walk *w, size_t depth)
{
    while (depth) {
        const view_node *n = &w->graph->nodes[w->stack[--depth]];
        for (uint32_t i = 0; i < n->input_count; i++) {
            const uint32_t t = n->inputs[i];
            if (t != VIEW_NONE && !w->is_border[t])
                add_node(w, &depth, w->graph->tensors[t].producer);
        }
    }
}

/* Unmarks nodes that the border does not reach: other branches become constants. Nodes are in
 * topological order. */
static void drop_unreached(reduce_walk *w)
{
    for (size_t k = 0; k < w->node_count; k++) {
        const view_node *n = &w->graph->nodes[w->nodes[k]];
        bool reached = false;
        for (uint32_t i = 0; i < n->input_count && !reached; i++) {
            const uint32_t t = n->inputs[i];
            if (t == VIEW_NONE) continue;
            const uint32_t maker = w->graph->tensors[t].producer;
            reached = w->is_border[t] || (maker != VIEW_NONE && w->in_candidate[maker]);
        }
        if (!reached) w->in_candidate[w->nodes[k]] = false;
    }
}

/* The nodes whose outputs no other one reads make the outputs of the whole. */
static void begin_at(reduce_walk *w, uint32_t node)
{
    const view_node *at = &w->graph->nodes[node];
    size_t depth = 0;
    for (uint32_t i = 0; i < at->input_count; i++)
        if (at->inputs[i] != VIEW_NONE) w->is_border[at->inputs[i]] = true;
    for (size_t k = 0; k < w->node_count; k++) {
        const view_node *n = &w->graph->nodes[w->nodes[k]];
        bool read = false;
        for (uint32_t i = 0; i < n->output_count && !read; i++)
            read = n->outputs[i] != VIEW_NONE && w->is_read[n->outputs[i]];
        if (!read) add_node(w, &depth, w->nodes[k]);
    }
    sweep_back(w, depth);
    drop_unreached(w);
}

pgy_status reduce_walk_candidate(node_set *out, reduce_walk *w, pgy_error *err)
{
    size_t depth = 0;
    memset(w->in_candidate, 0, w->graph->node_count * sizeof *w->in_candidate);
    memset(w->is_border, 0, w->graph->tensor_count * sizeof *w->is_border);
    *out = (node_set){.has = w->in_candidate};
    if (w->order.index >= w->node_count) return PGY_OK;
    if (w->cuts_outputs) {
        add_node(w, &depth, w->nodes[w->order.index]);
        sweep_back(w, depth);
    } else {
        begin_at(w, w->nodes[w->order.index]);
    }
    for (size_t k = 0; k < w->node_count; k++) out->count += w->in_candidate[w->nodes[k]];
    return cancel_check(err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reports nodes, inputs and weights that affect no output of their graph. The search goes back from
 * the outputs; a value that a subgraph captures counts as used by the node that holds the subgraph.
 */
#include "graph/check.h"
#include "graph/side_table.h"

/* The values and nodes that the outputs of a graph need. */
typedef struct needs {
    const pgy_graph *graph;
    id_marks values, nodes;
    pgy_node **work; /* nodes whose inputs are not visited yet */
    size_t count;
} needs;

static pgy_status need(needs *x, const pgy_value *v, pgy_error *err)
{
    if (!v) return PGY_OK;
    pgy_node *n = v->producer;
    if (!id_marks_set(&x->values, value_id(v))) return graph_no_memory(err);
    if (!n || n->graph != x->graph || id_marks_get(&x->nodes, node_id(n))) return PGY_OK;
    if (!id_marks_set(&x->nodes, node_id(n))) return graph_no_memory(err);
    x->work[x->count++] = n;
    return PGY_OK;
}

static pgy_status mark_needed(needs *x, arena *memory, pgy_error *err)
{
    const pgy_graph *g = x->graph;
    pgy_status st = PGY_OK;
    x->work = arena_alloc_array(memory, g->node_count, sizeof *x->work);
    if (!x->work) return graph_no_memory(err);
    for (size_t i = 0; !st && i < g->output_count; i++) st = need(x, g->outputs[i], err);
    while (!st && x->count) {
        const pgy_node *n = x->work[--x->count];
        const node_box *box = node_box_of(n);
        for (size_t i = 0; !st && i < n->input_count; i++) st = need(x, n->inputs[i], err);
        for (size_t i = 0; !st && i < box->captured_count; i++) st = need(x, box->captured[i], err);
    }
    return st;
}

static void report(checker *c, const needs *x)
{
    const pgy_graph *g = x->graph;
    for (size_t i = 0; i < g->node_count; i++)
        if (!id_marks_get(&x->nodes, node_id(g->nodes[i])))
            finding_add(&c->list, c->state, CHECK_UNUSED_NODE, g->nodes[i],
                        "Does not affect outputs, can be removed.");
    for (size_t i = 0; g == c->top && i < g->input_count; i++)
        if (!id_marks_get(&x->values, value_id(g->inputs[i])))
            finding_add_value(&c->list, CHECK_UNUSED_INPUT, g, g->inputs[i]->name,
                              "Input: '%s' does not affect outputs, can be removed.",
                              g->inputs[i]->name);
    for (size_t i = 0; i < g->initializer_count; i++)
        if (!id_marks_get(&x->values, value_id(g->initializers[i])))
            finding_add_value(&c->list, CHECK_UNUSED_INITIALIZER, g, g->initializers[i]->name,
                              "Initializer: '%s' does not affect outputs, can be removed.",
                              g->initializers[i]->name);
}

pgy_status check_unused(checker *c, pgy_graph *g, pgy_error *err)
{
    arena memory = {0};
    needs x = {.graph = g};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) st = node_captures(g->nodes[i], err);
    if (!st) st = mark_needed(&x, &memory, err);
    if (!st) report(c, &x);
    id_marks_deinit(&x.values);
    id_marks_deinit(&x.nodes);
    arena_deinit(&memory);
    for (size_t i = 0; !st && i < g->node_count; i++)
        for (size_t k = 0; !st && k < g->nodes[i]->subgraph_count; k++)
            st = check_unused(c, g->nodes[i]->subgraphs[k], err);
    return st;
}

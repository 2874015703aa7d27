/* SPDX-License-Identifier: Apache-2.0 */
/* What does not matter for any output: nodes, inputs and weights of each graph, found by walking
 * back from its outputs. What subgraphs use from outside counts as used by their node. */
#include "graph/check.h"

static void need(pgy_graph *g, pgy_value *v, pgy_node **work, size_t *count)
{
    if (!v) return;
    box_of(v)->seen = state_of(g)->epoch;
    if (!v->producer || v->producer->graph != g || node_box_of(v->producer)->mark) return;
    node_box_of(v->producer)->mark = 1;
    work[(*count)++] = v->producer;
}

/* Marks what the outputs need, with a work list of nodes; node_box.mark is 1 for those. */
static pgy_status mark_needed(pgy_graph *g, arena *memory, pgy_error *err)
{
    pgy_node **work = arena_alloc_array(memory, g->node_count, sizeof *work);
    size_t count = 0;
    if (!work) return graph_no_memory(err);
    state_of(g)->epoch++;
    for (size_t i = 0; i < g->node_count; i++) node_box_of(g->nodes[i])->mark = 0;
    for (size_t i = 0; i < g->output_count; i++) need(g, g->outputs[i], work, &count);
    while (count) {
        const pgy_node *n = work[--count];
        const node_box *box = node_box_of(n);
        for (size_t i = 0; i < n->input_count; i++) need(g, n->inputs[i], work, &count);
        for (size_t i = 0; i < box->captured_count; i++) need(g, box->captured[i], work, &count);
    }
    return PGY_OK;
}

static void report(checker *c, pgy_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (!node_box_of(g->nodes[i])->mark)
            finding_add(&c->list, c->state, CHECK_UNUSED_NODE, g->nodes[i],
                        "Does not affect outputs, can be removed.");
    for (size_t i = 0; g == c->top && i < g->input_count; i++)
        if (box_of(g->inputs[i])->seen != c->state->epoch)
            finding_add_value(&c->list, CHECK_UNUSED_INPUT, g, g->inputs[i]->name,
                              "Input: '%s' does not affect outputs, can be removed.",
                              g->inputs[i]->name);
    for (size_t i = 0; i < g->initializer_count; i++)
        if (box_of(g->initializers[i])->seen != c->state->epoch)
            finding_add_value(&c->list, CHECK_UNUSED_INITIALIZER, g, g->initializers[i]->name,
                              "Initializer: '%s' does not affect outputs, can be removed.",
                              g->initializers[i]->name);
}

pgy_status check_unused(checker *c, pgy_graph *g, pgy_error *err)
{
    arena memory = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) st = node_captures(g->nodes[i], err);
    if (!st) st = mark_needed(g, &memory, err);
    arena_deinit(&memory);
    if (st) return st;
    report(c, g);
    for (size_t i = 0; !st && i < g->node_count; i++)
        for (size_t k = 0; !st && k < g->nodes[i]->subgraph_count; k++)
            st = check_unused(c, g->nodes[i]->subgraphs[k], err);
    return st;
}

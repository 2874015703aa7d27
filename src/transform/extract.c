/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a model of a range of nodes. It imports the model a second time, reduces that graph to the
 * range and exports it; the caller's graph does not change. */
#include <string.h>

#include "graph/graph.h"
#include "graph/side_table.h"

#include <polygraphy/capability.h>

typedef struct cutter {
    pgy_graph *graph;
    size_t first, end;
    pgy_value **inputs, **outputs, **weights;
    size_t input_count, output_count, weight_count;
    id_marks listed; /* values that are listed already */
} cutter;

static bool is_inside(const cutter *c, const pgy_value *v)
{
    return v->producer && v->producer->graph == c->graph && v->producer->index >= c->first &&
           v->producer->index < c->end;
}

static bool is_new(cutter *c, const pgy_value *v)
{
    if (!v || v->graph != c->graph || id_marks_get(&c->listed, value_id(v))) return false;
    return id_marks_set(&c->listed, value_id(v));
}

/* Calls `take` for every input of node n, then for every value that its subgraphs capture. */
static void each_use(cutter *c, const pgy_node *n, void (*take)(cutter *c, pgy_value *v))
{
    const node_box *box = node_box_of(n);
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i]) take(c, n->inputs[i]);
    for (size_t i = 0; i < box->captured_count; i++) take(c, box->captured[i]);
}

static void take_input(cutter *c, pgy_value *v)
{
    if (is_inside(c, v) || !is_new(c, v)) return;
    if (v->initializer || v->sparse)
        c->weights[c->weight_count++] = v;
    else
        c->inputs[c->input_count++] = v;
}

static void take_output(cutter *c, pgy_value *v)
{
    if (is_inside(c, v) && is_new(c, v)) c->outputs[c->output_count++] = v;
}

static void find_border(cutter *c)
{
    pgy_graph *g = c->graph;
    for (size_t i = c->first; i < c->end; i++) each_use(c, g->nodes[i], take_input);
    id_marks_clear(&c->listed);
    for (size_t i = 0; i < g->node_count; i++)
        if (i < c->first || i >= c->end) each_use(c, g->nodes[i], take_output);
    for (size_t i = 0; i < g->output_count; i++) take_output(c, g->outputs[i]);
    if (c->output_count) return;
    /* Nothing outside reads the range: its outputs are the values that no node reads. */
    for (size_t i = c->first; i < c->end; i++)
        for (size_t k = 0; k < g->nodes[i]->output_count; k++)
            if (g->nodes[i]->outputs[k] && g->nodes[i]->outputs[k]->consumer_count == 0)
                take_output(c, g->nodes[i]->outputs[k]);
}

static void cut(cutter *c)
{
    pgy_graph *g = c->graph;
    for (size_t i = 0; i < c->input_count; i++) c->inputs[i]->producer = NULL;
    g->nodes += c->first;
    g->node_count = c->end - c->first;
    level_of(g)->node_capacity = g->node_count;
    graph_reindex(g);
    g->inputs = level_of(g)->declared = c->inputs;
    g->input_count = level_of(g)->declared_count = c->input_count;
    g->outputs = c->outputs;
    g->output_count = c->output_count;
    for (size_t i = 0; i < c->output_count; i++) c->outputs[i]->is_output = true;
    g->initializers = c->weights;
    g->initializer_count = c->weight_count;
    graph_mark_changed(g);
}

static pgy_status cut_out(pgy_graph *g, size_t first, size_t end, pgy_error *err)
{
    cutter c = {.graph = g, .first = first, .end = end};
    const size_t values = level_of(g)->values.count;
    arena *memory = &state_of(g)->memory;
    c.inputs = arena_alloc_array(memory, values, sizeof *c.inputs);
    c.outputs = arena_alloc_array(memory, values, sizeof *c.outputs);
    c.weights = arena_alloc_array(memory, values, sizeof *c.weights);
    if (!c.inputs || !c.outputs || !c.weights) return graph_no_memory(err);
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_status st = node_captures(g->nodes[i], err);
        if (st) return st;
    }
    if (!id_marks_reserve(&c.listed, state_of(g)->value_count)) {
        id_marks_deinit(&c.listed);
        return graph_no_memory(err);
    }
    find_border(&c);
    id_marks_deinit(&c.listed);
    cut(&c);
    return PGY_OK;
}

/* Infers past failing nodes, whose outputs stay unknown, so that other nodes can still be
 * extracted. */
static pgy_status infer_what_can_be(pgy_graph *g, pgy_error *err)
{
    finding_list findings = {0};
    const pgy_status st = graph_infer_all(g, &findings, err);
    strmap_deinit(&findings.seen);
    return st;
}

pgy_status pgy_graph_extract(pgy_model **out, pgy_graph *g, size_t first, size_t end,
                             pgy_error *err)
{
    pgy_model *whole = NULL;
    pgy_graph *part = NULL;
    if (!out || !g || g->parent || first >= end || end > g->node_count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "cannot extract nodes %zu to %zu: 'first' must be less than 'end', "
                             "and both within the graph",
                             first, end);
    /* Export and import, not graph_clone: this declares the names of unknown sizes, so the
     * extracted model keeps them. */
    pgy_status st = pgy_graph_export(&whole, g, err);
    if (!st) st = pgy_graph_import(&part, whole, err);
    if (!st) graph_set_newer(part, NEWER_TAKEN);
    if (!st) st = infer_what_can_be(part, err);
    if (!st) st = cut_out(part, first, end, err);
    if (!st) st = pgy_graph_export(out, part, err);
    pgy_graph_destroy(part);
    pgy_model_destroy(whole);
    return st;
}

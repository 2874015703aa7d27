/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes and tensors of two graphs belong together. Two models are matched as `inspect diff`
 * does; other graphs by their members, names and structure. Then come inputs and outputs, regions
 * that one node replaces, and the tensors of all pairs. */
#include <string.h>

#include "base/cancel.h"
#include "inspect/diff_links.h"
#include "viewer/diff.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing two graphs");
}

/* ---- Models ---------------------------------------------------------------------------------- */

/* A node of a model may be drawn in several places: these are paired in order. */
static void pair_sources(view_match *m, const diff_link *link)
{
    const view_side *a = &m->side[0], *b = &m->side[1];
    uint32_t i = view_find_source(a, link->a), k = view_find_source(b, link->b);
    for (; i < a->source_count && a->sources[i].source == link->a && k < b->source_count &&
           b->sources[k].source == link->b;
         i++, k++)
        view_pair_nodes(m, a->sources[i].node, b->sources[k].node);
}

bool view_is_own_change(const pgy_difference *e)
{
    static const char *const FIELDS[] = {"operator", "domain", "overload", "number of outputs"};
    if (e->part == PGY_DIFF_ATTRIBUTE) return true;
    if (e->change != PGY_DIFF_CHANGED) return false;
    if (e->part == PGY_DIFF_WEIGHT) return true;
    for (size_t i = 0; e->part == PGY_DIFF_NODE && i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (strcmp(e->field, FIELDS[i]) == 0) return true;
    return false;
}

/* Marks pairs that changed themselves, not only in names, places and neighbours. */
static void mark_changed(view_match *m)
{
    size_t count = 0;
    const diff_link *links = diff_links(m->diff, &count);
    view_side *s = m->side;
    for (size_t i = 0; i < count; i++) {
        const pgy_difference *e = pgy_diff_at(m->diff, links[i].entry);
        const bool is_own = view_is_own_change(e);
        const uint32_t at = is_own ? view_find_source(s, links[i].a) : s->source_count;
        for (uint32_t k = at; k < s->source_count && s->sources[k].source == links[i].a; k++) {
            const uint32_t node = s->sources[k].node;
            if (s->pair[node] == VIEW_NONE) continue;
            s->change[node] = m->side[1].change[s->pair[node]] = VIEW_CHANGED;
        }
    }
}

static bool is_call(const view_graph *g, uint32_t node)
{
    return g->containers[g->nodes[node].parent].node == node;
}

/* A node with bodies and one without are drawn as different things. */
static void part_calls(view_match *m)
{
    view_side *a = &m->side[0], *b = &m->side[1];
    for (uint32_t i = 0; i < a->graph->node_count; i++) {
        const uint32_t k = a->pair[i];
        if (k == VIEW_NONE || is_call(a->graph, i) == is_call(b->graph, k)) continue;
        a->pair[i] = VIEW_NONE;
        b->pair[k] = VIEW_NONE;
    }
}

static pgy_status match_models(view_match *m, pgy_error *err)
{
    const pgy_diff_options options = {.size = sizeof options};
    pgy_status st =
        pgy_diff_create(&m->diff, m->side[0].graph->model, m->side[1].graph->model, &options, err);
    if (st) return st;
    size_t count = 0;
    const diff_link *pairs = diff_pairs(m->diff, &count);
    for (size_t i = 0; i < count; i++) pair_sources(m, &pairs[i]);
    part_calls(m);
    mark_changed(m);
    return PGY_OK;
}

static bool has_graph(const view_graph *g)
{
    return g->model && pgy_model_proto(g->model) && pgy_model_proto(g->model)->graph;
}

/* ---- Inputs and outputs ---------------------------------------------------------------------- */

static bool is_main_terminal(const view_graph *g, uint32_t i, view_node_kind kind)
{
    return g->nodes[i].kind == kind && g->nodes[i].parent == 0;
}

static pgy_status match_terminal_names(view_match *m, view_node_kind kind, pgy_error *err)
{
    const view_graph *a = m->side[0].graph, *b = m->side[1].graph;
    strmap names = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < b->node_count; i++)
        if (is_main_terminal(b, i, kind) && !strmap_has(&names, b->nodes[i].name))
            ok = strmap_put(&names, b->nodes[i].name, &b->nodes[i]);
    for (uint32_t i = 0; ok && i < a->node_count; i++) {
        const view_node *n =
            is_main_terminal(a, i, kind) ? strmap_get(&names, a->nodes[i].name) : NULL;
        if (n && m->side[1].pair[n - b->nodes] == VIEW_NONE)
            view_pair_nodes(m, i, (uint32_t)(n - b->nodes));
    }
    strmap_deinit(&names);
    return ok ? PGY_OK : no_memory(err);
}

/* The output that shows a tensor, or VIEW_NONE. */
static uint32_t output_of(const view_side *s, uint32_t tensor)
{
    if (tensor == VIEW_NONE) return VIEW_NONE;
    for (uint32_t i = s->use_start[tensor]; i < s->use_start[tensor + 1]; i++)
        if (s->graph->nodes[s->uses[i]].kind == VIEW_NODE_OUTPUT) return s->uses[i];
    return VIEW_NONE;
}

static uint32_t input_of(const view_graph *g, uint32_t tensor)
{
    const uint32_t p = tensor == VIEW_NONE ? VIEW_NONE : g->tensors[tensor].producer;
    return p != VIEW_NONE && g->nodes[p].kind == VIEW_NODE_INPUT ? p : VIEW_NONE;
}

static void pair_if_alone(view_match *m, uint32_t a, uint32_t b)
{
    if (a != VIEW_NONE && b != VIEW_NONE && view_is_alone(&m->side[0], a) &&
        view_is_alone(&m->side[1], b))
        view_pair_nodes(m, a, b);
}

/* Inputs and outputs at the same places of paired nodes belong together. */
static void match_terminals_of(view_match *m, uint32_t i, uint32_t k)
{
    const view_graph *a = m->side[0].graph, *b = m->side[1].graph;
    const view_node *x = &a->nodes[i], *y = &b->nodes[k];
    for (uint32_t s = 0; s < x->input_count && s < y->input_count; s++)
        pair_if_alone(m, input_of(a, x->inputs[s]), input_of(b, y->inputs[s]));
    for (uint32_t s = 0; s < x->output_count && s < y->output_count; s++)
        pair_if_alone(m, output_of(&m->side[0], x->outputs[s]),
                      output_of(&m->side[1], y->outputs[s]));
}

static pgy_status match_terminals(view_match *m, pgy_error *err)
{
    pgy_status st = match_terminal_names(m, VIEW_NODE_INPUT, err);
    if (!st) st = match_terminal_names(m, VIEW_NODE_OUTPUT, err);
    if (st) return st;
    const view_side *a = &m->side[0];
    for (uint32_t i = 0; i < a->graph->node_count; i++)
        if (a->pair[i] != VIEW_NONE && a->graph->nodes[i].kind == VIEW_NODE)
            match_terminals_of(m, i, a->pair[i]);
    return PGY_OK;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static void match_tensors_of(view_match *m, uint32_t i, uint32_t k)
{
    const view_graph *a = m->side[0].graph, *b = m->side[1].graph;
    const view_node *x = &a->nodes[i], *y = &b->nodes[k];
    for (uint32_t s = 0; s < x->output_count && s < y->output_count; s++)
        view_pair_tensors(m, x->outputs[s], y->outputs[s]);
    for (uint32_t s = 0; s < x->input_count && s < y->input_count; s++) {
        const uint32_t t = x->inputs[s], u = y->inputs[s];
        if (t != VIEW_NONE && u != VIEW_NONE && a->tensors[t].producer == VIEW_NONE &&
            b->tensors[u].producer == VIEW_NONE)
            view_pair_tensors(m, t, u);
    }
}

static void match_tensors(view_match *m)
{
    const view_side *a = &m->side[0], *b = &m->side[1];
    for (uint32_t i = 0; i < a->graph->node_count; i++)
        if (a->pair[i] != VIEW_NONE) match_tensors_of(m, i, a->pair[i]);
    for (uint32_t t = 0; t < a->graph->tensor_count; t++) { /* weights of regions and lone nodes */
        const uint32_t u = view_graph_tensor(b->graph, a->graph->tensors[t].name);
        if (u != VIEW_NONE && view_is_constant(a->graph, t) && view_is_constant(b->graph, u))
            view_pair_tensors(m, t, u);
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

pgy_status view_match_make(view_match *m, const view_graph *a, const view_graph *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *m = (view_match){0};
    if (!view_side_init(&m->side[0], a, &m->memory) || !view_side_init(&m->side[1], b, &m->memory))
        return no_memory(err);
    if (has_graph(a) && has_graph(b)) {
        st = match_models(m, err);
    } else {
        st = view_match_members(m, err);
        if (!st) st = view_match_structure(m, err);
    }
    if (!st) st = cancel_check(err);
    if (!st) st = match_terminals(m, err);
    if (!st) st = view_match_fused(m, err);
    if (!st) st = view_match_chains(m, err);
    if (!st) match_tensors(m);
    return st;
}

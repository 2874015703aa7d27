/* SPDX-License-Identifier: Apache-2.0 */
/* Changes shapes of a graph: replaces those of inputs and drops inferred shapes that depend on
 * them, or declares shapes that a run has shown. */
#include <string.h>

#include "base/suggest.h"
#include "graph/graph.h"

#include <polygraphy/transform.h>

static pgy_status declare(pgy_value *v, const pgy_tensor_info *info, pgy_error *err)
{
    graph_state *s = state_of(v->graph);
    op_value *declared = &box_of(v)->declared;
    if (info->dtype) declared->dtype = info->dtype;
    if (info->rank >= 0) {
        const pgy_status st = value_set_shape(declared, s, info, err);
        if (st) return st;
    }
    box_of(v)->known = *declared;
    box_of(v)->known.data = NULL;
    graph_mark_changed(v->graph);
    return s->dims.failed ? graph_no_memory(err) : value_publish(v, err);
}

/* Appends to an arena array without spare room, by copying it. */
static bool append(pgy_value ***list, size_t *count, pgy_value *v, arena *memory)
{
    pgy_value **grown = arena_alloc_array(memory, *count + 1, sizeof *grown);
    if (!grown) return false;
    if (*count) memcpy(grown, *list, *count * sizeof *grown);
    grown[(*count)++] = v;
    *list = grown;
    return true;
}

/* Turns v, which a node makes, into an input of the graph. */
static pgy_status make_input(pgy_graph *g, pgy_value *v, pgy_error *err)
{
    graph_level *level = level_of(g);
    arena *memory = &level->state->memory;
    if (v->is_input) return PGY_OK;
    if (v->initializer || v->sparse)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'%s' is a weight; its shape cannot be changed",
                             v->name);
    if (v->producer) {
        v->producer->outputs[v->output_index] = NULL;
        node_box_of(v->producer)->changed = true;
        v->producer = NULL;
    }
    box_of(v)->declared = box_of(v)->known;
    box_of(v)->declared.data = NULL;
    v->is_input = true;
    v->info = NULL;
    return append(&g->inputs, &g->input_count, v, memory) &&
                   append(&level->declared, &level->declared_count, v, memory)
               ? PGY_OK
               : graph_no_memory(err);
}

static pgy_status forget_level(pgy_graph *g, pgy_error *err)
{
    const strmap *values = &level_of(g)->values;
    for (size_t i = 0; i < values->count; i++) {
        pgy_value *v = values->entries[i].value;
        value_box *box = box_of(v);
        if (!v->producer || v->kind != PGY_VALUE_TENSOR) continue;
        box->declared.rank = -1;
        box->declared.dims = NULL;
        box->declared.data = NULL;
        if (!box->declared.dtype) box->declared.dtype = box->known.dtype;
        box->known = box->declared;
        v->info = NULL;
        const pgy_status st = value_publish(v, err);
        if (st) return st;
    }
    graph_mark_changed(g);
    for (size_t i = 0; i < g->node_count; i++) {
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++) {
            const pgy_status st = forget_level(g->nodes[i]->subgraphs[k], err);
            if (st) return st;
        }
    }
    return PGY_OK;
}

static pgy_status not_found(const pgy_graph *g, const char *name, pgy_error *err)
{
    suggestions near = {.wanted = name};
    str text = {0};
    graph_suggest(&near, g);
    suggest_append(&text, &near);
    const pgy_status st = pgy_error_set(err, PGY_E_NOT_FOUND, "the model has no tensor '%s'%s",
                                        name, str_text(&text));
    str_deinit(&text);
    return st;
}

pgy_status pgy_graph_override_shapes(pgy_graph *g, const pgy_metadata *shapes, pgy_error *err)
{
    if (!g || g->parent || !shapes)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'g' must be a whole graph, and 'shapes' must not be NULL");
    for (size_t i = 0; i < pgy_metadata_count(shapes); i++)
        if (!pgy_graph_find_value(g, pgy_metadata_at(shapes, i)->name))
            return not_found(g, pgy_metadata_at(shapes, i)->name, err);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_metadata_count(shapes); i++)
        st = make_input(g, pgy_graph_find_value(g, pgy_metadata_at(shapes, i)->name), err);
    if (!st) st = forget_level(g, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(shapes, i);
        st = declare(pgy_graph_find_value(g, info->name), info, err);
    }
    return st;
}

pgy_status pgy_graph_declare_shapes(pgy_graph *g, const pgy_metadata *shapes, pgy_error *err)
{
    if (!g || g->parent || !shapes)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'g' must be a whole graph, and 'shapes' must not be NULL");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(shapes, i);
        pgy_value *v = pgy_graph_find_value(g, info->name);
        if (v && !v->initializer && !v->sparse && v->kind == PGY_VALUE_TENSOR)
            st = declare(v, info, err);
    }
    return st;
}

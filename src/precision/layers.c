/* SPDX-License-Identifier: Apache-2.0 */
/* Layers are the nodes of the main graph that the conversion to 16 bits changes. A trial conversion
 * of the whole model finds them, so the search and the written model agree on which nodes stay
 * float32 in any case.
 *
 * The conversion selects nodes by name, wildcard or operator. So nodes get a new name if theirs is
 * empty, is used twice, looks like a wildcard or equals an operator. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/str.h"
#include "graph/inline.h"
#include "precision/precision.h"

static const char LOG_PATH[] = "precision/layers.c";

/* ---- Names ---------------------------------------------------------------------------------- */

typedef struct naming {
    arena *memory;
    strmap
        names; /* name -> number of nodes that have it (as a pointer); operators are in it, too */
    size_t number, renamed;
} naming;

static bool note_names(naming *m, const pgy_graph *g)
{
    bool good = true;
    for (size_t i = 0; good && i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        const uintptr_t seen = (uintptr_t)strmap_get(&m->names, n->name);
        /* An operator counts twice, so no node may have its name. */
        good = strmap_put(&m->names, n->name, (void *)(seen + 1)) &&
               strmap_put(&m->names, n->op_type, (void *)2);
        for (size_t k = 0; good && k < n->subgraph_count; k++)
            good = note_names(m, n->subgraphs[k]);
    }
    return good;
}

static bool is_plain(const char *name)
{
    for (const char *c = name; *c; c++)
        if (strchr("*?[]\\", *c) || (unsigned char)*c <= ' ') return false;
    return *name != 0;
}

static bool give_names(naming *m, pgy_graph *g)
{
    bool good = true;
    for (size_t i = 0; good && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        for (size_t k = 0; good && k < n->subgraph_count; k++)
            good = give_names(m, n->subgraphs[k]);
        if (is_plain(n->name) && (uintptr_t)strmap_get(&m->names, n->name) == 1) continue;
        char *name = NULL;
        do name = arena_printf(m->memory, "%s_%zu", n->op_type, m->number++);
        while (name && strmap_has(&m->names, name));
        good = name && strmap_put(&m->names, name, (void *)1);
        if (!good) break;
        n->name = name;
        node_box_of(n)->changed = true;
        graph_mark_changed(g);
        m->renamed++;
    }
    return good;
}

static pgy_status make_names_unique(pgy_precision *p, pgy_error *err)
{
    naming m = {.memory = &state_of(p->graph)->memory};
    const bool good = note_names(&m, p->graph) && give_names(&m, p->graph);
    strmap_deinit(&m.names);
    if (!good) return search_no_memory(err);
    if (m.renamed)
        LOG(INFO, "%zu nodes have no usable name of their own and get new names", m.renamed);
    return PGY_OK;
}

/* ---- Layers --------------------------------------------------------------------------------- */

static bool has_type(pgy_value *const *values, size_t count, pgy_dtype type)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] && values[i]->dtype == type) return true;
    return false;
}

/* Did the conversion change the float32 outputs of n, or else its float32 inputs? */
static bool became(const pgy_node *n, const pgy_node *converted, pgy_dtype type)
{
    if (has_type(n->outputs, n->output_count, PGY_F32))
        return has_type(converted->outputs, converted->output_count, type);
    return has_type(n->inputs, n->input_count, PGY_F32) &&
           has_type(converted->inputs, converted->input_count, type);
}

static pgy_status list_layers(pgy_precision *p, const pgy_graph *converted, pgy_error *err)
{
    const pgy_graph *g = p->graph;
    p->layers = mem_calloc(g->node_count + 1, sizeof *p->layers);
    p->nodes = mem_calloc(g->node_count + 1, sizeof *p->nodes);
    p->best = mem_calloc(g->node_count + 1, sizeof *p->best);
    if (!p->layers || !p->nodes || !p->best) return search_no_memory(err);
    size_t count = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        if (node_is(n, "Constant")) continue; /* a weight of the layers that read it */
        const pgy_node *now = pgy_graph_find_node(converted, n->name);
        if (!now || !became(n, now, p->options.type)) {
            p->summary.fixed++;
            continue;
        }
        p->layers[count] =
            (pgy_precision_layer){.name = n->name, .op_type = n->op_type, .error = -1};
        p->nodes[count++] = i;
    }
    p->summary.layers = count;
    if (count) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "no node of the model can be %s: it has no float32 nodes, or all of them "
                         "must stay float32",
                         pgy_dtype_name(p->options.type));
}

pgy_status layers_convert_all(pgy_graph **out, const pgy_precision *p, pgy_error *err)
{
    pgy_half_options o = pgy_half_options_default();
    pgy_graph *g = NULL;
    pgy_model *copy = NULL;
    o.dtype = p->options.type;
    pgy_status st = pgy_graph_export(&copy, p->graph, err);
    if (!st) st = pgy_graph_import(&g, copy, err);
    if (!st) st = pgy_graph_convert_half(g, &o, err);
    pgy_model_destroy(copy);
    if (st)
        pgy_graph_destroy(g);
    else
        *out = g;
    return st;
}

pgy_status layers_find(pgy_precision *p, pgy_model *model, pgy_error *err)
{
    const inline_choice all = {0};
    pgy_graph *converted = NULL;
    size_t calls = 0;
    pgy_status st = pgy_graph_import(&p->graph, model, err);
    if (!st) st = pgy_graph_infer_shapes(p->graph, NULL, err);
    if (!st) st = graph_inline_calls(p->graph, &all, &calls, err);
    if (!st) st = pgy_graph_sort(p->graph, err);
    if (!st) st = make_names_unique(p, err);
    if (!st) st = pgy_graph_infer_shapes(p->graph, NULL, err);
    if (!st) st = layers_convert_all(&converted, p, err);
    if (!st) st = list_layers(p, converted, err);
    pgy_graph_destroy(converted);
    return st;
}

/* ---- Costs ---------------------------------------------------------------------------------- */

void layers_set_cost(pgy_precision *p, const uint64_t *node_bytes)
{
    p->summary.wide_bytes = 0;
    for (size_t i = 0; i < p->graph->node_count; i++) p->summary.wide_bytes += node_bytes[i];
    for (size_t i = 0; i < p->summary.layers; i++)
        p->layers[i].saved_bytes = node_bytes[p->nodes[i]] / 2;
}

uint64_t layers_bytes(const pgy_precision *p, const bool *narrow)
{
    uint64_t bytes = p->summary.wide_bytes;
    for (size_t i = 0; i < p->summary.layers; i++)
        if (narrow[i]) bytes -= p->layers[i].saved_bytes;
    return bytes;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration gives types to layers by name, and a name may be a wildcard. So layers that share
 * a name, or whose name is a wildcard, get a name of their own in a copy of the model. */
#include "debug/layers.h"

#include <string.h>

#include <polygraphy/graph.h>

#include "base/log.h"
#include "base/str.h"
#include "graph/graph.h"

static const char LOG_PATH[] = "debug/layers.c";

static bool is_type_of_layers(pgy_dtype t)
{
    return t == PGY_F32 || t == PGY_F16 || t == PGY_I8;
}

/* The model itself states the types of these; asking for another one would make the build fail. */
static bool states_its_types(const pgy_node *n)
{
    static const char *const OPERATORS[] = {"Constant",
                                            "Cast",
                                            "CastLike",
                                            "BitCast",
                                            "QuantizeLinear",
                                            "DequantizeLinear",
                                            "DynamicQuantizeLinear"};
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS; i++)
        if (strcmp(n->op_type, OPERATORS[i]) == 0) return true;
    return n->subgraph_count > 0;
}

/* Shapes and indices are integers of 32 or 64 bits, so their types exclude them. */
static bool is_markable(const pgy_node *n)
{
    if (states_its_types(n)) return false;
    for (size_t i = 0; i < n->output_count; i++) {
        const pgy_value *v = n->outputs[i];
        if (v && (v->kind != PGY_VALUE_TENSOR || !is_type_of_layers(v->dtype))) return false;
    }
    return true;
}

/* ---- Names ---------------------------------------------------------------------------------- */

static bool is_known(const strmap *names, const char *name)
{
    return strmap_get(names, name) != NULL;
}

static const char *free_name(const char *stem, const strmap *names, arena *memory)
{
    for (size_t i = 2;; i++) {
        const char *name = arena_printf(memory, "%s_%zu", stem, i);
        if (!name || !is_known(names, name)) return name;
    }
}

static const char *plain_name(const char *name, arena *memory)
{
    char *copy = arena_strdup(memory, name);
    for (char *at = copy; at && (at = strpbrk(at, "*?[")); at++) *at = '_';
    return copy;
}

/* Names of nodes at all levels match a choice, so the nodes of subgraphs count, too. */
static bool collect_inner(strmap *names, const pgy_graph *g)
{
    bool good = true;
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++) {
            const pgy_graph *inner = g->nodes[i]->subgraphs[k];
            good &= collect_inner(names, inner);
            for (size_t j = 0; j < inner->node_count; j++)
                good &= strmap_put(names, node_label(inner->nodes[j]), (void *)inner);
        }
    return good;
}

static bool keep_outputs(debug_layer *layer, const pgy_node *n, arena *memory)
{
    bool good = true;
    layer->outputs = arena_alloc_array(memory, n->output_count + 1, sizeof *layer->outputs);
    for (size_t i = 0; layer->outputs && i < n->output_count; i++) {
        if (!n->outputs[i] || !n->outputs[i]->name) continue;
        const char *name = arena_strdup(memory, n->outputs[i]->name);
        layer->outputs[layer->output_count++] = name;
        good &= name != NULL;
    }
    return good && layer->outputs;
}

static bool name_layers(debug_layers *l, pgy_graph *g, size_t *renamed)
{
    strmap names = {0};
    bool good = collect_inner(&names, g);
    for (size_t i = 0; good && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        const char *label = node_label(n), *name = label;
        if (strpbrk(label, "*?[")) name = plain_name(label, &l->memory);
        if (name && is_known(&names, name)) name = free_name(name, &names, &l->memory);
        if (name && name != label) {
            n->name = name;
            ++*renamed;
        }
        l->items[i] = (debug_layer){name ? arena_strdup(&l->memory, name) : NULL, is_markable(n)};
        good = l->items[i].name && strmap_put(&names, l->items[i].name, g) &&
               keep_outputs(&l->items[i], n, &l->memory);
    }
    strmap_deinit(&names);
    return good;
}

/* ---- The list ------------------------------------------------------------------------------- */

static pgy_status list(debug_layers *l, pgy_model *model, pgy_graph *g, pgy_error *err)
{
    size_t renamed = 0;
    l->count = g->node_count;
    l->items = arena_alloc_array(&l->memory, l->count + 1, sizeof *l->items);
    if (!l->items || !name_layers(l, g, &renamed))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a list of layers");
    if (!renamed) {
        l->model = pgy_model_retain(model);
        return PGY_OK;
    }
    LOG(INFO,
        "Layers renamed for this search, because their names occur twice or are wildcards: %zu",
        renamed);
    return pgy_graph_export(&l->model, g, err);
}

pgy_status debug_layers_list(debug_layers *out, pgy_model *model, pgy_error *err)
{
    debug_layers l = {0};
    pgy_graph *g = NULL;
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st) st = pgy_graph_sort(g, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = list(&l, model, g, err);
    pgy_graph_destroy(g);
    if (st)
        debug_layers_deinit(&l);
    else
        *out = l;
    return st;
}

/* ---- By error ------------------------------------------------------------------------------- */

static double error_of(const debug_layer *layer, const pgy_debug_tensor_error *errors, size_t count)
{
    double worst = -1;
    for (size_t k = 0; layer->is_markable && k < layer->output_count; k++)
        for (size_t i = 0; i < count; i++)
            if (errors[i].error > worst && strcmp(errors[i].name, layer->outputs[k]) == 0)
                worst = errors[i].error;
    return worst;
}

/* Insertion keeps the order of equal errors. */
void debug_layers_sort(debug_layers *l, const pgy_debug_tensor_error *errors, size_t count)
{
    for (size_t i = 0; i < l->count; i++) {
        debug_layer layer = l->items[i];
        size_t at = i;
        layer.error = error_of(&layer, errors, count);
        for (; at > 0 && l->items[at - 1].error < layer.error; at--)
            l->items[at] = l->items[at - 1];
        l->items[at] = layer;
    }
}

void debug_layers_deinit(debug_layers *l)
{
    pgy_model_destroy(l->model);
    arena_deinit(&l->memory);
    *l = (debug_layers){0};
}

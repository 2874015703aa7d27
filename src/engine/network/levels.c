/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of loops and conditionals: subgraphs, which become attributes of an If or Loop node,
 * and layers that get their outputs when that node is made. */
#include <stdio.h>
#include <string.h>

#include "engine/network/network.h"
#include "graph/edit.h"

pgy_status build_open_level(pgy_network **out, pgy_network *net, pgy_error *err)
{
    pgy_graph *level = NULL;
    pgy_status st = level_create(&level, state_of(net->level), net->level, err);
    return st ? st : network_add_level(out, net->root, level, err);
}

static const pgy_onnx_attribute *graph_attribute(builder *b, const char *name)
{
    pgy_model *m = b->net->level->model;
    pgy_onnx_graph *place = pgy_model_alloc(m, 1, sizeof *place); /* marks a graph attribute */
    if (!place) return NULL;
    place->name = place->doc_string = "";
    const pgy_onnx_attribute value = {.type = PGY_ATTR_GRAPH, .g = place};
    return attribute_create(m, name, &value);
}

void build_attach(builder *b, pgy_node *n, const char *const *names, pgy_graph *const *levels,
                  size_t count)
{
    arena *memory = &state_of(b->net->level)->memory;
    if (b->status || !n) return;
    const pgy_onnx_attribute **attributes = arena_alloc_array(memory, count, sizeof *attributes);
    pgy_graph **subgraphs = arena_alloc_array(memory, count, sizeof *subgraphs);
    const char **subgraph_names = arena_alloc_array(memory, count, sizeof *subgraph_names);
    bool failed = !attributes || !subgraphs || !subgraph_names;
    for (size_t i = 0; !failed && i < count; i++) {
        attributes[i] = graph_attribute(b, names[i]);
        subgraphs[i] = levels[i];
        subgraph_names[i] = names[i];
        level_of(levels[i])->owner = n;
        level_of(levels[i])->owner_attribute = names[i];
        if (!*levels[i]->name) levels[i]->name = names[i];
        failed = !attributes[i];
    }
    if (failed) {
        build_fail(b, PGY_E_MEMORY, "out of memory");
        return;
    }
    n->attributes = attributes;
    n->subgraphs = subgraphs;
    n->subgraph_names = subgraph_names;
    n->attribute_count = n->subgraph_count = count;
    node_box_of(n)->prepared = false;
}

void build_level_outputs(builder *b, pgy_value *const *values, size_t count)
{
    pgy_graph *level = b->net->level;
    for (size_t i = 0; i < level->output_count; i++) level->outputs[i]->is_output = false;
    level->output_count = 0; /* drops outputs of an earlier attempt to close */
    for (size_t i = 0; !b->status && i < count; i++) {
        pgy_value *v = build_emit(b, "Identity", 1, values[i]);
        pgy_error err = {0};
        const pgy_status st = v ? network_add_output(b->net, v, &err) : PGY_OK;
        if (st) build_fail(b, st, "%s", err.text);
    }
}

pgy_status build_give(pgy_layer *layer, pgy_value *output, pgy_node *const *nodes,
                      size_t node_count, pgy_error *err)
{
    arena *memory = &state_of(layer->network->level)->memory;
    char name[320];
    if (output) {
        pgy_value **outputs = arena_alloc(memory, sizeof *outputs);
        if (!outputs) return network_no_memory(err);
        outputs[0] = output;
        layer->outputs = outputs;
        layer->output_count = 1;
        snprintf(name, sizeof name, "%.256s_output", layer->name);
        const bool taken = level_resolve(layer->network->level, name) != NULL;
        const pgy_status st = taken ? PGY_OK : value_rename(output, name, err);
        if (st) return st;
    }
    pgy_node **list = arena_alloc_array(memory, node_count + 1, sizeof *list);
    if (!list) return network_no_memory(err);
    if (node_count) memcpy(list, nodes, node_count * sizeof *list);
    layer->nodes = list;
    layer->node_count = node_count;
    return PGY_OK;
}

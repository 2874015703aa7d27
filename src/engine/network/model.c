/* SPDX-License-Identifier: Apache-2.0 */
/* Networks made from models, with a layer for each node, and the models that networks become. */
#include <polygraphy/transform.h>

#include <string.h>

#include "engine/network/network.h"

static pgy_status import_layer(pgy_network *net, pgy_node *n, pgy_error *err)
{
    arena *memory = &state_of(net->level)->memory;
    layer_box *box = arena_alloc(memory, sizeof *box);
    pgy_node **nodes = arena_alloc(memory, sizeof *nodes);
    pgy_value **inputs = arena_alloc_array(memory, n->input_count + 1, sizeof *inputs);
    pgy_value **outputs = arena_alloc_array(memory, n->output_count + 1, sizeof *outputs);
    if (!box || !nodes || !inputs || !outputs) return network_no_memory(err);
    nodes[0] = n;
    if (n->input_count) memcpy(inputs, n->inputs, n->input_count * sizeof *inputs);
    if (n->output_count) memcpy(outputs, n->outputs, n->output_count * sizeof *outputs);
    box->layer = (pgy_layer){.name = node_label(n),
                             .type = layer_type_of(n),
                             .inputs = inputs,
                             .input_count = n->input_count,
                             .outputs = outputs,
                             .output_count = n->output_count,
                             .nodes = nodes,
                             .node_count = 1,
                             .network = net,
                             .internal = box};
    layer_set_precision_field(&box->layer);
    return network_add_record(net, &box->layer, err);
}

static pgy_status import_layers(pgy_network *net, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < net->level->node_count; i++)
        st = import_layer(net, net->level->nodes[i], err);
    return st;
}

/* Layers emit nodes of NETWORK_OPSET. A model that cannot be converted keeps its opset. */
static pgy_status raise_opset(network_root *root, pgy_error *err)
{
    pgy_error why = {0};
    if (pgy_graph_opset(root->graph, "") >= NETWORK_OPSET) return PGY_OK;
    const pgy_status st = pgy_graph_convert_opset(root->graph, NETWORK_OPSET, NULL, &why);
    if (!st) return PGY_OK;
    if (st == PGY_E_MEMORY) return network_no_memory(err);
    str text = {0};
    str_printf(&text, "the model has opset %lld and cannot be converted to opset %d: %s",
               (long long)pgy_graph_opset(root->graph, ""), NETWORK_OPSET, why.text);
    root->refused = str_take(&text);
    return root->refused ? PGY_OK : network_no_memory(err);
}

pgy_status pgy_network_from_model(pgy_network **out, pgy_model *model, pgy_error *err)
{
    pgy_network *net = NULL;
    if (!out || !model) return pgy_error_set(err, PGY_E_ARGUMENT, "the model must not be NULL");
    pgy_status st = network_open(&net, model, err);
    if (!st) st = raise_opset(net->root, err);
    if (!st) st = pgy_graph_sort(net->level, err);
    if (!st) st = pgy_graph_infer_shapes(net->level, NULL, err);
    if (!st) st = import_layers(net, err);
    if (st)
        pgy_network_destroy(net);
    else
        *out = net;
    return st;
}

pgy_status pgy_network_to_model(pgy_model **out, pgy_network *net, pgy_error *err)
{
    if (!out || !net || net->level->parent)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "'out' and the network must not be NULL, and the network must not be a loop or branch");
    if (net->level->output_count == 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "network '%s' has no outputs; mark a tensor as output",
                             net->level->name);
    for (size_t i = 0; i < net->root->level_count; i++)
        if (net->root->levels[i]->open_count)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "network '%s' has a loop or conditional that is not closed",
                                 net->level->name);
    for (size_t i = 0; i < net->level->output_count; i++)
        if (!network_is_linked(net->level->outputs[i]))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "nothing computes output '%s': its layer was removed",
                                 net->level->outputs[i]->name);
    pgy_status st = network_place_assertions(net, err);
    if (!st) st = pgy_graph_sort(net->level, err);
    return st ? st : pgy_graph_export(out, net->level, err);
}

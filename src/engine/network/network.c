/* SPDX-License-Identifier: Apache-2.0 */
/* Networks: their bodies, records of layers, names and values. A network is a graph with records of
 * layers; every loop body and branch is a network of its own over a subgraph. */
#include "engine/network/network.h"

#include <string.h>

#include "base/alloc.h"

pgy_status network_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while building the network");
}

/* ---- Making --------------------------------------------------------------------------------- */

pgy_status network_add_level(pgy_network **out, network_root *root, pgy_graph *level,
                             pgy_error *err)
{
    void *levels = root->levels;
    pgy_network *net = mem_calloc(1, sizeof *net);
    if (!net ||
        !mem_grow(&levels, &root->level_capacity, root->level_count + 1, sizeof *root->levels)) {
        mem_free(net);
        return network_no_memory(err);
    }
    root->levels = levels;
    root->levels[root->level_count++] = net;
    net->root = root;
    net->level = level;
    *out = net;
    return PGY_OK;
}

pgy_status network_add_record(pgy_network *net, pgy_layer *layer, pgy_error *err)
{
    void *layers = net->layers;
    if (!mem_grow(&layers, &net->layer_capacity, net->layer_count + 1, sizeof *net->layers))
        return network_no_memory(err);
    net->layers = layers;
    net->layers[net->layer_count++] = layer;
    return PGY_OK;
}

static void destroy_root(network_root *root)
{
    if (!root) return;
    for (size_t i = 0; i < root->level_count; i++) {
        mem_free(root->levels[i]->layers);
        mem_free(root->levels[i]->assertions);
        mem_free(root->levels[i]);
    }
    mem_free(root->levels);
    mem_free(root->debug);
    mem_free(root->debug_names);
    mem_free(root->refused);
    pgy_graph_destroy(root->graph);
    mem_free(root);
}

void pgy_network_destroy(pgy_network *net)
{
    if (net && !net->level->parent) destroy_root(net->root);
}

static pgy_status empty_model(pgy_model **out, const char *name, pgy_error *err)
{
    pgy_model *m = NULL;
    pgy_status st = pgy_model_create(&m, err);
    if (st) return st;
    pgy_onnx_model *proto = pgy_model_alloc(m, 1, sizeof *proto);
    pgy_onnx_graph *graph = pgy_model_alloc(m, 1, sizeof *graph);
    pgy_onnx_opset *opset = pgy_model_alloc(m, 1, sizeof *opset);
    pgy_onnx_opset **opsets = pgy_model_alloc(m, 1, sizeof *opsets);
    char *copy = (char *)pgy_model_strdup(m, name);
    if (!proto || !graph || !opset || !opsets || !copy) {
        pgy_model_destroy(m);
        return network_no_memory(err);
    }
    opset->domain = "";
    opset->version = NETWORK_OPSET;
    opsets[0] = opset;
    graph->name = copy;
    graph->doc_string = "";
    *proto = (pgy_onnx_model){.ir_version = NETWORK_IR_VERSION,
                              .producer_name = "polygraphy",
                              .producer_version = PGY_VERSION,
                              .domain = "",
                              .doc_string = "",
                              .opset_imports = opsets,
                              .opset_import_count = 1,
                              .graph = graph};
    pgy_model_set_proto(m, proto);
    *out = m;
    return PGY_OK;
}

pgy_status network_open(pgy_network **out, pgy_model *model, pgy_error *err)
{
    network_root *root = mem_calloc(1, sizeof *root);
    if (!root) return network_no_memory(err);
    pgy_status st = pgy_graph_import(&root->graph, model, err);
    if (!st) graph_set_newer(root->graph, NEWER_TAKEN);
    if (!st) st = network_add_level(out, root, root->graph, err);
    if (st) destroy_root(root);
    return st;
}

pgy_status pgy_network_create(pgy_network **out, const char *name, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_network *net = NULL;
    if (!out || !name || !*name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a network needs a name");
    pgy_status st = empty_model(&model, name, err);
    if (!st) st = network_open(&net, model, err);
    if (!st) *out = net;
    pgy_model_destroy(model);
    return st;
}

const char *pgy_network_name(const pgy_network *net)
{
    return net->level->name;
}

pgy_status pgy_network_set_name(pgy_network *net, const char *name, pgy_error *err)
{
    if (!net || !name || !*name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a network needs a name");
    char *copy = arena_strdup(&state_of(net->level)->memory, name);
    if (!copy) return network_no_memory(err);
    net->level->name = copy;
    graph_mark_changed(net->level);
    return PGY_OK;
}

pgy_graph *pgy_network_graph(pgy_network *net)
{
    return net->level;
}

/* Infers the main graph, then open bodies: no node holds these yet, so they are not part of it. */
pgy_status network_infer(pgy_network *net, pgy_error *err)
{
    network_root *root = net->root;
    pgy_status st = pgy_graph_infer_shapes(root->graph, NULL, err);
    for (size_t i = 1; !st && i < root->level_count; i++) {
        pgy_graph *g = root->levels[i]->level;
        for (size_t k = 0; !st && !root->levels[i]->closed && k < g->node_count; k++)
            st = graph_infer_node(g->nodes[k], err);
    }
    return st;
}

/* ---- Names and values ----------------------------------------------------------------------- */

bool network_is_linked(const pgy_value *v)
{
    return v->is_input || v->initializer || v->sparse || (v->producer && v->producer->graph);
}

bool network_can_see(const pgy_network *net, const pgy_value *v)
{
    const pgy_graph *g = net->level;
    while (g && g != v->graph) g = g->parent;
    return g != NULL;
}

void network_describe_value(str *out, const pgy_value *v)
{
    str_printf(out, "'%s' %s ", v->name, v->dtype ? pgy_dtype_name(v->dtype) : "of unknown type");
    if (v->rank < 0) {
        str_append(out, "of unknown rank");
        return;
    }
    str_append_char(out, '[');
    for (int32_t i = 0; i < v->rank; i++) {
        if (i) str_append(out, ", ");
        if (v->dims[i].value >= 0)
            str_printf(out, "%lld", (long long)v->dims[i].value);
        else
            str_append(out, v->dims[i].text ? v->dims[i].text : "?");
    }
    str_append_char(out, ']');
}

pgy_status network_import_domain(network_root *root, const char *domain, pgy_error *err)
{
    graph_level *top = level_of(root->graph);
    graph_state *s = top->state;
    pgy_model *m = root->graph->model;
    pgy_onnx_opset *const *old = top->opsets;
    const size_t count = top->opset_count;
    if (pgy_graph_opset(root->graph, domain)) return PGY_OK;
    pgy_onnx_opset **opsets = pgy_model_alloc(m, count + 1, sizeof *opsets);
    pgy_onnx_opset *added = pgy_model_alloc(m, 1, sizeof *added);
    if (!opsets || !added) return network_no_memory(err);
    if (count) memcpy(opsets, old, count * sizeof *opsets);
    added->domain = domain;
    added->version = 1;
    opsets[count] = added;
    for (size_t i = 0; i < s->level_count; i++) {
        graph_level *level = level_of(s->levels[i]);
        if (level->opsets != old || level->is_function) continue;
        level->opsets = opsets;
        level->opset_count = count + 1;
    }
    return PGY_OK;
}

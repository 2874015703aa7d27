/* SPDX-License-Identifier: Apache-2.0 */
/* Model-local functions, found by domain, name and overload. A body is a level of its own, imported
 * on first use and shared by all calls. An attr_scope passes the attributes of a call to the body.
 */
#include <string.h>

#include "graph/graph.h"

int64_t function_opset(const pgy_onnx_function *f)
{
    for (size_t i = 0; i < f->opset_import_count; i++)
        if (domain_is_default(f->opset_imports[i]->domain)) return f->opset_imports[i]->version;
    return 0;
}

static pgy_status import_interface(pgy_graph *body, const pgy_onnx_function *f, pgy_error *err)
{
    body->inputs = arena_alloc_array(&state_of(body)->memory, f->input_count, sizeof *body->inputs);
    if (!body->inputs) return graph_no_memory(err);
    for (size_t i = 0; i < f->input_count; i++) {
        if (strmap_has(&level_of(body)->values, f->inputs[i]))
            return pgy_error_set(err, PGY_E_FORMAT, "function '%s' has two inputs named '%s'",
                                 f->name, f->inputs[i]);
        pgy_value *v = level_add_value(body, f->inputs[i]);
        if (!v) return graph_no_memory(err);
        v->is_input = true;
        body->inputs[body->input_count++] = v;
    }
    return PGY_OK;
}

static pgy_status import_results(pgy_graph *body, const pgy_onnx_function *f, pgy_error *err)
{
    body->outputs =
        arena_alloc_array(&state_of(body)->memory, f->output_count, sizeof *body->outputs);
    if (!body->outputs) return graph_no_memory(err);
    for (size_t i = 0; i < f->output_count; i++) {
        pgy_value *v = pgy_graph_find_value(body, f->outputs[i]);
        if (!v)
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "no node of the function computes output '%s' of function '%s'",
                                 f->outputs[i], f->name);
        v->is_output = true;
        body->outputs[body->output_count++] = v;
    }
    return PGY_OK;
}

pgy_status function_body(pgy_graph **out, graph_function *f, pgy_graph *g, pgy_error *err)
{
    const pgy_onnx_function *proto = f->proto;
    if (!f->body) {
        pgy_graph *body;
        pgy_status st = level_create(&body, state_of(g), NULL, err);
        if (st) return st;
        graph_level *level = level_of(body);
        body->name = proto->name;
        body->model = g->model;
        level->is_function = true;
        level->opsets = proto->opset_imports;
        level->opset_count = proto->opset_import_count;
        level->default_opset = function_opset(proto);
        st = import_interface(body, proto, err);
        if (!st) st = level_import_nodes(body, proto->nodes, proto->node_count, err);
        if (!st) st = import_results(body, proto, err);
        if (!st) st = level_attach_infos(body, proto->value_infos, proto->value_info_count, err);
        if (st) return pgy_error_prefix(err, st, "function '%s': ", proto->name);
        f->body = body;
    }
    *out = f->body;
    return PGY_OK;
}

static const op_attr *find_attr(const op_attr *attrs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(attrs[i].name, name) == 0) return &attrs[i];
    return NULL;
}

pgy_status function_scope(attr_scope *out, const graph_function *f, const pgy_node *call,
                          const op_attr *attrs, size_t count, arena *memory, pgy_error *err)
{
    const pgy_onnx_function *proto = f->proto;
    for (size_t i = 0; i < proto->attribute_count; i++)
        if (!find_attr(attrs, count, proto->attributes[i]))
            return node_error(call, err, PGY_E_FORMAT,
                              "the node lacks attribute '%s', which its function needs",
                              proto->attributes[i]);
    op_attr *all = arena_alloc_array(memory, count + proto->attribute_proto_count, sizeof *all);
    if (!all) return graph_no_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) all[n++] = attrs[i];
    for (size_t i = 0; i < proto->attribute_proto_count; i++) {
        if (find_attr(attrs, count, proto->attribute_protos[i]->name)) continue;
        const pgy_status st =
            attr_convert(&all[n], call->graph, proto->attribute_protos[i], NULL, err);
        if (st) return pgy_error_prefix(err, st, "function '%s': ", proto->name);
        n++;
    }
    *out = (attr_scope){all, n};
    return PGY_OK;
}

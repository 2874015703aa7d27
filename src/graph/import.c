/* SPDX-License-Identifier: Apache-2.0 */
/* Builds linked values and nodes from the messages of a model. A level is read in three steps: its
 * declarations (inputs, weights), the outputs of its nodes, and then their inputs, so the stored
 * order does not matter. Names are looked up outwards through the enclosing levels. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/graph.h"

static pgy_status define(pgy_value **out, pgy_graph *g, const char *name, const char *what,
                         pgy_error *err)
{
    if (!*name)
        return pgy_error_set(err, PGY_E_FORMAT, "graph '%s' has %s without a name", g->name, what);
    const size_t before = level_of(g)->values.count;
    pgy_value *v = level_add_value(g, name);
    if (!v) return graph_no_memory(err);
    if (level_of(g)->values.count == before)
        return pgy_error_set(err, PGY_E_FORMAT, "graph '%s' defines value '%s' twice", g->name,
                             name);
    *out = v;
    return PGY_OK;
}

/* ---- Inputs and weights --------------------------------------------------------------------- */

static pgy_status import_inputs(pgy_graph *g, const pgy_onnx_graph *proto, pgy_error *err)
{
    graph_level *level = level_of(g);
    level->declared =
        arena_alloc_array(&level->state->memory, proto->input_count, sizeof *level->declared);
    if (!level->declared) return graph_no_memory(err);
    for (size_t i = 0; i < proto->input_count; i++) {
        pgy_value *v = NULL;
        pgy_status st = define(&v, g, proto->inputs[i]->name, "an input", err);
        if (!st) st = value_declare(v, proto->inputs[i]->type, err);
        if (st) return st;
        v->info = proto->inputs[i];
        v->is_input = true;
        level->declared[level->declared_count++] = v;
    }
    return PGY_OK;
}

/* Finds or creates the value of a weight. A weight with the name of an input is that input's
 * default. */
static pgy_status weight_value(pgy_value **out, pgy_graph *g, const char *name, pgy_error *err)
{
    pgy_value *v = pgy_graph_find_value(g, name);
    if (v && (v->initializer || v->sparse))
        return pgy_error_set(err, PGY_E_FORMAT, "graph '%s' has two initializers named '%s'",
                             g->name, name);
    if (!v) {
        const pgy_status st = define(&v, g, name, "an initializer", err);
        if (st) return st;
    }
    g->initializers[g->initializer_count++] = v;
    *out = v;
    return PGY_OK;
}

static pgy_status import_weights(pgy_graph *g, const pgy_onnx_graph *proto, pgy_error *err)
{
    const size_t count = proto->initializer_count + proto->sparse_initializer_count;
    g->initializers = arena_alloc_array(&state_of(g)->memory, count, sizeof *g->initializers);
    if (!g->initializers) return graph_no_memory(err);
    for (size_t i = 0; i < proto->initializer_count; i++) {
        pgy_value *v;
        pgy_status st = weight_value(&v, g, proto->initializers[i]->name, err);
        if (!st) st = value_describe_tensor(v, proto->initializers[i], err);
        if (st) return st;
        v->initializer = proto->initializers[i];
    }
    for (size_t i = 0; i < proto->sparse_initializer_count; i++) {
        const pgy_onnx_sparse_tensor *sparse = proto->sparse_initializers[i];
        pgy_value *v;
        if (!sparse->values)
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "graph '%s' has a sparse initializer without values", g->name);
        const pgy_onnx_tensor dense = {.name = sparse->values->name,
                                       .dims = sparse->dims,
                                       .dim_count = sparse->dim_count,
                                       .data_type = sparse->values->data_type};
        pgy_status st = weight_value(&v, g, sparse->values->name, err);
        if (!st) st = value_describe_tensor(v, &dense, err);
        if (st) return st;
        v->sparse = sparse;
    }
    return PGY_OK;
}

/* Lists the inputs that a caller must feed: those without a weight as default. */
static pgy_status list_inputs(pgy_graph *g, pgy_error *err)
{
    graph_level *level = level_of(g);
    g->inputs = arena_alloc_array(&level->state->memory, level->declared_count, sizeof *g->inputs);
    if (!g->inputs) return graph_no_memory(err);
    for (size_t i = 0; i < level->declared_count; i++) {
        pgy_value *v = level->declared[i];
        if (!v->initializer && !v->sparse) g->inputs[g->input_count++] = v;
    }
    return PGY_OK;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static pgy_status import_outputs_of(pgy_node *n, const pgy_onnx_node *proto, pgy_error *err)
{
    pgy_graph *g = n->graph;
    for (size_t i = 0; i < proto->output_count; i++) {
        const char *name = proto->outputs[i];
        if (!*name) continue;
        if (strmap_has(&level_of(g)->values, name))
            return node_error(
                n, err, PGY_E_FORMAT,
                "output '%s' is already defined by another node, input or initializer", name);
        pgy_value *v = level_add_value(g, name);
        if (!v) return graph_no_memory(err);
        v->producer = n;
        v->output_index = i;
        n->outputs[i] = v;
    }
    return PGY_OK;
}

static pgy_status import_node(pgy_node **out, pgy_graph *g, const pgy_onnx_node *proto,
                              pgy_error *err)
{
    arena *memory = &state_of(g)->memory;
    node_box *box = arena_alloc(memory, sizeof *box);
    if (!box) return graph_no_memory(err);
    pgy_node *n = &box->node;
    *n = (pgy_node){.name = proto->name,
                    .op_type = proto->op_type,
                    .domain = proto->domain,
                    .overload = proto->overload,
                    .inputs = arena_alloc_array(memory, proto->input_count, sizeof *n->inputs),
                    .input_count = proto->input_count,
                    .outputs = arena_alloc_array(memory, proto->output_count, sizeof *n->outputs),
                    .output_count = proto->output_count,
                    .proto = proto,
                    .attributes = (const pgy_onnx_attribute *const *)proto->attributes,
                    .attribute_count = proto->attribute_count,
                    .graph = g,
                    .internal = box};
    if (!n->inputs || !n->outputs) return graph_no_memory(err);
    box->id = state_of(g)->node_count++;
    *out = n;
    return import_outputs_of(n, proto, err);
}

static pgy_status import_inputs_of(pgy_node *n, pgy_error *err)
{
    for (size_t i = 0; i < n->input_count; i++) {
        const char *name = n->proto->inputs[i];
        if (!*name) continue;
        pgy_value *v = level_resolve(n->graph, name);
        if (!v) return node_error(n, err, PGY_E_FORMAT, "nothing defines input '%s'", name);
        n->inputs[i] = v;
        const pgy_status st = value_add_consumer(v, n, err);
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status add_subgraph(pgy_node *n, const char *name, const pgy_onnx_graph *proto,
                               const char **names, pgy_error *err)
{
    pgy_graph *sub;
    pgy_status st = level_create(&sub, state_of(n->graph), n->graph, err);
    if (!st) {
        level_of(sub)->owner = n;
        level_of(sub)->owner_attribute = name;
        st = level_import(sub, proto, err);
    }
    if (st) return pgy_error_prefix(err, st, "%s of %s '%s': ", name, n->op_type, node_label(n));
    names[n->subgraph_count] = name;
    n->subgraphs[n->subgraph_count++] = sub;
    return PGY_OK;
}

static pgy_status import_subgraphs_of(pgy_node *n, pgy_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < n->attribute_count; i++)
        count += (n->attributes[i]->g != NULL) + n->attributes[i]->graph_count;
    if (count == 0) return PGY_OK;
    arena *memory = &state_of(n->graph)->memory;
    const char **names = arena_alloc_array(memory, count, sizeof *names);
    n->subgraphs = arena_alloc_array(memory, count, sizeof *n->subgraphs);
    n->subgraph_names = names;
    if (!names || !n->subgraphs) return graph_no_memory(err);
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        pgy_status st = a->g ? add_subgraph(n, a->name, a->g, names, err) : PGY_OK;
        for (size_t k = 0; !st && k < a->graph_count; k++)
            st = add_subgraph(n, a->name, a->graphs[k], names, err);
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status level_import_nodes(pgy_graph *g, pgy_onnx_node *const *nodes, size_t count,
                              pgy_error *err)
{
    g->nodes = arena_alloc_array(&state_of(g)->memory, count, sizeof *g->nodes);
    if (!g->nodes) return graph_no_memory(err);
    level_of(g)->node_capacity = count;
    for (size_t i = 0; i < count; i++) {
        const pgy_status st = import_node(&g->nodes[i], g, nodes[i], err);
        if (st) return st;
        g->nodes[i]->index = i;
        g->node_count++;
    }
    for (size_t i = 0; i < count; i++) {
        pgy_status st = import_inputs_of(g->nodes[i], err);
        if (!st) st = import_subgraphs_of(g->nodes[i], err);
        if (st) return st;
    }
    return PGY_OK;
}

/* ---- Outputs and declared types ------------------------------------------------------------- */

static pgy_status import_outputs(pgy_graph *g, const pgy_onnx_graph *proto, pgy_error *err)
{
    g->outputs = arena_alloc_array(&state_of(g)->memory, proto->output_count, sizeof *g->outputs);
    if (!g->outputs) return graph_no_memory(err);
    for (size_t i = 0; i < proto->output_count; i++) {
        pgy_value *v = level_resolve(g, proto->outputs[i]->name);
        if (!v)
            return pgy_error_set(err, PGY_E_FORMAT, "nothing computes output '%s' of graph '%s'",
                                 proto->outputs[i]->name, g->name);
        v->is_output = true;
        g->outputs[g->output_count++] = v;
    }
    return PGY_OK;
}

/* Attaches declared types to the values of this level; infos with unknown names are ignored. */
pgy_status level_attach_infos(pgy_graph *g, pgy_onnx_value_info *const *infos, size_t count,
                              pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        pgy_value *v = pgy_graph_find_value(g, infos[i]->name);
        if (!v || v->info || v->initializer) continue;
        const pgy_status st = value_declare(v, infos[i]->type, err);
        if (st) return st;
        v->info = infos[i];
    }
    return PGY_OK;
}

pgy_status level_import(pgy_graph *g, const pgy_onnx_graph *proto, pgy_error *err)
{
    g->name = proto->name;
    g->proto = proto;
    pgy_status st = import_inputs(g, proto, err);
    if (!st) st = import_weights(g, proto, err);
    if (!st) st = list_inputs(g, err);
    if (!st) st = level_import_nodes(g, proto->nodes, proto->node_count, err);
    if (!st) st = import_outputs(g, proto, err);
    if (!st) st = level_attach_infos(g, proto->outputs, proto->output_count, err);
    if (!st) st = level_attach_infos(g, proto->value_infos, proto->value_info_count, err);
    return st;
}

/* ---- The whole ------------------------------------------------------------------------------ */

static pgy_status note_functions(graph_state *s, const pgy_onnx_model *m, pgy_error *err)
{
    pgy_status st = PGY_OK;
    str key = {0};
    for (size_t i = 0; !st && i < m->function_count; i++) {
        const pgy_onnx_function *f = m->functions[i];
        graph_function *entry = arena_alloc(&s->memory, sizeof *entry);
        str_clear(&key);
        str_printf(&key, "%s:%s:%s", domain_is_default(f->domain) ? "" : f->domain, f->name,
                   f->overload);
        if (!entry || key.failed) {
            st = graph_no_memory(err);
        } else if (strmap_has(&s->functions, str_text(&key))) {
            st = pgy_error_set(err, PGY_E_FORMAT,
                               "the model defines function '%s' of domain '%s' twice", f->name,
                               f->domain);
        } else {
            entry->proto = f;
            entry->id = s->function_count++;
            if (!strmap_put(&s->functions, str_text(&key), entry)) st = graph_no_memory(err);
        }
    }
    str_deinit(&key);
    return st;
}

pgy_status pgy_graph_import(pgy_graph **out, pgy_model *model, pgy_error *err)
{
    if (!out || !model)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'model' must not be NULL");
    const pgy_onnx_model *proto = pgy_model_proto(model);
    if (!proto || !proto->graph) return pgy_error_set(err, PGY_E_FORMAT, "the model has no graph");
    graph_state *s = mem_calloc(1, sizeof *s);
    pgy_graph *g = NULL;
    if (!s) return graph_no_memory(err);
    pgy_status st = level_create(&g, s, NULL, err);
    if (st) {
        state_destroy(s);
        return st;
    }
    g->model = pgy_model_retain(model);
    level_of(g)->opsets = proto->opset_imports;
    level_of(g)->opset_count = proto->opset_import_count;
    level_of(g)->default_opset = pgy_model_opset(proto, "");
    st = note_functions(s, proto, err);
    if (!st) st = level_import(g, proto->graph, err);
    if (st)
        pgy_graph_destroy(g);
    else
        *out = g;
    return st;
}

void pgy_graph_destroy(pgy_graph *g)
{
    if (!g) return;
    pgy_model *model = g->model;
    state_destroy(state_of(g));
    pgy_model_destroy(model);
}

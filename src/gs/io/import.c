/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a model to an editable graph. Names are looked up in the graph itself, for inputs of
 * nodes then in enclosing graphs. Weights refer to the file's TensorProto. Weights and value infos
 * that no node uses are kept for the export. An import accepts errors that an edit could repair. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/function_index.h"
#include "gs/graph/type.h"
#include "gs/io/import.h"

static const char LOG_PATH[] = "gs/io/import.c";
enum { DEFAULT_OPSET = 11 };

/* ---- Nodes ----------------------------------------------------------------------------------- */

static pgy_status import_graph(pgy_gs_graph **out, gs_document *d, import_scope *up,
                               const pgy_onnx_graph *from, pgy_error *err);

static pgy_status import_subgraphs(pgy_gs_attribute *a, import_scope *l)
{
    const pgy_onnx_attribute *from = a->value;
    const size_t count = (from->g != NULL) + from->graph_count;
    if (!count) return PGY_OK;
    a->graphs = gs_alloc(l->d, count, sizeof(*a->graphs));
    if (!a->graphs) return gs_no_memory(l->err);
    for (size_t i = 0; i < count; i++) {
        const bool single = from->g && i == 0;
        const pgy_onnx_graph *g = single ? from->g : from->graphs[i - (from->g != NULL)];
        const pgy_status st = import_graph(&a->graphs[i], l->d, l, g, l->err);
        if (st) return st;
        graph_box(a->graphs[i])->held = true;
        a->graph_count = i + 1;
    }
    return PGY_OK;
}

static pgy_status import_attributes(pgy_gs_node *n, import_scope *l, const pgy_onnx_node *from)
{
    if (!from->attribute_count) return PGY_OK;
    pgy_gs_attribute *list = gs_alloc(l->d, from->attribute_count, sizeof(*list));
    if (!list) return gs_no_memory(l->err);
    n->attributes = list;
    n->attribute_count = gs_node_box(n)->attribute_capacity = from->attribute_count;
    for (size_t i = 0; i < from->attribute_count; i++) {
        list[i].name = from->attributes[i]->name;
        list[i].value = from->attributes[i];
        const pgy_status st = import_subgraphs(&list[i], l);
        if (st) return st;
    }
    return PGY_OK;
}

/* Reserves memory for all inputs and outputs of n, because edges are attached one by one. */
static bool reserve(pgy_gs_node *n, gs_document *d, const pgy_onnx_node *from)
{
    gs_node *box = gs_node_box(n);
    const size_t count = from->input_count + from->output_count;
    pgy_gs_tensor **slots = gs_alloc(d, count, sizeof(*slots));
    if (!slots) return false;
    n->inputs = slots;
    box->input_capacity = from->input_count;
    n->outputs = slots + from->input_count;
    box->output_capacity = from->output_count;
    return true;
}

static pgy_status import_edges(pgy_gs_node *n, import_scope *l, const pgy_onnx_node *from)
{
    pgy_status st = reserve(n, l->d, from) ? PGY_OK : gs_no_memory(l->err);
    pgy_gs_tensor *t = NULL;
    for (size_t i = 0; i < from->input_count && !st; i++) {
        st = *from->inputs[i] ? import_read_tensor(&t, l, from->inputs[i]) : import_omitted(&t, l);
        if (!st) st = gs_attach_input(n, i, t, l->err);
    }
    for (size_t i = 0; i < from->output_count && !st; i++) {
        t = l->made[l->next_made++];
        if (!t) st = import_omitted(&t, l);
        if (!st) st = gs_attach_output(n, i, t, l->err);
    }
    return st;
}

static pgy_status import_node(pgy_gs_node **out, import_scope *l, const pgy_onnx_node *from)
{
    pgy_gs_node *n = NULL;
    pgy_status st = gs_node_create(&n, l->d, l->err);
    if (st) return st;
    gs_node *box = gs_node_box(n);
    n->name = from->name;
    n->op = from->op_type;
    n->domain = from->domain;
    n->overload = from->overload;
    n->doc_string = from->doc_string;
    n->stored = from;
    box->named.name = n->name;
    box->named.hash = gs_hash(n->name);
    if (!gs_names_add(&l->d->node_names, &box->named)) return gs_no_memory(l->err);
    st = import_attributes(n, l, from);
    if (!st) st = import_edges(n, l, from);
    if (!st) *out = n;
    return st;
}

/* Creates the outputs of all nodes before any inputs are read, so that unsorted nodes read the
 * graph's own tensors, not outer ones of the same name. */
static pgy_status name_outputs(import_scope *l, pgy_onnx_node *const *nodes, size_t count)
{
    size_t total = 0, next = 0;
    for (size_t i = 0; i < count; i++) total += nodes[i]->output_count;
    l->made = mem_calloc(total + 1, sizeof(*l->made));
    if (!l->made || !gs_names_reserve(&l->local, total + 1) ||
        !gs_names_reserve(&l->d->tensor_names, total + 1) ||
        !gs_names_reserve(&l->d->node_names, count + 1))
        return gs_no_memory(l->err);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < nodes[i]->output_count; k++, next++) {
            if (!*nodes[i]->outputs[k]) continue;
            const pgy_status st = import_local_tensor(&l->made[next], l, nodes[i]->outputs[k]);
            if (st) return st;
        }
    }
    return PGY_OK;
}

static void level_deinit(import_scope *l)
{
    gs_names_deinit(&l->local);
    mem_free(l->made);
}

static pgy_status import_nodes(import_scope *l, pgy_onnx_node *const *nodes, size_t count)
{
    pgy_gs_graph *g = l->g;
    pgy_status st = PGY_OK;
    g->nodes = gs_alloc(l->d, count, sizeof(*g->nodes));
    if (!g->nodes) return gs_no_memory(l->err);
    graph_box(g)->node_capacity = count;
    for (size_t i = 0; i < count && !st; i++) {
        st = import_node(&g->nodes[i], l, nodes[i]);
        if (st) return st;
        g->nodes[i]->graph = g;
        gs_node_box(g->nodes[i])->index_hint = i;
        g->node_count = i + 1;
    }
    return st;
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

static pgy_status import_level(import_scope *l, const pgy_onnx_graph *from)
{
    pgy_gs_graph *g = l->g;
    pgy_status st = import_weights(l, from);
    if (!st)
        st =
            import_interface(l, &g->inputs, &g->input_count, from->inputs, from->input_count, true);
    if (!st) st = name_outputs(l, from->nodes, from->node_count);
    if (!st)
        st = import_interface(l, &g->outputs, &g->output_count, from->outputs, from->output_count,
                              false);
    if (!st) st = import_value_infos(l, from->value_infos, from->value_info_count);
    if (!st) st = import_nodes(l, from->nodes, from->node_count);
    if (st) return st;
    graph_box(g)->input_capacity = g->input_count;
    graph_box(g)->output_capacity = g->output_count;
    return import_keep_unused(l);
}

static pgy_status import_graph(pgy_gs_graph **out, gs_document *d, import_scope *up,
                               const pgy_onnx_graph *from, pgy_error *err)
{
    import_scope l = {.d = d, .up = up, .err = err};
    pgy_status st = gs_graph_create(&l.g, d, up ? up->g : NULL, NULL, err);
    if (!st) {
        l.g->name = from->name;
        l.g->doc_string = from->doc_string;
        l.g->stored = from;
        st = import_level(&l, from);
    }
    level_deinit(&l);
    if (!st) *out = l.g;
    return st;
}

static pgy_status read_imports(pgy_gs_graph *g, pgy_onnx_opset *const *from, size_t count,
                               int64_t fallback, const char *what, pgy_error *err)
{
    pgy_gs_opset *list = gs_alloc(graph_box(g)->document, count, sizeof(*list));
    if (!list) return gs_no_memory(err);
    for (size_t i = 0; i < count; i++) list[i] = (pgy_gs_opset){from[i]->domain, from[i]->version};
    g->imports = list;
    g->import_count = count;
    const pgy_gs_opset *standard = gs_find_import(g, "");
    if (!standard)
        LOG(WARNING, "%s does not import the standard operators; opset %lld is assumed", what,
            (long long)fallback);
    g->opset = standard ? standard->version : fallback;
    return PGY_OK;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static pgy_status import_names(pgy_gs_tensor ***out, import_scope *l, const char *const *names,
                               size_t count)
{
    pgy_gs_tensor **list = gs_alloc(l->d, count, sizeof(*list));
    if (!list) return gs_no_memory(l->err);
    for (size_t i = 0; i < count; i++) {
        const pgy_status st = import_local_tensor(&list[i], l, names[i]);
        if (st) return st;
    }
    *out = list;
    return PGY_OK;
}

static pgy_status import_parameters(pgy_gs_graph *g, const pgy_onnx_function *from, pgy_error *err)
{
    const size_t count = from->attribute_count + from->attribute_proto_count;
    pgy_gs_attribute *list = gs_alloc(graph_box(g)->document, count, sizeof(*list));
    if (!list) return gs_no_memory(err);
    for (size_t i = 0; i < from->attribute_count; i++) list[i].name = from->attributes[i];
    for (size_t i = 0; i < from->attribute_proto_count; i++) {
        const pgy_onnx_attribute *value = from->attribute_protos[i];
        list[from->attribute_count + i] = (pgy_gs_attribute){.name = value->name, .value = value};
    }
    g->parameters = list;
    g->parameter_count = count;
    return PGY_OK;
}

static pgy_status import_function_body(import_scope *l, const pgy_onnx_function *from)
{
    pgy_gs_graph *g = l->g;
    pgy_status st = import_names(&g->inputs, l, from->inputs, from->input_count);
    if (!st) g->input_count = graph_box(g)->input_capacity = from->input_count;
    if (!st) st = name_outputs(l, from->nodes, from->node_count);
    if (!st) st = import_names(&g->outputs, l, from->outputs, from->output_count);
    if (!st) g->output_count = graph_box(g)->output_capacity = from->output_count;
    if (!st) st = import_value_infos(l, from->value_infos, from->value_info_count);
    if (!st) st = import_nodes(l, from->nodes, from->node_count);
    return st ? st : import_keep_unused(l);
}

static pgy_status import_function(gs_document *d, const pgy_onnx_function *from, int64_t opset,
                                  pgy_error *err)
{
    import_scope l = {.d = d, .err = err};
    pgy_status st = gs_grow(d, &d->functions, d->function_count, &d->function_capacity, err);
    if (!st) st = gs_graph_create(&l.g, d, NULL, NULL, err);
    if (st) return st;
    pgy_gs_graph *g = l.g;
    g->is_function = true;
    g->name = from->name;
    g->domain = from->domain;
    g->overload = from->overload;
    g->doc_string = from->doc_string;
    graph_box(g)->stored_function = from;
    st = read_imports(g, from->opset_imports, from->opset_import_count, opset, "A function", err);
    if (!st) st = import_parameters(g, from, err);
    if (!st) st = import_function_body(&l, from);
    level_deinit(&l);
    if (st) return st;
    d->functions[d->function_count++] = g;
    return PGY_OK;
}

/* Warns of functions with the same name, domain and overload; calls use the first. */
static pgy_status note_same_functions(const gs_document *d, pgy_error *err)
{
    gs_function_index index;
    const pgy_status st = gs_function_index_init(&index, d, err);
    if (st) return st;
    for (size_t i = 1; i < index.count; i++)
        if (gs_function_index_repeats(&index, i))
            LOG(WARNING, "The model defines function '%s' of domain '%s' more than once",
                d->functions[index.sorted[i]]->name, d->functions[index.sorted[i]]->domain);
    gs_function_index_deinit(&index);
    return PGY_OK;
}

/* ---- Models ---------------------------------------------------------------------------------- */

static const pgy_onnx_graph NO_GRAPH = {.name = "", .doc_string = ""};

static pgy_status import_top(gs_document *d, const pgy_onnx_model *from, pgy_error *err)
{
    import_scope l = {.d = d, .err = err};
    const pgy_onnx_graph *graph = from->graph ? from->graph : &NO_GRAPH;
    pgy_status st = gs_graph_create(&l.g, d, NULL, NULL, err);
    if (st) return st;
    pgy_gs_graph *g = d->top = l.g;
    g->name = graph->name;
    g->doc_string = graph->doc_string;
    g->stored = from->graph;
    g->ir_version = from->ir_version;
    g->producer_name = from->producer_name;
    g->producer_version = from->producer_version;
    st = read_imports(g, from->opset_imports, from->opset_import_count, DEFAULT_OPSET, "The model",
                      err);
    for (size_t i = 0; i < from->function_count && !st; i++)
        st = import_function(d, from->functions[i], g->opset, err);
    if (!st) st = note_same_functions(d, err);
    if (!st) st = import_level(&l, graph);
    gs_publish_functions(d);
    level_deinit(&l);
    return st;
}

pgy_status pgy_gs_import(pgy_gs_graph **out, pgy_model *model, pgy_error *err)
{
    gs_document *d = NULL;
    if (!out || !model || !pgy_model_proto(model))
        return pgy_error_set(err, PGY_E_ARGUMENT, "the model must not be NULL");
    pgy_status st = gs_document_create(&d, err);
    if (!st) st = pgy_model_keep(d->store, model, err);
    if (st) goto done;
    d->source = model;
    st = import_top(d, pgy_model_proto(model), err);
    if (st) goto done;
    d->edits = 0;
    for (size_t i = 0; i < d->graph_count; i++) graph_box(d->graphs[i])->changed = false;
    *out = d->top;
    d = NULL;
done:
    gs_document_destroy(d);
    return st;
}

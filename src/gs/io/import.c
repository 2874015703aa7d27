/* SPDX-License-Identifier: Apache-2.0 */
/* From a model to its editable graph. A name is looked up in its own level first; inputs of nodes
 * then look outwards. Weights stay records of the file. Weights and value infos that no node uses
 * are kept for the export. An import accepts whatever an edit could repair. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/document.h"
#include "gs/graph/function_index.h"
#include "gs/graph/type.h"

static const char LOG_PATH[] = "onnx_graphsurgeon/importers/onnx_importer.py";
enum { DEFAULT_OPSET = 11 };

/* A level that is being imported. */
typedef struct level {
    gs_document *d;
    pgy_gs_graph *g;
    struct level *up;         /* the enclosing level; NULL for the top graph and functions */
    gs_names local;           /* tensors of this level by name */
    pgy_gs_tensor **declared; /* tensors of weights and value infos; nodes may use none of them */
    size_t declared_count, declared_capacity;
    pgy_gs_tensor **made; /* outputs of all nodes, in order */
    size_t next_made;
    pgy_error *err;
} level;

/* ---- Tensors --------------------------------------------------------------------------------- */

static pgy_gs_tensor *find_local(const level *l, const char *name, uint64_t hash)
{
    const gs_named *item = gs_names_find(&l->local, name, hash);
    return item ? item->owner : NULL;
}

/* The local table holds items of the document's index. Its names are unique, so it leaves the
 * chains of the index alone. */
static pgy_status add_local(level *l, pgy_gs_tensor *t)
{
    if (!gs_names_put(&l->local, &tensor_box(t)->named)) return gs_no_memory(l->err);
    tensor_box(t)->home = l->g;
    return PGY_OK;
}

static pgy_status make_local(pgy_gs_tensor **out, level *l, const char *name)
{
    pgy_gs_tensor *t = NULL;
    pgy_status st = gs_tensor_create(&t, l->d, name, l->err);
    if (!st) st = add_local(l, t);
    if (!st) *out = t;
    return st;
}

static pgy_status local_tensor(pgy_gs_tensor **out, level *l, const char *name)
{
    *out = find_local(l, name, gs_hash(name));
    return *out ? PGY_OK : make_local(out, l, name);
}

static pgy_status omitted_tensor(pgy_gs_tensor **out, level *l)
{
    const pgy_status st = gs_tensor_create(out, l->d, "", l->err);
    if (!st) tensor_box(*out)->home = l->g;
    return st;
}

static pgy_status read_tensor(pgy_gs_tensor **out, level *l, const char *name)
{
    const uint64_t hash = gs_hash(name);
    for (const level *at = l; at; at = at->up)
        if ((*out = find_local(at, name, hash))) return PGY_OK;
    return make_local(out, l, name);
}

static pgy_status note_declared(level *l, pgy_gs_tensor *t)
{
    const pgy_status st =
        gs_grow(l->d, &l->declared, l->declared_count, &l->declared_capacity, l->err);
    if (!st) l->declared[l->declared_count++] = t;
    return st;
}

/* ---- Weights and declarations ---------------------------------------------------------------- */

static pgy_status import_weight(level *l, const char *name, const pgy_onnx_tensor *dense,
                                const pgy_onnx_sparse_tensor *sparse)
{
    pgy_gs_tensor *t = NULL;
    if (!*name || find_local(l, name, gs_hash(name))) return PGY_OK;
    pgy_status st = make_local(&t, l, name);
    if (!st) st = note_declared(l, t);
    if (st) return st;
    t->kind = PGY_GS_CONSTANT;
    t->stored = dense;
    t->sparse = sparse;
    return gs_type_of_stored(t, l->err);
}

static pgy_status import_weights(level *l, const pgy_onnx_graph *from)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < from->initializer_count && !st; i++)
        st = import_weight(l, from->initializers[i]->name, from->initializers[i], NULL);
    for (size_t i = 0; i < from->sparse_initializer_count && !st; i++) {
        const pgy_onnx_sparse_tensor *s = from->sparse_initializers[i];
        if (s->values) st = import_weight(l, s->values->name, NULL, s);
    }
    return st;
}

/* Inputs or outputs. A weight that is listed as an input is not one. */
static pgy_status import_interface(level *l, pgy_gs_tensor ***items, size_t *count,
                                   pgy_onnx_value_info *const *infos, size_t info_count,
                                   bool are_inputs)
{
    pgy_gs_tensor **list = gs_alloc(l->d, info_count, sizeof(*list));
    size_t n = 0;
    if (!list) return gs_no_memory(l->err);
    for (size_t i = 0; i < info_count; i++) {
        pgy_gs_tensor *t = NULL;
        pgy_status st = local_tensor(&t, l, infos[i]->name);
        if (!st) st = gs_type_fill(t, infos[i], l->err);
        if (st) return st;
        const bool weight = are_inputs && t->kind == PGY_GS_CONSTANT;
        if (!t->info && (!weight || gs_weights_are_inputs(l->d))) t->info = infos[i];
        if (weight) continue;
        list[n++] = t;
    }
    *items = list;
    *count = n;
    return PGY_OK;
}

/* A value info must not hide a tensor of an enclosing level, so it is only kept. */
static pgy_status make_declared(pgy_gs_tensor **out, level *l, const char *name)
{
    const uint64_t hash = gs_hash(name);
    const level *at = l->up;
    while (at && !find_local(at, name, hash)) at = at->up;
    if (!at) return make_local(out, l, name);
    const pgy_status st = gs_tensor_create(out, l->d, name, l->err);
    if (!st) tensor_box(*out)->home = l->g;
    return st;
}

/* If a value info adds to the declaration of an input or output, the export must write that. */
static pgy_status import_value_infos(level *l, pgy_onnx_value_info *const *infos, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const pgy_onnx_value_info *info = infos[i];
        pgy_gs_tensor *t = find_local(l, info->name, gs_hash(info->name));
        pgy_status st = PGY_OK;
        if (!*info->name) continue;
        if (!t) {
            st = make_declared(&t, l, info->name);
            if (!st) st = note_declared(l, t);
        }
        if (!st) st = gs_type_fill(t, info, l->err);
        if (st) return st;
        if (!t->info) t->info = info;
        if (t->kind == PGY_GS_VARIABLE && t->info != info && !gs_type_agrees(t, t->info))
            tensor_box(t)->info_changed = true;
    }
    return PGY_OK;
}

/* Keeps the weights and value infos that neither this level nor an inner one uses. */
static pgy_status keep_unused(level *l)
{
    gs_graph *box = graph_box(l->g);
    const uint64_t epoch = ++l->d->epoch;
    for (size_t i = 0; i < l->g->output_count; i++) tensor_box(l->g->outputs[i])->mark = epoch;
    box->kept = l->declared;
    for (size_t i = 0; i < l->declared_count; i++) {
        pgy_gs_tensor *t = l->declared[i];
        const bool used = t->producer_count || t->consumer_count || tensor_box(t)->mark == epoch;
        if (used) continue;
        box->kept[box->kept_count++] = t;
        gs_names_remove(&l->d->tensor_names, &tensor_box(t)->named);
    }
    return PGY_OK;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static pgy_status import_graph(pgy_gs_graph **out, gs_document *d, level *up,
                               const pgy_onnx_graph *from, pgy_error *err);

static pgy_status import_subgraphs(pgy_gs_attribute *a, level *l)
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

static pgy_status import_attributes(pgy_gs_node *n, level *l, const pgy_onnx_node *from)
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

/* Reserves the final size of both lists, because edges are attached one by one. */
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

static pgy_status import_edges(pgy_gs_node *n, level *l, const pgy_onnx_node *from)
{
    pgy_status st = reserve(n, l->d, from) ? PGY_OK : gs_no_memory(l->err);
    pgy_gs_tensor *t = NULL;
    for (size_t i = 0; i < from->input_count && !st; i++) {
        st = *from->inputs[i] ? read_tensor(&t, l, from->inputs[i]) : omitted_tensor(&t, l);
        if (!st) st = gs_attach_input(n, i, t, l->err);
    }
    for (size_t i = 0; i < from->output_count && !st; i++) {
        t = l->made[l->next_made++];
        if (!t) st = omitted_tensor(&t, l);
        if (!st) st = gs_attach_output(n, i, t, l->err);
    }
    return st;
}

static pgy_status import_node(pgy_gs_node **out, level *l, const pgy_onnx_node *from)
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

/* All outputs are named before any node is read, so that an unsorted level finds its own
 * tensors. */
static pgy_status name_outputs(level *l, pgy_onnx_node *const *nodes, size_t count)
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
            const pgy_status st = local_tensor(&l->made[next], l, nodes[i]->outputs[k]);
            if (st) return st;
        }
    }
    return PGY_OK;
}

static void level_deinit(level *l)
{
    gs_names_deinit(&l->local);
    mem_free(l->made);
}

static pgy_status import_nodes(level *l, pgy_onnx_node *const *nodes, size_t count)
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

/* ---- Levels ---------------------------------------------------------------------------------- */

static pgy_status import_level(level *l, const pgy_onnx_graph *from)
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
    return keep_unused(l);
}

static pgy_status import_graph(pgy_gs_graph **out, gs_document *d, level *up,
                               const pgy_onnx_graph *from, pgy_error *err)
{
    level l = {.d = d, .up = up, .err = err};
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
        LOG(WARNING, "%s imports no version of the standard operators: opset %lld is assumed", what,
            (long long)fallback);
    g->opset = standard ? standard->version : fallback;
    return PGY_OK;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static pgy_status import_names(pgy_gs_tensor ***out, level *l, const char *const *names,
                               size_t count)
{
    pgy_gs_tensor **list = gs_alloc(l->d, count, sizeof(*list));
    if (!list) return gs_no_memory(l->err);
    for (size_t i = 0; i < count; i++) {
        const pgy_status st = local_tensor(&list[i], l, names[i]);
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

static pgy_status import_function_body(level *l, const pgy_onnx_function *from)
{
    pgy_gs_graph *g = l->g;
    pgy_status st = import_names(&g->inputs, l, from->inputs, from->input_count);
    if (!st) g->input_count = graph_box(g)->input_capacity = from->input_count;
    if (!st) st = name_outputs(l, from->nodes, from->node_count);
    if (!st) st = import_names(&g->outputs, l, from->outputs, from->output_count);
    if (!st) g->output_count = graph_box(g)->output_capacity = from->output_count;
    if (!st) st = import_value_infos(l, from->value_infos, from->value_info_count);
    if (!st) st = import_nodes(l, from->nodes, from->node_count);
    return st ? st : keep_unused(l);
}

static pgy_status import_function(gs_document *d, const pgy_onnx_function *from, int64_t opset,
                                  pgy_error *err)
{
    level l = {.d = d, .err = err};
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

/* If several functions have the same identity, calls mean the first. */
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
    level l = {.d = d, .err = err};
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

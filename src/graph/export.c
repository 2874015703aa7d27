/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a model of a graph. Unchanged messages are shared with the old model, and the writer copies
 * their bytes; only changed nodes, levels and types are built anew. The new model keeps the old one
 * alive. */
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

typedef struct exporter {
    pgy_model *model;
    pgy_error *err;
} exporter;

static void *make(exporter *x, size_t count, size_t item_bytes)
{
    return pgy_model_alloc(x->model, count ? count : 1, item_bytes);
}

static pgy_status no_memory(exporter *x)
{
    return pgy_error_set(x->err, PGY_E_MEMORY, "out of memory while exporting the graph");
}

static const char *text_of(exporter *x, const char *text)
{
    return text && *text ? pgy_model_strdup(x->model, text) : "";
}

static pgy_status export_level(pgy_onnx_graph **out, exporter *x, pgy_graph *g);

/* ---- Types ---------------------------------------------------------------------------------- */

static pgy_onnx_dim *make_dim(exporter *x, const pgy_dim *from)
{
    pgy_onnx_dim *d = make(x, 1, sizeof *d);
    if (!d) return NULL;
    d->dim_param = d->denotation = "";
    if (from->value >= 0) {
        d->dim_value = from->value;
        d->message.present = 1u << 1;
    } else if (from->text) {
        d->dim_param = text_of(x, from->text);
        d->message.present = 1u << 2;
    }
    return d->dim_param ? d : NULL;
}

static pgy_onnx_type *make_type(exporter *x, const pgy_value *v)
{
    pgy_onnx_type *type = make(x, 1, sizeof *type);
    pgy_onnx_tensor_type *tensor = make(x, 1, sizeof *tensor);
    if (!type || !tensor) return NULL;
    type->denotation = "";
    type->tensor_type = tensor;
    tensor->elem_type = pgy_dtype_describe(v->dtype)->onnx;
    if (v->rank < 0) return type;
    pgy_onnx_shape *shape = make(x, 1, sizeof *shape);
    pgy_onnx_dim **dims = make(x, (size_t)v->rank, sizeof *dims);
    if (!shape || !dims) return NULL;
    for (int32_t i = 0; i < v->rank; i++)
        if (!(dims[i] = make_dim(x, &v->dims[i]))) return NULL;
    shape->dims = dims;
    shape->dim_count = (size_t)v->rank;
    tensor->shape = shape;
    return type;
}

/* The inferred type of v if v is a sequence or optional with a known element type, else NULL. */
static const op_value *list_of(const pgy_value *v)
{
    const op_value *known = &box_of((pgy_value *)v)->known, *element = known->sequence;
    if (v->kind != PGY_VALUE_TENSOR || v->dtype != PGY_DTYPE_NONE) return NULL;
    while (element && element->sequence) element = element->sequence;
    return element && element->dtype != PGY_DTYPE_NONE ? known : NULL;
}

/* Makes the type of a sequence or optional. It declares no shapes of elements, because they may
 * differ. */
static pgy_onnx_type *make_list_type(exporter *x, const op_value *list)
{
    pgy_onnx_type *outer = make(x, 1, sizeof *outer), *type = outer;
    for (const op_value *v = list; type; v = v->sequence) {
        type->denotation = "";
        if (!v->sequence) {
            pgy_onnx_tensor_type *tensor = make(x, 1, sizeof *tensor);
            type->tensor_type = tensor;
            if (!tensor) return NULL;
            tensor->elem_type = pgy_dtype_describe(v->dtype)->onnx;
            return outer;
        }
        pgy_onnx_elem_type *inner = make(x, 1, sizeof *inner);
        if (!inner) return NULL;
        *(v->optional ? &type->optional_type : &type->sequence_type) = inner;
        type = inner->elem_type = make(x, 1, sizeof *type);
    }
    return NULL;
}

static bool dim_agrees(const pgy_onnx_dim *d, const pgy_dim *known)
{
    if (known->value >= 0)
        return !*d->dim_param && d->dim_value == known->value && (d->message.present >> 1 & 1);
    return strcmp(d->dim_param, known->text ? known->text : "") == 0 && d->dim_value == 0;
}

static bool info_agrees(const pgy_value *v)
{
    const pgy_onnx_type *type = v->info->type;
    if (!type && list_of(v)) return false;
    if (v->kind != PGY_VALUE_TENSOR || v->dtype == PGY_DTYPE_NONE)
        return true; /* keep the file's declaration: inference knows nothing better */
    const pgy_onnx_tensor_type *t = type ? type->tensor_type : NULL;
    if (!t || pgy_dtype_from_onnx(t->elem_type) != v->dtype) return false;
    if (v->rank < 0) return true;
    if (!t->shape || t->shape->dim_count != (size_t)v->rank) return false;
    for (int32_t i = 0; i < v->rank; i++)
        if (!dim_agrees(t->shape->dims[i], &v->dims[i])) return false;
    return true;
}

/* The ValueInfoProto of v: the file's own message if it is still accurate, else a new one. */
static pgy_onnx_value_info *export_info(exporter *x, const pgy_value *v)
{
    if (v->info && strcmp(v->info->name, v->name) == 0 && info_agrees(v))
        return (pgy_onnx_value_info *)v->info;
    pgy_onnx_value_info *info = make(x, 1, sizeof *info);
    if (!info) return NULL;
    if (v->info) *info = *v->info;
    info->message.raw = (pgy_bytes){0};
    info->name = text_of(x, v->name);
    if (!info->doc_string) info->doc_string = "";
    const op_value *list = list_of(v);
    if (list && !(info->type = make_list_type(x, list))) return NULL;
    if (v->kind == PGY_VALUE_TENSOR && v->dtype != PGY_DTYPE_NONE &&
        !(info->type = make_type(x, v)))
        return NULL;
    return info->name ? info : NULL;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static bool subgraphs_changed(const pgy_node *n)
{
    for (size_t i = 0; i < n->subgraph_count; i++)
        if (level_of(n->subgraphs[i])->changed) return true;
    return false;
}

static pgy_status export_graph_attribute(pgy_onnx_attribute **out, exporter *x,
                                         const pgy_onnx_attribute *from,
                                         pgy_graph *const *subgraphs)
{
    pgy_onnx_attribute *a = make(x, 1, sizeof *a);
    pgy_onnx_graph **graphs = make(x, from->graph_count, sizeof *graphs);
    if (!a || !graphs) return no_memory(x);
    *a = *from;
    a->message.raw = (pgy_bytes){0};
    size_t next = 0;
    pgy_status st = from->g ? export_level(&a->g, x, subgraphs[next++]) : PGY_OK;
    for (size_t i = 0; !st && i < from->graph_count; i++)
        st = export_level(&graphs[i], x, subgraphs[next++]);
    a->graphs = graphs;
    *out = a;
    return st;
}

static pgy_status export_attributes(pgy_onnx_node *to, exporter *x, const pgy_node *n)
{
    pgy_onnx_attribute **attributes = make(x, n->attribute_count, sizeof *attributes);
    if (!attributes) return no_memory(x);
    size_t next = 0;
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        const size_t count = (a->g != NULL) + a->graph_count;
        attributes[i] = (pgy_onnx_attribute *)a;
        if (count == 0) continue;
        const pgy_status st = export_graph_attribute(&attributes[i], x, a, n->subgraphs + next);
        if (st) return st;
        next += count;
    }
    to->attributes = attributes;
    to->attribute_count = n->attribute_count;
    return PGY_OK;
}

static const char *const *export_names(exporter *x, pgy_value *const *values, size_t count)
{
    const char **names = make(x, count, sizeof *names);
    for (size_t i = 0; names && i < count; i++)
        if (!(names[i] = values[i] ? text_of(x, values[i]->name) : "")) return NULL;
    return names;
}

static pgy_status export_node(pgy_onnx_node **out, exporter *x, pgy_node *n)
{
    if (n->proto && !node_box_of(n)->changed && !subgraphs_changed(n)) {
        *out = (pgy_onnx_node *)n->proto;
        return PGY_OK;
    }
    pgy_onnx_node *to = make(x, 1, sizeof *to);
    if (!to) return no_memory(x);
    if (n->proto) *to = *n->proto;
    to->message.raw = (pgy_bytes){0};
    to->inputs = export_names(x, n->inputs, n->input_count);
    to->input_count = n->input_count;
    to->outputs = export_names(x, n->outputs, n->output_count);
    to->output_count = n->output_count;
    to->name = text_of(x, n->name);
    to->op_type = text_of(x, n->op_type);
    to->domain = text_of(x, n->domain);
    to->overload = text_of(x, n->overload);
    if (!to->doc_string) to->doc_string = "";
    if (!to->inputs || !to->outputs || !to->name || !to->op_type || !to->domain || !to->overload)
        return no_memory(x);
    *out = to;
    return export_attributes(to, x, n);
}

/* ---- Levels --------------------------------------------------------------------------------- */

static pgy_status export_nodes(pgy_onnx_graph *to, exporter *x, pgy_graph *g)
{
    pgy_onnx_node **nodes = make(x, g->node_count, sizeof *nodes);
    if (!nodes) return no_memory(x);
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_status st = export_node(&nodes[i], x, g->nodes[i]);
        if (st) return st;
    }
    to->nodes = nodes;
    to->node_count = g->node_count;
    return PGY_OK;
}

static pgy_status export_weights(pgy_onnx_graph *to, exporter *x, pgy_graph *g)
{
    pgy_onnx_tensor **dense = make(x, g->initializer_count, sizeof *dense);
    pgy_onnx_sparse_tensor **sparse = make(x, g->initializer_count, sizeof *sparse);
    if (!dense || !sparse) return no_memory(x);
    to->initializer_count = to->sparse_initializer_count = 0;
    for (size_t i = 0; i < g->initializer_count; i++) {
        const pgy_value *v = g->initializers[i];
        if (v->initializer)
            dense[to->initializer_count++] = (pgy_onnx_tensor *)v->initializer;
        else
            sparse[to->sparse_initializer_count++] = (pgy_onnx_sparse_tensor *)v->sparse;
    }
    to->initializers = dense;
    to->sparse_initializers = sparse;
    return PGY_OK;
}

static pgy_status export_infos(pgy_onnx_value_info ***out, exporter *x, pgy_value *const *values,
                               size_t count)
{
    pgy_onnx_value_info **infos = make(x, count, sizeof *infos);
    if (!infos) return no_memory(x);
    for (size_t i = 0; i < count; i++)
        if (!(infos[i] = export_info(x, values[i]))) return no_memory(x);
    *out = infos;
    return PGY_OK;
}

/* Exports the types of inner values (value_info): those of the file and those that were inferred.
 */
static pgy_status export_inner_infos(pgy_onnx_graph *to, exporter *x, pgy_graph *g)
{
    const strmap *values = &level_of(g)->values;
    pgy_onnx_value_info **infos = make(x, values->count, sizeof *infos);
    if (!infos) return no_memory(x);
    to->value_info_count = 0;
    for (size_t i = 0; i < values->count; i++) {
        const pgy_value *v = values->entries[i].value;
        const bool describable =
            v->info || list_of(v) || (v->kind == PGY_VALUE_TENSOR && v->dtype != PGY_DTYPE_NONE);
        const bool linked = v->producer && v->producer->outputs[v->output_index] == v;
        if (!linked || v->is_output || !describable || v->producer->graph != g) continue;
        if (!(infos[to->value_info_count++] = export_info(x, v))) return no_memory(x);
    }
    to->value_infos = infos;
    return PGY_OK;
}

static pgy_status export_interface(pgy_onnx_graph *to, exporter *x, pgy_graph *g)
{
    const graph_level *level = level_of(g);
    pgy_onnx_value_info **infos = NULL;
    pgy_status st = export_infos(&infos, x, level->declared, level->declared_count);
    if (st) return st;
    to->inputs = infos;
    to->input_count = level->declared_count;
    st = export_infos(&infos, x, g->outputs, g->output_count);
    if (st) return st;
    to->outputs = infos;
    to->output_count = g->output_count;
    return PGY_OK;
}

static pgy_status export_level(pgy_onnx_graph **out, exporter *x, pgy_graph *g)
{
    if (g->proto && !level_of(g)->changed) {
        *out = (pgy_onnx_graph *)g->proto;
        return PGY_OK;
    }
    pgy_onnx_graph *to = make(x, 1, sizeof *to);
    if (!to) return no_memory(x);
    if (g->proto) *to = *g->proto;
    to->message.raw = (pgy_bytes){0};
    if (!to->doc_string) to->doc_string = "";
    if (!(to->name = text_of(x, g->name))) return no_memory(x);
    *out = to;
    pgy_status st = export_nodes(to, x, g);
    if (!st) st = export_weights(to, x, g);
    if (!st) st = export_interface(to, x, g);
    if (!st) st = export_inner_infos(to, x, g);
    return st;
}

/* ---- The whole ------------------------------------------------------------------------------ */

static pgy_status export_function(pgy_onnx_function **out, exporter *x, pgy_graph *body,
                                  const pgy_onnx_function *from)
{
    pgy_onnx_graph inner = {0};
    pgy_onnx_function *to = make(x, 1, sizeof *to);
    if (!to) return no_memory(x);
    *to = *from;
    to->message.raw = (pgy_bytes){0};
    pgy_status st = export_nodes(&inner, x, body);
    if (!st) st = export_inner_infos(&inner, x, body);
    to->nodes = inner.nodes;
    to->node_count = inner.node_count;
    to->value_infos = inner.value_infos;
    to->value_info_count = inner.value_info_count;
    to->opset_imports = level_of(body)->opsets;
    to->opset_import_count = level_of(body)->opset_count;
    *out = to;
    return st;
}

/* Exports the functions: changed bodies are encoded anew, others are copied, removed ones are left
 * out. */
static pgy_status export_functions(pgy_onnx_model *to, exporter *x, const pgy_graph *g)
{
    const strmap *functions = &state_of(g)->functions; /* functions in the model's order */
    bool changed = functions->count != to->function_count;
    for (size_t i = 0; i < functions->count; i++) {
        const graph_function *f = functions->entries[i].value;
        changed = changed || (f->body && level_of(f->body)->changed);
    }
    if (!changed) return PGY_OK;
    pgy_onnx_function **list = make(x, functions->count, sizeof *list);
    if (!list) return no_memory(x);
    for (size_t i = 0; i < functions->count; i++) {
        const graph_function *f = functions->entries[i].value;
        list[i] = (pgy_onnx_function *)f->proto;
        if (!f->body || !level_of(f->body)->changed) continue;
        const pgy_status st = export_function(&list[i], x, f->body, f->proto);
        if (st) return st;
    }
    to->functions = list;
    to->function_count = functions->count;
    return PGY_OK;
}

pgy_status pgy_graph_export(pgy_model **out, pgy_graph *g, pgy_error *err)
{
    if (!out || !g || g->parent)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "'out' must not be NULL, and 'g' must be a whole graph, not a subgraph");
    exporter x = {.err = err};
    const pgy_onnx_model *from = pgy_model_proto(g->model);
    pgy_status st = pgy_model_create(&x.model, err);
    if (!st) st = pgy_model_keep(x.model, g->model, err);
    if (st) goto done;
    pgy_onnx_model *to = make(&x, 1, sizeof *to);
    if (!to) {
        st = no_memory(&x);
        goto done;
    }
    *to = *from;
    if (level_of(g)->changed) to->message.raw = (pgy_bytes){0};
    to->opset_imports = level_of(g)->opsets;
    to->opset_import_count = level_of(g)->opset_count;
    if (to->ir_version < state_of(g)->ir_version) to->ir_version = state_of(g)->ir_version;
    st = export_level(&to->graph, &x, g);
    if (!st) st = export_functions(to, &x, g);
    if (st) goto done;
    pgy_model_set_proto(x.model, to);
    *out = x.model;
    x.model = NULL;
done:
    pgy_model_destroy(x.model);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the model of a part. It shares the NodeProto and TensorProto messages of the whole model;
 * inputs and outputs get new declarations. */
#include <string.h>

#include "base/alloc.h"
#include "gs/cut/cut.h"

enum { IR_OF_FREE_WEIGHTS = 4 }; /* the first IR version in which weights need not be inputs */

typedef struct maker {
    pgy_model *model;
    pgy_cut *c;
    pgy_error *err;
} maker;

static void *make(maker *m, size_t count, size_t item_bytes)
{
    return pgy_model_alloc(m->model, count + 1, item_bytes);
}

/* ---- Inputs and outputs ---------------------------------------------------------------------- */

static pgy_onnx_dim *make_dim(maker *m, int64_t value, const char *text)
{
    pgy_onnx_dim *d = make(m, 1, sizeof *d);
    if (!d) return NULL;
    d->dim_param = d->denotation = "";
    if (value >= 0) {
        d->dim_value = value;
        d->message.present = 1u << 1;
    } else if (text) {
        d->dim_param = pgy_model_strdup(m->model, text);
        d->message.present = 1u << 2;
    }
    return d->dim_param ? d : NULL;
}

static pgy_onnx_shape *make_shape(maker *m, const pgy_value *v, const pgy_tensor *t)
{
    const size_t rank = t ? pgy_tensor_rank(t) : (size_t)v->rank;
    pgy_onnx_shape *shape = make(m, 1, sizeof *shape);
    pgy_onnx_dim **dims = make(m, rank, sizeof *dims);
    if (!shape || !dims) return NULL;
    for (size_t i = 0; i < rank; i++) {
        dims[i] = t ? make_dim(m, pgy_tensor_shape(t)[i], NULL)
                    : make_dim(m, v->dims[i].value, v->dims[i].text);
        if (!dims[i]) return NULL;
    }
    shape->dims = dims;
    shape->dim_count = rank;
    return shape;
}

static pgy_onnx_type *make_tensor_type(maker *m, pgy_dtype dtype)
{
    pgy_onnx_type *type = make(m, 1, sizeof *type);
    pgy_onnx_tensor_type *tensor = make(m, 1, sizeof *tensor);
    if (!type || !tensor) return NULL;
    tensor->elem_type = pgy_dtype_describe(dtype)->onnx;
    type->denotation = "";
    type->tensor_type = tensor;
    return type;
}

/* Makes the type of a sequence or optional, if the element type is known. Elements get no shapes,
 * because shapes seen in one run may differ in another. */
static pgy_onnx_type *make_nested_type(maker *m, const op_value *known)
{
    if (!known->sequence) return make_tensor_type(m, known->dtype);
    pgy_onnx_type *type = make(m, 1, sizeof *type);
    pgy_onnx_elem_type *list = make(m, 1, sizeof *list);
    if (!type || !list) return NULL;
    type->denotation = "";
    list->elem_type = make_nested_type(m, known->sequence);
    if (known->optional)
        type->optional_type = list;
    else
        type->sequence_type = list;
    return list->elem_type ? type : NULL;
}

static pgy_onnx_value_info *make_info(maker *m, pgy_value *v, const pgy_tensor *t)
{
    pgy_onnx_value_info *info = make(m, 1, sizeof *info);
    const pgy_dtype dtype = t ? pgy_tensor_dtype(t) : v->dtype;
    const op_value *known = &box_of(v)->known;
    if (!info) return NULL;
    info->name = v->name;
    info->doc_string = "";
    if (!t && v->kind != PGY_VALUE_TENSOR && v->info) {
        info->type = v->info->type;
        return info;
    }
    if (!t && known->sequence) {
        info->type = make_nested_type(m, known);
        return info->type ? info : NULL;
    }
    if (dtype == PGY_DTYPE_NONE) return info;
    info->type = make_tensor_type(m, dtype);
    if (!info->type || (!t && v->rank < 0)) return info->type ? info : NULL;
    info->type->tensor_type->shape = make_shape(m, v, t);
    return info->type->tensor_type->shape ? info : NULL;
}

static pgy_onnx_value_info **make_infos(maker *m, const value_list *list,
                                        const pgy_tensor_map *values)
{
    pgy_onnx_value_info **infos = make(m, list->count, sizeof *infos);
    for (size_t i = 0; infos && i < list->count; i++) {
        pgy_value *v = list->items[i];
        infos[i] = make_info(m, v, values ? pgy_tensor_map_find(values, v->name) : NULL);
        if (!infos[i]) return NULL;
    }
    return infos;
}

/* ---- The graph ------------------------------------------------------------------------------- */

static bool add_nodes(maker *m, pgy_onnx_graph *g)
{
    const pgy_cut *c = m->c;
    const pgy_onnx_node **nodes = make(m, c->inside_count, sizeof *nodes);
    if (!nodes) return false;
    for (size_t i = 0; i < c->level->node_count; i++)
        if (c->inside[i]) nodes[g->node_count++] = c->level->nodes[i]->proto;
    g->nodes = (pgy_onnx_node *const *)nodes;
    return true;
}

static bool add_weights(maker *m, pgy_onnx_graph *g)
{
    const value_list *list = &m->c->weights;
    const pgy_onnx_tensor **dense = make(m, list->count, sizeof *dense);
    const pgy_onnx_sparse_tensor **sparse = make(m, list->count, sizeof *sparse);
    if (!dense || !sparse) return false;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->sparse)
            sparse[g->sparse_initializer_count++] = list->items[i]->sparse;
        else
            dense[g->initializer_count++] = list->items[i]->initializer;
    }
    g->initializers = (pgy_onnx_tensor *const *)dense;
    g->sparse_initializers = (pgy_onnx_sparse_tensor *const *)sparse;
    return true;
}

static pgy_onnx_graph *make_graph(maker *m, const pgy_tensor_map *inputs,
                                  const pgy_tensor_map *outputs)
{
    pgy_onnx_graph *g = make(m, 1, sizeof *g);
    if (!g || !add_nodes(m, g) || !add_weights(m, g)) return NULL;
    g->name = m->c->level->name;
    g->doc_string = "";
    g->inputs = make_infos(m, &m->c->inputs, inputs);
    g->outputs = make_infos(m, &m->c->outputs, outputs);
    g->input_count = m->c->inputs.count;
    g->output_count = m->c->outputs.count;
    return g->inputs && g->outputs ? g : NULL;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static bool calls(const pgy_onnx_node *n, const pgy_onnx_function *f);

static bool any_calls(pgy_onnx_node *const *nodes, size_t count, const pgy_onnx_function *f)
{
    for (size_t i = 0; i < count; i++)
        if (calls(nodes[i], f)) return true;
    return false;
}

/* True if the node, or a node in its subgraphs, calls the function. Recursion is limited, because
 * the file reader limits the nesting of subgraphs. */
static bool calls(const pgy_onnx_node *n, const pgy_onnx_function *f)
{
    if (!strcmp(n->op_type, f->name) && !strcmp(n->domain, f->domain) &&
        !strcmp(n->overload, f->overload))
        return true;
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        if (a->g && any_calls(a->g->nodes, a->g->node_count, f)) return true;
        for (size_t k = 0; k < a->graph_count; k++)
            if (any_calls(a->graphs[k]->nodes, a->graphs[k]->node_count, f)) return true;
    }
    return false;
}

/* Adds the functions that the part calls, directly or through other functions. */
static bool add_functions(maker *m, pgy_onnx_model *model, const pgy_onnx_model *from)
{
    bool *used = make(m, from->function_count, sizeof *used);
    pgy_onnx_function **list = make(m, from->function_count, sizeof *list);
    if (!used || !list) return false;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < from->function_count; i++) {
            bool called =
                any_calls(model->graph->nodes, model->graph->node_count, from->functions[i]);
            for (size_t k = 0; k < from->function_count && !called; k++)
                called = used[k] && any_calls(from->functions[k]->nodes,
                                              from->functions[k]->node_count, from->functions[i]);
            changed = changed || (called && !used[i]);
            used[i] = used[i] || called;
        }
    }
    model->function_count = 0;
    for (size_t i = 0; i < from->function_count; i++)
        if (used[i]) list[model->function_count++] = from->functions[i];
    model->functions = list;
    return true;
}

/* ---- The model ------------------------------------------------------------------------------- */

static pgy_status build(maker *m, const pgy_tensor_map *inputs, const pgy_tensor_map *outputs)
{
    const pgy_onnx_model *from = pgy_model_proto(m->c->model);
    pgy_onnx_model *model = make(m, 1, sizeof *model);
    if (!model) return graph_no_memory(m->err);
    *model = *from;
    model->message.raw = (pgy_bytes){0};
    model->message.unknown_count = 0; /* drops training info, which refers to the whole model */
    if (model->ir_version < IR_OF_FREE_WEIGHTS) model->ir_version = IR_OF_FREE_WEIGHTS;
    model->graph = make_graph(m, inputs, outputs);
    if (!model->graph || !add_functions(m, model, from)) return graph_no_memory(m->err);
    pgy_model_set_proto(m->model, model);
    return PGY_OK;
}

pgy_status pgy_cut_model(pgy_model **out, pgy_cut *c, const pgy_tensor_map *inputs,
                         const pgy_tensor_map *outputs, pgy_error *err)
{
    maker m = {.c = c, .err = err};
    pgy_error why = {0};
    if (!out || !c) return pgy_error_set(err, PGY_E_ARGUMENT, "the cut must not be NULL");
    pgy_status st = pgy_model_create(&m.model, err);
    if (!st) st = pgy_model_keep(m.model, c->model, err);
    /* A type that cannot be inferred stays undeclared. */
    if (!st && (!inputs || !outputs) &&
        pgy_graph_infer_shapes(c->graph, NULL, &why) == PGY_E_MEMORY)
        st = graph_no_memory(err);
    if (!st) st = build(&m, inputs, outputs);
    if (!st) {
        *out = m.model;
        m.model = NULL;
    }
    pgy_model_destroy(m.model);
    return st;
}

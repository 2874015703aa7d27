/* SPDX-License-Identifier: Apache-2.0 */
/* Makes models of single nodes, so that a runtime can run one node alone on the data that reach it.
 */
#include <string.h>

#include "inspect/lint/report.h"

/* Names that a graph or its subgraphs use but do not define. */
static bool outer_names(strmap *out, const pgy_onnx_graph *g)
{
    strmap own = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < g->input_count; i++)
        ok = strmap_put(&own, g->inputs[i]->name, (void *)g);
    for (size_t i = 0; ok && i < g->initializer_count; i++)
        ok = strmap_put(&own, g->initializers[i]->name, (void *)g);
    for (size_t i = 0; ok && i < g->node_count; i++)
        for (size_t k = 0; ok && k < g->nodes[i]->output_count; k++)
            ok = strmap_put(&own, g->nodes[i]->outputs[k], (void *)g);
    strmap inner = {0};
    for (size_t i = 0; ok && i < g->node_count; i++) {
        const pgy_onnx_node *n = g->nodes[i];
        for (size_t k = 0; ok && k < n->input_count; k++)
            if (n->inputs[k][0]) ok = strmap_put(&inner, n->inputs[k], (void *)g);
        for (size_t k = 0; ok && k < n->attribute_count; k++)
            if (n->attributes[k]->g) ok = outer_names(&inner, n->attributes[k]->g);
    }
    for (size_t i = 0; ok && i < g->output_count; i++)
        ok = strmap_put(&inner, g->outputs[i]->name, (void *)g);
    for (size_t i = 0; ok && i < inner.count; i++)
        if (!strmap_has(&own, inner.entries[i].key))
            ok = strmap_put(out, inner.entries[i].key, (void *)g);
    strmap_deinit(&own);
    strmap_deinit(&inner);
    return ok;
}

static bool needed_names(strmap *out, const pgy_node *node)
{
    bool ok = true;
    for (size_t i = 0; ok && i < node->input_count; i++)
        if (node->inputs[i]) ok = strmap_put(out, node->inputs[i]->name, (void *)node);
    for (size_t i = 0; ok && i < node->attribute_count; i++)
        if (node->attributes[i]->g) ok = outer_names(out, node->attributes[i]->g);
    return ok;
}

/* Makes a value info. If `t` is NULL, the runtime infers the type. */
static pgy_onnx_value_info *make_info(pgy_model *m, const char *name, const pgy_tensor *t)
{
    pgy_onnx_value_info *info = pgy_model_alloc(m, 1, sizeof *info);
    if (!info) return NULL;
    info->name = pgy_model_strdup(m, name);
    info->doc_string = "";
    if (!t) return info->name ? info : NULL;
    size_t rank = pgy_tensor_rank(t);
    pgy_onnx_type *type = pgy_model_alloc(m, 1, sizeof *type);
    pgy_onnx_tensor_type *tensor = pgy_model_alloc(m, 1, sizeof *tensor);
    pgy_onnx_shape *shape = pgy_model_alloc(m, 1, sizeof *shape);
    pgy_onnx_dim *dims = pgy_model_alloc(m, rank + 1, sizeof *dims);
    pgy_onnx_dim **list = pgy_model_alloc(m, rank + 1, sizeof *list);
    if (!info->name || !type || !tensor || !shape || !dims || !list) return NULL;
    for (size_t i = 0; i < rank; i++) {
        dims[i] = (pgy_onnx_dim){.message.present = 2,
                                 .dim_value = pgy_tensor_shape(t)[i],
                                 .dim_param = "",
                                 .denotation = ""};
        list[i] = &dims[i];
    }
    *shape = (pgy_onnx_shape){.dims = list, .dim_count = rank};
    *tensor = (pgy_onnx_tensor_type){.elem_type = pgy_dtype_describe(pgy_tensor_dtype(t))->onnx,
                                     .shape = shape};
    *type = (pgy_onnx_type){.tensor_type = tensor, .denotation = ""};
    info->type = type;
    return info;
}

bool lint_weight_stays(const pgy_value *v)
{
    enum { EXTERNAL = 1 };
    return v && v->initializer && v->initializer->data_location != EXTERNAL;
}

/* Adds a value that the node takes from outside. Weights stay weights, because a runtime needs some
 * (shapes, for example) when it opens the model. All others become inputs. */
static bool add_source(pgy_onnx_graph *g, pgy_model *m, const pgy_value *v, const char *name,
                       const pgy_tensor_map *values)
{
    if (lint_weight_stays(v)) {
        ((pgy_onnx_tensor **)g->initializers)[g->initializer_count++] =
            (pgy_onnx_tensor *)v->initializer;
        return true;
    }
    pgy_onnx_value_info *info = make_info(m, name, pgy_tensor_map_find(values, name));
    if (info) ((pgy_onnx_value_info **)g->inputs)[g->input_count++] = info;
    return info != NULL;
}

static bool fill_graph(pgy_onnx_graph *g, pgy_model *m, const pgy_node *node, const strmap *needed,
                       const pgy_graph *whole, const pgy_tensor_map *values)
{
    pgy_onnx_node *copy = pgy_model_alloc(m, 1, sizeof *copy);
    pgy_onnx_node **nodes = pgy_model_alloc(m, 1, sizeof *nodes);
    pgy_onnx_value_info **inputs = pgy_model_alloc(m, needed->count + 1, sizeof *inputs);
    pgy_onnx_tensor **weights = pgy_model_alloc(m, needed->count + 1, sizeof *weights);
    pgy_onnx_value_info **outputs = pgy_model_alloc(m, node->output_count + 1, sizeof *outputs);
    if (!copy || !nodes || !inputs || !weights || !outputs) return false;
    *copy = *node->proto;
    copy->message.raw = (pgy_bytes){0};
    copy->name = pgy_model_strdup(m, node->name);
    nodes[0] = copy;
    *g = (pgy_onnx_graph){.nodes = nodes,
                          .node_count = 1,
                          .name = "one_node",
                          .doc_string = "",
                          .inputs = inputs,
                          .initializers = weights,
                          .outputs = outputs};
    for (size_t i = 0; i < needed->count; i++) {
        const char *name = needed->entries[i].key;
        if (!add_source(g, m, pgy_graph_find_value(whole, name), name, values)) return false;
    }
    for (size_t i = 0; i < node->output_count; i++) {
        if (!node->outputs[i]) continue;
        /* Keep the declared type: if the node cannot have it, the runtime must report that. */
        outputs[g->output_count] = node->outputs[i]->info
                                       ? (pgy_onnx_value_info *)node->outputs[i]->info
                                       : make_info(m, node->outputs[i]->name, NULL);
        if (!outputs[g->output_count++]) return false;
    }
    return copy->name != NULL;
}

static bool is_known(const pgy_graph *g, const pgy_tensor_map *values, const char *name)
{
    const pgy_value *v = pgy_graph_find_value(g, name);
    return lint_weight_stays(v) || pgy_tensor_map_find(values, name);
}

pgy_status lint_node_model(pgy_model **out, const pgy_node *node, const pgy_graph *whole,
                           const pgy_tensor_map *values, pgy_error *err)
{
    enum { FREE_WEIGHTS = 4 }; /* the first IR version whose weights need not be inputs, too */
    strmap needed = {0};
    pgy_model *m = NULL;
    pgy_status st =
        needed_names(&needed, node) ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = NULL;
    for (size_t i = 0; !st && i < needed.count; i++)
        if (!is_known(whole, values, needed.entries[i].key)) goto done;
    if (!st) st = pgy_model_create(&m, err);
    if (!st) st = pgy_model_keep(m, whole->model, err);
    if (!st) {
        pgy_onnx_model *proto = pgy_model_alloc(m, 1, sizeof *proto);
        pgy_onnx_graph *g = pgy_model_alloc(m, 1, sizeof *g);
        if (!proto || !g || !fill_graph(g, m, node, &needed, whole, values)) {
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        } else {
            *proto = *pgy_model_proto(whole->model);
            proto->message = (pgy_onnx_message){0};
            proto->graph = g;
            if (proto->ir_version < FREE_WEIGHTS) proto->ir_version = FREE_WEIGHTS;
            pgy_model_set_proto(m, proto);
        }
    }
    if (!st) {
        *out = m;
        m = NULL;
    }
done:
    pgy_model_destroy(m);
    strmap_deinit(&needed);
    return st;
}

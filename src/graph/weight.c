/* SPDX-License-Identifier: Apache-2.0 */
/* Creates stored tensors for edits, and turns values into weights. */
#include <string.h>

#include "graph/edit.h"
#include "onnx/elements.h"
#include "tensor/tensor.h"

/* ---- Records --------------------------------------------------------------------------------- */

uint64_t weight_bytes(const pgy_onnx_tensor *t)
{
    size_t bytes;
    return tensor_needs_bytes(&bytes, t, NULL) ? 0 : bytes;
}

pgy_onnx_tensor *weight_renamed(pgy_model *m, const pgy_onnx_tensor *t, const char *name,
                                const int64_t *dims, size_t dim_count)
{
    pgy_onnx_tensor *to = pgy_model_alloc(m, 1, sizeof *to);
    int64_t *sizes = pgy_model_alloc(m, dim_count + 1, sizeof *sizes);
    if (!to || !sizes) return NULL;
    *to = *t;
    to->message.raw = (pgy_bytes){0};
    to->name = pgy_model_strdup(m, name);
    if (dim_count) memcpy(sizes, dims, dim_count * sizeof *sizes);
    to->dims = sizes;
    to->dim_count = dim_count;
    return to->name ? to : NULL;
}

pgy_status weight_create(const pgy_onnx_tensor **out, pgy_model *m, const char *name, pgy_tensor *t,
                         pgy_error *err)
{
    pgy_tensor *own = NULL;
    pgy_onnx_tensor *made = NULL;
    pgy_status st = PGY_OK;
    /* Copy a tensor that is a view of a model: it keeps the model alive, so if the model kept the
     * tensor in turn, neither would ever be freed. */
    if (tensor_is_borrowed(t)) st = pgy_tensor_copy(&own, pgy_tensor_view(t), err);
    if (!st) st = pgy_model_tensor(&made, m, name, own ? own : t, err);
    if (!st) *out = made;
    pgy_tensor_release(own);
    return st;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static pgy_status list_weight(pgy_value *v, pgy_error *err)
{
    pgy_graph *g = v->graph;
    graph_level *level = level_of(g);
    if (g->initializer_count >= level->weight_capacity) {
        const size_t wanted = 2 * g->initializer_count + 8;
        pgy_value **weights = arena_alloc_array(&state_of(g)->memory, wanted, sizeof *weights);
        if (!weights) return graph_no_memory(err);
        if (g->initializer_count)
            memcpy(weights, g->initializers, g->initializer_count * sizeof *weights);
        g->initializers = weights;
        level->weight_capacity = wanted;
    }
    g->initializers[g->initializer_count++] = v;
    return PGY_OK;
}

pgy_status value_set_weight(pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err)
{
    pgy_status st = value_describe_tensor(v, t, err);
    if (!st) st = list_weight(v, err);
    if (st) return st;
    v->kind = PGY_VALUE_TENSOR;
    v->initializer = t;
    v->producer = NULL;
    v->unknown_why = NULL;
    box_of(v)->data_tried = false;
    graph_mark_changed(v->graph);
    return PGY_OK;
}

/* Appends a Constant node that writes v; the next sort moves it before its consumers. */
static pgy_status make_constant(pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err)
{
    const pgy_onnx_attribute value = {.type = PGY_ATTR_TENSOR, .t = (pgy_onnx_tensor *)t};
    pgy_onnx_attribute *a = attribute_create(v->graph->model, "value", &value);
    pgy_node *n = NULL;
    if (!a) return graph_no_memory(err);
    const pgy_status st = node_create(&n, v->graph, "Constant", NULL, 0, &v, 1, err);
    return st ? st : node_set_only_attribute(n, a, err);
}

pgy_status value_set_constant(pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err)
{
    return level_of(v->graph)->is_function ? make_constant(v, t, err) : value_set_weight(v, t, err);
}

pgy_status value_create_ints(pgy_value **out, pgy_graph *level, const char *stem,
                             const int64_t *values, size_t count, pgy_error *err)
{
    pgy_tensor *t = NULL;
    const pgy_onnx_tensor *stored = NULL;
    const int64_t shape[1] = {(int64_t)count};
    pgy_value *v = NULL;
    pgy_status st = pgy_tensor_create(&t, PGY_I64, 1, shape, err);
    if (st) return st;
    if (count) memcpy(pgy_tensor_data(t), values, count * sizeof *values);
    if (!(v = value_create_unique(level, stem, err))) st = PGY_E_MEMORY;
    if (!st) st = weight_create(&stored, level->model, v->name, t, err);
    if (!st) st = value_set_weight(v, stored, err);
    pgy_tensor_release(t);
    if (!st) *out = v;
    return st;
}

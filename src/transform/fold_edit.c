/* SPDX-License-Identifier: Apache-2.0 */
/* The edits that folding is made of: new uses for old ones, nodes taken out, values that become
 * weights. New messages live in the model that the graph came from, which outlives it in what is
 * exported. */
#include <string.h>

#include "base/alloc.h"
#include "onnx/elements.h"
#include "onnx/model.h"
#include "tensor/tensor.h"
#include "transform/fold.h"

/* ---- Constants ------------------------------------------------------------------------------ */

bool fold_is_constant(const folder *f, const pgy_value *v)
{
    if (v->initializer || v->sparse) return !v->is_input || f->weak_names;
    return v->producer && level_of(v->graph)->is_function && fold_is_constant_node(v->producer);
}

bool fold_is_constant_node(const pgy_node *n)
{
    if (!node_is(n, "Constant") || n->input_count || n->output_count != 1 || !n->outputs[0] ||
        n->attribute_count != 1 || node_box_of(n)->function || node_box_of(n)->refused)
        return false;
    const char *refers = n->attributes[0]->ref_attr_name;
    return !refers || !*refers;
}

pgy_status fold_constant(pgy_tensor **out, const folder *f, pgy_value *v, pgy_error *err)
{
    *out = NULL;
    return v && fold_is_constant(f, v) ? pgy_graph_value_data(out, v, err) : PGY_OK;
}

bool fold_ints(folder *f, pgy_value *v, const int64_t **out, size_t *count)
{
    pgy_tensor *stored = NULL, *wide = NULL;
    int64_t *values = NULL;
    if (!v || v->rank > 1 || !pgy_dtype_is_integer(v->dtype) || v->dtype == PGY_U64) return false;
    if (fold_constant(&stored, f, v, NULL) == PGY_OK && stored &&
        op_to_storage(&wide, stored, NULL) == PGY_OK) {
        *count = pgy_tensor_count(wide);
        values = arena_alloc_array(&f->memory, *count + 1, sizeof *values);
        if (values && *count) memcpy(values, op_i64(wide), *count * sizeof *values);
        *out = values;
    }
    pgy_tensor_release(wide);
    pgy_tensor_release(stored);
    return values != NULL;
}

const op_value *fold_known(const pgy_value *v)
{
    static const op_value nothing = {.rank = -1};
    return level_of(v->graph)->is_function ? &nothing : &box_of((pgy_value *)v)->known;
}

uint64_t fold_tensor_bytes(const pgy_onnx_tensor *t)
{
    size_t bytes;
    return tensor_needs_bytes(&bytes, t, NULL) ? 0 : bytes;
}

void fold_release(pgy_tensor *t, pgy_model *m)
{
    enum { LARGE = 1 << 16 };
    const size_t bytes = pgy_tensor_size_bytes(t);
    size_t offset;
    const file_map *map =
        bytes >= LARGE ? model_find_map(m, pgy_tensor_data(t), bytes, &offset) : NULL;
    if (map) file_map_forget(map, offset, bytes);
    pgy_tensor_release(t);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

pgy_status fold_replace_uses(pgy_value *from, pgy_value *to, pgy_error *err)
{
    return value_replace_uses(from, to, err);
}

void fold_drop_node(folder *f, pgy_node *n)
{
    node_unlink(n);
    f->changes++;
}

void fold_sweep(pgy_graph *level)
{
    size_t kept = 0;
    for (size_t i = 0; i < level->node_count; i++)
        if (level->nodes[i]->graph) level->nodes[kept++] = level->nodes[i];
    level->node_count = kept;
    graph_reindex(level);
}

pgy_status fold_take_over(pgy_value *x, pgy_value *y, pgy_error *err)
{
    pgy_node *producer = x->producer;
    const pgy_status st = fold_replace_uses(x, y, err);
    if (st) return st;
    producer->outputs[x->output_index] = y;
    y->producer = producer;
    y->output_index = x->output_index;
    x->producer = NULL;
    node_box_of(producer)->changed = true;
    return PGY_OK;
}

pgy_status fold_bypass(folder *f, pgy_node *n, size_t input, bool *done, pgy_error *err)
{
    pgy_value *x = n->inputs[input], *y = n->outputs[0];
    pgy_status st;
    *done = false;
    if (!x || !y || x->kind != y->kind) return PGY_OK;
    for (size_t i = 1; i < n->output_count; i++)
        if (n->outputs[i] && (n->outputs[i]->is_output || n->outputs[i]->consumer_count))
            return PGY_OK;
    if (!y->is_output) {
        st = fold_replace_uses(y, x, err);
        if (!st) fold_drop_node(f, n);
    } else if (x->producer && x->graph == n->graph && !x->is_output) {
        fold_drop_node(f, n);
        st = fold_take_over(x, y, err);
    } else {
        return PGY_OK;
    }
    *done = !st;
    return st;
}

static bool is_among(const pgy_value *v, pgy_value *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == v) return true;
    return false;
}

pgy_status fold_rewrite(folder *f, pgy_node *n, const char *op_type, pgy_value *const *inputs,
                        size_t input_count, const pgy_onnx_attribute *attribute, pgy_error *err)
{
    arena *memory = &f->state->memory;
    node_box *box = node_box_of(n);
    pgy_value **ins = arena_alloc_array(memory, input_count, sizeof *ins);
    const pgy_onnx_attribute **attributes = arena_alloc(memory, sizeof *attributes);
    if (!ins || !attributes) return graph_no_memory(err);
    memcpy(ins, inputs, input_count * sizeof *ins);
    for (size_t i = 0; i < input_count; i++) {
        const pgy_status st = ins[i] ? value_add_consumer(ins[i], n, err) : PGY_OK;
        if (st) return st;
    }
    for (size_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] && is_among(n->inputs[i], ins, input_count))
            value_remove_consumer(n->inputs[i], n);
        else if (n->inputs[i])
            value_drop_consumer(n->inputs[i], n);
    }
    attributes[0] = attribute;
    n->op_type = op_type;
    n->domain = n->overload = "";
    n->inputs = ins;
    n->input_count = input_count;
    n->attributes = attributes;
    n->attribute_count = attribute != NULL;
    box->changed = true;
    box->prepared = box->has_refs = false;
    graph_mark_changed(n->graph);
    f->changes++;
    return node_prepare(n, err);
}

pgy_status fold_ints_attribute(const pgy_onnx_attribute **out, folder *f, const char *name,
                               const int64_t *values, size_t count, pgy_error *err)
{
    pgy_model *m = f->graph->model;
    pgy_onnx_attribute *a = pgy_model_alloc(m, 1, sizeof *a);
    int64_t *ints = pgy_model_alloc(m, count + 1, sizeof *ints);
    if (!a || !ints) return graph_no_memory(err);
    if (count) memcpy(ints, values, count * sizeof *ints);
    *a = (pgy_onnx_attribute){.name = name,
                              .ref_attr_name = "",
                              .doc_string = "",
                              .type = PGY_ATTR_INTS,
                              .ints = ints,
                              .int_count = count};
    *out = a;
    return PGY_OK;
}

/* ---- Weights -------------------------------------------------------------------------------- */

pgy_onnx_tensor *fold_rename_tensor(folder *f, const pgy_onnx_tensor *t, const char *name,
                                    const int64_t *dims, size_t dim_count)
{
    pgy_model *m = f->graph->model;
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

pgy_status fold_store_tensor(const pgy_onnx_tensor **out, folder *f, const char *name,
                             pgy_tensor *t, pgy_error *err)
{
    pgy_model *m = f->graph->model;
    pgy_tensor *own = NULL;
    pgy_onnx_tensor *made = NULL;
    pgy_status st = PGY_OK;
    /* A tensor that shows what a model holds keeps the model alive, and the model would keep it. */
    if (tensor_is_borrowed(t)) st = pgy_tensor_copy(&own, pgy_tensor_view(t), err);
    if (!st) st = pgy_model_tensor(&made, m, name, own ? own : t, err);
    if (!st) *out = made;
    pgy_tensor_release(own);
    return st;
}

static pgy_status add_weight(folder *f, pgy_value *v, pgy_error *err)
{
    pgy_graph *g = v->graph;
    graph_level *level = level_of(g);
    if (g->initializer_count >= level->weight_capacity) {
        const size_t wanted = 2 * g->initializer_count + 8;
        pgy_value **weights = arena_alloc_array(&f->state->memory, wanted, sizeof *weights);
        if (!weights) return graph_no_memory(err);
        if (g->initializer_count)
            memcpy(weights, g->initializers, g->initializer_count * sizeof *weights);
        g->initializers = weights;
        level->weight_capacity = wanted;
    }
    g->initializers[g->initializer_count++] = v;
    return PGY_OK;
}

pgy_status fold_set_weight(folder *f, pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err)
{
    pgy_status st = value_describe_tensor(v, t, err);
    if (!st) st = add_weight(f, v, err);
    if (st) return st;
    v->kind = PGY_VALUE_TENSOR;
    v->initializer = t;
    v->producer = NULL;
    v->unknown_why = NULL;
    box_of(v)->data_tried = false;
    graph_mark_changed(v->graph);
    return PGY_OK;
}

/* Functions have no weights; the node is put in its place by sorting. */
static pgy_status set_constant(folder *f, pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err)
{
    pgy_node *n = NULL;
    pgy_onnx_attribute *a = pgy_model_alloc(f->graph->model, 1, sizeof *a);
    const pgy_onnx_attribute **attributes = arena_alloc(&f->state->memory, sizeof *attributes);
    if (!a || !attributes) return graph_no_memory(err);
    const pgy_status st = node_create(&n, v->graph, "Constant", NULL, 0, &v, 1, err);
    if (st) return st;
    *a = (pgy_onnx_attribute){.name = "value",
                              .ref_attr_name = "",
                              .doc_string = "",
                              .type = PGY_ATTR_TENSOR,
                              .t = (pgy_onnx_tensor *)t};
    attributes[0] = a;
    n->attributes = attributes;
    n->attribute_count = 1;
    return PGY_OK;
}

pgy_status fold_set_value(folder *f, pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err)
{
    return level_of(v->graph)->is_function ? set_constant(f, v, t, err)
                                           : fold_set_weight(f, v, t, err);
}

pgy_status fold_make_ints(pgy_value **out, folder *f, pgy_graph *level, const char *stem,
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
    if (!st) st = fold_store_tensor(&stored, f, v->name, t, err);
    if (!st) st = fold_set_weight(f, v, stored, err);
    pgy_tensor_release(t);
    if (!st) *out = v;
    return st;
}

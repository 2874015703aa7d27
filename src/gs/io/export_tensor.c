/* SPDX-License-Identifier: Apache-2.0 */
/* Exports weights and declarations. A TensorProto of the file that is still correct is written as
 * it is; a renamed weight gets a copy that shares its elements. A weight is written in the graph
 * that it was made for, else in the graph that uses it, and not again in subgraphs of that graph.
 */
#include <string.h>

#include "base/log.h"
#include "gs/graph/type.h"
#include "gs/io/export.h"

/* ---- Choosing the weights of a graph --------------------------------------------------------- */

static pgy_status add_weight(level_tensors *lt, pgy_gs_tensor *t, pgy_error *err)
{
    gs_tensor *box = tensor_box(t);
    if (t->kind != PGY_GS_CONSTANT || box->written || !*t->name) return PGY_OK;
    const pgy_status st = gs_list_push(&lt->weights, t, err);
    if (!st) box->written = true;
    return st;
}

/* Finds weights of the graph `home` that only its subgraphs use. */
typedef struct inside {
    level_tensors *lt;
    const pgy_gs_graph *home;
} inside;

static pgy_status add_inside(pgy_gs_graph *g, void *user, pgy_error *err)
{
    const inside *x = user;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < g->node_count && !st; i++) {
        const pgy_gs_node *n = g->nodes[i];
        for (size_t k = 0; k < n->input_count && !st; k++)
            if (tensor_box(n->inputs[k])->home == x->home)
                st = add_weight(x->lt, n->inputs[k], err);
        if (!st) st = gs_each_subgraph(n, add_inside, user, err);
    }
    return st;
}

pgy_status export_tensors_enter(level_tensors *lt, exporter *x, pgy_gs_graph *g)
{
    inside in = {lt, g};
    pgy_status st = pgy_gs_tensors(&lt->all, g, false, x->err);
    for (size_t i = 0; i < lt->all.count && !st; i++) st = add_weight(lt, lt->all.items[i], x->err);
    for (size_t i = 0; i < g->node_count && !st; i++)
        st = gs_each_subgraph(g->nodes[i], add_inside, &in, x->err);
    return st;
}

void export_tensors_leave(level_tensors *lt)
{
    for (size_t i = 0; i < lt->weights.count; i++)
        tensor_box(lt->weights.items[i])->written = false;
    pgy_gs_tensor_list_free(&lt->weights);
    pgy_gs_tensor_list_free(&lt->all);
}

/* True for a tensor of an enclosing graph, which declares it. */
static bool is_outer(const pgy_gs_tensor *t, const pgy_gs_graph *g)
{
    if (!g->parent || tensor_box(t)->home == g) return false;
    for (size_t i = 0; i < t->producer_count; i++)
        if (t->producers[i]->graph == g) return false;
    return true;
}

/* True if an unused tensor of the file is written, because no other tensor of the graph took its
 * name. */
static bool is_kept(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    const pgy_gs_tensor *other = pgy_gs_find_tensor(g, t->name);
    return !other || is_outer(other, g);
}

/* ---- Weights --------------------------------------------------------------------------------- */

static pgy_onnx_tensor *renamed(exporter *x, const pgy_onnx_tensor *from, const char *name)
{
    if (strcmp(from->name ? from->name : "", name) == 0) return (pgy_onnx_tensor *)from;
    pgy_onnx_tensor *to = export_alloc(x, 1, sizeof(*to));
    if (!to) return NULL;
    *to = *from;
    to->message.raw = (pgy_bytes){0};
    to->name = name;
    return to;
}

pgy_onnx_tensor *export_weight(exporter *x, const pgy_gs_tensor *t)
{
    const int64_t needed = export_ir_of_type(t->dtype);
    if (needed > x->ir_version) x->ir_version = needed;
    return renamed(x, t->stored, t->name);
}

static pgy_onnx_sparse_tensor *export_sparse(exporter *x, const pgy_gs_tensor *t)
{
    pgy_onnx_tensor *values = renamed(x, t->sparse->values, t->name);
    if (values == t->sparse->values) return (pgy_onnx_sparse_tensor *)t->sparse;
    pgy_onnx_sparse_tensor *to = export_alloc(x, 1, sizeof(*to));
    if (!values || !to) return NULL;
    *to = *t->sparse;
    to->message.raw = (pgy_bytes){0};
    to->values = values;
    return to;
}

static pgy_status put_weight(pgy_onnx_tensor **dense, pgy_onnx_sparse_tensor **sparse,
                             pgy_onnx_graph *to, exporter *x, const pgy_gs_tensor *t)
{
    if (t->stored) {
        dense[to->initializer_count] = export_weight(x, t);
        return dense[to->initializer_count++] ? PGY_OK : export_no_memory(x);
    }
    sparse[to->sparse_initializer_count] = export_sparse(x, t);
    return sparse[to->sparse_initializer_count++] ? PGY_OK : export_no_memory(x);
}

pgy_status export_weights(pgy_onnx_graph *to, exporter *x, pgy_gs_graph *g, const level_tensors *lt)
{
    const gs_graph *box = graph_box(g);
    const size_t most = lt->weights.count + box->kept_count;
    pgy_onnx_tensor **dense = export_alloc(x, most, sizeof(*dense));
    pgy_onnx_sparse_tensor **sparse = export_alloc(x, most, sizeof(*sparse));
    pgy_status st = dense && sparse ? PGY_OK : export_no_memory(x);
    to->initializer_count = to->sparse_initializer_count = 0;
    for (size_t i = 0; i < lt->weights.count && !st; i++)
        st = put_weight(dense, sparse, to, x, lt->weights.items[i]);
    for (size_t i = 0; i < box->kept_count && !st; i++)
        if (box->kept[i]->kind == PGY_GS_CONSTANT && is_kept(g, box->kept[i]))
            st = put_weight(dense, sparse, to, x, box->kept[i]);
    to->initializers = dense;
    to->sparse_initializers = sparse;
    return st;
}

/* ---- Declarations ---------------------------------------------------------------------------- */

static bool says_something(const pgy_gs_tensor *t)
{
    return t->dtype != PGY_DTYPE_NONE || t->rank >= 0;
}

/* The declaration of a tensor: `from` (may be NULL) if it is still correct, else a new one. */
static pgy_onnx_value_info *export_info(exporter *x, const pgy_gs_tensor *t,
                                        const pgy_onnx_value_info *from)
{
    const gs_tensor *box = tensor_box(t);
    const int64_t needed = export_ir_of_type(t->dtype);
    if (needed > x->ir_version) x->ir_version = needed;
    const bool same_type =
        from && (from == t->info && !box->info_changed ? true : gs_type_agrees(t, from));
    if (same_type && strcmp(from->name, t->name) == 0) return (pgy_onnx_value_info *)from;
    pgy_onnx_value_info *info = export_alloc(x, 1, sizeof(*info));
    if (!info) return NULL;
    if (from) *info = *from;
    info->message.raw = (pgy_bytes){0};
    info->name = t->name;
    if (!info->doc_string) info->doc_string = "";
    if (same_type) return info;
    const pgy_onnx_type *old = from ? from->type : NULL;
    info->type = says_something(t) ? gs_type_make(x->model, t, old) : NULL;
    return info->type || !says_something(t) ? info : NULL;
}

/* True if the file's declaration is still valid. It may have a type that this library does not
 * know. */
static bool is_declared(const pgy_gs_tensor *t)
{
    const pgy_onnx_type *type = t->info ? t->info->type : NULL;
    if (!type || !tensor_box(t)->info_changed) return type;
    const bool empty = type->tensor_type && !type->tensor_type->elem_type;
    return !empty && gs_type_agrees(t, t->info);
}

static pgy_status check_type(exporter *x, const pgy_gs_tensor *t, const char *what)
{
    if (x->no_type_check || t->dtype != PGY_DTYPE_NONE || is_declared(t)) return PGY_OK;
    return pgy_error_set(x->err, PGY_E_TYPE, "%s '%.200s' has no element type", what, t->name);
}

/* True if a weight has an unchanged value info with more than type and shape (doc string,
 * metadata), which the initializer cannot hold. */
static bool has_own_info(const pgy_gs_tensor *t, const pgy_gs_graph *g)
{
    const pgy_onnx_value_info *info = t->info;
    if (!info || tensor_box(t)->info_changed || tensor_box(t)->home != g) return false;
    return *info->doc_string || info->metadata_prop_count || info->message.unknown_count;
}

static bool is_to_be_declared(const pgy_gs_tensor *t, const pgy_gs_graph *g)
{
    if (t->kind == PGY_GS_CONSTANT) return has_own_info(t, g);
    return (says_something(t) || is_declared(t)) && !is_outer(t, g);
}

pgy_status export_value_infos(pgy_onnx_value_info *const **out, size_t *count, exporter *x,
                              pgy_gs_graph *g, const level_tensors *lt)
{
    const gs_graph *box = graph_box(g);
    const uint64_t epoch = ++x->document->epoch;
    pgy_onnx_value_info **infos = export_alloc(x, lt->all.count + box->kept_count, sizeof(*infos));
    size_t n = 0;
    if (!infos) return export_no_memory(x);
    for (size_t i = 0; i < g->input_count; i++) tensor_box(g->inputs[i])->mark = epoch;
    for (size_t i = 0; i < g->output_count; i++) tensor_box(g->outputs[i])->mark = epoch;
    for (size_t i = 0; i < lt->all.count; i++) {
        const pgy_gs_tensor *t = lt->all.items[i];
        if (tensor_box(t)->mark == epoch || !is_to_be_declared(t, g)) continue;
        if (lt->are_inputs && t->kind == PGY_GS_CONSTANT) continue;
        const pgy_status st =
            g->parent || g->is_function ? PGY_OK : check_type(x, t, "tensor with a shape");
        if (st) return st;
        if (!(infos[n++] = export_info(x, t, t->info))) return export_no_memory(x);
    }
    for (size_t i = 0; i < box->kept_count; i++)
        if (box->kept[i]->info && is_kept(g, box->kept[i]) &&
            !(lt->are_inputs && box->kept[i]->kind == PGY_GS_CONSTANT))
            infos[n++] = (pgy_onnx_value_info *)box->kept[i]->info;
    *out = infos;
    *count = n;
    return PGY_OK;
}

static bool same_name(const pgy_onnx_value_info *info, const pgy_gs_tensor *t)
{
    return strcmp(info->name, t->name) == 0;
}

pgy_status export_interface(pgy_onnx_value_info *const **out, size_t *count, exporter *x,
                            pgy_gs_tensor *const *tensors, size_t tensor_count,
                            pgy_onnx_value_info *const *stored, size_t stored_count)
{
    pgy_onnx_value_info **infos = export_alloc(x, tensor_count, sizeof(*infos));
    if (!infos) return export_no_memory(x);
    for (size_t i = 0; i < tensor_count; i++) {
        const pgy_gs_tensor *t = tensors[i];
        const bool there = i < stored_count && same_name(stored[i], t);
        const pgy_status st = check_type(x, t, "graph input or output");
        if (st) return st;
        infos[i] = export_info(x, t, there && !tensor_box(t)->info_changed ? stored[i] : t->info);
        if (!infos[i]) return export_no_memory(x);
    }
    *out = infos;
    *count = tensor_count;
    return PGY_OK;
}

pgy_status export_weight_inputs(pgy_onnx_graph *to, exporter *x, const pgy_gs_graph *g,
                                const level_tensors *lt)
{
    const gs_graph *box = graph_box(g);
    const size_t most = to->input_count + lt->weights.count + box->kept_count;
    pgy_onnx_value_info **infos = export_alloc(x, most, sizeof(*infos));
    size_t n = to->input_count;
    if (!infos) return export_no_memory(x);
    if (n) memcpy(infos, to->inputs, n * sizeof(*infos));
    for (size_t i = 0; i < lt->weights.count + box->kept_count; i++) {
        const bool used = i < lt->weights.count;
        const pgy_gs_tensor *t = used ? lt->weights.items[i] : box->kept[i - lt->weights.count];
        if (!used && (t->kind != PGY_GS_CONSTANT || !is_kept(g, t))) continue;
        if (!(infos[n++] = export_info(x, t, t->info))) return export_no_memory(x);
    }
    to->inputs = infos;
    to->input_count = n;
    return PGY_OK;
}

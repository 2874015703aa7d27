/* SPDX-License-Identifier: Apache-2.0 */
/* Type and shape of a value: taken from its declaration or its stored weight, and copied to the
 * public struct. */
#include <string.h>

#include "base/suggest.h"
#include "graph/graph.h"

static dim declared_dim(graph_state *s, const pgy_onnx_dim *d)
{
    const bool has_value = d->message.present >> 1 & 1;
    if (d->dim_param && *d->dim_param) return dim_symbol(&s->dims, d->dim_param);
    if ((has_value || d->dim_value) && d->dim_value >= 0) return dim_const(d->dim_value);
    return dim_unknown(&s->dims, NULL);
}

pgy_status value_set_shape(op_value *out, graph_state *s, const pgy_tensor_info *info,
                           pgy_error *err)
{
    dim *dims = arena_alloc_array(&s->memory, (size_t)info->rank, sizeof *dims);
    if (!dims) return graph_no_memory(err);
    for (int32_t i = 0; i < info->rank; i++) {
        const char *name = info->dim_names ? info->dim_names[i] : NULL;
        if (info->shape[i] >= 0)
            dims[i] = dim_const(info->shape[i]);
        else
            dims[i] = name && *name ? dim_symbol(&s->dims, name) : dim_unknown(&s->dims, NULL);
    }
    out->rank = info->rank;
    out->dims = dims;
    return PGY_OK;
}

static pgy_status declare_tensor(op_value *out, graph_state *s, const pgy_onnx_tensor_type *t,
                                 const char *name, pgy_error *err)
{
    out->dtype = pgy_dtype_from_onnx(t->elem_type);
    if (t->elem_type != 0 && out->dtype == PGY_DTYPE_NONE)
        return pgy_error_set(err, PGY_E_FORMAT, "value '%s' has the unknown element type %d", name,
                             t->elem_type);
    if (!t->shape) return PGY_OK;
    if (t->shape->dim_count > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_FORMAT, "value '%s' has rank %zu; at most %d is supported",
                             name, t->shape->dim_count, PGY_MAX_RANK);
    dim *dims = arena_alloc_array(&s->memory, t->shape->dim_count, sizeof *dims);
    if (!dims) return graph_no_memory(err);
    for (size_t i = 0; i < t->shape->dim_count; i++) dims[i] = declared_dim(s, t->shape->dims[i]);
    out->rank = (int32_t)t->shape->dim_count;
    out->dims = dims;
    return PGY_OK;
}

static pgy_status declare_type(op_value *out, pgy_value_kind *kind, graph_state *s,
                               const pgy_onnx_type *type, const char *name, int depth,
                               pgy_error *err)
{
    *out = (op_value){.rank = -1};
    *kind = PGY_VALUE_TENSOR;
    if (!type) return PGY_OK;
    if (depth > GRAPH_MAX_DEPTH)
        return pgy_error_set(err, PGY_E_FORMAT, "the type of value '%s' is nested too deep", name);
    if (type->tensor_type) return declare_tensor(out, s, type->tensor_type, name, err);
    if (type->sparse_tensor_type) {
        *kind = PGY_VALUE_SPARSE;
        return declare_tensor(out, s, type->sparse_tensor_type, name, err);
    }
    const pgy_onnx_elem_type *list =
        type->sequence_type ? type->sequence_type : type->optional_type;
    if (type->map_type) {
        const pgy_onnx_type *held = type->map_type->value_type;
        *kind = PGY_VALUE_MAP;
        out->map_key = pgy_dtype_from_onnx(type->map_type->key_type);
        if (held && held->tensor_type)
            out->map_value = pgy_dtype_from_onnx(held->tensor_type->elem_type);
    }
    if (!list) return PGY_OK;
    op_value *element = arena_alloc(&s->memory, sizeof *element);
    pgy_value_kind ignored;
    if (!element) return graph_no_memory(err);
    *kind = type->sequence_type ? PGY_VALUE_SEQUENCE : PGY_VALUE_OPTIONAL;
    out->sequence = element;
    out->optional = !type->sequence_type;
    return declare_type(element, &ignored, s, list->elem_type, name, depth + 1, err);
}

pgy_status type_declare(op_value *out, pgy_value_kind *kind, graph_state *s,
                        const pgy_onnx_type *type, const char *name, pgy_error *err)
{
    return declare_type(out, kind, s, type, name, 0, err);
}

pgy_status value_declare(pgy_value *v, const pgy_onnx_type *type, pgy_error *err)
{
    value_box *box = box_of(v);
    pgy_status st = type_declare(&box->declared, &v->kind, state_of(v->graph), type, v->name, err);
    if (st) return st;
    box->known = box->declared;
    return value_publish(v, err);
}

pgy_status value_describe_tensor(pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err)
{
    pgy_tensor_info info;
    value_box *box = box_of(v);
    pgy_status st = pgy_onnx_tensor_info(&info, t, err);
    if (st) return st;
    dim *dims = arena_alloc_array(&state_of(v->graph)->memory, (size_t)info.rank, sizeof *dims);
    if (!dims) return graph_no_memory(err);
    for (int32_t i = 0; i < info.rank; i++) dims[i] = dim_const(info.shape[i]);
    box->declared = (op_value){.dtype = info.dtype, .rank = info.rank, .dims = dims};
    box->known = box->declared;
    return value_publish(v, err);
}

static pgy_status publish_dim(pgy_dim *out, graph_state *s, dim d, pgy_error *err)
{
    *out = (pgy_dim){.value = dim_is_const(d) && d.value >= 0 ? d.value : -1};
    if (dim_is_const(d) || !dim_is_named(d)) return PGY_OK;
    str text = {0};
    dim_print(&text, d);
    out->text = text.failed ? NULL : arena_strdup(&s->memory, str_text(&text));
    str_deinit(&text);
    return out->text ? PGY_OK : graph_no_memory(err);
}

pgy_status value_publish(pgy_value *v, pgy_error *err)
{
    graph_state *s = state_of(v->graph);
    const op_value *known = &box_of(v)->known;
    v->dtype = known->dtype;
    v->rank = known->rank;
    v->dims = NULL;
    if (known->rank < 0) return PGY_OK;
    pgy_dim *dims = arena_alloc_array(&s->memory, (size_t)known->rank, sizeof *dims);
    if (!dims) return graph_no_memory(err);
    for (int32_t i = 0; i < known->rank; i++) {
        const pgy_status st = publish_dim(&dims[i], s, known->dims[i], err);
        if (st) return st;
    }
    v->dims = dims;
    return PGY_OK;
}

pgy_status graph_check_inputs(const pgy_graph *g, const pgy_metadata *shapes, bool patterns,
                              pgy_error *err)
{
    for (size_t i = 0; shapes && i < pgy_metadata_count(shapes); i++) {
        suggestions near = {.wanted = pgy_metadata_at(shapes, i)->name};
        str text = {0};
        bool found = false;
        for (size_t k = 0; k < g->input_count && !found; k++) {
            const char *name = g->inputs[k]->name;
            found = strcmp(name, near.wanted) == 0 ||
                    (patterns && str_match_wildcard(near.wanted, name));
            suggest_offer(&near, name);
        }
        if (found) continue;
        suggest_append(&text, &near);
        const pgy_status st =
            pgy_error_set(err, PGY_E_NOT_FOUND, "the model has no input '%.200s'%s", near.wanted,
                          str_text(&text));
        str_deinit(&text);
        return st;
    }
    return PGY_OK;
}

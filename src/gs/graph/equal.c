/* SPDX-License-Identifier: Apache-2.0 */
/* Equality of nodes and graphs. Tensors are equal if their names are; attributes may be in any
 * order. */
#include <string.h>

#include "gs/graph/document.h"
#include "onnx/equal.h"

/* ---- Values ---------------------------------------------------------------------------------- */

/* Compares the elements of two tensors, which may be stored in different fields of TensorProto. */
static bool same_elements(gs_document *da, const pgy_onnx_tensor *a, gs_document *db,
                          const pgy_onnx_tensor *b)
{
    pgy_tensor *x = NULL, *y = NULL;
    bool same = false;
    if (pgy_onnx_tensor_load(&x, da->store, a, NULL) ||
        pgy_onnx_tensor_load(&y, db->store, b, NULL))
        goto done;
    if (pgy_tensor_dtype(x) == PGY_STRING) {
        const pgy_string *s = pgy_tensor_data(x), *t = pgy_tensor_data(y);
        same = true;
        for (size_t i = 0; i < pgy_tensor_count(x) && same; i++)
            same =
                s[i].size == t[i].size && (!s[i].size || !memcmp(s[i].data, t[i].data, s[i].size));
    } else {
        same = array_same(pgy_tensor_data(x), pgy_tensor_size_bytes(x), pgy_tensor_data(y),
                          pgy_tensor_size_bytes(y), 1);
    }
done:
    pgy_tensor_release(x);
    pgy_tensor_release(y);
    return same;
}

static bool same_tensor(gs_document *da, const pgy_onnx_tensor *a, gs_document *db,
                        const pgy_onnx_tensor *b)
{
    if (a == b) return true;
    if (!a || !b || a->data_type != b->data_type) return false;
    if (!array_same(a->dims, a->dim_count, b->dims, b->dim_count, sizeof(int64_t))) return false;
    return same_elements(da, a, db, b);
}

static bool same_value(gs_document *da, const pgy_onnx_attribute *a, gs_document *db,
                       const pgy_onnx_attribute *b)
{
    const pgy_onnx_attribute_type kind = pgy_onnx_attribute_kind(a);
    if (a == b) return true;
    if (kind != pgy_onnx_attribute_kind(b) || strcmp(a->ref_attr_name, b->ref_attr_name) != 0)
        return false;
    if (*a->ref_attr_name) return true;
    switch (kind) {
    case PGY_ATTR_FLOAT:
    case PGY_ATTR_INT:
    case PGY_ATTR_STRING:
    case PGY_ATTR_FLOATS:
    case PGY_ATTR_INTS:
    case PGY_ATTR_STRINGS: return attribute_same_plain(a, b);
    case PGY_ATTR_TENSOR: return same_tensor(da, a->t, db, b->t);
    case PGY_ATTR_GRAPH:
    case PGY_ATTR_GRAPHS: return true;
    default: return a->message.raw.data && bytes_same(a->message.raw, b->message.raw);
    }
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static bool same_attribute(gs_document *da, const pgy_gs_attribute *a, gs_document *db,
                           const pgy_gs_attribute *b)
{
    if (a->graph_count != b->graph_count || !a->value != !b->value) return false;
    for (size_t i = 0; i < a->graph_count; i++)
        if (!pgy_gs_graph_equal(a->graphs[i], b->graphs[i])) return false;
    return !a->value || same_value(da, a->value, db, b->value);
}

bool gs_same_names(pgy_gs_tensor *const *a, size_t a_count, pgy_gs_tensor *const *b, size_t b_count)
{
    if (a_count != b_count) return false;
    for (size_t i = 0; i < a_count; i++)
        if (strcmp(a[i]->name, b[i]->name) != 0) return false;
    return true;
}

bool pgy_gs_node_equal(const pgy_gs_node *a, const pgy_gs_node *b)
{
    if (a == b) return true;
    if (!a || !b || strcmp(a->name, b->name) != 0 || strcmp(a->op, b->op) != 0 ||
        strcmp(a->domain, b->domain) != 0 || strcmp(a->overload, b->overload) != 0 ||
        a->attribute_count != b->attribute_count ||
        !gs_same_names(a->inputs, a->input_count, b->inputs, b->input_count) ||
        !gs_same_names(a->outputs, a->output_count, b->outputs, b->output_count))
        return false;
    for (size_t i = 0; i < a->attribute_count; i++) {
        const pgy_gs_attribute *other = pgy_gs_find_attr(b, a->attributes[i].name);
        if (!other || !same_attribute(gs_node_box(a)->document, &a->attributes[i],
                                      gs_node_box(b)->document, other))
            return false;
    }
    return true;
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

static bool same_imports(const pgy_gs_graph *a, const pgy_gs_graph *b)
{
    if (a->import_count != b->import_count) return false;
    for (size_t i = 0; i < a->import_count; i++)
        if (a->imports[i].version != b->imports[i].version ||
            strcmp(a->imports[i].domain, b->imports[i].domain) != 0)
            return false;
    return true;
}

static bool same_functions(const pgy_gs_graph *a, const pgy_gs_graph *b)
{
    if (graph_box(a)->document == graph_box(b)->document) return true;
    if (a->function_count != b->function_count) return false;
    for (size_t i = 0; i < a->function_count; i++) {
        const pgy_gs_graph *f = a->functions[i];
        if (!pgy_gs_find_function(b, f->domain, f->name, f->overload)) return false;
    }
    return true;
}

bool pgy_gs_graph_equal(const pgy_gs_graph *a, const pgy_gs_graph *b)
{
    if (a == b) return true;
    if (!a || !b || a->opset != b->opset || a->is_function != b->is_function ||
        a->node_count != b->node_count || !same_imports(a, b) || !same_functions(a, b) ||
        !gs_same_names(a->inputs, a->input_count, b->inputs, b->input_count) ||
        !gs_same_names(a->outputs, a->output_count, b->outputs, b->output_count))
        return false;
    if (a->is_function && (strcmp(a->name, b->name) != 0 || strcmp(a->domain, b->domain) != 0 ||
                           strcmp(a->overload, b->overload) != 0))
        return false;
    for (size_t i = 0; i < a->node_count; i++)
        if (!pgy_gs_node_equal(a->nodes[i], b->nodes[i])) return false;
    return true;
}

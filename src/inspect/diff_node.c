/* SPDX-License-Identifier: Apache-2.0 */
/* Compares one pair of nodes: names, operator, attributes with their graphs and tensors, and the
 * sources of the inputs. */
#include <string.h>

#include "inspect/diff.h"
#include "onnx/equal.h"

typedef struct node_pair {
    pgy_diff *d;
    const char *path;
    const diff_node *a, *b;
    const diff_side *side_a, *side_b;
    size_t depth;
    pgy_difference base; /* names the node */
} node_pair;

static void add_field(const node_pair *p, const char *field, const char *a, const char *b)
{
    pgy_difference e = p->base;
    e.field = field;
    diff_add_texts(p->d, e, a, b);
}

static void compare_names(const node_pair *p)
{
    const pgy_onnx_node *a = p->a->proto, *b = p->b->proto;
    if (strcmp(a->name, b->name) && !p->d->options.ignore_names) {
        pgy_difference e = p->base;
        e.change = PGY_DIFF_RENAMED;
        diff_add(p->d, e);
    }
    add_field(p, "operator", a->op_type, b->op_type);
    add_field(p, "domain", diff_domain(a), diff_domain(b));
    add_field(p, "overload", a->overload, b->overload);
    if (p->d->options.ignore_notes) return;
    add_field(p, "doc_string", a->doc_string, b->doc_string);
    diff_add_props(p->d, p->base, a->metadata_props, a->metadata_prop_count, b->metadata_props,
                   b->metadata_prop_count);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static bool same_sparse(const pgy_onnx_sparse_tensor *a, const pgy_onnx_sparse_tensor *b)
{
    return array_same(a->dims, a->dim_count, b->dims, b->dim_count, sizeof *a->dims) &&
           !a->values == !b->values && !a->indices == !b->indices;
}

/* Compares values except graphs and tensors, which are compared separately. */
static bool same_value(pgy_diff *d, const pgy_onnx_attribute *a, const pgy_onnx_attribute *b,
                       pgy_onnx_attribute_type kind)
{
    switch (kind) {
    case PGY_ATTR_FLOAT: return a->f == b->f || attribute_same_plain(a, b);
    case PGY_ATTR_INT:
    case PGY_ATTR_STRING:
    case PGY_ATTR_FLOATS:
    case PGY_ATTR_INTS:
    case PGY_ATTR_STRINGS: return attribute_same_plain(a, b);
    case PGY_ATTR_TENSOR: return !a->t == !b->t;
    case PGY_ATTR_TENSORS: return a->tensor_count == b->tensor_count;
    case PGY_ATTR_GRAPH: return !a->g == !b->g;
    case PGY_ATTR_GRAPHS: return a->graph_count == b->graph_count;
    case PGY_ATTR_SPARSE_TENSOR:
        return a->sparse_tensor && b->sparse_tensor
                   ? same_sparse(a->sparse_tensor, b->sparse_tensor)
                   : !a->sparse_tensor == !b->sparse_tensor;
    default: return strcmp(diff_text_attribute(d, a), diff_text_attribute(d, b)) == 0;
    }
}

static pgy_status compare_graphs(const node_pair *p, const pgy_onnx_attribute *a, size_t i,
                                 const pgy_onnx_graph *x, const pgy_onnx_graph *y, pgy_error *err)
{
    const pgy_onnx_node *n = p->a->proto;
    const char *name = n->name[0] ? n->name : n->output_count ? n->outputs[0] : n->op_type;
    str path = {0};
    if (p->depth >= DIFF_MAX_DEPTH) return PGY_OK;
    str_printf(&path, "%s%s%s/%s", p->path, p->path[0] ? "/" : "", name, a->name);
    if (pgy_onnx_attribute_kind(a) == PGY_ATTR_GRAPHS) str_printf(&path, "[%zu]", i);
    const pgy_status st =
        diff_graphs(p->d, diff_text(p->d, &path), x, y, p->side_a, p->side_b, p->depth + 1, err);
    p->d->subject = (diff_subject){.a = n, .b = p->b->proto};
    return st;
}

static void compare_tensors(const node_pair *p, const pgy_onnx_attribute *a, const char *part,
                            const pgy_onnx_tensor *x, const pgy_onnx_tensor *y)
{
    pgy_difference e = p->base;
    str name = {0};
    if (!x || !y) return;
    str_printf(&name, "%s.%s%s", p->base.name, a->name, part);
    e.part = PGY_DIFF_WEIGHT;
    e.name = diff_text(p->d, &name);
    e.new_name = NULL;
    diff_add_tensors(p->d, e, x, y, true);
}

static pgy_status compare_insides(const node_pair *p, const pgy_onnx_attribute *a,
                                  const pgy_onnx_attribute *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    compare_tensors(p, a, "", a->t, b->t);
    if (a->sparse_tensor && b->sparse_tensor) {
        compare_tensors(p, a, ".values", a->sparse_tensor->values, b->sparse_tensor->values);
        compare_tensors(p, a, ".indices", a->sparse_tensor->indices, b->sparse_tensor->indices);
    }
    for (size_t i = 0; i < a->tensor_count && i < b->tensor_count; i++) {
        str part = {0};
        str_printf(&part, "[%zu]", i);
        compare_tensors(p, a, str_text(&part), a->tensors[i], b->tensors[i]);
        str_deinit(&part);
    }
    if (a->g && b->g) st = compare_graphs(p, a, 0, a->g, b->g, err);
    for (size_t i = 0; !st && i < a->graph_count && i < b->graph_count; i++)
        st = compare_graphs(p, a, i, a->graphs[i], b->graphs[i], err);
    return st;
}

static pgy_status compare_attribute(const node_pair *p, const pgy_onnx_attribute *a,
                                    const pgy_onnx_attribute *b, pgy_error *err)
{
    pgy_difference e = p->base;
    e.part = PGY_DIFF_ATTRIBUTE;
    e.field = a ? a->name : b->name;
    e.change = !a ? PGY_DIFF_ADDED : !b ? PGY_DIFF_REMOVED : PGY_DIFF_CHANGED;
    const pgy_onnx_attribute_type kind = a ? pgy_onnx_attribute_kind(a) : PGY_ATTR_UNDEFINED;
    const bool same = a && b && kind == pgy_onnx_attribute_kind(b) &&
                      strcmp(a->ref_attr_name, b->ref_attr_name) == 0 &&
                      same_value(p->d, a, b, kind);
    if (same) return compare_insides(p, a, b, err);
    e.before = a ? diff_text_attribute(p->d, a) : NULL;
    e.after = b ? diff_text_attribute(p->d, b) : NULL;
    diff_add(p->d, e);
    return PGY_OK;
}

static pgy_status compare_attributes(const node_pair *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const pgy_onnx_node *a = p->a->proto, *b = p->b->proto;
    for (size_t i = 0; !st && i < a->attribute_count; i++) {
        const pgy_onnx_attribute *x = a->attributes[i];
        if (pgy_onnx_node_attribute(a, x->name) == x) /* the first of its name */
            st = compare_attribute(p, x, pgy_onnx_node_attribute(b, x->name), err);
    }
    for (size_t i = 0; !st && i < b->attribute_count; i++)
        if (!pgy_onnx_node_attribute(a, b->attributes[i]->name))
            st = compare_attribute(p, NULL, b->attributes[i], err);
    return st;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* Values without a pair are compared by name: undefined ones, and those of nodes without a
 * counterpart, which have entries of their own. */
static bool same_source(const diff_value *a, const diff_value *b)
{
    if (!a || !b) return a == b;
    return a->pair == b || (!a->pair && !b->pair && strcmp(a->name, b->name) == 0);
}

static void compare_inputs(const node_pair *p)
{
    const size_t m = p->a->proto->input_count, n = p->b->proto->input_count;
    for (size_t k = 0; k < m || k < n; k++) {
        const diff_value *v = k < m ? p->a->inputs[k] : NULL, *w = k < n ? p->b->inputs[k] : NULL;
        if (same_source(v, w)) continue;
        pgy_difference e = p->base;
        str field = {0};
        str_printf(&field, "input %zu", k);
        e.change = PGY_DIFF_REWIRED;
        e.field = diff_text(p->d, &field);
        e.before = v ? v->name : NULL;
        e.after = w ? w->name : NULL;
        diff_add(p->d, e);
    }
    const pgy_onnx_node *a = p->a->proto, *b = p->b->proto;
    if (a->output_count != b->output_count)
        add_field(p, "number of outputs", diff_text_int(p->d, (int64_t)a->output_count),
                  diff_text_int(p->d, (int64_t)b->output_count));
}

pgy_status diff_nodes(pgy_diff *d, const char *path, const diff_node *a, const diff_node *b,
                      const diff_side *side_a, const diff_side *side_b, size_t depth,
                      pgy_error *err)
{
    const char *name = diff_text_node(d, a->proto), *after = diff_text_node(d, b->proto);
    const node_pair p = {.d = d,
                         .path = path,
                         .a = a,
                         .b = b,
                         .side_a = side_a,
                         .side_b = side_b,
                         .depth = depth,
                         .base = {.part = PGY_DIFF_NODE,
                                  .change = PGY_DIFF_CHANGED,
                                  .path = path,
                                  .name = name,
                                  .new_name = strcmp(name, after) ? after : NULL,
                                  .op_type = a->proto->op_type}};
    d->subject = (diff_subject){.a = a->proto, .b = b->proto};
    compare_names(&p);
    compare_inputs(&p);
    const pgy_status st = compare_attributes(&p, err);
    d->subject = (diff_subject){0};
    return st;
}

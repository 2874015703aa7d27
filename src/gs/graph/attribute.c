/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of nodes. A value is an AttributeProto, which is replaced as a whole; a subgraph is
 * edited in place. Setting a subgraph fails if it contains the node, so no graph can contain
 * itself. */
#include "gs/graph/attribute.h"

#include <string.h>

#include "gs/graph/document.h"

/* ---- Values to be set ------------------------------------------------------------------------ */

pgy_gs_attr pgy_gs_attr_float(const char *name, float value)
{
    return (pgy_gs_attr){.name = name, .type = PGY_ATTR_FLOAT, .value.f = value};
}

pgy_gs_attr pgy_gs_attr_int(const char *name, int64_t value)
{
    return (pgy_gs_attr){.name = name, .type = PGY_ATTR_INT, .value.i = value};
}

pgy_gs_attr pgy_gs_attr_text(const char *name, const char *value)
{
    return (pgy_gs_attr){.name = name, .type = PGY_ATTR_STRING, .value.s = value};
}

pgy_gs_attr pgy_gs_attr_dtype(const char *name, pgy_dtype value)
{
    return pgy_gs_attr_int(name, pgy_dtype_describe(value)->onnx);
}

pgy_gs_attr pgy_gs_attr_tensor(const char *name, pgy_tensor *value)
{
    return (pgy_gs_attr){.name = name, .type = PGY_ATTR_TENSOR, .value.t = value};
}

pgy_gs_attr pgy_gs_attr_graph(const char *name, pgy_gs_graph *value)
{
    return (pgy_gs_attr){.name = name, .type = PGY_ATTR_GRAPH, .value.g = value};
}

pgy_gs_attr pgy_gs_attr_floats(const char *name, const float *values, size_t count)
{
    return (pgy_gs_attr){
        .name = name, .type = PGY_ATTR_FLOATS, .value.floats = values, .count = count};
}

pgy_gs_attr pgy_gs_attr_ints(const char *name, const int64_t *values, size_t count)
{
    return (pgy_gs_attr){.name = name, .type = PGY_ATTR_INTS, .value.ints = values, .count = count};
}

pgy_gs_attr pgy_gs_attr_texts(const char *name, const char *const *values, size_t count)
{
    return (pgy_gs_attr){
        .name = name, .type = PGY_ATTR_STRINGS, .value.strings = values, .count = count};
}

pgy_gs_attr pgy_gs_attr_ref(const char *name, const char *ref, pgy_onnx_attribute_type type)
{
    return (pgy_gs_attr){.name = name, .type = type, .ref = ref};
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void *copy_list(gs_document *d, const void *items, size_t count, size_t item_bytes)
{
    void *copy = gs_alloc(d, count, item_bytes);
    if (copy && count) memcpy(copy, items, count * item_bytes);
    return copy;
}

static bool copy_text(pgy_bytes *out, gs_document *d, const char *text)
{
    const char *kept = gs_strdup(d, text);
    if (!kept) return false;
    *out = (pgy_bytes){kept, strlen(kept)};
    return true;
}

static pgy_status copy_texts(pgy_onnx_attribute *to, gs_document *d, const pgy_gs_attr *a,
                             pgy_error *err)
{
    pgy_bytes *items = gs_alloc(d, a->count, sizeof(*items));
    if (!items) return gs_no_memory(err);
    for (size_t i = 0; i < a->count; i++)
        if (!copy_text(&items[i], d, a->value.strings[i])) return gs_no_memory(err);
    to->strings = items;
    to->string_count = a->count;
    return PGY_OK;
}

static pgy_status fill(pgy_onnx_attribute *to, gs_document *d, const pgy_gs_attr *a, pgy_error *err)
{
    switch (a->type) {
    case PGY_ATTR_FLOAT: to->f = a->value.f; return PGY_OK;
    case PGY_ATTR_INT: to->i = a->value.i; return PGY_OK;
    case PGY_ATTR_STRING: return copy_text(&to->s, d, a->value.s) ? PGY_OK : gs_no_memory(err);
    case PGY_ATTR_TENSOR: return pgy_model_tensor(&to->t, d->store, "", a->value.t, err);
    case PGY_ATTR_GRAPH: return PGY_OK;
    case PGY_ATTR_FLOATS:
        to->floats = copy_list(d, a->value.floats, a->count, sizeof(float));
        to->float_count = a->count;
        return to->floats ? PGY_OK : gs_no_memory(err);
    case PGY_ATTR_INTS:
        to->ints = copy_list(d, a->value.ints, a->count, sizeof(int64_t));
        to->int_count = a->count;
        return to->ints ? PGY_OK : gs_no_memory(err);
    case PGY_ATTR_STRINGS: return copy_texts(to, d, a, err);
    default:
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "attribute '%.200s': type %d cannot be set from a value, only from a stored attribute",
            a->name, (int)a->type);
    }
}

static bool has_texts(const pgy_gs_attr *a)
{
    if (!a->value.strings) return !a->count;
    for (size_t i = 0; i < a->count; i++)
        if (!a->value.strings[i]) return false;
    return true;
}

static bool has_value(const pgy_gs_attr *a)
{
    switch (a->type) {
    case PGY_ATTR_STRING: return a->value.s;
    case PGY_ATTR_TENSOR: return a->value.t;
    case PGY_ATTR_GRAPH: return a->value.g;
    case PGY_ATTR_FLOATS: return a->value.floats || !a->count;
    case PGY_ATTR_INTS: return a->value.ints || !a->count;
    case PGY_ATTR_STRINGS: return has_texts(a);
    case PGY_ATTR_UNDEFINED: return a->value.stored;
    default: return true;
    }
}

static pgy_onnx_attribute *new_message(gs_document *d, const char *name)
{
    pgy_onnx_attribute *to = gs_alloc(d, 1, sizeof(*to));
    if (!to) return NULL;
    to->name = name;
    to->ref_attr_name = to->doc_string = "";
    return to;
}

pgy_status gs_attribute_make(const pgy_onnx_attribute **out, gs_document *d, const pgy_gs_attr *a,
                             pgy_error *err)
{
    if (!a || !a->name || !*a->name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "an attribute needs a name");
    if (!a->ref && !has_value(a))
        return pgy_error_set(err, PGY_E_ARGUMENT, "attribute '%.200s' needs a value", a->name);
    const char *name = NULL;
    pgy_status st = gs_keep_text(&name, d, a->name, err);
    if (st) return st;
    pgy_onnx_attribute *to = new_message(d, name);
    if (!to) return gs_no_memory(err);
    if (!a->ref && a->type == PGY_ATTR_UNDEFINED) {
        if (a->value.stored->g || a->value.stored->graph_count)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "attribute '%.200s' holds graphs; set each graph by itself",
                                 a->name);
        *to = *a->value.stored;
        if (strcmp(to->name, name) != 0) {
            to->name = name;
            to->message.raw = (pgy_bytes){0};
        }
        *out = to;
        return PGY_OK;
    }
    to->type = a->type;
    st = a->ref ? gs_keep_text(&to->ref_attr_name, d, a->ref, err) : fill(to, d, a, err);
    if (!st) *out = to;
    return st;
}

/* ---- Attributes of nodes --------------------------------------------------------------------- */

const pgy_gs_attribute *pgy_gs_find_attr(const pgy_gs_node *n, const char *name)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (strcmp(n->attributes[i].name, name) == 0) return &n->attributes[i];
    return NULL;
}

typedef struct search {
    const pgy_gs_graph *wanted;
    bool found;
} search;

static pgy_status look_inside(pgy_gs_graph *g, void *user, pgy_error *err)
{
    search *s = user;
    s->found = s->found || g == s->wanted;
    for (size_t i = 0; i < g->node_count && !s->found; i++) {
        const pgy_status st = gs_each_subgraph(g->nodes[i], look_inside, s, err);
        if (st) return st;
    }
    return PGY_OK;
}

bool gs_node_contains(const pgy_gs_node *n, const pgy_gs_graph *g)
{
    search s = {g, false};
    const pgy_status st = gs_each_subgraph(n, look_inside, &s, NULL);
    return !st && s.found;
}

static pgy_status check_graph(const pgy_gs_node *n, pgy_gs_graph *g, pgy_error *err)
{
    search s = {n->graph, false};
    if (graph_box(g)->document != gs_node_box(n)->document)
        return gs_node_error(n, err, PGY_E_ARGUMENT, "graph '%.200s' belongs to another document",
                             g->name);
    if (g->is_function || g == gs_node_box(n)->document->top)
        return gs_node_error(n, err, PGY_E_ARGUMENT, "graph '%.200s' is not a subgraph", g->name);
    const pgy_status st = n->graph ? look_inside(g, &s, err) : PGY_OK;
    if (!st && s.found)
        return gs_node_error(n, err, PGY_E_ARGUMENT, "graph '%.200s' would contain itself",
                             g->name);
    return st;
}

static void hold_graph(pgy_gs_node *n, pgy_gs_graph *g)
{
    gs_graph *box = graph_box(g);
    if (box->held) box->document->shares_subgraphs = true;
    box->held = true;
    if (n->graph) gs_set_parent(g, n->graph);
}

/* Sets the attribute's subgraph, if the value is a graph.
 */
static pgy_status set_graphs(pgy_gs_attribute *to, pgy_gs_node *n, const pgy_gs_attr *a,
                             pgy_error *err)
{
    if (a->ref || a->type != PGY_ATTR_GRAPH) return PGY_OK;
    pgy_status st = check_graph(n, a->value.g, err);
    if (st) return st;
    to->graphs = gs_alloc(gs_node_box(n)->document, 1, sizeof(*to->graphs));
    if (!to->graphs) return gs_no_memory(err);
    to->graphs[0] = a->value.g;
    to->graph_count = 1;
    return PGY_OK;
}

pgy_status pgy_gs_set_attr(pgy_gs_node *n, const pgy_gs_attr *a, pgy_error *err)
{
    if (!n || !a)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the node and the attribute must not be NULL");
    gs_node *box = gs_node_box(n);
    pgy_gs_attribute made = {0};
    pgy_status st = gs_attribute_make(&made.value, box->document, a, err);
    if (!st) st = set_graphs(&made, n, a, err);
    if (st) return st;
    made.name = made.value->name;
    const pgy_gs_attribute *old = pgy_gs_find_attr(n, made.name);
    const size_t count = n->attribute_count, at = old ? (size_t)(old - n->attributes) : count;
    if (at == box->attribute_capacity) {
        const size_t capacity = count ? count * 2 : 4;
        pgy_gs_attribute *list = gs_alloc(box->document, capacity, sizeof(*list));
        if (!list) return gs_no_memory(err);
        if (count) memcpy(list, n->attributes, count * sizeof(*list));
        n->attributes = list;
        box->attribute_capacity = capacity;
    }
    ((pgy_gs_attribute *)n->attributes)[at] = made;
    if (!old) n->attribute_count++;
    if (made.graphs) hold_graph(n, made.graphs[0]);
    box->changed = true;
    gs_touch(n->graph);
    return PGY_OK;
}

bool pgy_gs_remove_attr(pgy_gs_node *n, const char *name)
{
    const pgy_gs_attribute *old = pgy_gs_find_attr(n, name);
    if (!old) return false;
    pgy_gs_attribute *list = (pgy_gs_attribute *)n->attributes;
    const size_t at = (size_t)(old - n->attributes);
    memmove(list + at, list + at + 1, (n->attribute_count - at - 1) * sizeof(*list));
    n->attribute_count--;
    gs_node_box(n)->changed = true;
    gs_touch(n->graph);
    return true;
}

int64_t pgy_gs_attr_as_int(const pgy_gs_node *n, const char *name, int64_t fallback)
{
    const pgy_gs_attribute *a = pgy_gs_find_attr(n, name);
    const bool fits = a && a->value && !*a->value->ref_attr_name &&
                      pgy_onnx_attribute_kind(a->value) == PGY_ATTR_INT;
    return fits ? a->value->i : fallback;
}

float pgy_gs_attr_as_float(const pgy_gs_node *n, const char *name, float fallback)
{
    const pgy_gs_attribute *a = pgy_gs_find_attr(n, name);
    const bool fits = a && a->value && !*a->value->ref_attr_name &&
                      pgy_onnx_attribute_kind(a->value) == PGY_ATTR_FLOAT;
    return fits ? a->value->f : fallback;
}

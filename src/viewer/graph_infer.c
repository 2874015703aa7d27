/* SPDX-License-Identifier: Apache-2.0 */
/* Adds what shape inference knows. Nodes are found by their stored messages, which the imported
 * graph and the view share. */
#include "viewer/graph_infer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "graph/graph.h"
#include "viewer/graph_text.h"
#include "viewer/graph_type.h"

enum { LONGEST_DIM = 60 };

typedef struct merger {
    graph_parts *b;
    uint32_t *order; /* nodes with a stored message, sorted by its address, then by index */
    size_t order_count;
    uint32_t *calls; /* of functions, by id: how many nodes call it */
    pgy_graph *graph;
} merger;

/* ---- Nodes of the view ---------------------------------------------------------------------- */

static int compare(const view_node *nodes, uint32_t a, uint32_t b)
{
    const uintptr_t x = (uintptr_t)nodes[a].source, y = (uintptr_t)nodes[b].source;
    return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

/* Merges two sorted halves. */
static void sort_order(const view_node *nodes, uint32_t *items, uint32_t *room, size_t count)
{
    const size_t half = count / 2;
    if (count < 2) return;
    sort_order(nodes, items, room, half);
    sort_order(nodes, items + half, room, count - half);
    memcpy(room, items, count * sizeof *items);
    for (size_t i = 0, a = 0, b = half; i < count; i++) {
        const bool first = b == count || (a < half && compare(nodes, room[a], room[b]) < 0);
        items[i] = first ? room[a++] : room[b++];
    }
}

static bool index_nodes(merger *m)
{
    const size_t count = m->b->node_count;
    uint32_t *room = mem_calloc(count + 1, sizeof *room);
    m->order = mem_calloc(count + 1, sizeof *m->order);
    for (size_t i = 0; m->order && i < count; i++)
        if (m->b->nodes[i].source) m->order[m->order_count++] = (uint32_t)i;
    if (room && m->order) sort_order(m->b->nodes, m->order, room, m->order_count);
    mem_free(room);
    return room && m->order;
}

/* The place in `order` of the first node with this message, or of the next larger one. */
static size_t find_node(const merger *m, const pgy_onnx_node *source)
{
    size_t low = 0, high = m->order_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)m->b->nodes[m->order[middle]].source < (uintptr_t)source)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- Tensors -------------------------------------------------------------------------------- */

static const char *shape_text(graph_parts *b, const op_value *v)
{
    str s = {0};
    for (int32_t i = 0; i < v->rank; i++) {
        str one = {0};
        if (!dim_has_unknown(v->dims[i])) dim_print(&one, v->dims[i]);
        if (one.failed) s.failed = true;
        str_append(&s, i ? "x" : "");
        if (one.size && one.size <= LONGEST_DIM)
            graph_append_valid(&s, one.data, one.size);
        else
            str_append_char(&s, '?');
        str_deinit(&one);
    }
    return collect_take(b, &s);
}

/* The type of a sequence or optional that the file does not declare. */
static const char *element_text(graph_parts *b, const op_value *v)
{
    const pgy_dtype dtype = v->sequence->dtype;
    str s = {0};
    str_printf(&s, "%s(%s)", v->optional ? "optional" : "sequence",
               v->sequence->sequence     ? "sequence"
               : dtype == PGY_DTYPE_NONE ? "?"
                                         : pgy_dtype_name(dtype));
    return collect_take(b, &s);
}

static bool contradicts(const op_value *declared, const op_value *known)
{
    if (declared->dtype && known->dtype && declared->dtype != known->dtype) return true;
    if (declared->rank < 0 || known->rank < 0) return false;
    if (declared->rank != known->rank) return true;
    for (int32_t i = 0; i < known->rank; i++)
        if (dim_differ(known->dims[i], declared->dims[i])) return true;
    return false;
}

static void keep_declared(graph_parts *b, view_tensor *t)
{
    str s = {0};
    str_printf(&s, "%s%s%s", t->dtype, *t->dtype && t->shape ? " " : "",
               !t->shape   ? ""
               : *t->shape ? t->shape
                           : "scalar");
    t->declared = collect_take(b, &s);
}

static void take_value(merger *m, uint32_t tensor, pgy_value *v)
{
    graph_parts *b = m->b;
    if (tensor == VIEW_NONE || !v || b->failed) return;
    view_tensor *t = &b->tensors[tensor];
    if (t->kind == VIEW_WEIGHT || t->kind == VIEW_NODE_CONSTANT || t->declared) return;
    if (t->kind == VIEW_GRAPH_INPUT && t->container == 0) return;
    const op_value *known = &box_of(v)->known;
    if (known->sequence && !*t->dtype) t->dtype = element_text(b, known);
    if (known->sequence || v->kind != PGY_VALUE_TENSOR) return;
    if (contradicts(&box_of(v)->declared, known)) keep_declared(b, t);
    if (known->dtype != PGY_DTYPE_NONE) t->dtype = pgy_dtype_name(known->dtype);
    if (known->rank < 0) return;
    int64_t dims[PGY_MAX_RANK];
    t->shape = shape_text(b, known);
    t->bytes = 0;
    if (known->rank > PGY_MAX_RANK) return;
    for (int32_t i = 0; i < known->rank; i++)
        dims[i] = dim_is_const(known->dims[i]) ? known->dims[i].value : -1;
    t->bytes = graph_type_bytes(known->dtype, dims, (size_t)known->rank);
}

static void take_node(merger *m, view_node *node, pgy_node *n, double flops)
{
    if (flops >= 0) node->flops = flops;
    for (size_t i = 0; i < n->input_count && i < node->input_count; i++)
        take_value(m, node->inputs[i], n->inputs[i]);
    for (size_t i = 0; i < n->output_count && i < node->output_count; i++)
        take_value(m, node->outputs[i], n->outputs[i]);
}

/* ---- Levels --------------------------------------------------------------------------------- */

static void count_calls(merger *m, const pgy_graph *level)
{
    for (size_t i = 0; i < level->node_count; i++) {
        const pgy_node *n = level->nodes[i];
        const graph_function *f = node_box_of(n)->function;
        if (f && m->calls[f->id]++ == 0 && f->body) count_calls(m, f->body);
        for (size_t k = 0; k < n->subgraph_count; k++) count_calls(m, n->subgraphs[k]);
    }
}

/* The body of a function keeps the shapes of its last call, so it tells nothing if there are
 * several calls. */
static void take_level(merger *m, pgy_graph *level)
{
    for (size_t i = 0; i < level->node_count && !m->b->failed; i++) {
        pgy_node *n = level->nodes[i];
        double flops = -1;
        pgy_error err = {0};
        if (graph_node_flops(&flops, n, &err) == PGY_E_MEMORY) m->b->failed = true;
        for (size_t k = find_node(m, n->proto); k < m->order_count; k++) {
            view_node *node = &m->b->nodes[m->order[k]];
            if (!n->proto || node->source != n->proto) break;
            take_node(m, node, n, flops);
        }
        const graph_function *f = node_box_of(n)->function;
        if (f && f->body && m->calls[f->id] == 1) take_level(m, f->body);
        for (size_t k = 0; k < n->subgraph_count; k++) take_level(m, n->subgraphs[k]);
    }
}

/* ---- The model ------------------------------------------------------------------------------ */

/* What is wrong with the model's shapes and types; unknown operators are shown as such. */
static void warn_findings(graph_parts *b, const finding_list *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const pgy_finding *f = &findings->items[i];
        if (f->severity != PGY_LOG_ERROR) continue;
        if (*f->path)
            collect_warn(b, "%s: %s", printable_name(f->path), f->message);
        else
            collect_warn(b, "%s", f->message);
    }
}

static pgy_status infer(merger *m, pgy_model *model, pgy_error *err)
{
    finding_list findings = {0};
    pgy_status st = pgy_graph_import(&m->graph, model, err);
    if (st) return st;
    graph_set_newer(m->graph, NEWER_TAKEN);
    st = graph_infer_all(m->graph, &findings, err);
    if (findings.failed && !st) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) warn_findings(m->b, &findings);
    strmap_deinit(&findings.seen);
    return st;
}

void graph_infer(graph_parts *b, pgy_model *model)
{
    merger m = {.b = b};
    pgy_error err = {0};
    if (b->functions.explode) {
        collect_warn(b, "shapes are shown as the file declares them, because calls of functions "
                        "stand for too many nodes");
        return;
    }
    const pgy_status st = infer(&m, model, &err);
    if (st == PGY_E_MEMORY) b->failed = true;
    if (st && st != PGY_E_MEMORY)
        collect_warn(b,
                     "shapes are shown as the file declares them, because they cannot be "
                     "inferred: %s",
                     err.text);
    if (!st) m.calls = mem_calloc(state_of(m.graph)->function_count + 1, sizeof *m.calls);
    if (!st && (!m.calls || !index_nodes(&m))) b->failed = true;
    if (!st && !b->failed) {
        count_calls(&m, m.graph);
        take_level(&m, m.graph);
    }
    pgy_graph_destroy(m.graph);
    mem_free(m.order);
    mem_free(m.calls);
}

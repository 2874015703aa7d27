/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and renames nodes, and adds them to and removes them from the node lists of graphs. A
 * node's stored index in that list is a hint, which is corrected when it proves wrong. */
#include <string.h>

#include "gs/graph/attribute.h"
#include "gs/graph/document.h"

pgy_status gs_node_create(pgy_gs_node **out, gs_document *d, pgy_error *err)
{
    gs_node *box = gs_alloc(d, 1, sizeof(*box));
    if (!box) return gs_no_memory(err);
    pgy_gs_node *n = &box->node;
    n->name = n->op = n->domain = n->overload = n->doc_string = "";
    n->internal = box;
    box->document = d;
    box->serial = d->serial++;
    box->named.name = "";
    box->named.owner = n;
    *out = n;
    return PGY_OK;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static pgy_status set_text(const char **field, pgy_gs_node *n, const char *text, pgy_error *err)
{
    if (!n || !text)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the node and the text must not be NULL");
    const pgy_status st = gs_keep_text(field, gs_node_box(n)->document, text, err);
    if (st) return st;
    gs_node_box(n)->changed = true;
    gs_touch(n->graph);
    return PGY_OK;
}

pgy_status pgy_gs_set_op(pgy_gs_node *n, const char *op, pgy_error *err)
{
    if (op && !*op) return pgy_error_set(err, PGY_E_ARGUMENT, "a node needs an operator");
    return set_text(n ? &n->op : NULL, n, op, err);
}

pgy_status pgy_gs_set_domain(pgy_gs_node *n, const char *domain, pgy_error *err)
{
    return set_text(n ? &n->domain : NULL, n, domain, err);
}

pgy_status pgy_gs_set_node_name(pgy_gs_node *n, const char *name, pgy_error *err)
{
    const char *kept = NULL;
    const pgy_status st = set_text(&kept, n, name, err);
    if (st) return st;
    gs_node *box = gs_node_box(n);
    if (!gs_names_rename(&box->document->node_names, &box->named, kept)) return gs_no_memory(err);
    n->name = kept;
    return PGY_OK;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static void renumber(pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) gs_node_box(g->nodes[i])->index_hint = i;
}

/* Removing a node lowers the indices of later nodes. So the search starts at the hint and goes a
 * few places towards the front; if that fails, all hints of the graph are corrected. */
size_t pgy_gs_node_index(const pgy_gs_node *n)
{
    enum { NEAR = 64 };
    pgy_gs_graph *g = n->graph;
    size_t at = gs_node_box(n)->index_hint;
    if (!g) return SIZE_MAX;
    if (at >= g->node_count) at = g->node_count - 1;
    for (size_t tried = 0; tried < NEAR; tried++, at--) {
        if (g->nodes[at] == n) return at;
        if (at == 0) break;
    }
    renumber(g);
    return gs_node_box(n)->index_hint;
}

void pgy_gs_unlist_node(pgy_gs_node *n)
{
    if (!n || !n->graph) return;
    pgy_gs_graph *g = n->graph;
    const size_t at = pgy_gs_node_index(n);
    memmove(g->nodes + at, g->nodes + at + 1, (g->node_count - at - 1) * sizeof(*g->nodes));
    g->node_count--;
    n->graph = NULL;
    gs_touch(g);
}

void pgy_gs_remove_node(pgy_gs_node *n)
{
    if (!n) return;
    pgy_gs_unlist_node(n);
    gs_detach_all(n);
}

static pgy_status adopt_subgraph(pgy_gs_graph *sub, void *user, pgy_error *err)
{
    (void)err;
    gs_set_parent(sub, user);
    return PGY_OK;
}

pgy_status pgy_gs_place_node(pgy_gs_node *n, pgy_gs_graph *g, size_t i, pgy_error *err)
{
    if (!n || !g)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the node and the graph must not be NULL");
    gs_graph *box = graph_box(g);
    if (box->document != gs_node_box(n)->document)
        return gs_node_error(n, err, PGY_E_ARGUMENT, "graph '%.200s' belongs to another document",
                             g->name);
    if (gs_node_contains(n, g))
        return gs_node_error(n, err, PGY_E_ARGUMENT, "graph '%.200s' is inside this node", g->name);
    const size_t end = g->node_count - (n->graph == g);
    if (i > end)
        return gs_node_error(n, err, PGY_E_NOT_FOUND,
                             "place %zu does not exist: the graph has %zu nodes", i, end);
    pgy_status st = gs_grow(box->document, &g->nodes, g->node_count, &box->node_capacity, err);
    if (st) return st;
    pgy_gs_unlist_node(n);
    memmove(g->nodes + i + 1, g->nodes + i, (g->node_count - i) * sizeof(*g->nodes));
    g->nodes[i] = n;
    g->node_count++;
    n->graph = g;
    gs_node_box(n)->index_hint = i;
    gs_touch(g);
    return gs_each_subgraph(n, adopt_subgraph, g, err);
}

/* ---- New nodes ------------------------------------------------------------------------------- */

static pgy_status fill(pgy_gs_node *n, const pgy_gs_node_spec *spec, pgy_error *err)
{
    pgy_status st = pgy_gs_set_op(n, spec->op, err);
    if (!st && spec->name) st = pgy_gs_set_node_name(n, spec->name, err);
    if (!st && spec->domain) st = pgy_gs_set_domain(n, spec->domain, err);
    for (size_t i = 0; i < spec->attr_count && !st; i++)
        st = pgy_gs_set_attr(n, &spec->attrs[i], err);
    if (!st) st = pgy_gs_set_inputs(n, spec->inputs, spec->input_count, err);
    if (!st) st = pgy_gs_set_outputs(n, spec->outputs, spec->output_count, err);
    return st;
}

pgy_status pgy_gs_add_node(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_node_spec *spec,
                           pgy_error *err)
{
    pgy_gs_node *n = NULL;
    if (!g || !spec || !spec->op)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a node needs a graph and an operator");
    pgy_status st = gs_node_create(&n, graph_box(g)->document, err);
    if (st) return st;
    st = fill(n, spec, err);
    if (!st) st = pgy_gs_place_node(n, g, g->node_count, err);
    if (st) {
        pgy_gs_remove_node(n);
        return st;
    }
    if (out) *out = n;
    return PGY_OK;
}

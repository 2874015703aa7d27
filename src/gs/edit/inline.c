/* SPDX-License-Identifier: Apache-2.0 */
/* Inlines calls of local functions. A copied body is searched for further calls, so inner calls see
 * the attribute values of the outer call. On failure a graph's node list stays as it was. */
#include "gs/edit/inline.h"

#include "base/alloc.h"
#include "gs/edit/toposort.h"
#include "gs/graph/function_index.h"

#include <string.h>

enum { MAX_NODES = 2000000 };

/* A stack entry with nodes to visit: at the bottom those of the graph, above them those of copied
 * bodies. */
typedef struct frame {
    gs_node_list nodes;
    size_t next;
    bool owned;
} frame;

typedef struct expansion {
    inliner *x;
    const gs_function_index *index;
    const pgy_gs_node *only; /* the only call to inline; NULL: inline all calls */
    pgy_gs_graph *into;
    frame *frames;
    size_t frame_count, frame_capacity;
    gs_node_list result;
} expansion;

/* ---- Opsets ---------------------------------------------------------------------------------- */

/* Checks that the function and the graph that it is inlined in use the same opset of a domain. Adds
 * the domain if the graph lacks it. */
static pgy_status merge_import(const pgy_gs_graph *into, const pgy_gs_graph *f, const char *domain,
                               pgy_error *err)
{
    pgy_gs_graph *root = (pgy_gs_graph *)gs_root(into);
    const pgy_gs_opset *wanted = gs_find_import(f, domain);
    const pgy_gs_opset *there = gs_find_import(root, domain);
    if (!wanted) return PGY_OK;
    int64_t version = there ? there->version : gs_is_default_domain(domain) ? root->opset : 0;
    if (version == wanted->version) return PGY_OK;
    if (!version) return pgy_gs_set_import(root, domain, wanted->version, err);
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "function '%.200s' cannot be inlined in %s '%.200s': it uses opset %lld "
                         "of domain '%.200s', but there it is %lld; convert the opset first",
                         f->name, root->is_function ? "function" : "graph", root->name,
                         (long long)wanted->version, domain, (long long)version);
}

static pgy_status merge_imports(const pgy_gs_graph *into, const pgy_gs_graph *f, pgy_error *err)
{
    gs_level_list levels = {0};
    const char *last = NULL;
    pgy_status st = gs_level_list_push((pgy_gs_graph *)f, &levels, err);
    for (size_t i = 0; i < levels.count && !st; i++) {
        const pgy_gs_graph *g = levels.items[i];
        for (size_t k = 0; k < g->node_count && !st; k++) {
            const pgy_gs_node *n = g->nodes[k];
            if (!last || strcmp(last, n->domain)) st = merge_import(into, f, n->domain, err);
            last = n->domain;
            if (!st) st = gs_each_subgraph(n, gs_level_list_push, &levels, err);
        }
    }
    mem_free(levels.items);
    return st;
}

/* ---- One graph or subgraph ------------------------------------------------------------------- */

static pgy_status push_frame(expansion *e, frame f, pgy_error *err)
{
    void *items = e->frames;
    const bool grown = mem_grow(&items, &e->frame_capacity, e->frame_count + 1, sizeof f);
    e->frames = items;
    if (!grown) return gs_no_memory(err);
    e->frames[e->frame_count++] = f;
    return PGY_OK;
}

static void pop_frame(expansion *e)
{
    frame *f = &e->frames[--e->frame_count];
    if (f->owned) mem_free(f->nodes.items);
}

static pgy_status expand_call(expansion *e, pgy_gs_node *n, const pgy_gs_graph *f, pgy_error *err)
{
    frame body = {.owned = true};
    pgy_status st = merge_imports(e->into, f, err);
    if (!st) st = inliner_copy_body(&body.nodes, e->x, n, f, e->into, e->result.count, err);
    if (!st) st = gs_node_list_push(&e->x->expanded, n, err);
    if (!st) st = push_frame(e, body, err);
    if (st) mem_free(body.nodes.items);
    return st;
}

static pgy_status expand_node(expansion *e, pgy_gs_node *n, pgy_error *err)
{
    size_t place = e->only && e->only != n ? SIZE_MAX : gs_function_index_find(e->index, n);
    if (place != SIZE_MAX) return expand_call(e, n, e->x->document->functions[place], err);
    pgy_status st = gs_node_list_push(&e->result, n, err);
    return st || e->only ? st : gs_each_subgraph(n, gs_level_list_push, &e->x->levels, err);
}

static pgy_status expand_all(expansion *e, pgy_error *err)
{
    pgy_status st = push_frame(e, (frame){.nodes = {e->into->nodes, e->into->node_count, 0}}, err);
    while (e->frame_count && !st) {
        frame *top = &e->frames[e->frame_count - 1];
        if (top->next == top->nodes.count)
            pop_frame(e);
        else
            st = expand_node(e, top->nodes.items[top->next++], err);
    }
    while (e->frame_count) pop_frame(e);
    return st;
}

/* Makes e->result the node list of the graph. */
static pgy_status install(expansion *e, pgy_error *err)
{
    pgy_gs_graph *g = e->into;
    gs_document *d = e->x->document;
    pgy_gs_node **nodes = gs_alloc(d, e->result.count, sizeof *nodes);
    if (!nodes) return gs_no_memory(err);
    for (size_t i = 0; i < e->x->expanded.count; i++) {
        gs_detach_all(e->x->expanded.items[i]);
        e->x->expanded.items[i]->graph = NULL;
    }
    for (size_t i = 0; i < e->result.count; i++) {
        nodes[i] = e->result.items[i];
        nodes[i]->graph = g;
        gs_node_box(nodes[i])->index_hint = i;
    }
    g->nodes = nodes;
    g->node_count = graph_box(g)->node_capacity = e->result.count;
    gs_touch(g);
    return PGY_OK;
}

/* Inlines all calls in one graph, and the calls in the inlined bodies. */
static pgy_status expand_level(inliner *x, const gs_function_index *index, pgy_gs_graph *g,
                               const pgy_gs_node *only, pgy_error *err)
{
    expansion e = {.x = x, .index = index, .only = only, .into = g};
    x->made.count = x->expanded.count = 0;
    pgy_status st = expand_all(&e, err);
    if (!st && x->expanded.count) st = install(&e, err);
    for (size_t i = 0; st && i < x->made.count; i++) {
        gs_detach_all(x->made.items[i]);
        x->made.items[i]->graph = NULL;
    }
    mem_free(e.frames);
    mem_free(e.result.items);
    return st;
}

static void inliner_deinit(inliner *x)
{
    mem_free(x->made.items);
    mem_free(x->expanded.items);
    mem_free(x->levels.items);
}

static pgy_status inline_one(bool *done, pgy_gs_node *n, bool paths, pgy_error *err)
{
    inliner x = {.document = gs_node_box(n)->document, .paths = paths};
    gs_function_index index;
    pgy_status st = gs_function_index_init(&index, x.document, err);
    if (st) return st;
    const bool calls = gs_function_index_find(&index, n) != SIZE_MAX;
    if (calls) st = expand_level(&x, &index, n->graph, n, err);
    if (!st && done) *done = calls;
    gs_function_index_deinit(&index);
    inliner_deinit(&x);
    return st;
}

pgy_status pgy_gs_inline_call(bool *done, pgy_gs_node *n, pgy_error *err)
{
    if (!n || !n->graph)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the call to inline must be a node of a graph");
    return inline_one(done, n, false, err);
}

pgy_status gs_inline_call_by_path(pgy_gs_node *n, pgy_error *err)
{
    return inline_one(NULL, n, true, err);
}

/* ---- All calls ------------------------------------------------------------------------------- */

/* Counts the nodes that a graph and its subgraphs would have after inlining; MAX_NODES + 1 stands
 * for any larger count. */
static pgy_status count_unfolded(size_t *out, const gs_function_index *index, const size_t *sizes,
                                 const pgy_gs_graph *g, pgy_error *err)
{
    gs_level_list levels = {0};
    size_t count = 0;
    pgy_status st = gs_level_list_push((pgy_gs_graph *)g, &levels, err);
    for (size_t i = 0; i < levels.count && !st; i++) {
        const pgy_gs_graph *level = levels.items[i];
        for (size_t k = 0; k < level->node_count && count <= MAX_NODES && !st; k++) {
            const size_t place = gs_function_index_find(index, level->nodes[k]);
            count += place == SIZE_MAX ? 1 : sizes[place];
            st = gs_each_subgraph(level->nodes[k], gs_level_list_push, &levels, err);
        }
    }
    mem_free(levels.items);
    *out = count > MAX_NODES ? MAX_NODES + 1 : count;
    return st;
}

/* Fails before anything is copied if functions are recursive, or if inlining makes more than
 * MAX_NODES nodes: functions that each call the next one twice grow exponentially. */
static pgy_status check_end(const gs_document *d, const gs_function_index *index, pgy_error *err)
{
    order calls;
    size_t total = 0;
    pgy_status st = gs_function_order(&calls, d, err);
    size_t *sizes = st ? NULL : mem_calloc(d->function_count, sizeof *sizes);
    if (!st && !sizes) st = gs_no_memory(err);
    for (size_t i = 0; i < d->function_count && !st; i++) {
        const size_t place = calls.settled[i];
        st = count_unfolded(&sizes[place], index, sizes, d->functions[place], err);
    }
    if (!st) st = count_unfolded(&total, index, sizes, d->top, err);
    if (!st && total > MAX_NODES)
        st = pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "inlining all functions would make more than %d nodes; inline single calls instead",
            MAX_NODES);
    mem_free(sizes);
    order_deinit(&calls);
    return st;
}

pgy_status pgy_gs_inline_functions(pgy_gs_graph *g, pgy_error *err)
{
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    gs_document *d = graph_box(g)->document;
    inliner x = {.document = d};
    gs_function_index index;
    if (!d->function_count) return PGY_OK;
    pgy_status st = gs_function_index_init(&index, d, err);
    if (st) return st;
    st = check_end(d, &index, err);
    if (!st) st = gs_level_list_push(d->top, &x.levels, err);
    for (size_t i = 0; i < x.levels.count && !st; i++)
        st = expand_level(&x, &index, x.levels.items[i], NULL, err);
    gs_function_index_deinit(&index);
    inliner_deinit(&x);
    if (st) return st;
    d->function_count = 0;
    gs_publish_functions(d);
    gs_touch(d->top);
    return PGY_OK;
}

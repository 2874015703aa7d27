/* SPDX-License-Identifier: Apache-2.0 */
/* Traversals of a graph: all its tensors in canonical order, the outer tensors that it captures,
 * and the dependencies of a node. Each traversal has a number, with which it marks visited tensors.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/document.h"

static const char LOG_PATH[] = "gs/graph/walk.c";

/* ---- Lists ----------------------------------------------------------------------------------- */

/* ---- The tensors of a level ------------------------------------------------------------------ */

typedef struct gathering {
    pgy_gs_tensor_list list;
    gs_names names; /* visited tensors whose names other tensors of the document have, too */
    uint64_t walk;
    bool strict, quiet;
    const pgy_gs_graph *g;
} gathering;

static pgy_status note_duplicate(const gathering *w, const pgy_gs_tensor *t, pgy_error *err)
{
    if (w->strict)
        return pgy_error_set(err, PGY_E_FORMAT, "graph '%.200s': two tensors are named '%.200s'",
                             w->g->name, t->name);
    if (!w->quiet)
        LOG(WARNING, "Graph '%s' has different tensors that share the name '%s'", w->g->name,
            t->name);
    return PGY_OK;
}

/* Finds a visited tensor of the same name. No look-up is needed for a name that only one tensor of
 * the document has. */
static pgy_status find_namesake(gs_tensor **out, gathering *w, gs_tensor *box, pgy_error *err)
{
    *out = NULL;
    if (!box->named.not_alone) return PGY_OK;
    const gs_named *item = gs_names_find(&w->names, box->named.name, box->named.hash);
    if (item) *out = tensor_box(item->owner);
    return item || gs_names_put(&w->names, &box->named) ? PGY_OK : gs_no_memory(err);
}

static pgy_status gather(gathering *w, pgy_gs_tensor *t, pgy_error *err)
{
    gs_tensor *box = tensor_box(t);
    if (!*t->name) return PGY_OK;
    if (box->seen != w->walk) {
        gs_tensor *other = NULL;
        const pgy_status st = find_namesake(&other, w, box, err);
        if (st) return st;
        box->seen = w->walk;
        box->place = other ? other->place : w->list.count;
        if (!other) return gs_list_push(&w->list, t, err);
    }
    if (w->list.items[box->place] == t) return PGY_OK;
    w->list.items[box->place] = t;
    return note_duplicate(w, t, err);
}

static pgy_status gather_all(gathering *w, pgy_gs_tensor *const *tensors, size_t count,
                             pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count && !st; i++) st = gather(w, tensors[i], err);
    return st;
}

static pgy_status gather_level(gathering *w, pgy_error *err)
{
    const pgy_gs_graph *g = w->g;
    pgy_status st = gather_all(w, g->inputs, g->input_count, err);
    for (size_t i = 0; i < g->node_count && !st; i++) {
        const pgy_gs_node *n = g->nodes[i];
        st = gather_all(w, n->inputs, n->input_count, err);
        if (!st) st = gather_all(w, n->outputs, n->output_count, err);
    }
    return st ? st : gather_all(w, g->outputs, g->output_count, err);
}

pgy_status gs_list_tensors(pgy_gs_tensor_list *out, const pgy_gs_graph *g, bool strict, bool quiet,
                           pgy_error *err)
{
    gathering w = {
        .walk = ++graph_box(g)->document->walk, .strict = strict, .quiet = quiet, .g = g};
    const pgy_status st = gather_level(&w, err);
    gs_names_deinit(&w.names);
    if (st)
        pgy_gs_tensor_list_free(&w.list);
    else
        *out = w.list;
    return st;
}

pgy_status pgy_gs_tensors(pgy_gs_tensor_list *out, const pgy_gs_graph *g, bool strict,
                          pgy_error *err)
{
    if (!out || !g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    return gs_list_tensors(out, g, strict, false, err);
}

bool gs_is_graph_output(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    for (size_t i = 0; i < g->output_count; i++)
        if (g->outputs[i] == t) return true;
    return false;
}

/* ---- Subgraphs and the tensors that they capture --------------------------------------------- */

bool gs_has_subgraphs(const pgy_gs_node *n)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (n->attributes[i].graph_count) return true;
    return false;
}

pgy_status gs_each_subgraph(const pgy_gs_node *n, gs_visit_graph visit, void *user, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < n->attribute_count && !st; i++) {
        const pgy_gs_attribute *a = &n->attributes[i];
        for (size_t k = 0; k < a->graph_count && !st; k++) st = visit(a->graphs[k], user, err);
    }
    return st;
}

/* One of the nested graphs on the way down from the graph whose captured tensors are collected. */
typedef struct nesting {
    const pgy_gs_graph *g;
    const struct nesting *up;
    pgy_gs_tensor_list *list;
    uint64_t walk;
    uint64_t inputs; /* g's inputs have this in `seen`, so they are not captured tensors */
} nesting;

static bool is_made_on(const pgy_gs_tensor *t, const pgy_gs_graph *g)
{
    for (size_t i = 0; i < t->producer_count; i++)
        if (t->producers[i]->graph == g) return true;
    return false;
}

static bool is_outside(const nesting *level, const pgy_gs_tensor *t)
{
    for (; level; level = level->up)
        if (tensor_box(t)->seen == level->inputs || is_made_on(t, level->g)) return false;
    return true;
}

static nesting enter_level(const pgy_gs_graph *g, const nesting *up, pgy_gs_tensor_list *list,
                           uint64_t walk)
{
    const nesting level = {g, up, list, walk, ++graph_box(g)->document->walk};
    for (size_t i = 0; i < g->input_count; i++) tensor_box(g->inputs[i])->seen = level.inputs;
    return level;
}

static pgy_status note_outside(const nesting *level, pgy_gs_tensor *t, pgy_error *err)
{
    gs_tensor *box = tensor_box(t);
    const bool ignored = !*t->name || t->kind == PGY_GS_CONSTANT;
    if (ignored || box->seen == level->walk || !is_outside(level, t)) return PGY_OK;
    box->seen = level->walk;
    return gs_list_push(level->list, t, err);
}

static pgy_status gather_outside(const nesting *level, pgy_error *err);

static pgy_status descend(pgy_gs_graph *g, void *user, pgy_error *err)
{
    const nesting *up = user;
    const nesting inner = enter_level(g, up, up->list, up->walk);
    return gather_outside(&inner, err);
}

static pgy_status gather_outside(const nesting *level, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < level->g->node_count && !st; i++) {
        const pgy_gs_node *n = level->g->nodes[i];
        for (size_t k = 0; k < n->input_count && !st; k++)
            st = note_outside(level, n->inputs[k], err);
        if (!st) st = gs_each_subgraph(n, descend, (void *)level, err);
    }
    for (size_t i = 0; i < level->g->output_count && !st; i++)
        if (tensor_box(level->g->outputs[i])->home != level->g)
            st = note_outside(level, level->g->outputs[i], err);
    return st;
}

static pgy_status foreign(pgy_gs_tensor_list *list, const pgy_gs_graph *g, uint64_t walk,
                          pgy_error *err)
{
    const nesting level = enter_level(g, NULL, list, walk);
    return gather_outside(&level, err);
}

pgy_status pgy_gs_foreign_tensors(pgy_gs_tensor_list *out, const pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_tensor_list list = {0};
    if (!out || !g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    const pgy_status st = foreign(&list, g, ++graph_box(g)->document->walk, err);
    if (st)
        pgy_gs_tensor_list_free(&list);
    else
        *out = list;
    return st;
}

typedef struct taking {
    pgy_gs_tensor_list list;
    uint64_t walk;
} taking;

static pgy_status add_foreign(pgy_gs_graph *g, void *user, pgy_error *err)
{
    taking *x = user;
    return foreign(&x->list, g, x->walk, err);
}

pgy_status gs_each_dependency(const pgy_gs_node *n, gs_visit_tensor visit, void *user,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < n->input_count && !st; i++)
        if (*n->inputs[i]->name) st = visit(n->inputs[i], user, err);
    if (st || !gs_has_subgraphs(n)) return st;
    taking x = {.walk = ++gs_node_box(n)->document->walk};
    st = gs_each_subgraph(n, add_foreign, &x, err);
    for (size_t i = 0; i < x.list.count && !st; i++) st = visit(x.list.items[i], user, err);
    pgy_gs_tensor_list_free(&x.list);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over a graph: its tensors in their canonical order, the outer tensors that it reads, the
 * dependencies of a node, look-ups by name, and iteration over nodes during edits. A walk marks the
 * tensors it has seen with its number. */
#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/document.h"

static const char LOG_PATH[] = "onnx_graphsurgeon/ir/graph.py";

/* ---- Lists ----------------------------------------------------------------------------------- */

/* ---- The tensors of a level ------------------------------------------------------------------ */

typedef struct gathering {
    pgy_gs_tensor_list list;
    gs_names names; /* names that several tensors of the document have */
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

/* A tensor of the same name that this walk has seen. Names that only one tensor of the document has
 * need no look-up. */
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

static pgy_status list_tensors(pgy_gs_tensor_list *out, const pgy_gs_graph *g, bool strict,
                               bool quiet, pgy_error *err)
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
    return list_tensors(out, g, strict, false, err);
}

bool gs_is_graph_output(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    for (size_t i = 0; i < g->output_count; i++)
        if (g->outputs[i] == t) return true;
    return false;
}

/* ---- Subgraphs, and what they take from outside ---------------------------------------------- */

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

/* A level on the way down from the one whose outer tensors are collected. */
typedef struct nesting {
    const pgy_gs_graph *g;
    const struct nesting *up;
    pgy_gs_tensor_list *list;
    uint64_t walk;
    uint64_t inputs; /* mark of g's inputs until the walk visits them */
} nesting;

static bool is_made_on(const pgy_gs_tensor *t, const pgy_gs_graph *g)
{
    for (size_t i = 0; i < t->producer_count; i++)
        if (t->producers[i]->graph == g) return true;
    return false;
}

static bool is_input_of(const pgy_gs_tensor *t, const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i] == t) return true;
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

/* ---- By name --------------------------------------------------------------------------------- */

static bool is_used_on(pgy_gs_node *const *users, size_t count, const pgy_gs_graph *g)
{
    for (size_t i = 0; i < count; i++)
        if (users[i]->graph == g) return true;
    return false;
}

static bool is_on_level(const pgy_gs_tensor *t, const pgy_gs_graph *g)
{
    return is_used_on(t->producers, t->producer_count, g) ||
           is_used_on(t->consumers, t->consumer_count, g) || is_input_of(t, g) ||
           gs_is_graph_output(g, t);
}

/* If several tensors have the name, the one that pgy_gs_tensors lists for the level. */
static pgy_gs_tensor *last_of(const pgy_gs_graph *g, pgy_gs_tensor *any)
{
    pgy_gs_tensor_list list = {0};
    if (list_tensors(&list, g, false, true, NULL)) return any;
    pgy_gs_tensor *found = list.items[tensor_box(any)->place];
    pgy_gs_tensor_list_free(&list);
    return found;
}

pgy_gs_tensor *pgy_gs_find_tensor(const pgy_gs_graph *g, const char *name)
{
    if (!g || !name || !*name) return NULL;
    pgy_gs_tensor *found = NULL;
    gs_named *item = gs_names_find(&graph_box(g)->document->tensor_names, name, gs_hash(name));
    for (; item; item = item->next) {
        if (!is_on_level(item->owner, g)) continue;
        if (found) return last_of(g, found);
        found = item->owner;
    }
    return found;
}

pgy_gs_node *pgy_gs_find_node(const pgy_gs_graph *g, const char *name)
{
    if (!g || !name || !*name) return NULL;
    pgy_gs_node *found = NULL;
    gs_named *item = gs_names_find(&graph_box(g)->document->node_names, name, gs_hash(name));
    for (; item; item = item->next) {
        pgy_gs_node *n = item->owner;
        if (n->graph != g) continue;
        if (!found || pgy_gs_node_index(n) < pgy_gs_node_index(found)) found = n;
    }
    return found;
}

static pgy_status not_found(const pgy_gs_graph *g, const char *what, const char *name,
                            const char *const *names, size_t count, pgy_error *err)
{
    str hint = {0};
    gs_suggest(&hint, name, names, count);
    pgy_error_set(err, PGY_E_NOT_FOUND, "graph '%.200s' has no %s '%.200s'%s", g->name, what, name,
                  str_text(&hint));
    str_deinit(&hint);
    return PGY_E_NOT_FOUND;
}

pgy_status pgy_gs_get_tensor(pgy_gs_tensor **out, const pgy_gs_graph *g, const char *name,
                             pgy_error *err)
{
    pgy_gs_tensor_list list = {0};
    if (!out || !g || !name) return pgy_error_set(err, PGY_E_ARGUMENT, "a tensor's name is needed");
    pgy_gs_tensor *found = pgy_gs_find_tensor(g, name);
    if (found) {
        *out = found;
        return PGY_OK;
    }
    pgy_status st = list_tensors(&list, g, false, true, err);
    const char **names = st ? NULL : mem_calloc(list.count + 1, sizeof(*names));
    if (!st && !names) st = gs_no_memory(err);
    for (size_t i = 0; i < list.count && !st; i++) names[i] = list.items[i]->name;
    if (!st) st = not_found(g, "tensor", name, names, list.count, err);
    mem_free(names);
    pgy_gs_tensor_list_free(&list);
    return st;
}

pgy_status pgy_gs_get_node(pgy_gs_node **out, const pgy_gs_graph *g, const char *name,
                           pgy_error *err)
{
    if (!out || !g || !name) return pgy_error_set(err, PGY_E_ARGUMENT, "a node's name is needed");
    pgy_gs_node *found = pgy_gs_find_node(g, name);
    if (found) {
        *out = found;
        return PGY_OK;
    }
    const char **names = mem_calloc(g->node_count + 1, sizeof(*names));
    if (!names) return gs_no_memory(err);
    for (size_t i = 0; i < g->node_count; i++) names[i] = g->nodes[i]->name;
    const pgy_status st = not_found(g, "node", name, names, g->node_count, err);
    mem_free(names);
    return st;
}

/* ---- Nodes while they are edited ------------------------------------------------------------- */

pgy_status pgy_gs_next(pgy_gs_node **out, pgy_gs_iter *it, const pgy_gs_graph *g, pgy_error *err)
{
    if (!out || !it || !g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    if (!it->items) {
        it->items = mem_calloc(g->node_count + 1, sizeof(*it->items));
        if (!it->items) return gs_no_memory(err);
        for (size_t i = 0; i < g->node_count; i++) it->items[i] = g->nodes[i];
        it->count = g->node_count;
        it->next = 0;
    }
    while (it->next < it->count) {
        pgy_gs_node *n = it->items[it->next++];
        if (n->graph != g) continue;
        *out = n;
        return PGY_OK;
    }
    pgy_gs_iter_end(it);
    *out = NULL;
    return PGY_OK;
}

void pgy_gs_iter_end(pgy_gs_iter *it)
{
    if (!it) return;
    mem_free(it->items);
    *it = (pgy_gs_iter){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds tensors and nodes by name, and iterates over nodes during edits. */
#include "base/alloc.h"
#include "gs/graph/document.h"

/* ---- By name --------------------------------------------------------------------------------- */

static bool is_input_of(const pgy_gs_tensor *t, const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i] == t) return true;
    return false;
}

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

/* If several tensors of g have the same name, the one that pgy_gs_tensors lists. */
static pgy_gs_tensor *last_of(const pgy_gs_graph *g, pgy_gs_tensor *any)
{
    pgy_gs_tensor_list list = {0};
    if (gs_list_tensors(&list, g, false, true, NULL)) return any;
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
    if (!out || !g || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the name of the tensor must not be NULL");
    pgy_gs_tensor *found = pgy_gs_find_tensor(g, name);
    if (found) {
        *out = found;
        return PGY_OK;
    }
    pgy_status st = gs_list_tensors(&list, g, false, true, err);
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
    if (!out || !g || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the name of the node must not be NULL");
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

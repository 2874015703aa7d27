/* SPDX-License-Identifier: Apache-2.0 */
/* Selects nodes. Node names may contain slashes, so a path is matched from the left: against names
 * of nodes of the main graph, then of that node's subgraphs, and so on. */
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "gs/cut/calls.h"
#include "gs/cut/cut.h"

pgy_status cut_each_use(const pgy_node *n, cut_take take, void *user, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->input_count; i++)
        if (n->inputs[i]) st = take(n->inputs[i], user, err);
    for (size_t i = 0; !st && i < box->captured_count; i++) st = take(box->captured[i], user, err);
    return st;
}

static pgy_status not_found(const suggestions *near, const char *what, const char *wanted,
                            pgy_error *err)
{
    str text = {0};
    suggest_append(&text, near);
    const pgy_status st =
        pgy_error_set(err, PGY_E_NOT_FOUND, "there is no %s '%s'%s", what, wanted, str_text(&text));
    str_deinit(&text);
    return st;
}

/* ---- Subgraphs by path ----------------------------------------------------------------------- */

/* The deepest subgraph that the path leads to from g; *rest: the remaining path. NULL: none. */
static pgy_graph *descend(pgy_graph *g, const char *path, const char **rest)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        const char *at = n->subgraph_count ? cut_after(path, node_label(n)) : NULL;
        for (size_t k = 0; at && k < n->subgraph_count; k++) {
            const char *next = cut_after(at, n->subgraph_names[k]);
            if (!next) continue;
            pgy_graph *deeper = *next ? descend(n->subgraphs[k], next, rest) : NULL;
            if (deeper) return deeper;
            *rest = next;
            return n->subgraphs[k];
        }
    }
    return NULL;
}

static pgy_status find_level(pgy_cut *c, const char *path, pgy_error *err)
{
    const char *rest = "";
    c->level = descend(c->graph, path, &rest);
    if (c->level && !*rest) return PGY_OK;
    suggestions near = {.wanted = path};
    for (size_t i = 0; i < c->graph->node_count; i++)
        if (c->graph->nodes[i]->subgraph_count)
            suggest_offer(&near, node_label(c->graph->nodes[i]));
    return not_found(&near, "subgraph", path, err);
}

/* ---- Nodes by name --------------------------------------------------------------------------- */

static void take_node(pgy_cut *c, size_t i)
{
    const char *within = c->only_under;
    if (within && strncmp(node_label(c->level->nodes[i]), within, strlen(within))) return;
    if (!c->inside[i]) c->inside_count++;
    c->inside[i] = true;
}

static pgy_status alloc_inside(pgy_cut *c, pgy_error *err)
{
    c->inside =
        arena_alloc_array(&state_of(c->graph)->memory, c->level->node_count + 1, sizeof *c->inside);
    return c->inside ? PGY_OK : graph_no_memory(err);
}

static bool take_named(pgy_cut *c, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < c->level->node_count; i++)
        if (!strcmp(node_label(c->level->nodes[i]), name)) {
            take_node(c, i);
            found = true;
        }
    for (size_t i = 0; !found && cut_is_pattern(name) && i < c->level->node_count; i++)
        if (str_match_wildcard(name, node_label(c->level->nodes[i]))) take_node(c, i);
    return found || (cut_is_pattern(name) && c->inside_count);
}

static bool is_named(const pgy_graph *g, const char *name)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (!strcmp(node_label(g->nodes[i]), name)) return true;
    return false;
}

static pgy_status select_nodes(pgy_cut *c, const pgy_cut_selection *s, bool chosen, pgy_error *err)
{
    for (size_t i = 0; i < s->node_count; i++) {
        const char *name = s->nodes[i], *rest = name;
        pgy_graph *deeper =
            chosen || is_named(c->graph, name) ? NULL : descend(c->graph, name, &rest);
        if (deeper && deeper != c->level)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "nodes '%s' and '%s' are in different graphs; select nodes of one graph", name,
                s->nodes[0]);
        const size_t before = c->inside_count;
        if (take_named(c, deeper ? rest : name) &&
            (c->inside_count > before || !cut_is_pattern(name)))
            continue;
        suggestions near = {.wanted = deeper ? rest : name};
        for (size_t k = 0; k < c->level->node_count; k++)
            suggest_offer(&near, node_label(c->level->nodes[k]));
        return not_found(&near, cut_is_pattern(name) ? "node like" : "node", name, err);
    }
    return PGY_OK;
}

/* ---- Nodes of modules ------------------------------------------------------------------------ */

/* Finds in `text` a longer path that ends with the module: "model.encoder.layer.0" for "layer.0".
 * `text` is a name or PyTorch's list of scopes, where a quote precedes each path. */
static bool find_longer(str *out, const char *text, const char *module)
{
    const size_t size = strlen(module);
    for (const char *at = strstr(text, module); at && size; at = strstr(at + 1, module)) {
        const bool ends = !at[size] || at[size] == '.' || at[size] == '\'';
        if (!ends || at == text || at[-1] != '.') continue;
        const char *begin = at;
        while (begin > text && begin[-1] != '\'') begin--;
        str_append_n(out, begin, (size_t)(at - begin) + size);
        return true;
    }
    return false;
}

static pgy_status no_module(const pgy_cut *c, const char *wanted, const char *module,
                            pgy_error *err)
{
    str longer = {0};
    bool found = false;
    for (size_t i = 0; !found && i < c->level->node_count; i++) {
        const pgy_node *n = c->level->nodes[i];
        const char *name = cut_normalise(&state_of(c->graph)->memory, n->name);
        if (!name) return graph_no_memory(err);
        found = find_longer(&longer, name, module);
        for (size_t k = 0; !found && n->proto && k < n->proto->metadata_prop_count; k++)
            if (!strcmp(n->proto->metadata_props[k]->key, CUT_SCOPES))
                found = find_longer(&longer, n->proto->metadata_props[k]->value, module);
    }
    const pgy_status st = pgy_error_set(err, PGY_E_NOT_FOUND,
                                        "no node belongs to a module '%s': neither the name nor "
                                        "the scope of a node begins with it%s%s%s",
                                        wanted, found ? "; did you mean '" : "", str_text(&longer),
                                        found ? "'?" : "");
    str_deinit(&longer);
    return st;
}

static pgy_status select_module(pgy_cut *c, const char *wanted, pgy_error *err)
{
    const char *module = cut_normalise(&state_of(c->graph)->memory, wanted);
    bool found = false;
    if (!module) return graph_no_memory(err);
    for (size_t i = 0; i < c->level->node_count; i++) {
        const pgy_node *n = c->level->nodes[i];
        if (!cut_is_under(n->name, module) && !cut_has_scope(n->proto, module)) continue;
        take_node(c, i);
        found = found || c->inside[i];
    }
    return found ? PGY_OK : no_module(c, wanted, module, err);
}

/* ---- Nodes between tensors ------------------------------------------------------------------- */

static pgy_status find_value(pgy_value **out, const pgy_cut *c, const char *name, pgy_error *err)
{
    suggestions near = {.wanted = name};
    for (const pgy_graph *g = c->level; g; g = g->parent) {
        *out = pgy_graph_find_value(g, name);
        if (*out) return PGY_OK;
        const strmap *values = &level_of(g)->values;
        for (size_t i = 0; i < values->count; i++) suggest_offer(&near, values->entries[i].key);
    }
    return not_found(&near, "tensor", name, err);
}

static pgy_status find_values(pgy_value ***out, const pgy_cut *c, const char *const *names,
                              size_t count, pgy_error *err)
{
    pgy_value **list = arena_alloc_array(&state_of(c->graph)->memory, count + 1, sizeof *list);
    pgy_status st = list ? PGY_OK : graph_no_memory(err);
    for (size_t i = 0; !st && i < count; i++) st = find_value(&list[i], c, names[i], err);
    if (!st) *out = list;
    return st;
}

static bool is_listed(pgy_value *const *list, size_t count, const pgy_value *v)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == v) return true;
    return false;
}

/* One traversal of the sorted nodes, which marks those that depend on given tensors or that they
 * depend on. */
typedef struct walk {
    const pgy_cut *c;
    pgy_value *const *ends;
    size_t end_count;
    bool *marks;
    bool hit; /* the current node depends on a marked node or on one of `ends` */
} walk;

static pgy_status note_forward(pgy_value *v, void *user, pgy_error *err)
{
    (void)err;
    walk *w = user;
    const bool made = v->producer && v->graph == w->c->level && w->marks[v->producer->index];
    if (made || is_listed(w->ends, w->end_count, v)) w->hit = true;
    return PGY_OK;
}

static pgy_status mark_forward(walk *w, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < w->c->level->node_count; i++) {
        w->hit = false;
        st = cut_each_use(w->c->level->nodes[i], note_forward, w, err);
        w->marks[i] = w->hit;
    }
    return st;
}

/* Marks the producer of a value that a marked node reads, unless the value is in `ends`. */
static pgy_status note_backward(pgy_value *v, void *user, pgy_error *err)
{
    (void)err;
    walk *w = user;
    if (v->producer && v->graph == w->c->level && !is_listed(w->ends, w->end_count, v))
        w->marks[v->producer->index] = true;
    return PGY_OK;
}

static pgy_status mark_backward(walk *w, pgy_value *const *to, size_t to_count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < to_count; i++) st = note_backward(to[i], w, err);
    for (size_t i = w->c->level->node_count; !st && i-- > 0;)
        if (w->marks[i]) st = cut_each_use(w->c->level->nodes[i], note_backward, w, err);
    return st;
}

static pgy_status select_between(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err)
{
    const size_t count = c->level->node_count, before = c->inside_count;
    pgy_value **from = NULL, **to = NULL;
    bool *after_from = mem_calloc(count + 1, sizeof *after_from);
    bool *before_to = mem_calloc(count + 1, sizeof *before_to);
    pgy_status st = after_from && before_to ? PGY_OK : graph_no_memory(err);
    if (!st) st = find_values(&from, c, s->from, s->from_count, err);
    if (!st) st = find_values(&to, c, s->to, s->to_count, err);
    walk forward = {.c = c, .ends = from, .end_count = s->from_count, .marks = after_from};
    walk backward = {.c = c, .ends = from, .end_count = s->from_count, .marks = before_to};
    if (!st && s->from_count) st = mark_forward(&forward, err);
    if (!st && s->to_count) st = mark_backward(&backward, to, s->to_count, err);
    for (size_t i = 0; !st && i < count; i++)
        if ((!s->from_count || after_from[i]) && (!s->to_count || before_to[i])) take_node(c, i);
    mem_free(after_from);
    mem_free(before_to);
    if (st || c->inside_count > before) return st;
    return pgy_error_set(err, PGY_E_NOT_FOUND, "no node lies between '%s' and '%s'",
                         s->from_count ? s->from[0] : "the inputs",
                         s->to_count ? s->to[0] : "the outputs");
}

/* ---- Names inside subgraphs, without a path -------------------------------------------------- */

enum { SHOWN_LEVELS = 6 };

typedef bool (*level_has)(const pgy_graph *g, const char *name);

static bool has_node(const pgy_graph *g, const char *name)
{
    if (is_named(g, name)) return true;
    for (size_t i = 0; cut_is_pattern(name) && i < g->node_count; i++)
        if (str_match_wildcard(name, node_label(g->nodes[i]))) return true;
    return false;
}

static bool has_module(const pgy_graph *g, const char *module)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (cut_is_under(g->nodes[i]->name, module) || cut_has_scope(g->nodes[i]->proto, module))
            return true;
    return false;
}

static bool has_value(const pgy_graph *g, const char *name)
{
    return pgy_graph_find_value(g, name) != NULL;
}

typedef struct found_levels {
    level_has has;
    const char *name;
    pgy_graph *items[SHOWN_LEVELS]; /* the first graphs found; count includes all */
    size_t count;
} found_levels;

static void find_levels(found_levels *out, pgy_graph *g)
{
    if (out->has(g, out->name)) {
        if (out->count < SHOWN_LEVELS) out->items[out->count] = g;
        out->count++;
    }
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++)
            find_levels(out, g->nodes[i]->subgraphs[k]);
}

/* Selects the only subgraph that has the name, if the main graph lacks it. Several subgraphs are an
 * error. */
static pgy_status find_below(pgy_cut *c, const char *what, const char *name, level_has has,
                             pgy_error *err)
{
    found_levels found = {.has = has, .name = name};
    if (has(c->graph, name)) return PGY_OK;
    find_levels(&found, c->graph);
    if (found.count == 1) c->level = found.items[0];
    if (found.count < 2) return PGY_OK;
    str list = {0};
    for (size_t i = 0; i < found.count && i < SHOWN_LEVELS; i++) {
        str path = {0};
        level_path(&path, found.items[i]);
        str_printf(&list, "%s'%s'", i ? ", " : "", str_text(&path));
        str_deinit(&path);
    }
    if (found.count > SHOWN_LEVELS) str_append(&list, ", ...");
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "%s '%s' is inside %zu subgraphs; choose one of %s",
                      what, name, found.count, str_text(&list));
    str_deinit(&list);
    return st;
}

pgy_status cut_level(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err)
{
    const char *rest = "";
    c->level = c->graph;
    if (s->subgraph) return find_level(c, s->subgraph, err);
    if (s->node_count) {
        pgy_graph *deeper =
            is_named(c->graph, s->nodes[0]) ? NULL : descend(c->graph, s->nodes[0], &rest);
        if (!deeper || !*rest) return find_below(c, "node", s->nodes[0], has_node, err);
        c->level = deeper;
        return PGY_OK;
    }
    if (s->module_count) {
        const char *module = cut_normalise(&state_of(c->graph)->memory, s->modules[0]);
        return module ? find_below(c, "module", module, has_module, err) : graph_no_memory(err);
    }
    if (!s->from_count && !s->to_count) return PGY_OK;
    return find_below(c, "tensor", s->from_count ? s->from[0] : s->to[0], has_value, err);
}

pgy_status cut_select(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err)
{
    const bool only_level = !s->node_count && !s->module_count && !s->from_count && !s->to_count &&
                            (s->subgraph || c->only_under);
    pgy_status st = alloc_inside(c, err);
    for (size_t i = 0; !st && only_level && i < c->level->node_count; i++) take_node(c, i);
    if (!st) st = select_nodes(c, s, s->subgraph != NULL, err);
    for (size_t i = 0; !st && i < s->module_count; i++) st = select_module(c, s->modules[i], err);
    if (!st && (s->from_count || s->to_count)) st = select_between(c, s, err);
    if (!st && !c->inside_count)
        st =
            pgy_error_set(err, PGY_E_ARGUMENT,
                          "the selection is empty: name nodes, modules, or tensors to cut between");
    return st;
}

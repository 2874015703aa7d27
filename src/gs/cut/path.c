/* SPDX-License-Identifier: Apache-2.0 */
/* Paths through subgraphs and calls of local functions: finds the node, tensor, graph or module
 * that a path leads to, and inlines the calls on the way. Function bodies are searched before
 * anything is inlined. */
#include "gs/cut/path.h"

#include <string.h>

#include "gs/cut/calls.h"
#include "gs/edit/inline.h"

const pgy_gs_graph *entry_callee(const entry *e, const pgy_gs_node *n)
{
    const size_t found = gs_function_index_find(&e->functions, n);
    return found == SIZE_MAX ? NULL : e->functions.document->functions[found];
}

bool entry_step(entry *e)
{
    return e->steps && e->steps--;
}

/* Appends a name to the path. @return the path's size before, for entry_pop */
size_t entry_push(entry *e, const char *name)
{
    const size_t size = e->path.size;
    if (size) str_append_char(&e->path, '/');
    str_append(&e->path, name);
    return size;
}

void entry_pop(entry *e, size_t size)
{
    if (e->path.failed) return;
    e->path.size = size;
    if (e->path.data) e->path.data[size] = '\0';
}

const char *entry_join(entry *e, const char *path, const char *name)
{
    return arena_printf(e->memory, "%s/%s", path, name);
}

/* ---- Searching ------------------------------------------------------------------------------- */

/* True if g itself (not a subgraph) has a node, tensor or module with the name. */
bool entry_holds(entry *e, const pgy_gs_graph *g, kind what, const char *name)
{
    if (what == TENSOR) return pgy_gs_find_tensor(g, name) != NULL;
    for (size_t i = 0; what != LEVEL && i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        if (!entry_step(e)) return false;
        if (what == NODE ? !strcmp(gs_node_path_name(n), name)
                         : cut_is_under(n->name, name) || cut_has_scope(n->stored, name))
            return true;
    }
    return false;
}

static bool node_leads(entry *e, const pgy_gs_node *n, kind what, const char *path)
{
    const char *at = entry_step(e) ? cut_after(path, gs_node_path_name(n)) : NULL;
    const pgy_gs_graph *f = at ? entry_callee(e, n) : NULL;
    if (f && (*at ? entry_leads(e, f, what, at) : what == LEVEL)) return true;
    for (size_t k = 0; at && k < n->attribute_count; k++) {
        const pgy_gs_attribute *a = &n->attributes[k];
        const char *next = a->graph_count ? cut_after(at, a->name) : NULL;
        for (size_t j = 0; next && j < a->graph_count; j++)
            if (*next ? entry_leads(e, a->graphs[j], what, next) : what == LEVEL) return true;
    }
    return false;
}

/* True if the path leads from g to a node, tensor, graph or module. */
bool entry_leads(entry *e, const pgy_gs_graph *g, kind what, const char *path)
{
    bool found = entry_holds(e, g, what, path);
    if (found || e->depth == MAX_DEPTH) return found;
    e->depth++;
    for (size_t i = 0; !found && i < g->node_count; i++)
        found = node_leads(e, g->nodes[i], what, path);
    e->depth--;
    return found;
}

static void find_in_node(entry *e, found_calls *out, const pgy_gs_node *n)
{
    const pgy_gs_graph *f = entry_step(e) ? entry_callee(e, n) : NULL;
    if (!f && !gs_has_subgraphs(n)) return;
    const size_t size = entry_push(e, gs_node_path_name(n));
    if (f && entry_holds(e, f, out->what, out->name)) {
        if (out->count < SHOWN_CALLS)
            out->paths[out->count] = arena_strdup(e->memory, str_text(&e->path));
        out->count++;
    }
    if (f) entry_find_calls(e, out, f);
    for (size_t k = 0; k < n->attribute_count; k++) {
        const pgy_gs_attribute *a = &n->attributes[k];
        const size_t here = entry_push(e, a->name);
        for (size_t j = 0; j < a->graph_count; j++) entry_find_calls(e, out, a->graphs[j]);
        entry_pop(e, here);
    }
    entry_pop(e, size);
}

void entry_find_calls(entry *e, found_calls *out, const pgy_gs_graph *g)
{
    if (e->depth == MAX_DEPTH) return;
    e->depth++;
    for (size_t i = 0; i < g->node_count; i++) find_in_node(e, out, g->nodes[i]);
    e->depth--;
}

/* ---- Inlining -------------------------------------------------------------------------------- */

static pgy_status note_outer(entry *e, const char *call, const char *name, const char *outer,
                             pgy_error *err)
{
    const char *path = entry_join(e, call, name), *kept = arena_strdup(e->memory, outer);
    if (!*outer || (path && strmap_has(&e->outer, path))) return PGY_OK;
    return path && kept && strmap_put(&e->outer, path, (void *)kept) ? PGY_OK : gs_no_memory(err);
}

/* Inlines a call, and records in e->outer which tensors the call passes for the function's inputs
 * and outputs. */
pgy_status entry_inline(entry *e, pgy_gs_node *n, pgy_error *err)
{
    const pgy_gs_graph *f = entry_callee(e, n);
    const char *call = gs_node_path_name(n);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < f->input_count && i < n->input_count; i++)
        st = note_outer(e, call, f->inputs[i]->name, n->inputs[i]->name, err);
    for (size_t i = 0; !st && i < f->output_count && i < n->output_count; i++)
        st = note_outer(e, call, f->outputs[i]->name, n->outputs[i]->name, err);
    e->changed = true;
    return st ? st : gs_inline_call_by_path(n, err);
}

static pgy_status go_by_node(place *out, entry *e, pgy_gs_node *n, kind what, const char *path,
                             pgy_error *err)
{
    const char *at = cut_after(path, gs_node_path_name(n));
    const pgy_gs_graph *f = at ? entry_callee(e, n) : NULL;
    pgy_gs_graph *g = n->graph;
    if (f && (*at ? entry_leads(e, f, what, at) : what == LEVEL)) {
        const pgy_status st = entry_inline(e, n, err);
        if (st || *at) return st ? st : entry_go(out, e, g, what, path, err);
        *out = (place){.found = true, .is_call = true, .rest = path, .level = g};
        return PGY_OK;
    }
    for (size_t k = 0; at && !out->found && k < n->attribute_count; k++) {
        const pgy_gs_attribute *a = &n->attributes[k];
        const char *next = a->graph_count ? cut_after(at, a->name) : NULL;
        for (size_t j = 0; next && j < a->graph_count; j++) {
            if (*next && entry_leads(e, a->graphs[j], what, next))
                return entry_go(out, e, a->graphs[j], what, next, err);
            if (*next || what != LEVEL) continue;
            *out = (place){.found = true, .rest = next, .level = a->graphs[j]};
            return PGY_OK;
        }
    }
    return PGY_OK;
}

/* Follows a path to a node, tensor, graph or module, and inlines the calls on the way. */
pgy_status entry_go(place *out, entry *e, pgy_gs_graph *g, kind what, const char *path,
                    pgy_error *err)
{
    const char *outer = what == TENSOR ? strmap_get(&e->outer, path) : NULL;
    pgy_status st = PGY_OK;
    if (outer || entry_holds(e, g, what, path)) {
        *out = (place){.found = true, .rest = path, .tensor = outer ? outer : path, .level = g};
        return PGY_OK;
    }
    if (e->depth == MAX_DEPTH) return PGY_OK;
    e->depth++;
    for (size_t i = 0; !st && !out->found && i < g->node_count; i++)
        st = go_by_node(out, e, g->nodes[i], what, path, err);
    e->depth--;
    return st;
}

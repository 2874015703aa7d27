/* SPDX-License-Identifier: Apache-2.0 */
/* A selection may name nodes and tensors inside bodies of local functions. Only the calls that lead
 * to them are inlined, so that a part may begin and end in a body and has the weights and
 * attributes of that call. Bodies are searched before anything is inlined. A name without the path
 * of a call is enough if only one call leads to it. */
#include <string.h>

#include "base/suggest.h"
#include "gs/cut/calls.h"
#include "gs/cut/path.h"
#include "gs/edit/inline.h"

enum { MAX_STEPS = 1000000 };

/* ---- Names without the path of a call -------------------------------------------------------- */

static pgy_status several_calls(const found_calls *calls, pgy_error *err)
{
    static const char *const WHAT[] = {[NODE] = "node", [TENSOR] = "tensor", [MODULE] = "module"};
    const bool module = calls->what == MODULE;
    str list = {0};
    for (size_t i = 0; i < calls->count && i < SHOWN_CALLS; i++)
        str_printf(&list, "%s'%s%s%s'", i ? ", " : "", calls->paths[i] ? calls->paths[i] : "",
                   module ? "" : "/", module ? "" : calls->name);
    if (calls->count > SHOWN_CALLS) str_append(&list, ", ...");
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "%s '%s' is in the function bodies of %zu calls; %s %s",
                      WHAT[calls->what], calls->name, calls->count,
                      module ? "choose one as the subgraph:" : "write one of", str_text(&list));
    str_deinit(&list);
    return st;
}

/* Finds the path of the call whose function's body has the name. *path NULL: none. Several calls
 * are an error. */
static pgy_status find_one(const char **path, entry *e, kind what, const char *name, pgy_error *err)
{
    found_calls calls = {.what = what, .name = name};
    *path = NULL;
    str_clear(&e->path);
    entry_find_calls(e, &calls, e->level);
    if (e->path.failed || (calls.count && !calls.paths[0])) return gs_no_memory(err);
    if (calls.count > 1) return several_calls(&calls, err);
    if (calls.count) *path = calls.paths[0];
    return PGY_OK;
}

/* Fails if the path leads to a call whose function has no node of the remaining path. */
static pgy_status check_body(entry *e, const char *path, pgy_error *err)
{
    for (size_t i = 0; i < e->level->node_count; i++) {
        const pgy_gs_node *n = e->level->nodes[i];
        const char *rest = cut_after(path, gs_node_path_name(n));
        const pgy_gs_graph *f = rest && *rest ? entry_callee(e, n) : NULL;
        if (!f) continue;
        suggestions near = {.wanted = rest};
        str text = {0};
        for (size_t k = 0; k < f->node_count; k++)
            suggest_offer(&near, gs_node_path_name(f->nodes[k]));
        suggest_append(&text, &near);
        const pgy_status st = pgy_error_set(err, PGY_E_NOT_FOUND,
                                            "there is no '%s' in function '%s', which '%s' calls%s",
                                            rest, f->name, gs_node_path_name(n), str_text(&text));
        str_deinit(&text);
        return st;
    }
    return PGY_OK;
}

static pgy_status enter_node(entry *e, const char **name, pgy_error *err)
{
    const char *call;
    place end = {0};
    if (entry_leads(e, e->level, NODE, *name)) return entry_go(&end, e, e->level, NODE, *name, err);
    const pgy_status st = find_one(&call, e, NODE, *name, err);
    if (st || !call) return st ? st : check_body(e, *name, err);
    *name = entry_join(e, call, *name);
    return *name ? entry_go(&end, e, e->level, NODE, *name, err) : gs_no_memory(err);
}

/* ---- Tensors and graphs ---------------------------------------------------------------------- */

/* The part of a path that leads to the graph end->level; NULL: that is the main graph, or out of
 * memory. */
static const char *level_of_path(entry *e, const char *path, const place *end)
{
    const size_t size = strlen(path) - strlen(end->rest);
    return size ? arena_strndup(e->memory, path, size - (*end->rest != '\0')) : NULL;
}

/* Makes the graph at the end of the path the one in which names are looked up. If the path ends in
 * a function's body, that is the graph with the inlined call. */
static pgy_status enter_level(entry *e, pgy_cut_selection *s, const char *path, pgy_error *err)
{
    place end = {0};
    const pgy_status st = entry_go(&end, e, e->level, LEVEL, path, err);
    if (st || !end.found) return st;
    e->level = end.level;
    s->subgraph = level_of_path(e, path, &end);
    if (!s->subgraph && end.level != e->top) return gs_no_memory(err);
    if (end.is_call) e->inside = arena_printf(e->memory, "%s/", end.rest);
    return end.is_call && !e->inside ? gs_no_memory(err) : PGY_OK;
}

static bool is_visible(const pgy_gs_graph *g, const char *name)
{
    while (g && !pgy_gs_find_tensor(g, name)) g = g->parent;
    return g != NULL;
}

static pgy_status enter_tensor(entry *e, pgy_cut_selection *s, const char **name, pgy_error *err)
{
    const char *call, *path = *name;
    place end = {0};
    pgy_status st = PGY_OK;
    if (is_visible(e->level, path)) return PGY_OK;
    if (!strmap_has(&e->outer, path) && !entry_leads(e, e->level, TENSOR, path)) {
        st = find_one(&call, e, TENSOR, path, err);
        if (st || !call) return st;
        path = entry_join(e, call, path);
        if (!path) return gs_no_memory(err);
    }
    st = entry_go(&end, e, e->level, TENSOR, path, err);
    if (st || !end.found) return st;
    *name = end.tensor;
    if (end.level == e->level || s->subgraph) return PGY_OK;
    e->level = end.level;
    s->subgraph = level_of_path(e, path, &end);
    return s->subgraph ? PGY_OK : gs_no_memory(err);
}

/* ---- Patterns and modules -------------------------------------------------------------------- */

/* True if the path of some node in the called function's body, or in bodies that it calls, fits the
 * pattern or module. */
static bool fits_inside(entry *e, const pgy_gs_node *call, const char *pattern, const char *module)
{
    const pgy_gs_graph *f = entry_callee(e, call);
    const size_t size = entry_push(e, gs_node_path_name(call));
    bool fits = false;
    e->depth++;
    for (size_t i = 0; f && !fits && entry_step(e) && i < f->node_count; i++) {
        const size_t outer = entry_push(e, gs_node_path_name(f->nodes[i]));
        const char *here = str_text(&e->path);
        fits = pattern ? str_match_wildcard(pattern, here) : cut_is_under(here, module);
        entry_pop(e, outer);
        if (!fits && e->depth < MAX_DEPTH) fits = fits_inside(e, f->nodes[i], pattern, module);
    }
    e->depth--;
    entry_pop(e, size);
    return fits;
}

/* Inlines those calls in e->level whose bodies have a node that fits the pattern or module. */
static pgy_status enter_fitting(entry *e, const char *pattern, const char *module, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < e->level->node_count;) {
        pgy_gs_node *n = e->level->nodes[i];
        str_clear(&e->path);
        if (entry_callee(e, n) && fits_inside(e, n, pattern, module))
            st = entry_inline(e, n, err);
        else
            i++;
    }
    return st;
}

static bool fits_level(const pgy_gs_graph *g, const char *pattern)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (str_match_wildcard(pattern, gs_node_path_name(g->nodes[i]))) return true;
    return false;
}

static pgy_status enter_pattern(entry *e, const char *pattern, pgy_error *err)
{
    const char *end = strpbrk(pattern, "*?[");
    if (fits_level(e->level, pattern)) return PGY_OK;
    for (; end > pattern; end--) {
        if (*end != '/') continue;
        const char *path = arena_strndup(e->memory, pattern, (size_t)(end - pattern));
        place at = {0};
        if (!path) return gs_no_memory(err);
        if (!entry_leads(e, e->level, LEVEL, path)) continue;
        const pgy_status st = entry_go(&at, e, e->level, LEVEL, path, err);
        if (st || !at.is_call) return st;
        break;
    }
    return fits_level(e->level, pattern) ? PGY_OK : enter_fitting(e, pattern, NULL, err);
}

/* Finds the only call whose function's body has nodes of the module, and inlines it. */
static pgy_status enter_its_call(entry *e, pgy_cut_selection *s, const char **name,
                                 const char *module, pgy_error *err)
{
    const char *call;
    place end = {0};
    pgy_status st = find_one(&call, e, MODULE, module, err);
    if (!st && call) st = entry_go(&end, e, e->level, LEVEL, call, err);
    if (st || !end.found) return st;
    if (end.level != e->level) s->subgraph = level_of_path(e, call, &end);
    e->level = end.level;
    if (!entry_holds(e, e->level, MODULE, module)) *name = entry_join(e, end.rest, module);
    return *name ? PGY_OK : gs_no_memory(err);
}

static pgy_status enter_module(entry *e, pgy_cut_selection *s, const char **name, pgy_error *err)
{
    const char *module = cut_normalise(e->memory, *name);
    const char *alone = e->inside ? *name + strlen(e->inside) : module;
    if (e->inside) alone = cut_normalise(e->memory, alone);
    if (!module || !alone) return gs_no_memory(err);
    if (entry_holds(e, e->level, MODULE, module)) return PGY_OK;
    if (e->inside && entry_holds(e, e->level, MODULE, alone)) {
        *name = alone;
        return PGY_OK;
    }
    const pgy_status st = enter_fitting(e, NULL, module, err);
    if (st || s->subgraph || e->inside || entry_holds(e, e->level, MODULE, module)) return st;
    return enter_its_call(e, s, name, module, err);
}

/* ---- The selection --------------------------------------------------------------------------- */

typedef pgy_status (*enter_name)(entry *e, pgy_cut_selection *s, const char **name, pgy_error *err);

static pgy_status enter_any_node(entry *e, pgy_cut_selection *s, const char **name, pgy_error *err)
{
    (void)s;
    return cut_is_pattern(*name) && !entry_leads(e, e->level, NODE, *name)
               ? enter_pattern(e, *name, err)
               : enter_node(e, name, err);
}

/* Resolves a list of names. In the body of an inlined call they get the prefix "<call>/", their
 * path in the graph around it. */
static pgy_status enter_each(const char *const **names, size_t count, entry *e,
                             pgy_cut_selection *s, enter_name enter, pgy_error *err)
{
    const char **made = arena_alloc_array(e->memory, count + 1, sizeof *made);
    const char *inside = e->inside;
    pgy_status st = made ? PGY_OK : gs_no_memory(err);
    for (size_t i = 0; !st && i < count; i++) {
        made[i] = (*names)[i];
        if (inside) made[i] = arena_printf(e->memory, "%s%s", inside, made[i]);
        st = made[i] ? enter(e, s, &made[i], err) : gs_no_memory(err);
    }
    if (!st) *names = made;
    return st;
}

static pgy_status enter_selected(entry *e, pgy_cut_selection *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (s->subgraph && entry_leads(e, e->top, LEVEL, s->subgraph))
        st = enter_level(e, s, s->subgraph, err);
    if (!st) st = enter_each(&s->nodes, s->node_count, e, s, enter_any_node, err);
    if (!st) st = enter_each(&s->modules, s->module_count, e, s, enter_module, err);
    if (!st) st = enter_each(&s->from, s->from_count, e, s, enter_tensor, err);
    if (!st) st = enter_each(&s->to, s->to_count, e, s, enter_tensor, err);
    if (!st && e->path.failed) st = gs_no_memory(err);
    if (!st && !e->steps)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                           "the search stopped after %d nodes in function bodies; write the path "
                           "of a call instead of a name",
                           MAX_STEPS);
    return st;
}

pgy_status cut_enter_calls(pgy_model **out, pgy_cut_selection *selection, const char **inside,
                           pgy_model *model, arena *memory, pgy_error *err)
{
    const pgy_gs_export_options options = {.size = sizeof options, .no_type_check = true};
    const pgy_onnx_model *proto = pgy_model_proto(model);
    entry e = {.memory = memory, .steps = MAX_STEPS};
    *inside = NULL;
    if (!proto->function_count || !proto->graph) {
        *out = pgy_model_retain(model);
        return PGY_OK;
    }
    pgy_status st = pgy_gs_import(&e.top, model, err);
    if (st) return st;
    e.level = e.top;
    st = gs_function_index_init(&e.functions, graph_box(e.top)->document, err);
    if (!st) st = enter_selected(&e, selection, err);
    if (!st && e.changed)
        st = pgy_gs_export(out, e.top, &options, err);
    else if (!st)
        *out = pgy_model_retain(model);
    if (!st) *inside = e.inside;
    strmap_deinit(&e.outer);
    str_deinit(&e.path);
    gs_function_index_deinit(&e.functions);
    pgy_gs_destroy(e.top);
    return st;
}

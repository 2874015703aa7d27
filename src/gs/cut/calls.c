/* SPDX-License-Identifier: Apache-2.0 */
/* A selection may name nodes and tensors inside the bodies of local functions. The calls on the way
 * to them are inlined, and no others, so that a part may begin and end in a body and has the
 * weights and attributes of the call. Bodies are searched before anything is inlined. A name
 * without the path of a call is enough if only one call leads to it. */
#include <string.h>

#include "base/suggest.h"
#include "gs/cut/calls.h"
#include "gs/edit/inline.h"
#include "gs/graph/function_index.h"

enum { MAX_STEPS = 1000000, MAX_DEPTH = 256, SHOWN_CALLS = 6 };

typedef enum kind { NODE, TENSOR, LEVEL, MODULE } kind;

typedef struct entry {
    pgy_gs_graph *top, *level; /* the level that names are looked up in */
    gs_function_index functions;
    arena *memory;
    const char *inside; /* the selected nodes' names begin with this: "<call>/"; NULL: any */
    strmap outer;       /* "<call>/<input or output>" -> name of that tensor around the call */
    str path;           /* of the current node or level */
    size_t steps;       /* nodes that the search may still visit; recursive functions have no end */
    size_t depth;
    bool changed;
} entry;

static const pgy_gs_graph *callee(const entry *e, const pgy_gs_node *n)
{
    const size_t place = gs_function_index_find(&e->functions, n);
    return place == SIZE_MAX ? NULL : e->functions.document->functions[place];
}

static bool step(entry *e)
{
    return e->steps && e->steps--;
}

/* Appends a name to the path. @return the path's size before, for pop */
static size_t push(entry *e, const char *name)
{
    const size_t size = e->path.size;
    if (size) str_append_char(&e->path, '/');
    str_append(&e->path, name);
    return size;
}

static void pop(entry *e, size_t size)
{
    if (e->path.failed) return;
    e->path.size = size;
    if (e->path.data) e->path.data[size] = '\0';
}

static const char *join(entry *e, const char *path, const char *name)
{
    return arena_printf(e->memory, "%s/%s", path, name);
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* True if the level itself has the item. */
static bool holds(entry *e, const pgy_gs_graph *g, kind what, const char *name)
{
    if (what == TENSOR) return pgy_gs_find_tensor(g, name) != NULL;
    for (size_t i = 0; what != LEVEL && i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        if (!step(e)) return false;
        if (what == NODE ? !strcmp(gs_node_path_name(n), name)
                         : cut_is_under(n->name, name) || cut_has_scope(n->stored, name))
            return true;
    }
    return false;
}

static bool leads(entry *e, const pgy_gs_graph *g, kind what, const char *path);

static bool node_leads(entry *e, const pgy_gs_node *n, kind what, const char *path)
{
    const char *at = step(e) ? cut_after(path, gs_node_path_name(n)) : NULL;
    const pgy_gs_graph *f = at ? callee(e, n) : NULL;
    if (f && (*at ? leads(e, f, what, at) : what == LEVEL)) return true;
    for (size_t k = 0; at && k < n->attribute_count; k++) {
        const pgy_gs_attribute *a = &n->attributes[k];
        const char *next = a->graph_count ? cut_after(at, a->name) : NULL;
        for (size_t j = 0; next && j < a->graph_count; j++)
            if (*next ? leads(e, a->graphs[j], what, next) : what == LEVEL) return true;
    }
    return false;
}

/* True if the path leads from this level to such an item. */
static bool leads(entry *e, const pgy_gs_graph *g, kind what, const char *path)
{
    bool found = holds(e, g, what, path);
    if (found || e->depth == MAX_DEPTH) return found;
    e->depth++;
    for (size_t i = 0; !found && i < g->node_count; i++)
        found = node_leads(e, g->nodes[i], what, path);
    e->depth--;
    return found;
}

/* Calls whose function's body has an item. */
typedef struct found_calls {
    kind what;
    const char *name;
    const char *paths[SHOWN_CALLS]; /* the first ones */
    size_t count;
} found_calls;

static void find_calls(entry *e, found_calls *out, const pgy_gs_graph *g);

static void find_in_node(entry *e, found_calls *out, const pgy_gs_node *n)
{
    const pgy_gs_graph *f = step(e) ? callee(e, n) : NULL;
    if (!f && !gs_has_subgraphs(n)) return;
    const size_t size = push(e, gs_node_path_name(n));
    if (f && holds(e, f, out->what, out->name)) {
        if (out->count < SHOWN_CALLS)
            out->paths[out->count] = arena_strdup(e->memory, str_text(&e->path));
        out->count++;
    }
    if (f) find_calls(e, out, f);
    for (size_t k = 0; k < n->attribute_count; k++) {
        const pgy_gs_attribute *a = &n->attributes[k];
        const size_t here = push(e, a->name);
        for (size_t j = 0; j < a->graph_count; j++) find_calls(e, out, a->graphs[j]);
        pop(e, here);
    }
    pop(e, size);
}

static void find_calls(entry *e, found_calls *out, const pgy_gs_graph *g)
{
    if (e->depth == MAX_DEPTH) return;
    e->depth++;
    for (size_t i = 0; i < g->node_count; i++) find_in_node(e, out, g->nodes[i]);
    e->depth--;
}

/* ---- Entering -------------------------------------------------------------------------------- */

/* The end of a path. */
typedef struct place {
    bool found, is_call; /* is_call: the path named a function's body, which is inlined now */
    const char *rest;    /* the path in `level` */
    const char *tensor;  /* its name */
    pgy_gs_graph *level;
} place;

static pgy_status note_outer(entry *e, const char *call, const char *name, const char *outer,
                             pgy_error *err)
{
    const char *path = join(e, call, name), *kept = arena_strdup(e->memory, outer);
    if (!*outer || (path && strmap_has(&e->outer, path))) return PGY_OK;
    return path && kept && strmap_put(&e->outer, path, (void *)kept) ? PGY_OK : gs_no_memory(err);
}

/* Inlines a call, and notes which tensors around the call its function's inputs and outputs are. */
static pgy_status enter_call(entry *e, pgy_gs_node *n, pgy_error *err)
{
    const pgy_gs_graph *f = callee(e, n);
    const char *call = gs_node_path_name(n);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < f->input_count && i < n->input_count; i++)
        st = note_outer(e, call, f->inputs[i]->name, n->inputs[i]->name, err);
    for (size_t i = 0; !st && i < f->output_count && i < n->output_count; i++)
        st = note_outer(e, call, f->outputs[i]->name, n->outputs[i]->name, err);
    e->changed = true;
    return st ? st : gs_inline_call_by_path(n, err);
}

static pgy_status go(place *out, entry *e, pgy_gs_graph *g, kind what, const char *path,
                     pgy_error *err);

static pgy_status go_by_node(place *out, entry *e, pgy_gs_node *n, kind what, const char *path,
                             pgy_error *err)
{
    const char *at = cut_after(path, gs_node_path_name(n));
    const pgy_gs_graph *f = at ? callee(e, n) : NULL;
    pgy_gs_graph *g = n->graph;
    if (f && (*at ? leads(e, f, what, at) : what == LEVEL)) {
        const pgy_status st = enter_call(e, n, err);
        if (st || *at) return st ? st : go(out, e, g, what, path, err);
        *out = (place){.found = true, .is_call = true, .rest = path, .level = g};
        return PGY_OK;
    }
    for (size_t k = 0; at && !out->found && k < n->attribute_count; k++) {
        const pgy_gs_attribute *a = &n->attributes[k];
        const char *next = a->graph_count ? cut_after(at, a->name) : NULL;
        for (size_t j = 0; next && j < a->graph_count; j++) {
            if (*next && leads(e, a->graphs[j], what, next))
                return go(out, e, a->graphs[j], what, next, err);
            if (*next || what != LEVEL) continue;
            *out = (place){.found = true, .rest = next, .level = a->graphs[j]};
            return PGY_OK;
        }
    }
    return PGY_OK;
}

/* Follows a path that leads to an item, and inlines the calls on the way. */
static pgy_status go(place *out, entry *e, pgy_gs_graph *g, kind what, const char *path,
                     pgy_error *err)
{
    const char *outer = what == TENSOR ? strmap_get(&e->outer, path) : NULL;
    pgy_status st = PGY_OK;
    if (outer || holds(e, g, what, path)) {
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

/* ---- Names alone ----------------------------------------------------------------------------- */

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
        pgy_error_set(err, PGY_E_ARGUMENT, "%s '%s' is in the bodies of %zu calls; %s %s",
                      WHAT[calls->what], calls->name, calls->count,
                      module ? "choose one as the subgraph:" : "write one of", str_text(&list));
    str_deinit(&list);
    return st;
}

/* The call whose body has the name. *path NULL: no call; several calls are an error. */
static pgy_status find_one(const char **path, entry *e, kind what, const char *name, pgy_error *err)
{
    found_calls calls = {.what = what, .name = name};
    *path = NULL;
    str_clear(&e->path);
    find_calls(e, &calls, e->level);
    if (e->path.failed || (calls.count && !calls.paths[0])) return gs_no_memory(err);
    if (calls.count > 1) return several_calls(&calls, err);
    if (calls.count) *path = calls.paths[0];
    return PGY_OK;
}

/* The error for a path into a call whose function has no such node. */
static pgy_status check_body(entry *e, const char *path, pgy_error *err)
{
    for (size_t i = 0; i < e->level->node_count; i++) {
        const pgy_gs_node *n = e->level->nodes[i];
        const char *rest = cut_after(path, gs_node_path_name(n));
        const pgy_gs_graph *f = rest && *rest ? callee(e, n) : NULL;
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
    if (leads(e, e->level, NODE, *name)) return go(&end, e, e->level, NODE, *name, err);
    const pgy_status st = find_one(&call, e, NODE, *name, err);
    if (st || !call) return st ? st : check_body(e, *name, err);
    *name = join(e, call, *name);
    return *name ? go(&end, e, e->level, NODE, *name, err) : gs_no_memory(err);
}

/* ---- Tensors, levels ------------------------------------------------------------------------- */

/* The part of a path that leads to the graph at its end; NULL: that is the top graph, or out of
 * memory. */
static const char *level_of_path(entry *e, const char *path, const place *end)
{
    const size_t size = strlen(path) - strlen(end->rest);
    return size ? arena_strndup(e->memory, path, size - (*end->rest != '\0')) : NULL;
}

/* Names are looked up in the graph at the end of the path from now on; if that is a function's
 * body, in the graph with the call. */
static pgy_status enter_level(entry *e, pgy_cut_selection *s, const char *path, pgy_error *err)
{
    place end = {0};
    const pgy_status st = go(&end, e, e->level, LEVEL, path, err);
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
    if (!strmap_has(&e->outer, path) && !leads(e, e->level, TENSOR, path)) {
        st = find_one(&call, e, TENSOR, path, err);
        if (st || !call) return st;
        path = join(e, call, path);
        if (!path) return gs_no_memory(err);
    }
    st = go(&end, e, e->level, TENSOR, path, err);
    if (st || !end.found) return st;
    *name = end.tensor;
    if (end.level == e->level || s->subgraph) return PGY_OK;
    e->level = end.level;
    s->subgraph = level_of_path(e, path, &end);
    return s->subgraph ? PGY_OK : gs_no_memory(err);
}

/* ---- Patterns and modules -------------------------------------------------------------------- */

/* True if the path of a node in the bodies behind a call fits. */
static bool fits_inside(entry *e, const pgy_gs_node *call, const char *pattern, const char *module)
{
    const pgy_gs_graph *f = callee(e, call);
    const size_t size = push(e, gs_node_path_name(call));
    bool fits = false;
    e->depth++;
    for (size_t i = 0; f && !fits && step(e) && i < f->node_count; i++) {
        const size_t outer = push(e, gs_node_path_name(f->nodes[i]));
        const char *here = str_text(&e->path);
        fits = pattern ? str_match_wildcard(pattern, here) : cut_is_under(here, module);
        pop(e, outer);
        if (!fits && e->depth < MAX_DEPTH) fits = fits_inside(e, f->nodes[i], pattern, module);
    }
    e->depth--;
    pop(e, size);
    return fits;
}

/* Inlines the calls of the level that contain a fitting node. */
static pgy_status enter_fitting(entry *e, const char *pattern, const char *module, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < e->level->node_count;) {
        pgy_gs_node *n = e->level->nodes[i];
        str_clear(&e->path);
        if (callee(e, n) && fits_inside(e, n, pattern, module))
            st = enter_call(e, n, err);
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
        if (!leads(e, e->level, LEVEL, path)) continue;
        const pgy_status st = go(&at, e, e->level, LEVEL, path, err);
        if (st || !at.is_call) return st;
        break;
    }
    return fits_level(e->level, pattern) ? PGY_OK : enter_fitting(e, pattern, NULL, err);
}

/* Enters the call whose body has the nodes of a module. */
static pgy_status enter_its_call(entry *e, pgy_cut_selection *s, const char **name,
                                 const char *module, pgy_error *err)
{
    const char *call;
    place end = {0};
    pgy_status st = find_one(&call, e, MODULE, module, err);
    if (!st && call) st = go(&end, e, e->level, LEVEL, call, err);
    if (st || !end.found) return st;
    if (end.level != e->level) s->subgraph = level_of_path(e, call, &end);
    e->level = end.level;
    if (!holds(e, e->level, MODULE, module)) *name = join(e, end.rest, module);
    return *name ? PGY_OK : gs_no_memory(err);
}

static pgy_status enter_module(entry *e, pgy_cut_selection *s, const char **name, pgy_error *err)
{
    const char *module = cut_normalise(e->memory, *name);
    const char *alone = e->inside ? *name + strlen(e->inside) : module;
    if (e->inside) alone = cut_normalise(e->memory, alone);
    if (!module || !alone) return gs_no_memory(err);
    if (holds(e, e->level, MODULE, module)) return PGY_OK;
    if (e->inside && holds(e, e->level, MODULE, alone)) {
        *name = alone;
        return PGY_OK;
    }
    const pgy_status st = enter_fitting(e, NULL, module, err);
    if (st || s->subgraph || e->inside || holds(e, e->level, MODULE, module)) return st;
    return enter_its_call(e, s, name, module, err);
}

/* ---- The selection --------------------------------------------------------------------------- */

typedef pgy_status (*enter_name)(entry *e, pgy_cut_selection *s, const char **name, pgy_error *err);

static pgy_status enter_any_node(entry *e, pgy_cut_selection *s, const char **name, pgy_error *err)
{
    (void)s;
    return cut_is_pattern(*name) && !leads(e, e->level, NODE, *name) ? enter_pattern(e, *name, err)
                                                                     : enter_node(e, name, err);
}

/* Names in the body of a call are paths in the graph around the call. */
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
    if (s->subgraph && leads(e, e->top, LEVEL, s->subgraph))
        st = enter_level(e, s, s->subgraph, err);
    if (!st) st = enter_each(&s->nodes, s->node_count, e, s, enter_any_node, err);
    if (!st) st = enter_each(&s->modules, s->module_count, e, s, enter_module, err);
    if (!st) st = enter_each(&s->from, s->from_count, e, s, enter_tensor, err);
    if (!st) st = enter_each(&s->to, s->to_count, e, s, enter_tensor, err);
    if (!st && e->path.failed) st = gs_no_memory(err);
    if (!st && !e->steps)
        st = pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "the search stopped after %d nodes in bodies of functions; write the path of a call",
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

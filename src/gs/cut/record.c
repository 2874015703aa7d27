/* SPDX-License-Identifier: Apache-2.0 */
/* Records the values of a part's inputs and outputs. The whole model runs by the operators'
 * definitions. The part's graph may run often, in loops; values are kept of its first run, or of
 * its run in the iterations that the caller gave for the loops around it. */
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "evaluate/execute.h"
#include "evaluate/interface.h"
#include "gs/cut/cut.h"
#include "tensor/elements.h"

enum { MAX_LEVELS = GRAPH_MAX_DEPTH + 1 };

/* The part's graph, or a graph around it. */
typedef struct around {
    const pgy_graph *graph;
    const pgy_node *loop; /* the Loop, Scan or SequenceMap with this body; NULL: none */
    int64_t wanted;       /* the iteration to record; -1: the first that runs */
    int64_t runs;         /* number of runs since the graph around it began to run */
    int64_t most;         /* largest `runs` while the outer loops are in wanted iterations */
} around;

typedef struct recording {
    const pgy_cut *c;
    pgy_tensor_map *values; /* recorded values by name; names of one graph's values are unique */
    strmap kept;            /* names of recorded values, and of empty optionals */
    around levels[MAX_LEVELS];
    size_t level_count; /* number of levels; levels[0] is the main graph */
    bool runs, ran;     /* runs: the part's graph is in the run to record; ran: that run began */
} recording;

/* ---- Choosing the run to record -------------------------------------------------------------- */

static bool is_loop(const pgy_node *n)
{
    return n && (node_is(n, "Loop") || node_is(n, "Scan") || node_is(n, "SequenceMap"));
}

static pgy_status find_levels(recording *r, pgy_error *err)
{
    const pgy_cut *c = r->c;
    const pgy_node *last = NULL;
    size_t loops = 0;
    for (const pgy_graph *g = c->level; g; g = g->parent) r->level_count++;
    if (r->level_count > MAX_LEVELS)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the part is inside of %zu nested subgraphs; at most %d are supported",
                             r->level_count - 1, MAX_LEVELS - 1);
    const pgy_graph *g = c->level;
    for (size_t i = r->level_count; i-- > 0; g = g->parent) {
        const pgy_node *owner = level_of(g)->owner;
        r->levels[i] = (around){.graph = g, .loop = is_loop(owner) ? owner : NULL, .wanted = -1};
    }
    for (size_t i = 0; i < r->level_count; i++) {
        if (!r->levels[i].loop) continue;
        last = r->levels[i].loop;
        if (loops < c->iteration_count) r->levels[i].wanted = c->iterations[loops];
        loops++;
    }
    if (c->iteration_count <= loops) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "iterations are given for %zu loop%s, but the part is inside of %zu%s%s%s",
                         c->iteration_count, c->iteration_count == 1 ? "" : "s", loops,
                         last ? ": the innermost is '" : "", last ? node_label(last) : "",
                         last ? "'" : "");
}

/* Counts a run of levels[at]. True if this graph and all graphs around it are in their wanted
 * iterations. */
static bool is_time(recording *r, size_t at)
{
    bool outer = true;
    for (size_t i = 0; i < at; i++)
        if (r->levels[i].wanted >= 0 && r->levels[i].runs - 1 != r->levels[i].wanted) outer = false;
    around *a = &r->levels[at];
    a->runs++;
    if (outer && a->runs > a->most) a->most = a->runs;
    for (size_t i = at + 1; i < r->level_count; i++) r->levels[i].runs = 0;
    return outer && (a->wanted < 0 || a->runs - 1 == a->wanted);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static pgy_status keep(recording *r, const pgy_value *v, const op_tensor *value, pgy_error *err)
{
    if (strmap_has(&r->kept, v->name)) return PGY_OK;
    if (!strmap_put(&r->kept, v->name, NULL)) return graph_no_memory(err);
    return interface_take(r->values, v, value, err);
}

static bool is_listed(const value_list *list, const pgy_value *v)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == v) return true;
    return false;
}

static bool is_border(const pgy_cut *c, const pgy_value *v)
{
    return is_listed(&c->inputs, v) || is_listed(&c->outputs, v);
}

/* Records the listed values that exist before the first node of the part's graph runs: captured
 * values, inputs and constants. */
static pgy_status keep_present(recording *r, const value_list *list, execute_level *level,
                               pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < list->count; i++) {
        op_tensor value;
        st = execute_value(&value, level, list->items[i], err);
        if (!st && (value.value || value.sequence)) st = keep(r, list->items[i], &value, err);
    }
    return st;
}

static pgy_status begin(const pgy_graph *g, execute_level *level, void *user, pgy_error *err)
{
    recording *r = user;
    size_t at = 0;
    while (at < r->level_count && r->levels[at].graph != g) at++;
    if (at == r->level_count) return PGY_OK;
    const bool now = is_time(r, at);
    if (g != r->c->level) return PGY_OK;
    r->runs = now && !r->ran;
    r->ran = r->ran || now;
    pgy_status st = r->runs ? keep_present(r, &r->c->inputs, level, err) : PGY_OK;
    return st || !r->runs ? st : keep_present(r, &r->c->outputs, level, err);
}

static pgy_status note(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                       pgy_error *err)
{
    recording *r = user;
    pgy_status st = PGY_OK;
    (void)inputs;
    for (size_t i = 0; !st && r->runs && n->graph == r->c->level && i < n->output_count; i++)
        if (n->outputs[i] && is_border(r->c, n->outputs[i]))
            st = keep(r, n->outputs[i], &outputs[i], err);
    return st;
}

static pgy_status run(recording *r, const pgy_tensor_map *feed, pgy_error *err)
{
    const execute_watch watch = {.ran = note, .user = r, .begins = begin};
    const execute_limits limits = {.max_bytes = memory_limit_bytes(), .watch = &watch};
    pgy_graph *g = r->c->graph;
    graph_plan plan = {0};
    pgy_tensor_map *results = NULL;
    pgy_status st = plan_build(&plan, g, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = pgy_tensor_map_create(&results, err);
    if (!st)
        st = execute_graph(&plan, g, feed, results, true, &limits,
                           err); /* true: the model's precision, in which values are saved */
    pgy_tensor_map_destroy(results);
    graph_plan_deinit(&plan);
    return st;
}

static pgy_status never_ran(const recording *r, pgy_error *err)
{
    str path = {0};
    for (size_t i = 0; i < r->level_count; i++) {
        const around *a = &r->levels[i];
        if (!a->loop || a->wanted < a->most) continue;
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "loop '%s' around the part runs %lld time%s with these inputs, so "
                             "iteration %lld does not exist",
                             node_label(a->loop), (long long)a->most, a->most == 1 ? "" : "s",
                             (long long)a->wanted);
    }
    level_path(&path, r->c->level);
    const pgy_status st =
        pgy_error_set(err, PGY_E_NOT_FOUND, "'%s' never runs with these inputs%s", str_text(&path),
                      r->c->iteration_count ? " in this iteration" : "");
    str_deinit(&path);
    return st;
}

/* Copies a tensor, or the elements of a sequence, to `out`. *found: `from` has the value. */
static pgy_status collect_value(bool *found, pgy_tensor_map *out, const char *name,
                                const pgy_tensor_map *from, pgy_error *err)
{
    pgy_tensor *t = pgy_tensor_map_find(from, name);
    pgy_status st = t ? pgy_tensor_map_set(out, name, t, err) : PGY_OK;
    *found = t;
    for (size_t i = 0; !t && !st && i < pgy_tensor_map_count(from); i++) {
        const char *element = pgy_tensor_map_name(from, i);
        if (!elements_belongs(element, name)) continue;
        *found = true;
        st = pgy_tensor_map_set(out, element, pgy_tensor_map_at(from, i), err);
    }
    return st;
}

/* Collects the values of the part's inputs, or of its outputs, in a new map. An input of the model
 * has the value in `feed`. */
static pgy_status collect(pgy_tensor_map **out, const recording *r, const value_list *list,
                          const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor_map *map = NULL;
    pgy_status st = pgy_tensor_map_create(&map, err);
    for (size_t i = 0; !st && i < list->count; i++) {
        const pgy_value *v = list->items[i];
        bool found = false;
        if (v->is_input && !v->graph->parent) st = collect_value(&found, map, v->name, feed, err);
        if (!st && !found) st = collect_value(&found, map, v->name, r->values, err);
        if (!st && !found && !strmap_has(&r->kept, v->name))
            st = pgy_error_set(
                err, PGY_E_NOT_FOUND,
                "the run with these inputs does not compute '%s', an input or output of the part",
                v->name);
    }
    if (!st) {
        *out = map;
        map = NULL;
    }
    pgy_tensor_map_destroy(map);
    return st;
}

pgy_status pgy_cut_record(pgy_tensor_map **inputs, pgy_tensor_map **outputs, pgy_cut *c,
                          const pgy_tensor_map *feed, pgy_error *err)
{
    recording r = {.c = c};
    pgy_tensor_map *before = NULL;
    if (!inputs || !outputs || !c || !feed)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the maps, the cut and the feed must not be NULL");
    pgy_status st = find_levels(&r, err);
    if (!st) st = pgy_tensor_map_create(&r.values, err);
    if (!st) st = run(&r, feed, err);
    if (!st && !r.ran) st = never_ran(&r, err);
    if (!st) st = collect(&before, &r, &c->inputs, feed, err);
    if (!st) st = collect(outputs, &r, &c->outputs, feed, err);
    if (!st) {
        *inputs = before;
        before = NULL;
    }
    pgy_tensor_map_destroy(before);
    pgy_tensor_map_destroy(r.values);
    strmap_deinit(&r.kept);
    return st;
}

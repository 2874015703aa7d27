/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites, measured while the rewritten model runs. A region is what lies between the output of a
 * rewrite and the values that both graphs have: its nodes before and after. When the run comes to
 * the output, the values that the region starts from have been seen; the nodes that were replaced
 * are computed from them, and the two outputs compared. Values are held from when they are made
 * until the last region that needs them is done, so memory stays that of a run. */
#include "transform/simplify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "evaluate/interface.h"

enum { MAX_NODES = 4096, MAX_EDGE_ELEMENTS = 1 << 22 };

/* A value that regions start from, as it is in the run. */
typedef struct source {
    pgy_value *value; /* of the graph after */
    op_tensor held;
    size_t users, pending; /* regions; those to come in this run */
} source;

typedef struct node_list {
    pgy_node **items;
    size_t count, capacity;
} node_list;

typedef struct region {
    simplify_rewrite *rewrite;
    pgy_value *before, *after;      /* the output in both graphs */
    node_list old_nodes, new_nodes; /* in an order in which they can run */
    size_t *sources;                /* into simplify_regions.sources */
    size_t source_count, source_capacity;
    bool tried_edges;
    bool done; /* in this run */
} region;

struct simplify_regions {
    pgy_graph *before, *after;
    arena memory, plans;
    region *regions;
    size_t count;
    source *sources;
    size_t source_count, source_capacity;
    execute_limits limits;
};

bool simplify_rewrite_lives(const simplify_rewrite *r)
{
    const pgy_value *v = r->output;
    return v && v->producer && v->producer->graph && (v->consumer_count || v->is_output);
}

/* ---- Finding regions ------------------------------------------------------------------------ */

static pgy_graph *level_like(const pgy_graph *level, const pgy_graph *other)
{
    const graph_state *s = state_of(level), *to = state_of(other);
    for (size_t i = 0; i < s->level_count && i < to->level_count; i++)
        if (s->levels[i] == level) return to->levels[i];
    return NULL;
}

static bool is_weight(const pgy_value *v)
{
    return v->initializer || v->sparse || (v->producer && node_constant(v->producer));
}

/* The same value in the other graph, if that still computes it. */
static pgy_value *twin_of(const pgy_value *v, const pgy_graph *other)
{
    const pgy_graph *level = level_like(v->graph, other);
    pgy_value *twin = level ? strmap_get(&level_of(level)->values, v->name) : NULL;
    if (!twin || is_weight(twin)) return NULL;
    const pgy_node *maker = twin->producer;
    if (v->producer && !(maker && maker->graph)) return NULL;
    return twin;
}

static pgy_status add_node(node_list *list, pgy_node *n, arena *memory, pgy_error *err)
{
    if (list->count == list->capacity) {
        const size_t wanted = list->capacity ? 2 * list->capacity : 16;
        pgy_node **items = arena_alloc_array(memory, wanted, sizeof *items);
        if (!items) return graph_no_memory(err);
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = wanted;
    }
    list->items[list->count++] = n;
    return PGY_OK;
}

static pgy_status find_source(size_t *out, simplify_regions *r, pgy_value *v, pgy_error *err)
{
    size_t i = box_of(v)->scratch;
    if (i < r->source_count && r->sources[i].value == v) {
        *out = i;
        return PGY_OK;
    }
    void *sources = r->sources;
    if (!mem_grow(&sources, &r->source_capacity, r->source_count + 1, sizeof *r->sources))
        return graph_no_memory(err);
    r->sources = sources;
    i = r->source_count++;
    r->sources[i] = (source){.value = v};
    box_of(v)->scratch = *out = i;
    return PGY_OK;
}

static pgy_status add_source(simplify_regions *r, region *to, pgy_value *v, pgy_error *err)
{
    size_t i = 0;
    const pgy_status st = find_source(&i, r, v, err);
    if (st) return st;
    for (size_t k = 0; k < to->source_count; k++)
        if (to->sources[k] == i) return PGY_OK;
    if (to->source_count == to->source_capacity) {
        const size_t wanted = to->source_capacity ? 2 * to->source_capacity : 8;
        size_t *sources = arena_alloc_array(&r->memory, wanted, sizeof *sources);
        if (!sources) return graph_no_memory(err);
        if (to->source_count) memcpy(sources, to->sources, to->source_count * sizeof *sources);
        to->sources = sources;
        to->source_capacity = wanted;
    }
    to->sources[to->source_count++] = i;
    r->sources[i].users++;
    return PGY_OK;
}

/* The nodes of one graph that make v, from the sources on. */
static pgy_status walk(simplify_regions *r, region *to, node_list *list, pgy_value *v, bool old,
                       pgy_error *err)
{
    pgy_node *n = v->producer;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == n) return PGY_OK;
    if (!n || list->count >= MAX_NODES || n->subgraph_count)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "what was replaced cannot be computed alone");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->input_count; i++) {
        pgy_value *x = n->inputs[i];
        if (!x || is_weight(x)) continue;
        pgy_value *twin = x == v ? NULL : twin_of(x, old ? r->after : r->before);
        if (twin)
            st = add_source(r, to, old ? twin : x, err);
        else
            st = walk(r, to, list, x, old, err);
    }
    return st ? st : add_node(list, n, &r->memory, err);
}

static void fail(simplify_rewrite *w, arena *memory, double error, const char *reason)
{
    w->failed = true;
    w->error = error;
    w->reason = arena_strdup(memory, reason);
    if (!w->reason) w->reason = "out of memory";
}

static pgy_status build(simplify_regions *r, region *to, pgy_error *err)
{
    simplify_rewrite *w = to->rewrite;
    pgy_error why = {0};
    to->after = w->output;
    to->before = twin_of(w->output, r->before);
    pgy_status st = to->before ? walk(r, to, &to->old_nodes, to->before, true, &why)
                               : pgy_error_set(&why, PGY_E_UNSUPPORTED, "its output is new");
    if (!st) st = walk(r, to, &to->new_nodes, to->after, false, &why);
    if (st == PGY_E_MEMORY) return graph_no_memory(err);
    if (st) fail(w, &state_of(r->after)->memory, -1, why.text);
    return PGY_OK;
}

pgy_status simplify_regions_create(simplify_regions **out, pgy_graph *before, pgy_graph *after,
                                   simplify_rewrite *rewrites, size_t count, uint64_t max_steps,
                                   pgy_error *err)
{
    simplify_regions *r = mem_calloc(1, sizeof *r);
    if (!r) return graph_no_memory(err);
    *r = (simplify_regions){.before = before,
                            .after = after,
                            .limits = {.max_bytes = memory_limit_bytes(), .max_steps = max_steps}};
    r->regions = arena_alloc_array(&r->memory, count + 1, sizeof *r->regions);
    pgy_status st = r->regions ? PGY_OK : graph_no_memory(err);
    for (size_t i = 0; !st && i < count; i++) {
        if (!simplify_rewrite_lives(&rewrites[i])) continue;
        region *to = &r->regions[r->count];
        to->rewrite = &rewrites[i];
        st = build(r, to, err);
        if (!st && !to->rewrite->failed) r->count++;
    }
    if (!st) st = plan_build(after, &r->plans, err);
    if (!st) st = pgy_graph_infer_shapes(after, NULL, err);
    if (st)
        simplify_regions_destroy(r);
    else
        *out = r;
    return st;
}

static void release_all(simplify_regions *r)
{
    for (size_t i = 0; i < r->source_count; i++) op_tensor_release(&r->sources[i].held);
}

void simplify_regions_destroy(simplify_regions *r)
{
    if (!r) return;
    release_all(r);
    plan_clear(state_of(r->after));
    mem_free(r->sources);
    arena_deinit(&r->memory);
    arena_deinit(&r->plans);
    mem_free(r);
}

/* ---- Computing a region --------------------------------------------------------------------- */

/* Values of the nodes of a region while they are computed. */
typedef struct scope {
    const pgy_value **values;
    op_tensor *held;
    size_t count;
} scope;

static const op_tensor *scope_find(const scope *s, const pgy_value *v)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->values[i] == v) return &s->held[i];
    return NULL;
}

/* A borrowed value: a source, what a node of the region made, or a weight, which is kept in scope.
 */
static pgy_status fetch(op_tensor *out, scope *s, const simplify_regions *r, const region *from,
                        const op_tensor *sources, pgy_value *v, pgy_error *err)
{
    const op_tensor *known = v ? scope_find(s, v) : NULL;
    *out = (op_tensor){0};
    if (known) *out = *known;
    if (!v || known) return PGY_OK;
    if (is_weight(v)) {
        pgy_tensor *stored = NULL;
        op_tensor made = {0};
        pgy_status st = pgy_graph_value_data(&stored, v, err);
        if (!st) st = op_to_storage(&made.value, stored, err);
        if (!st) {
            made.dtype = pgy_tensor_dtype(stored);
            s->values[s->count] = v;
            s->held[s->count++] = *out = made;
        }
        pgy_tensor_release(stored);
        return st;
    }
    for (size_t i = 0; i < from->source_count; i++) {
        const pgy_value *start = r->sources[from->sources[i]].value;
        if (start != v && twin_of(v, r->after) != start) continue;
        *out = sources[i];
        return PGY_OK;
    }
    return pgy_error_set(err, PGY_E_INTERNAL, "value '%s' is in no region", v->name);
}

static pgy_status run_node(scope *s, const simplify_regions *r, const region *from,
                           const op_tensor *sources, pgy_node *n, arena *memory, pgy_error *err)
{
    op_tensor *in = arena_alloc_array(memory, n->input_count + 1, sizeof *in);
    op_tensor *out = arena_alloc_array(memory, n->output_count + 1, sizeof *out);
    pgy_status st = in && out ? PGY_OK : graph_no_memory(err);
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = fetch(&in[i], s, r, from, sources, n->inputs[i], err);
    if (!st) st = execute_node(n, in, NULL, out, false, &r->limits, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        if (!n->outputs[i]) {
            op_tensor_release(&out[i]);
            continue;
        }
        s->values[s->count] = n->outputs[i];
        s->held[s->count++] = out[i];
    }
    return st;
}

/* The value of `wanted` from those of the sources; the caller releases it. */
static pgy_status compute(op_tensor *out, const simplify_regions *r, const region *from,
                          const node_list *nodes, const pgy_value *wanted, const op_tensor *sources,
                          pgy_error *err)
{
    arena memory = {0};
    scope s = {0};
    size_t room = 1;
    for (size_t i = 0; i < nodes->count; i++)
        room += nodes->items[i]->input_count + nodes->items[i]->output_count;
    s.values = arena_alloc_array(&memory, room, sizeof *s.values);
    s.held = arena_alloc_array(&memory, room, sizeof *s.held);
    pgy_status st = s.values && s.held ? PGY_OK : graph_no_memory(err);
    for (size_t i = 0; !st && i < nodes->count; i++)
        st = run_node(&s, r, from, sources, nodes->items[i], &memory, err);
    const op_tensor *found = st ? NULL : scope_find(&s, wanted);
    if (found) *out = op_tensor_retain(found);
    for (size_t i = 0; i < s.count; i++) op_tensor_release(&s.held[i]);
    arena_deinit(&memory);
    if (!st && !found)
        st = pgy_error_set(err, PGY_E_INTERNAL, "value '%s' was not computed", wanted->name);
    return st;
}

/* ---- Judging -------------------------------------------------------------------------------- */

static void judge(const simplify_regions *r, region *of, const op_tensor *before,
                  const op_tensor *after, const char *where, bool lenient)
{
    simplify_rewrite *w = of->rewrite;
    char text[256];
    double error = INFINITY;
    if (before->value && after->value && before->dtype == after->dtype)
        error = simplify_distance(before->value, after->value, before->dtype, lenient);
    if (error > w->error) w->error = error;
    if (error <= PGY_SIMPLIFY_REWRITE_UNITS || w->failed) return;
    if (isinf(error))
        snprintf(text, sizeof text,
                 "its output would be of another kind %s: shape, or what is finite", where);
    else
        snprintf(text, sizeof text, "its output would change by %.3g units %s; the bound is %g",
                 error, where, PGY_SIMPLIFY_REWRITE_UNITS);
    fail(w, &state_of(r->after)->memory, error, text);
}

/* What a region is tried on besides what comes: nothing, little, much, of both signs. */
static const struct {
    double factor;
    const char *text;
} EDGES[] = {{0, "for zeros"},
             {1e-4, "for small values"},
             {-3, "for values of the other sign"},
             {64, "for large values"}};

static pgy_status scaled(op_tensor *out, const op_tensor *t, double factor, pgy_error *err)
{
    if (!t->value || pgy_tensor_dtype(t->value) != PGY_F64) {
        *out = op_tensor_retain(t);
        return PGY_OK;
    }
    pgy_tensor *made = NULL;
    const pgy_status st = pgy_tensor_copy(&made, pgy_tensor_view(t->value), err);
    if (st) return st;
    double *x = op_f64(made);
    for (size_t i = 0; i < pgy_tensor_count(made); i++)
        if (isfinite(x[i])) x[i] *= factor;
    *out = (op_tensor){.dtype = t->dtype, .value = made};
    return PGY_OK;
}

static pgy_status try_edge(simplify_regions *r, region *of, const op_tensor *sources, size_t edge,
                           pgy_error *err)
{
    op_tensor *changed = mem_calloc(of->source_count + 1, sizeof *changed), before = {0},
              after = {0};
    pgy_error why = {0};
    if (!changed) return graph_no_memory(err);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < of->source_count; i++)
        st = scaled(&changed[i], &sources[i], EDGES[edge].factor, &why);
    if (!st) st = compute(&before, r, of, &of->old_nodes, of->before, changed, &why);
    /* What the model cannot compute it does not have to compute afterwards. */
    if (!st) {
        st = compute(&after, r, of, &of->new_nodes, of->after, changed, &why);
        if (!st)
            judge(r, of, &before, &after, EDGES[edge].text, true);
        else
            fail(of->rewrite, &state_of(r->after)->memory, INFINITY, why.text);
    }
    for (size_t i = 0; i < of->source_count; i++) op_tensor_release(&changed[i]);
    op_tensor_release(&before);
    op_tensor_release(&after);
    mem_free(changed);
    return st == PGY_E_MEMORY ? graph_no_memory(err) : PGY_OK;
}

static bool is_small(const region *of, const op_tensor *sources)
{
    size_t count = 0;
    for (size_t i = 0; i < of->source_count; i++)
        if (sources[i].value) count += pgy_tensor_count(sources[i].value);
    return count <= MAX_EDGE_ELEMENTS;
}

static pgy_status measure(simplify_regions *r, region *of, const op_tensor *after, pgy_error *err)
{
    op_tensor *sources = mem_calloc(of->source_count + 1, sizeof *sources), before = {0};
    pgy_error why = {0};
    if (!sources) return graph_no_memory(err);
    for (size_t i = 0; i < of->source_count; i++) sources[i] = r->sources[of->sources[i]].held;
    pgy_status st = compute(&before, r, of, &of->old_nodes, of->before, sources, &why);
    if (!st) judge(r, of, &before, after, "on the inputs", false);
    if (!st) of->rewrite->measured++;
    op_tensor_release(&before);
    const size_t edges =
        of->tried_edges || !is_small(of, sources) ? 0 : sizeof EDGES / sizeof *EDGES;
    of->tried_edges = true;
    for (size_t i = 0; !st && i < edges && !of->rewrite->failed; i++)
        st = try_edge(r, of, sources, i, err);
    mem_free(sources);
    if (st == PGY_E_MEMORY) return graph_no_memory(err);
    if (st) fail(of->rewrite, &state_of(r->after)->memory, -1, why.text);
    return PGY_OK;
}

/* ---- The run -------------------------------------------------------------------------------- */

static source *source_of(simplify_regions *r, const pgy_value *v)
{
    const size_t i = v ? box_of((pgy_value *)v)->scratch : 0;
    return v && i < r->source_count && r->sources[i].value == v ? &r->sources[i] : NULL;
}

static void hold(source *s, const op_tensor *t)
{
    op_tensor_release(&s->held);
    s->held = op_tensor_retain(t);
}

static bool has_sources(const simplify_regions *r, const region *of)
{
    for (size_t i = 0; i < of->source_count; i++) {
        const op_tensor *t = &r->sources[of->sources[i]].held;
        if (!t->value && !t->sequence) return false;
    }
    return true;
}

static pgy_status finish(simplify_regions *r, region *of, const op_tensor *after, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (!of->rewrite->failed && has_sources(r, of)) st = measure(r, of, after, err);
    of->done = true;
    for (size_t i = 0; i < of->source_count; i++) {
        source *s = &r->sources[of->sources[i]];
        if (s->pending && --s->pending == 0) op_tensor_release(&s->held);
    }
    return st;
}

static pgy_status see(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                      pgy_error *err)
{
    simplify_regions *r = user;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < n->input_count; i++) {
        source *s = source_of(r, n->inputs[i]);
        if (s && s->pending && !s->held.value && !s->held.sequence) hold(s, &inputs[i]);
    }
    for (size_t i = 0; i < n->output_count; i++) {
        source *s = source_of(r, n->outputs[i]);
        if (s && s->pending) hold(s, &outputs[i]);
    }
    for (size_t i = 0; !st && i < r->count; i++) {
        region *of = &r->regions[i];
        if (of->after->producer != n || of->done) continue;
        st = finish(r, of, &outputs[of->after->output_index], err);
    }
    return st;
}

/* Inputs of the model, which a rewrite may have cut off. */
static pgy_status hold_inputs(simplify_regions *r, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < r->after->input_count; i++) {
        source *s = source_of(r, r->after->inputs[i]);
        op_tensor t = {0};
        if (!s || !s->pending) continue;
        st = interface_feed(&t, s->value, feed, err);
        if (!st) hold(s, &t);
        op_tensor_release(&t);
    }
    return st;
}

/* The run ended with an error: the first rewrite that it did not come to is to blame. */
static bool blame(simplify_regions *r, const char *text)
{
    region *first = NULL;
    for (size_t i = 0; i < r->count; i++) {
        region *of = &r->regions[i];
        if (of->done || of->rewrite->failed) continue;
        if (!first || of->after->producer->index < first->after->producer->index) first = of;
    }
    if (first) fail(first->rewrite, &state_of(r->after)->memory, -1, text);
    return first != NULL;
}

pgy_status simplify_regions_run(pgy_tensor_map **out, simplify_regions *r,
                                const pgy_tensor_map *feed, pgy_error *err)
{
    const execute_watch watch = {see, r};
    execute_limits limits = r->limits;
    pgy_tensor_map *made = NULL;
    limits.watch = &watch;
    for (size_t i = 0; i < r->source_count; i++) r->sources[i].pending = r->sources[i].users;
    for (size_t i = 0; i < r->count; i++) r->regions[i].done = false;
    *out = NULL;
    pgy_status st = hold_inputs(r, feed, err);
    if (!st) st = pgy_tensor_map_create(&made, err);
    pgy_error why = {0};
    const pgy_status ran = st ? st : execute_graph(r->after, feed, made, false, &limits, &why);
    release_all(r);
    if (!st && !ran) {
        *out = made;
        return PGY_OK;
    }
    pgy_tensor_map_destroy(made);
    if (!st && (ran == PGY_E_MEMORY || !blame(r, why.text)))
        st = pgy_error_set(err, ran, "%s", why.text);
    return st;
}

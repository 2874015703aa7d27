/* SPDX-License-Identifier: Apache-2.0 */
/* Measures rewrites while the rewritten model runs. The region of a rewrite has the original and
 * the new nodes between the rewrite's output and its sources: the nearest values that both graphs
 * compute. Once the run has computed the output, the sources are known, and the rewrite can be
 * measured (simplify_judge.c). Sources are held until the last region that needs them is measured,
 * so memory stays close to that of a run. */
#include "transform/simplify_region.h"

#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "evaluate/interface.h"

enum { MAX_NODES = 4096 };

bool simplify_rewrite_lives(const simplify_rewrite *r)
{
    const pgy_value *v = r->output;
    return v && v->producer && v->producer->graph && (v->consumer_count || v->is_output);
}

/* ---- Finding regions ------------------------------------------------------------------------ */

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
    size_t *place = id_places_at(&r->places, value_id(v));
    if (place && *place) {
        *out = *place - 1;
        return PGY_OK;
    }
    void *sources = r->sources;
    if (!place || !mem_grow(&sources, &r->source_capacity, r->source_count + 1, sizeof *r->sources))
        return graph_no_memory(err);
    r->sources = sources;
    r->sources[r->source_count++] = (source){.value = v};
    *place = r->source_count;
    *out = *place - 1;
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

/* Collects in `list` the nodes of one graph (the original if `old`) that compute v from the
 * sources. */
static pgy_status walk(simplify_regions *r, region *to, node_list *list, pgy_value *v, bool old,
                       pgy_error *err)
{
    pgy_node *n = v->producer;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == n) return PGY_OK;
    if (!n || list->count >= MAX_NODES || n->subgraph_count)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the replaced nodes cannot be computed on their own");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->input_count; i++) {
        pgy_value *x = n->inputs[i];
        if (!x || region_is_weight(x)) continue;
        pgy_value *twin = x == v ? NULL : region_twin(x, old ? r->after : r->before);
        if (twin)
            st = add_source(r, to, old ? twin : x, err);
        else
            st = walk(r, to, list, x, old, err);
    }
    return st ? st : add_node(list, n, &r->memory, err);
}

static pgy_status build(simplify_regions *r, region *to, pgy_error *err)
{
    simplify_rewrite *w = to->rewrite;
    pgy_error why = {0};
    to->after = w->output;
    to->before = region_twin(w->output, r->before);
    pgy_status st = to->before ? walk(r, to, &to->old_nodes, to->before, true, &why)
                               : pgy_error_set(&why, PGY_E_UNSUPPORTED,
                                               "its output does not exist in the original model");
    if (!st) st = walk(r, to, &to->new_nodes, to->after, false, &why);
    if (st == PGY_E_MEMORY) return graph_no_memory(err);
    if (st) region_fail(w, &state_of(r->after)->memory, -1, why.text);
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
    if (!st) st = plan_build(&r->plan, after, err);
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
    mem_free(r->sources);
    arena_deinit(&r->memory);
    graph_plan_deinit(&r->plan);
    id_places_deinit(&r->places);
    mem_free(r);
}

/* ---- The run -------------------------------------------------------------------------------- */

static source *source_of(simplify_regions *r, const pgy_value *v)
{
    const size_t place = v ? id_places_get(&r->places, value_id(v)) : 0;
    return place ? &r->sources[place - 1] : NULL;
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
    if (!of->rewrite->failed && has_sources(r, of)) st = region_measure(r, of, after, err);
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

/* Holds model inputs that are sources, because the rewritten graph may no longer read them. */
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

/* After a failed run, marks the first unmeasured rewrite as failed. */
static bool blame(simplify_regions *r, const char *text)
{
    region *first = NULL;
    for (size_t i = 0; i < r->count; i++) {
        region *of = &r->regions[i];
        if (of->done || of->rewrite->failed) continue;
        if (!first || of->after->producer->index < first->after->producer->index) first = of;
    }
    if (first) region_fail(first->rewrite, &state_of(r->after)->memory, -1, text);
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
    const pgy_status ran =
        st ? st : execute_graph(&r->plan, r->after, feed, made, false, &limits, &why);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Limits tensors whose elements become a size of a data-dependent shape. A Min with the bound
 * follows the producer, and its output takes over the tensor's name. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "transform/fold.h"

static const char LOG_PATH[] = "transform/bounds.c";

/* Operators whose output shape depends on the elements of one input. */
static const struct {
    const char *op;
    size_t input;
} SHAPED_BY_DATA[] = {{"Range", 1}, {"Pad", 1}, {"Resize", 3}, {"Tile", 1}, {"Expand", 1}};

typedef struct bounder {
    pgy_graph *graph;
    folder folder; /* gives access to the graph edits of folding */
    const pgy_upper_bound *bounds;
    size_t count;
    pgy_upper_bound *set;
    size_t set_count;
} bounder;

static bool has_size(const pgy_value *v, const char *name)
{
    for (int32_t d = 0; d < v->rank; d++)
        if (v->dims[d].text && strcmp(v->dims[d].text, name) == 0) return true;
    return false;
}

/* Does a tensor that exists before node n runs have a size of this name? */
static bool is_seen(const pgy_node *n, const char *name)
{
    const strmap *values = &level_of(n->graph)->values;
    for (size_t i = 0; i < values->count; i++) {
        const pgy_value *v = values->entries[i].value;
        if (v->producer ? v->producer->index >= n->index : !v->is_input) continue;
        if (has_size(v, name)) return true;
    }
    return false;
}

/* True if the output has no known shape, or a size that no earlier tensor has. */
static bool has_new_size(const pgy_node *n)
{
    const pgy_value *out = n->output_count ? n->outputs[0] : NULL;
    if (!out || out->rank < 0) return out != NULL;
    for (int32_t d = 0; d < out->rank; d++) {
        const pgy_dim *size = &out->dims[d];
        if (size->value < 0 && (!size->text || !is_seen(n, size->text))) return true;
    }
    return false;
}

static bool is_constant(const pgy_value *v)
{
    return v->initializer || v->sparse || (v->producer && node_is(v->producer, "Constant"));
}

static pgy_value *candidate(const pgy_node *n)
{
    for (size_t i = 0; i < sizeof SHAPED_BY_DATA / sizeof *SHAPED_BY_DATA; i++) {
        if (!node_is(n, SHAPED_BY_DATA[i].op) || SHAPED_BY_DATA[i].input >= n->input_count)
            continue;
        pgy_value *v = n->inputs[SHAPED_BY_DATA[i].input];
        if (!v || v->graph != n->graph || is_constant(v) || !has_new_size(n)) return NULL;
        return v->producer && node_is(v->producer, "Min") ? NULL : v;
    }
    return NULL;
}

static const pgy_upper_bound *bound_of(const bounder *b, const char *name)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->bounds[i].name, name) == 0) return &b->bounds[i];
    return NULL;
}

/* Makes the bound as a scalar of the tensor's type. */
static pgy_status make_limit(pgy_value **out, bounder *b, const pgy_value *v, int64_t bound,
                             pgy_error *err)
{
    char stem[256];
    pgy_tensor *wide = NULL, *t = NULL;
    const pgy_onnx_tensor *stored = NULL;
    pgy_status st = pgy_tensor_create(&wide, PGY_I64, 0, NULL, err);
    if (st) return st;
    *(int64_t *)pgy_tensor_data(wide) = bound;
    st = pgy_tensor_cast(&t, pgy_tensor_view(wide), v->dtype ? v->dtype : PGY_I64, err);
    snprintf(stem, sizeof stem, "%s_upper_bound", v->name);
    pgy_value *limit = st ? NULL : value_create_unique(b->graph, stem, err);
    if (!st && !limit) st = PGY_E_MEMORY;
    if (!st) st = weight_create(&stored, b->folder.graph->model, limit->name, t, err);
    if (!st) st = value_set_weight(limit, stored, err);
    pgy_tensor_release(t);
    pgy_tensor_release(wide);
    *out = limit;
    return st;
}

static void like(pgy_value *to, const pgy_value *from)
{
    to->dtype = from->dtype;
    to->rank = from->rank;
    to->dims = from->dims;
    box_of(to)->known = box_of(to)->declared = box_of((pgy_value *)from)->known;
    box_of(to)->declared.data = box_of(to)->known.data = NULL;
}

/* Puts a Min with the bound behind v. The Min's output takes over v's name, and the producer writes
 * `<name>_copy`; only a graph input keeps its name, and its consumers read the Min's output. */
static pgy_status limit_value(bounder *b, pgy_value *v, int64_t bound, pgy_error *err)
{
    char stem[256];
    pgy_node *made = NULL;
    pgy_value *ends[2] = {NULL, NULL};
    snprintf(stem, sizeof stem, "%s_copy", v->name);
    pgy_value *other = value_create_unique(b->graph, stem, err);
    pgy_status st = other ? make_limit(&ends[1], b, v, bound, err) : PGY_E_MEMORY;
    if (st) return st;
    like(other, v);
    pgy_value *result = v;
    if (v->producer) {
        node_set_output(v->producer, v->output_index, other);
        ends[0] = other;
    } else {
        st = value_replace_uses(v, other, err);
        ends[0] = v;
        result = other;
    }
    if (!st) st = node_create(&made, b->graph, "Min", ends, 2, &result, 1, err);
    if (!st) b->set[b->set_count++] = (pgy_upper_bound){v->name, bound};
    return st;
}

static bool is_set(const bounder *b, const char *name)
{
    for (size_t i = 0; i < b->set_count; i++)
        if (strcmp(b->set[i].name, name) == 0) return true;
    return false;
}

static pgy_status limit_candidates(bounder *b, pgy_error *err)
{
    const size_t count = b->graph->node_count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        pgy_value *v = candidate(b->graph->nodes[i]);
        if (!v || is_set(b, v->name)) continue;
        const pgy_upper_bound *bound = bound_of(b, v->name);
        if (!bound) bound = bound_of(b, "");
        if (bound) st = limit_value(b, v, bound->bound, err);
    }
    return st;
}

static pgy_status not_found(const pgy_graph *g, const char *name, pgy_error *err)
{
    suggestions near = {.wanted = name};
    str text = {0};
    graph_suggest(&near, g);
    suggest_append(&text, &near);
    pgy_error_set(err, PGY_E_NOT_FOUND,
                  "the model has no tensor '%s', for which an upper bound was given%s", name,
                  str_text(&text));
    str_deinit(&text);
    return PGY_E_NOT_FOUND;
}

static pgy_status limit_named(bounder *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < b->count; i++) {
        const pgy_upper_bound *bound = &b->bounds[i];
        if (!*bound->name || is_set(b, bound->name)) continue;
        pgy_value *v = pgy_graph_find_value(b->graph, bound->name);
        if (!v) return not_found(b->graph, bound->name, err);
        LOG(WARNING,
            "The upper bound for '%s' is not needed: every size that it sets already has a limit",
            bound->name);
        st = limit_value(b, v, bound->bound, err);
    }
    return st;
}

pgy_status pgy_graph_set_upper_bounds(pgy_graph *g, const pgy_upper_bound *bounds, size_t count,
                                      const pgy_upper_bound **set, size_t *set_count,
                                      pgy_error *err)
{
    if (!g || g->parent || (count && !bounds))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'g' must be a whole graph, and 'bounds' must not be NULL");
    bounder b = {.graph = g,
                 .folder = {.graph = g, .state = state_of(g)},
                 .bounds = bounds,
                 .count = count,
                 .set = arena_alloc_array(&state_of(g)->memory, g->node_count + count,
                                          sizeof(pgy_upper_bound))};
    if (!b.set) return graph_no_memory(err);
    pgy_status st = limit_candidates(&b, err);
    if (!st) st = limit_named(&b, err);
    if (!st) st = pgy_graph_sort(g, err);
    if (st) return st;
    if (set) *set = b.set;
    if (set_count) *set_count = b.set_count;
    return PGY_OK;
}

static bool holds(const pgy_value *const *items, size_t count, const pgy_value *v)
{
    for (size_t i = 0; i < count; i++)
        if (items[i] == v) return true;
    return false;
}

pgy_status pgy_graph_list_unbounded(const pgy_value *const **out, size_t *count, pgy_graph *g,
                                    pgy_error *err)
{
    size_t found = 0;
    if (!out || !count || !g)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'count' and 'g' must not be NULL");
    pgy_status st = pgy_graph_sort(g, err);
    if (st) return st;
    const pgy_value **items =
        arena_alloc_array(&state_of(g)->memory, g->node_count + 1, sizeof *items);
    if (!items) return graph_no_memory(err);
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_value *v = candidate(g->nodes[i]);
        if (v && v->producer && !holds(items, found, v)) items[found++] = v;
    }
    *out = items;
    *count = found;
    return PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A segment costs its values on both sides and of its nodes alone, what is alive at its borders on
 * both sides, and copies of its weights. */
#include "where/cuts.h"

#include <string.h>

#include "graph/edit.h"

/* SESSION_COPIES: ONNX Runtime rounds its memory up to powers of two, and the reference computes
 * float32 in float64. */
enum { SIDES = 2, VALUE_COPIES = 3, WEIGHT_COPIES = 4, SESSION_COPIES = 2 };

static bool is_weight(const pgy_value *v)
{
    return v && v->initializer && !v->producer;
}

static uint64_t row_bytes(const where_rows *rows, const pgy_value *v, uint64_t unknown_bytes)
{
    const where_row *r = where_row_of(rows, v);
    if (!r) return 0;
    return r->size_bytes ? r->size_bytes : unknown_bytes;
}

/* The node of this graph that is or holds n. */
static const pgy_node *top_node(const pgy_graph *g, const pgy_node *n)
{
    while (n && n->graph != g) n = level_of(n->graph)->owner;
    return n;
}

static size_t last_reader(const pgy_graph *g, const pgy_value *v)
{
    size_t last = v->producer->index;
    for (size_t i = 0; i < v->consumer_count; i++) {
        const pgy_node *n = top_node(g, v->consumers[i]);
        const size_t at = n ? n->index : g->node_count - 1;
        if (at > last) last = at;
    }
    return last;
}

/* Does a node read the model's inputs, directly or not? Others are constants, and cheap to repeat.
 */
static void find_variable(bool *variable, const pgy_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        const node_box *box = node_box_of(n);
        for (size_t k = 0; k < n->input_count + box->captured_count; k++) {
            const pgy_value *v =
                k < n->input_count ? n->inputs[k] : box->captured[k - n->input_count];
            if (!v || is_weight(v)) continue;
            variable[i] |=
                !v->producer || (v->producer->graph == g && variable[v->producer->index]);
        }
    }
}

static bool can_keep(const where_rows *rows, const pgy_value *v, const pgy_tensor_map *shown)
{
    const where_row *r = where_row_of(rows, v);
    if (v->kind != PGY_VALUE_TENSOR || (r && r->too_large)) return false;
    return !shown || pgy_tensor_map_find(shown, v->name);
}

static void count_weights(where_cuts *c, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    for (size_t k = 0; k < n->input_count + box->captured_count; k++) {
        const pgy_value *v = k < n->input_count ? n->inputs[k] : box->captured[k - n->input_count];
        if (is_weight(v)) c->weights[n->index] += weight_bytes(v->initializer);
    }
}

/* Adds to `changes`, differences from one place to the next. */
static void count_outputs(where_cuts *c, int64_t *changes, int32_t *blocks, const pgy_graph *g,
                          const pgy_node *n, const where_rows *rows, const pgy_tensor_map *shown,
                          bool variable, uint64_t unknown_bytes)
{
    for (size_t k = 0; k < n->output_count; k++) {
        const pgy_value *v = n->outputs[k];
        if (!v || !v->consumer_count) continue;
        const size_t last = last_reader(g, v);
        const int64_t bytes = (int64_t)row_bytes(rows, v, unknown_bytes);
        changes[n->index + 1] += bytes;
        changes[last + 1] -= bytes;
        if (!variable || can_keep(rows, v, shown)) continue;
        blocks[n->index + 1]++;
        blocks[last + 1]--;
    }
    for (size_t k = 0; k < n->output_count; k++)
        c->values[n->index] += row_bytes(rows, n->outputs[k], unknown_bytes);
}

pgy_status where_cuts_find(where_cuts *out, pgy_graph *g, const where_rows *rows,
                           const pgy_tensor_map *shown, uint64_t unknown_bytes, arena *memory,
                           pgy_error *err)
{
    const size_t count = g->node_count;
    where_cuts c = {.node_count = count,
                    .values = arena_alloc_array(memory, count + 2, sizeof *c.values),
                    .weights = arena_alloc_array(memory, count + 2, sizeof *c.weights),
                    .live = arena_alloc_array(memory, count + 2, sizeof *c.live),
                    .blocked = arena_alloc_array(memory, count + 2, sizeof *c.blocked)};
    int64_t *changes = arena_alloc_array(memory, count + 2, sizeof *changes), live = 0;
    int32_t *blocks = arena_alloc_array(memory, count + 2, sizeof *blocks), blocked = 0;
    bool *variable = arena_alloc_array(memory, count + 2, sizeof *variable);
    if (!c.values || !c.weights || !c.live || !c.blocked || !changes || !blocks || !variable)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const pgy_status st = node_captures(g->nodes[i], err);
        if (st) return st;
    }
    find_variable(variable, g);
    for (size_t i = 0; i < count; i++) {
        count_weights(&c, g->nodes[i]);
        count_outputs(&c, changes, blocks, g, g->nodes[i], rows, shown, variable[i], unknown_bytes);
    }
    for (size_t i = 0; i <= count; i++) {
        c.live[i] = (uint64_t)(live += changes[i]);
        c.blocked[i] = (blocked += blocks[i]) > 0;
    }
    *out = c;
    return PGY_OK;
}

/* Bytes that a session of the segment holds of its own while node i runs. What is handed to it is
 * not copied, unless it computes in float64. */
static uint64_t in_session(const where_cuts *c, size_t begin, size_t i)
{
    return (i > begin || c->wide ? c->live[i] : 0) + c->values[i];
}

static uint64_t most_in_session(const where_cuts *c, size_t begin, size_t end)
{
    uint64_t most = 0;
    for (size_t i = begin; i < end; i++)
        if (in_session(c, begin, i) > most) most = in_session(c, begin, i);
    return most;
}

size_t where_cuts_next(const where_cuts *c, size_t begin, uint64_t goal)
{
    uint64_t cost = begin < c->node_count ? SIDES * c->live[begin] : 0, most = 0;
    size_t end = begin, best;
    while (end < c->node_count) {
        const uint64_t session = in_session(c, begin, end);
        if (c->wide && session > most) most = session;
        const uint64_t more = VALUE_COPIES * c->values[end] + WEIGHT_COPIES * c->weights[end];
        if (end > begin && cost + more + SESSION_COPIES * most > goal) break;
        cost += more;
        end++;
    }
    if (end == c->node_count) return end;
    best = begin;
    for (size_t i = begin + (end - begin + 1) / 2; i <= end; i++)
        if (!c->blocked[i] && (best == begin || c->live[i] <= c->live[best])) best = i;
    for (size_t i = end; best == begin && i > begin; i--)
        if (!c->blocked[i]) best = i;
    for (size_t i = end; best == begin && i < c->node_count; i++)
        if (!c->blocked[i]) best = i;
    return best == begin ? c->node_count : best;
}

uint64_t where_cuts_cost(const where_cuts *c, size_t begin, size_t end)
{
    uint64_t cost = begin < end ? SIDES * c->live[begin] : 0;
    for (size_t i = begin; i < end; i++)
        cost += VALUE_COPIES * c->values[i] + WEIGHT_COPIES * c->weights[i];
    return c->wide ? cost + SESSION_COPIES * most_in_session(c, begin, end) : cost;
}

/* Both sides keep what is alive before the segment. Slices are compared before the values behind
 * the segment are computed. */
where_need where_cuts_least(const where_cuts *c, size_t begin, size_t end)
{
    where_need need = {.bytes = 0};
    const uint64_t most = most_in_session(c, begin, end);
    uint64_t largest = 0;
    for (size_t i = begin; i < end; i++) {
        if (c->values[i] > largest) largest = c->values[i];
        need.weights += WEIGHT_COPIES * c->weights[i];
    }
    need.slices = VALUE_COPIES * (largest / WHERE_SLICES + 1);
    const uint64_t sliced = SESSION_COPIES * most + need.slices, kept = most + c->live[end];
    need.values = SIDES * c->live[begin] + (sliced > kept ? sliced : kept) - need.slices;
    need.bytes = need.values + need.weights + need.slices;
    return need;
}

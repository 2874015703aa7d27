/* SPDX-License-Identifier: Apache-2.0 */
/* Bends: places in the rows that an edge passes. Edges of a tensor run together until they part, so
 * they share bends. */
#include <stdlib.h>
#include <string.h>

#include "viewer/layout/layers.h"

enum { BENDS_AT_LEAST = 20000, BENDS_PER_ITEM = 4 };

/* Edges that share bends: those of one tensor that are not flipped, from `first` to before `end`. A
 * flipped edge shares with none. */
typedef struct trunk {
    uint32_t first, end, longest;
} trunk;

static uint32_t rows_passed(const layers *l, const layer_edge *e)
{
    return l->rows[e->bottom] - l->rows[e->top] - 1;
}

static bool next_trunk(const layers *l, trunk *t)
{
    uint32_t i = t->end;
    if (i >= l->edge_count) return false;
    *t = (trunk){i, i + 1, rows_passed(l, &l->edges[i])};
    if (l->edges[i].is_flipped) return true;
    while (t->end < l->edge_count && l->edges[t->end].tensor == l->edges[i].tensor &&
           !l->edges[t->end].is_flipped) {
        const uint32_t passed = rows_passed(l, &l->edges[t->end++]);
        if (passed > t->longest) t->longest = passed;
    }
    return true;
}

/* The most rows that an edge may pass with a bend in each, so that there are not too many bends. */
static bool find_limit(const layers *l, uint32_t *limit)
{
    uint64_t room = BENDS_AT_LEAST + BENDS_PER_ITEM * (uint64_t)l->item_count;
    uint32_t *of_length = arena_alloc_array(l->memory, (size_t)l->row_count + 1, sizeof *of_length);
    if (!of_length) return false;
    for (trunk t = {0}; next_trunk(l, &t);) of_length[t.longest]++;
    *limit = 2;
    for (uint32_t length = 0; length < l->row_count; length++) {
        const uint64_t bends = (uint64_t)length * of_length[length];
        if (bends > room) return true;
        room -= bends;
        if (length > 2) *limit = length;
    }
    return true;
}

/* Numbers the bends of each edge. A cut trunk has its first bend, and one over each lower end. */
static bool number_bends(layers *l, uint32_t limit)
{
    uint64_t next = l->item_count;
    for (trunk t = {0}; next_trunk(l, &t);) {
        const uint64_t first = next;
        const bool is_cut = t.longest > limit;
        next += is_cut ? 1 : t.longest;
        for (uint32_t i = t.first; i < t.end; i++) {
            layer_edge *e = &l->edges[i];
            e->bend = (uint32_t)first;
            e->bend_count = rows_passed(l, e);
            e->is_cut = is_cut && e->bend_count > 1;
            if (!e->is_cut) continue;
            e->bend_count = 2;
            e->last_bend = (uint32_t)next++;
        }
    }
    if (next >= UINT32_MAX) return false;
    l->node_count = (uint32_t)next;
    return true;
}

static bool find_rows(layers *l)
{
    uint32_t *rows = arena_alloc_array(l->memory, (size_t)l->node_count + 1, sizeof *rows);
    if (!rows) return false;
    memcpy(rows, l->rows, l->item_count * sizeof *rows);
    for (uint32_t i = 0; i < l->edge_count; i++) {
        const layer_edge *e = &l->edges[i];
        if (e->is_cut) {
            rows[e->bend] = rows[e->top] + 1;
            rows[e->last_bend] = rows[e->bottom] - 1;
            continue;
        }
        for (uint32_t k = 0; k < e->bend_count; k++) rows[e->bend + k] = rows[e->top] + 1 + k;
    }
    l->rows = rows;
    return true;
}

typedef struct end {
    uint32_t node, port;
} end;

/* Counts a pair of neighbours, or adds it to the lists. */
static void meet(layers *l, end upper, end lower, bool fill)
{
    if (!fill) {
        l->down.start[upper.node + 2]++;
        l->up.start[lower.node + 2]++;
        return;
    }
    const uint32_t d = l->down.start[upper.node + 1]++, u = l->up.start[lower.node + 1]++;
    l->down.to[d] = lower.node;
    l->down.port[d] = lower.port;
    l->down.own_port[d] = upper.port;
    l->up.to[u] = upper.node;
    l->up.port[u] = upper.port;
    l->up.own_port[u] = lower.port;
}

/* Visits each pair of neighbours once. */
static void meet_all(layers *l, bool fill)
{
    for (trunk t = {0}; next_trunk(l, &t);) {
        uint32_t done = 0; /* bends of the trunk that have met the one above */
        for (uint32_t i = t.first; i < t.end; i++) {
            const layer_edge *e = &l->edges[i];
            const end top = {e->top, e->top_port}, bottom = {e->bottom, e->bottom_port};
            const uint32_t shared = e->is_cut ? 1 : e->bend_count;
            for (; done < shared; done++)
                meet(l, done ? (end){e->bend + done - 1, 0} : top, (end){e->bend + done, 0}, fill);
            meet(l, e->bend_count ? (end){layer_bend(e, e->bend_count - 1), 0} : top, bottom, fill);
        }
    }
}

static bool allocate(arena *a, layer_lists *lists, uint32_t count)
{
    return (lists->to = arena_alloc_array(a, (size_t)count + 1, sizeof(uint32_t))) &&
           (lists->port = arena_alloc_array(a, (size_t)count + 1, sizeof(uint32_t))) &&
           (lists->own_port = arena_alloc_array(a, (size_t)count + 1, sizeof(uint32_t)));
}

static bool list_neighbours(layers *l)
{
    const size_t n = (size_t)l->node_count + 3;
    l->down.start = arena_alloc_array(l->memory, n, sizeof(uint32_t));
    l->up.start = arena_alloc_array(l->memory, n, sizeof(uint32_t));
    if (!l->down.start || !l->up.start) return false;
    meet_all(l, false);
    for (uint32_t i = 1; i <= l->node_count; i++) {
        l->down.start[i + 1] += l->down.start[i];
        l->up.start[i + 1] += l->up.start[i];
    }
    const uint32_t count = l->down.start[l->node_count + 1];
    if (!allocate(l->memory, &l->down, count) || !allocate(l->memory, &l->up, count)) return false;
    meet_all(l, true);
    return true;
}

pgy_status layers_bend(layers *l, pgy_error *err)
{
    uint32_t limit;
    const bool ok =
        find_limit(l, &limit) && number_bends(l, limit) && find_rows(l) && list_neighbours(l);
    return ok ? PGY_OK : layout_no_memory(err);
}

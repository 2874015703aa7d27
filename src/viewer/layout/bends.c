/* SPDX-License-Identifier: Apache-2.0 */
/* Bends: places in the rows that an edge passes. Edges of a tensor run together until they part, so
 * they share bends. */
#include "viewer/layout/layers.h"

#include <string.h>

/* Numbers the bends of each edge. */
static bool number_bends(layers *l)
{
    uint64_t next = l->item_count;
    for (uint32_t i = 0; i < l->edge_count;) {
        const uint32_t tensor = l->edges[i].tensor;
        uint64_t trunk = next;
        uint32_t longest = 0;
        for (; i < l->edge_count && l->edges[i].tensor == tensor; i++) {
            layer_edge *e = &l->edges[i];
            e->bend_count = l->rows[e->bottom] - l->rows[e->top] - 1;
            if (e->is_flipped) continue;
            e->bend = (uint32_t)trunk;
            if (e->bend_count > longest) longest = e->bend_count;
        }
        next += longest;
    }
    for (uint32_t i = 0; i < l->edge_count; i++) {
        layer_edge *e = &l->edges[i];
        if (!e->is_flipped) continue;
        e->bend = (uint32_t)next;
        next += e->bend_count;
    }
    if (next >= UINT32_MAX) return false;
    l->node_count = (uint32_t)next;
    return true;
}

/* Calls for each pair of neighbours once: counts, or fills the lists. */
static void visit(layers *l, uint32_t upper, uint32_t lower, bool fill)
{
    if (fill) {
        l->down.to[l->down.start[upper + 1]++] = lower;
        l->up.to[l->up.start[lower + 1]++] = upper;
    } else {
        l->down.start[upper + 2]++;
        l->up.start[lower + 2]++;
    }
}

static uint32_t visit_all(layers *l, bool fill)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < l->edge_count;) {
        const uint32_t tensor = l->edges[i].tensor;
        uint32_t done = 0; /* bends of the trunk */
        for (; i < l->edge_count && l->edges[i].tensor == tensor; i++) {
            const layer_edge *e = &l->edges[i];
            uint32_t from = e->is_flipped ? 0 : done;
            for (uint32_t k = from; k < e->bend_count; k++, count++)
                visit(l, k ? e->bend + k - 1 : e->top, e->bend + k, fill);
            visit(l, e->bend_count ? e->bend + e->bend_count - 1 : e->top, e->bottom, fill);
            count++;
            if (!e->is_flipped && e->bend_count > done) done = e->bend_count;
        }
    }
    return count;
}

static bool list_neighbours(layers *l)
{
    const size_t n = (size_t)l->node_count + 3;
    l->down.start = arena_alloc_array(l->memory, n, sizeof(uint32_t));
    l->up.start = arena_alloc_array(l->memory, n, sizeof(uint32_t));
    if (!l->down.start || !l->up.start) return false;
    const size_t count = (size_t)visit_all(l, false) + 1;
    l->down.to = arena_alloc_array(l->memory, count, sizeof(uint32_t));
    l->up.to = arena_alloc_array(l->memory, count, sizeof(uint32_t));
    if (!l->down.to || !l->up.to) return false;
    for (uint32_t i = 1; i <= l->node_count; i++) {
        l->down.start[i + 1] += l->down.start[i];
        l->up.start[i + 1] += l->up.start[i];
    }
    visit_all(l, true);
    return true;
}

pgy_status layers_bend(layers *l, pgy_error *err)
{
    if (!number_bends(l)) return layout_no_memory(err);
    uint32_t *rows = arena_alloc_array(l->memory, (size_t)l->node_count + 1, sizeof *rows);
    if (!rows) return layout_no_memory(err);
    memcpy(rows, l->rows, l->item_count * sizeof *rows);
    for (uint32_t i = 0; i < l->edge_count; i++)
        for (uint32_t k = 0; k < l->edges[i].bend_count; k++)
            rows[l->edges[i].bend + k] = rows[l->edges[i].top] + 1 + k;
    l->rows = rows;
    return list_neighbours(l) ? PGY_OK : layout_no_memory(err);
}

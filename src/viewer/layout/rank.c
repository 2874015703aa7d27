/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: flips edges of cycles, and puts each item below what it reads. */
#include <string.h>

#include "base/cancel.h"
#include "viewer/layout/layers.h"

/* Edges by their upper or lower end. */
static bool list_edges(const layers *l, bool by_top, uint32_t **start, uint32_t **list)
{
    uint32_t *s = arena_alloc_array(l->memory, (size_t)l->item_count + 2, sizeof *s);
    uint32_t *e = arena_alloc_array(l->memory, (size_t)l->edge_count + 1, sizeof *e);
    if (!s || !e) return false;
    for (uint32_t i = 0; i < l->edge_count; i++)
        s[(by_top ? l->edges[i].top : l->edges[i].bottom) + 2]++;
    for (uint32_t i = 1; i < l->item_count; i++) s[i + 1] += s[i];
    for (uint32_t i = 0; i < l->edge_count; i++)
        e[s[(by_top ? l->edges[i].top : l->edges[i].bottom) + 1]++] = i;
    *start = s;
    *list = e;
    return true;
}

static void flip(layer_edge *e)
{
    const uint32_t top = e->top;
    e->top = e->bottom;
    e->bottom = top;
    e->is_flipped = !e->is_flipped;
}

/* A walk in depth from each item; an edge that leads to an item on the way is turned. */
pgy_status layers_flip(layers *l, pgy_error *err)
{
    enum { NEW, ON_WAY, DONE };
    uint32_t *start, *list;
    uint32_t *stack = arena_alloc_array(l->memory, (size_t)l->item_count + 1, sizeof *stack);
    uint32_t *next = arena_alloc_array(l->memory, (size_t)l->item_count + 1, sizeof *next);
    unsigned char *state = arena_alloc(l->memory, (size_t)l->item_count + 1);
    bool *turned = arena_alloc(l->memory, (size_t)l->edge_count + 1);
    if (!stack || !next || !state || !turned || !list_edges(l, true, &start, &list))
        return layout_no_memory(err);
    for (uint32_t root = 0; root < l->item_count; root++) {
        if (state[root] != NEW) continue;
        uint32_t depth = 0;
        stack[depth++] = root;
        state[root] = ON_WAY;
        next[root] = start[root];
        while (depth > 0) {
            const uint32_t at = stack[depth - 1];
            if (next[at] == start[at + 1]) {
                state[at] = DONE;
                depth--;
                continue;
            }
            const uint32_t e = list[next[at]++], to = l->edges[e].bottom;
            if (state[to] == ON_WAY) turned[e] = true;
            if (state[to] != NEW) continue;
            stack[depth++] = to;
            state[to] = ON_WAY;
            next[to] = start[to];
        }
    }
    for (uint32_t i = 0; i < l->edge_count; i++)
        if (turned[i]) flip(&l->edges[i]);
    return PGY_OK;
}

/* Items in an order in which edges point forwards. */
static uint32_t *sorted(const layers *l, const uint32_t *start, const uint32_t *list)
{
    uint32_t *order = arena_alloc_array(l->memory, (size_t)l->item_count + 1, sizeof *order);
    uint32_t *open = arena_alloc_array(l->memory, (size_t)l->item_count + 1, sizeof *open);
    if (!order || !open) return NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < l->edge_count; i++) open[l->edges[i].bottom]++;
    for (uint32_t i = 0; i < l->item_count; i++)
        if (!open[i]) order[count++] = i;
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = start[order[k]]; i < start[order[k] + 1]; i++)
            if (--open[l->edges[list[i]].bottom] == 0) order[count++] = l->edges[list[i]].bottom;
    return order;
}

/* Each item right under the lowest item that it reads; then, from the bottom, those that are read
 * more than they read go down to their readers. */
static pgy_status longest_paths(layers *l, pgy_error *err)
{
    uint32_t *start, *list, *up_start, *up_list, *order;
    if (!list_edges(l, true, &start, &list) || !list_edges(l, false, &up_start, &up_list) ||
        !(order = sorted(l, start, list)))
        return layout_no_memory(err);
    for (uint32_t k = 0; k < l->item_count; k++)
        for (uint32_t i = start[order[k]]; i < start[order[k] + 1]; i++) {
            uint32_t *row = &l->rows[l->edges[list[i]].bottom];
            if (*row <= l->rows[order[k]]) *row = l->rows[order[k]] + 1;
        }
    for (uint32_t k = l->item_count; k-- > 0;) {
        const uint32_t at = order[k], readers = start[at + 1] - start[at];
        if (layer_is_port(l, at) || readers <= up_start[at + 1] - up_start[at]) continue;
        uint32_t row = UINT32_MAX;
        for (uint32_t i = start[at]; i < start[at + 1]; i++) {
            const uint32_t reader = l->rows[l->edges[list[i]].bottom];
            if (reader < row) row = reader;
        }
        l->rows[at] = row - 1;
    }
    return PGY_OK;
}

pgy_status layers_rank(layers *l, pgy_error *err)
{
    const uint32_t n = l->item_count;
    if (!(l->rows = arena_alloc_array(l->memory, (size_t)n + 1, sizeof *l->rows)))
        return layout_no_memory(err);
    uint32_t first = 0, last = 0;
    for (uint32_t i = l->child_count; i < n; i++)
        if (l->items[i].kind == VIEW_ITEM_IN) first = 1;
    if (first)
        for (uint32_t i = 0; i < l->child_count; i++) l->rows[i] = 1;
    const pgy_status st = longest_paths(l, err);
    if (st) return st;
    for (uint32_t i = 0; i < n; i++)
        if (l->rows[i] > last) last = l->rows[i];
    for (uint32_t i = 0; i < l->child_count; i++)
        if (l->rows[i] == last && n > l->child_count) {
            for (uint32_t k = l->child_count; k < n; k++)
                if (l->items[k].kind == VIEW_ITEM_OUT) last = l->rows[i] + 1;
            break;
        }
    for (uint32_t i = l->child_count; i < n; i++)
        l->rows[i] = l->items[i].kind == VIEW_ITEM_IN ? 0 : last;
    l->row_count = n ? last + 1 : 0;
    return PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Instances of a repeat share one layout. For that the edges of each container are brought into an
 * order that does not depend on the numbers of tensors, so that containers of equal structure have
 * equal lists. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "viewer/layout/layers.h"

/* Edges of one tensor. */
typedef struct tensor_edges {
    const lifted_edge *edges;
    uint32_t count, child_count;
} tensor_edges;

/* Ports come after all children, whatever their numbers. */
static uint32_t key(uint32_t item, uint32_t child_count)
{
    return item < child_count ? item : child_count;
}

static int compare(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_tensors(const void *a, const void *b)
{
    const tensor_edges *x = a, *y = b;
    int c = compare(key(x->edges->from, x->child_count), key(y->edges->from, y->child_count));
    for (uint32_t i = 0; c == 0 && i < x->count && i < y->count; i++)
        c = compare(key(x->edges[i].to, x->child_count), key(y->edges[i].to, y->child_count));
    if (c == 0) c = compare(x->count, y->count);
    return c ? c : compare(x->edges->tensor, y->edges->tensor);
}

/* A tensor has one producer and at most one port at the bottom, so its edges differ in `to`. */
static int compare_ends(const void *a, const void *b)
{
    const lifted_edge *x = a, *y = b;
    return compare(x->to, y->to);
}

static uint32_t renumber(uint32_t item, uint32_t child_count, const view_item *before,
                         view_item *after, uint32_t *numbers, uint32_t *next)
{
    if (item < child_count) return item;
    uint32_t *number = &numbers[item - child_count];
    if (*number == VIEW_NONE) {
        *number = (*next)++;
        after[*number] = before[item];
    }
    return *number;
}

static bool sort_container(lifted *all, uint32_t c)
{
    view_item *items = all->items + all->item_start[c];
    const uint32_t item_count = all->item_start[c + 1] - all->item_start[c];
    const uint32_t children = all->child_counts[c];
    lifted_edge *edges = all->edges + all->edge_start[c];
    const uint32_t count = all->edge_start[c + 1] - all->edge_start[c];
    lifted_edge *sorted = mem_calloc((size_t)count + 1, sizeof *sorted);
    view_item *before = mem_calloc((size_t)item_count + 1, sizeof *before);
    uint32_t *numbers = mem_calloc((size_t)item_count + 1, sizeof *numbers);
    tensor_edges *tensors = mem_calloc((size_t)count + 1, sizeof *tensors);
    const bool ok = sorted && before && numbers && tensors;
    uint32_t tensor_count = 0, next = children, n = 0;
    for (uint32_t i = 0; ok && i < count;) {
        const uint32_t first = i;
        while (i < count && edges[i].tensor == edges[first].tensor) i++;
        qsort(edges + first, i - first, sizeof *edges, compare_ends);
        tensors[tensor_count++] = (tensor_edges){edges + first, i - first, children};
    }
    if (ok && count) {
        qsort(tensors, tensor_count, sizeof *tensors, compare_tensors);
        memcpy(before, items, item_count * sizeof *items);
        memset(numbers, 0xFF, item_count * sizeof *numbers);
        for (uint32_t t = 0; t < tensor_count; t++)
            for (uint32_t i = 0; i < tensors[t].count; i++) {
                lifted_edge e = tensors[t].edges[i];
                e.from = renumber(e.from, children, before, items, numbers, &next);
                e.to = renumber(e.to, children, before, items, numbers, &next);
                sorted[n++] = e;
            }
        memcpy(edges, sorted, count * sizeof *edges);
    }
    mem_free(sorted);
    mem_free(before);
    mem_free(numbers);
    mem_free(tensors);
    return ok;
}

pgy_status layout_sort(lifted *all, const view_graph *g, pgy_error *err)
{
    for (uint32_t c = 0; c < g->container_count; c++)
        if (!sort_container(all, c)) return layout_no_memory(err);
    return PGY_OK;
}

bool layout_is_equal(const lifted *all, uint32_t a, uint32_t b)
{
    const view_item *x = all->items + all->item_start[a], *y = all->items + all->item_start[b];
    const uint32_t items = all->item_start[a + 1] - all->item_start[a];
    const lifted_edge *e = all->edges + all->edge_start[a], *f = all->edges + all->edge_start[b];
    const uint32_t edges = all->edge_start[a + 1] - all->edge_start[a];
    if (all->child_counts[a] != all->child_counts[b] ||
        items != all->item_start[b + 1] - all->item_start[b] ||
        edges != all->edge_start[b + 1] - all->edge_start[b])
        return false;
    for (uint32_t i = 0; i < items; i++)
        if (x[i].kind != y[i].kind) return false;
    for (uint32_t i = 0; i < edges; i++) {
        if (e[i].from != f[i].from || e[i].to != f[i].to) return false;
        if (i > 0 && (e[i].tensor == e[i - 1].tensor) != (f[i].tensor == f[i - 1].tensor))
            return false;
    }
    return true;
}

/* Pairs the containers in two instances, by their places among their parents' children. */
static void pair(const view_graph *g, uint32_t first, uint32_t other, uint32_t *like,
                 uint32_t (*stack)[2])
{
    uint32_t depth = 0;
    stack[depth][0] = first;
    stack[depth++][1] = other;
    while (depth > 0) {
        depth--;
        const uint32_t from = stack[depth][0], to = stack[depth][1];
        const view_container *a = &g->containers[from], *b = &g->containers[to];
        if (like[to] != VIEW_NONE || from == to) continue;
        like[to] = from;
        for (uint32_t i = 0; i < a->child_count && i < b->child_count; i++) {
            if (a->children[i].kind != VIEW_ITEM_CONTAINER ||
                b->children[i].kind != VIEW_ITEM_CONTAINER || depth >= g->container_count)
                continue;
            stack[depth][0] = a->children[i].ref;
            stack[depth++][1] = b->children[i].ref;
        }
    }
}

pgy_status layout_find_like(uint32_t **out, const view_graph *g, const uint32_t *order,
                            uint32_t count, arena *a, pgy_error *err)
{
    uint32_t *like = arena_alloc_array(a, (size_t)g->container_count + 1, sizeof *like);
    uint32_t(*stack)[2] = arena_alloc_array(a, (size_t)g->container_count + 1, sizeof *stack);
    if (!like || !stack) return layout_no_memory(err);
    for (uint32_t c = 0; c < g->container_count; c++) like[c] = VIEW_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const view_container *c = &g->containers[order[i]];
        if (c->kind != VIEW_REPEAT || !c->child_count) continue;
        const view_item first = c->children[0];
        for (uint32_t k = 1; first.kind == VIEW_ITEM_CONTAINER && k < c->child_count; k++)
            if (c->children[k].kind == VIEW_ITEM_CONTAINER)
                pair(g, first.ref, c->children[k].ref, like, stack);
    }
    /* Parents come first, so what a container is like has been traced already. */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *at = &like[order[i]];
        for (uint32_t steps = 0; *at != VIEW_NONE && like[*at] != VIEW_NONE; steps++) {
            if (steps > g->container_count) return layout_no_memory(err);
            *at = like[*at];
        }
    }
    *out = like;
    return PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Opens up fused containers that are left and entered again: drawn as one item, some arrow would go
 * back. */
#include "viewer/groups.h"

#include <string.h>

/* Removes items that depend on nothing that is left, again and again; then those on which nothing
 * depends. Items in circles stay, and those between circles. */
static void trim(const grouping *s, const group_lists *forward, const group_lists *back,
                 bool *is_gone, uint32_t *waiting, uint32_t *work)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->item_count; i++) {
        waiting[i] = 0;
        for (uint32_t k = back->start[i]; k < back->start[i + 1]; k++)
            waiting[i] += !is_gone[back->values[k]];
        if (!waiting[i] && !is_gone[i]) work[count++] = i;
    }
    while (count) {
        const uint32_t i = work[--count];
        is_gone[i] = true;
        for (uint32_t k = forward->start[i]; k < forward->start[i + 1]; k++) {
            const uint32_t to = forward->values[k];
            if (--waiting[to] == 0 && !is_gone[to]) work[count++] = to;
        }
    }
}

/* Replaces fused containers by their children; `is_open` marks those containers. */
static pgy_status flatten(view_graph *g, uint32_t container, const bool *is_open, pgy_error *err)
{
    const view_container *c = &g->containers[container];
    arena memory = {0};
    uint32_t count = 0;
    size_t room = c->child_count;
    for (uint32_t i = 0; i < c->child_count; i++)
        if (c->children[i].kind == VIEW_ITEM_CONTAINER && is_open[c->children[i].ref])
            room += g->containers[c->children[i].ref].child_count;
    view_item *items = arena_alloc_array(&memory, room, sizeof *items);
    if (!items) return group_no_memory(err);
    for (uint32_t i = 0; i < c->child_count; i++) {
        const view_item child = c->children[i];
        if (child.kind == VIEW_ITEM_CONTAINER && is_open[child.ref]) {
            const view_container *inner = &g->containers[child.ref];
            if (inner->child_count)
                memcpy(items + count, inner->children, inner->child_count * sizeof *items);
            count += inner->child_count;
        } else {
            items[count++] = child;
        }
    }
    const pgy_status st = group_set_children(g, container, items, count, err);
    arena_deinit(&memory);
    return st;
}

/* Removes the containers, and renumbers the others. */
static void drop(view_graph *g, const bool *is_open, uint32_t *renumbered)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->container_count; i++) {
        renumbered[i] = kept;
        if (!is_open[i]) g->containers[kept++] = g->containers[i];
    }
    g->container_room = g->container_room ? g->container_room : g->container_count;
    g->container_count = kept;
    for (uint32_t i = 0; i < kept; i++) {
        view_container *c = &g->containers[i];
        if (c->parent != VIEW_NONE) c->parent = renumbered[c->parent];
        for (uint32_t k = 0; k < c->child_count; k++)
            if (c->children[k].kind == VIEW_ITEM_CONTAINER)
                c->children[k].ref = renumbered[c->children[k].ref];
    }
    for (uint32_t i = 0; i < g->node_count; i++)
        g->nodes[i].parent = renumbered[g->nodes[i].parent];
    for (uint32_t i = 0; i < g->tensor_count; i++)
        g->tensors[i].container = renumbered[g->tensors[i].container];
}

pgy_status group_open_cycles(grouping *s, bool *opened, pgy_error *err)
{
    view_graph *g = s->g;
    arena memory = {0};
    pgy_status st = PGY_OK;
    bool *is_gone = arena_alloc_array(&memory, s->item_count, sizeof *is_gone);
    bool *is_open = arena_alloc_array(&memory, g->container_count, sizeof *is_open);
    uint32_t *waiting = arena_alloc_array(&memory, s->item_count, sizeof *waiting);
    uint32_t *work = arena_alloc_array(&memory, s->item_count, sizeof *work);
    *opened = false;
    if (!is_gone || !is_open || !waiting || !work) st = group_no_memory(err);
    if (!st) {
        trim(s, &s->after, &s->before, is_gone, waiting, work);
        trim(s, &s->before, &s->after, is_gone, waiting, work);
        for (uint32_t c = 0; c < g->container_count; c++) {
            is_open[c] = g->containers[c].kind == VIEW_FUSED && !is_gone[g->node_count + c];
            *opened |= is_open[c];
        }
    }
    for (uint32_t c = 0; !st && *opened && c < g->container_count; c++)
        if (!is_open[c]) st = flatten(g, c, is_open, err);
    if (!st && *opened) drop(g, is_open, waiting);
    arena_deinit(&memory);
    return st;
}

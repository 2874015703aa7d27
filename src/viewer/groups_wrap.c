/* SPDX-License-Identifier: Apache-2.0 */
/* Adds containers to a view's graph, and puts nodes into them. */
#include "viewer/groups.h"

#include <string.h>

pgy_status group_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while grouping the nodes of a graph");
}

/* ---- Containers ----------------------------------------------------------------------------- */

uint32_t group_container(view_graph *g, view_container_kind kind, const char *name, uint32_t parent)
{
    if (g->container_count >= g->container_room) {
        const uint32_t room = g->container_count < 16 ? 32 : 2 * g->container_count;
        view_container *more = arena_alloc_array(&g->memory, room, sizeof *more);
        if (!more || room < g->container_count) return VIEW_NONE;
        if (g->container_count) memcpy(more, g->containers, g->container_count * sizeof *more);
        g->containers = more;
        g->container_room = room;
    }
    g->containers[g->container_count] =
        (view_container){.kind = kind, .name = name, .parent = parent, .node = VIEW_NONE};
    return g->container_count++;
}

void group_set_parent(view_graph *g, view_item item, uint32_t parent)
{
    if (item.kind == VIEW_ITEM_NODE)
        g->nodes[item.ref].parent = parent;
    else
        g->containers[item.ref].parent = parent;
}

pgy_status group_set_children(view_graph *g, uint32_t container, const view_item *items,
                              uint32_t count, pgy_error *err)
{
    view_item *copy = arena_alloc_array(&g->memory, count, sizeof *copy);
    if (!copy) return group_no_memory(err);
    if (count) memcpy(copy, items, count * sizeof *copy);
    g->containers[container].children = copy;
    g->containers[container].child_count = count;
    for (uint32_t i = 0; i < count; i++) group_set_parent(g, copy[i], container);
    return PGY_OK;
}

/* ---- Wrapping ------------------------------------------------------------------------------- */

/* What stands for a node among the children of its parent. */
static view_item item_of(const view_graph *g, uint32_t node, uint32_t *parent)
{
    const uint32_t p = g->nodes[node].parent;
    const bool is_call = g->containers[p].node == node;
    *parent = is_call ? g->containers[p].parent : p;
    return is_call ? (view_item){VIEW_ITEM_CONTAINER, p} : (view_item){VIEW_ITEM_NODE, node};
}

pgy_status view_graph_wrap(view_graph *g, view_container_kind kind, const char *name,
                           const uint32_t *nodes, size_t count, uint32_t *container, pgy_error *err)
{
    uint32_t parent = VIEW_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t p;
        item_of(g, nodes[i], &p);
        if (i && p != parent)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "the nodes of container '%s' lie in different containers", name);
        parent = p;
    }
    if (!count) return pgy_error_set(err, PGY_E_ARGUMENT, "container '%s' has no nodes", name);
    /* All memory first: a failure must leave the graph as it was. */
    view_item *children = arena_alloc_array(&g->memory, count, sizeof *children);
    const char *text = arena_strdup(&g->memory, name);
    const uint32_t made = text && children ? group_container(g, kind, text, parent) : VIEW_NONE;
    if (made == VIEW_NONE) return group_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        uint32_t p;
        group_set_parent(g, item_of(g, nodes[i], &p), made);
    }
    view_container *outer = &g->containers[parent], *inner = &g->containers[made];
    inner->children = children;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < outer->child_count; i++) {
        const view_item c = outer->children[i];
        const uint32_t now =
            c.kind == VIEW_ITEM_NODE ? g->nodes[c.ref].parent : g->containers[c.ref].parent;
        if (now != made) {
            outer->children[kept++] = c;
            continue;
        }
        if (!inner->child_count) outer->children[kept++] = (view_item){VIEW_ITEM_CONTAINER, made};
        if (inner->child_count < count) inner->children[inner->child_count++] = c;
    }
    outer->child_count = kept;
    if (container) *container = made;
    return PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping, in this order: groups_index.c finds what depends on what, groups_paths.c reads scopes
 * from names, groups_scopes.c makes containers of them, groups_repeat.c finds equal ones in a row,
 * and groups_state.c chooses what is open at first. groups_wrap.c adds containers.
 *
 * A region is a container that the file itself has: a graph, body or function. An item is a child
 * of a region before grouping: node i is item i, container c is item node_count + c. */
#ifndef VIEWER_GROUPS_H
#define VIEWER_GROUPS_H

#include "viewer/graph.h"

/* For each key a list of values: those of key k are values[start[k]] to values[start[k + 1] - 1].
 */
typedef struct group_lists {
    uint32_t *start, *values;
} group_lists;

typedef struct grouping {
    view_graph *g;
    arena memory;
    uint32_t item_count;
    group_lists after, before; /* of items: items of the same region that need them, or that they
                                  need */
    group_lists uses;          /* of tensors: the nodes that read them, once per use */
    uint32_t **paths;          /* of items: the scopes they lie in, from the outermost on */
    uint32_t *path_sizes;
    const char **scope_names; /* of scopes: the last part of the path */
    uint32_t scope_count;
} grouping;

static inline bool group_is_region(const view_container *c)
{
    return c->kind == VIEW_GRAPH || c->kind == VIEW_BODY || c->kind == VIEW_FUNCTION;
}

/* ---- groups_wrap.c ---- */
pgy_status group_no_memory(pgy_error *err);
/* Adds a container without children; VIEW_NONE: out of memory. Moves the array of containers. */
uint32_t group_container(view_graph *g, view_container_kind kind, const char *name,
                         uint32_t parent);
void group_set_parent(view_graph *g, view_item item, uint32_t parent);
/* Replaces the children of a container, and makes it their parent; the list is copied. */
pgy_status group_set_children(view_graph *g, uint32_t container, const view_item *items,
                              uint32_t count, pgy_error *err) PGY_MUST_CHECK;

/* ---- The steps ---- */
pgy_status group_index(grouping *s, pgy_error *err) PGY_MUST_CHECK;
/* groups_cycles.c: then the index must be made again if a container was opened up. */
pgy_status group_open_cycles(grouping *s, bool *opened, pgy_error *err) PGY_MUST_CHECK;
pgy_status group_paths(grouping *s, pgy_error *err) PGY_MUST_CHECK;
pgy_status group_scopes(grouping *s, pgy_error *err) PGY_MUST_CHECK;
pgy_status group_repeats(grouping *s, pgy_error *err) PGY_MUST_CHECK;
void group_states(view_graph *g);

#endif

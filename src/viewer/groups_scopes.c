/* SPDX-License-Identifier: Apache-2.0 */
/* Makes containers of the scopes that names describe. A scope with one item is left out, and scopes
 * that contain nothing but one other scope are joined with it. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/groups_order.h"

typedef struct scoper {
    grouping *s;
    group_order_state order;
} scoper;

static view_item item_at(const grouping *s, uint32_t item)
{
    const uint32_t nodes = s->g->node_count;
    return item < nodes ? (view_item){VIEW_ITEM_NODE, item}
                        : (view_item){VIEW_ITEM_CONTAINER, item - nodes};
}

static bool is_card(const grouping *s, uint32_t item)
{
    return item < s->g->node_count && s->g->nodes[item].kind != VIEW_NODE;
}

/* Do all items lie in one scope at this depth? Inputs and outputs of a graph lie in none. */
static bool share_scope(const grouping *s, const uint32_t *items, uint32_t count, uint32_t depth)
{
    uint32_t scope = VIEW_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (is_card(s, items[i])) continue;
        if (s->path_sizes[items[i]] <= depth) return false;
        if (scope == VIEW_NONE) scope = s->paths[items[i]][depth];
        if (s->paths[items[i]][depth] != scope) return false;
    }
    return scope != VIEW_NONE;
}

static const char *part_note(const grouping *s, const group_part *p)
{
    if (p->total == 1) return NULL;
    return arena_printf(&s->g->memory, "part %u of %u", (unsigned)p->number, (unsigned)p->total);
}

static pgy_status fill(scoper *x, uint32_t container, const uint32_t *items, uint32_t count,
                       uint32_t depth, pgy_error *err);

/* Makes the container of a scope, whose name gets all parts that its items share. */
static pgy_status add_scope(scoper *x, view_item *out, uint32_t parent, const group_part *p,
                            uint32_t depth, pgy_error *err)
{
    grouping *s = x->s;
    const char *name = s->scope_names[p->scope];
    for (depth++; name && share_scope(s, p->items, p->count, depth); depth++)
        name = arena_printf(&s->g->memory, "%s/%s", name,
                            s->scope_names[s->paths[p->items[0]][depth]]);
    const char *note = part_note(s, p);
    const uint32_t c = name && (note || p->total == 1)
                           ? group_container(s->g, VIEW_SCOPE, name, parent)
                           : VIEW_NONE;
    if (c == VIEW_NONE) return group_no_memory(err);
    s->g->containers[c].note = note;
    *out = (view_item){VIEW_ITEM_CONTAINER, c};
    return fill(x, c, p->items, p->count, depth, err);
}

/* Makes the children of a container from items, whose paths agree up to `depth`. */
static pgy_status fill(scoper *x, uint32_t container, const uint32_t *items, uint32_t count,
                       uint32_t depth, pgy_error *err)
{
    arena memory = {0};
    group_part *parts;
    uint32_t part_count = 0;
    pgy_status st =
        group_order(&parts, &part_count, x->s, &x->order, items, count, depth, &memory, err);
    view_item *children = st ? NULL : arena_alloc_array(&memory, part_count, sizeof *children);
    if (!st && !children) st = group_no_memory(err);
    for (uint32_t i = 0; !st && i < part_count; i++) {
        if (parts[i].count == 1 || parts[i].scope == VIEW_NONE)
            children[i] = item_at(x->s, parts[i].items[0]);
        else
            st = add_scope(x, &children[i], container, &parts[i], depth, err);
    }
    if (!st) st = cancel_check(err);
    if (!st) st = group_set_children(x->s->g, container, children, part_count, err);
    arena_deinit(&memory);
    return st;
}

static pgy_status fill_region(scoper *x, uint32_t region, pgy_error *err)
{
    const view_container *c = &x->s->g->containers[region];
    uint32_t *items = mem_calloc(c->child_count, sizeof *items), depth = 0;
    if (!items) return group_no_memory(err);
    for (uint32_t i = 0; i < c->child_count; i++)
        items[i] = c->children[i].kind == VIEW_ITEM_NODE ? c->children[i].ref
                                                         : x->s->g->node_count + c->children[i].ref;
    while (share_scope(x->s, items, c->child_count, depth)) depth++;
    const pgy_status st = fill(x, region, items, c->child_count, depth, err);
    mem_free(items);
    return st;
}

pgy_status group_scopes(grouping *s, pgy_error *err)
{
    scoper x = {.s = s};
    pgy_status st = group_order_start(&x.order, s) ? PGY_OK : group_no_memory(err);
    const uint32_t count = s->g->container_count;
    for (uint32_t i = 0; !st && i < count; i++)
        if (group_is_region(&s->g->containers[i])) st = fill_region(&x, i, err);
    return st;
}

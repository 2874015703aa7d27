/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses what is open at first: as much as fits into one picture, from the outside to the inside.
 * Of a repeat one instance is shown. */
#include "viewer/groups.h"

enum { CARD_LIMIT = 300, DEPTH_LIMIT = 64 };

/* Sums the cards that a container shows if those containers are open that are marked so. */
static uint32_t cards(const view_graph *g, uint32_t container)
{
    const view_container *c = &g->containers[container];
    uint32_t sum = 0;
    if (c->state == VIEW_FOLDED) return 1;
    const uint32_t count = c->state == VIEW_ONE && c->child_count ? 1 : c->child_count;
    for (uint32_t i = 0; i < count; i++)
        sum += c->children[i].kind == VIEW_ITEM_NODE ? 1 : cards(g, c->children[i].ref);
    return sum;
}

/* Opens a container if the picture stays small. Bodies open with their calls. */
static void try_open(view_graph *g, uint32_t container, uint32_t *shown)
{
    view_container *c = &g->containers[container];
    if (!c->child_count) return;
    c->state = c->kind == VIEW_REPEAT ? VIEW_ONE : VIEW_OPEN;
    const uint32_t more = cards(g, container);
    if (*shown - 1 + more <= CARD_LIMIT)
        *shown += more - 1;
    else
        c->state = VIEW_FOLDED;
}

/* Visits the containers at one depth below a root in their order; false: there are none. */
static bool open_level(view_graph *g, uint32_t container, int depth, uint32_t *shown)
{
    view_container *c = &g->containers[container];
    bool found = false;
    if (depth == 0) {
        if (c->state == VIEW_FOLDED) try_open(g, container, shown);
        return true;
    }
    if (c->state == VIEW_FOLDED) return false;
    const uint32_t count = c->state == VIEW_ONE && c->child_count ? 1 : c->child_count;
    for (uint32_t i = 0; i < count; i++)
        if (c->children[i].kind == VIEW_ITEM_CONTAINER)
            found |= open_level(g, c->children[i].ref, depth - 1, shown);
    return found;
}

/* Instances look the same: all get the states of the first. */
static void copy_states(view_graph *g, uint32_t from, uint32_t to)
{
    const view_container *a = &g->containers[from];
    view_container *b = &g->containers[to];
    b->state = a->state;
    for (uint32_t i = 0; i < a->child_count && i < b->child_count; i++)
        if (a->children[i].kind == VIEW_ITEM_CONTAINER &&
            b->children[i].kind == VIEW_ITEM_CONTAINER)
            copy_states(g, a->children[i].ref, b->children[i].ref);
}

void group_states(view_graph *g)
{
    for (uint32_t i = 0; i < g->container_count; i++)
        g->containers[i].state = group_is_region(&g->containers[i]) ? VIEW_OPEN : VIEW_FOLDED;
    for (uint32_t i = 0; i < g->container_count; i++) {
        if (g->containers[i].parent != VIEW_NONE) continue;
        uint32_t shown = cards(g, i);
        for (int depth = 1; depth < DEPTH_LIMIT && open_level(g, i, depth, &shown); depth++) {
        }
    }
    for (uint32_t i = 0; i < g->container_count; i++)
        if (g->containers[i].kind == VIEW_REPEAT)
            for (uint32_t k = 1; k < g->containers[i].child_count; k++)
                copy_states(g, g->containers[i].children[0].ref, g->containers[i].children[k].ref);
}

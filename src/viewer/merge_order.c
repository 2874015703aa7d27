/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a merged graph: the items of A's containers, among them those that only B has,
 * behind the last item before them that A has, too; and frames around parts. */
#include <string.h>

#include "viewer/merge.h"

/* ---- Items ----------------------------------------------------------------------------------- */

static uint32_t call_of(const view_graph *g, uint32_t node)
{
    const uint32_t c = g->nodes[node].parent;
    return c < g->container_count && g->containers[c].node == node ? c : VIEW_NONE;
}

static uint32_t item_of_node(const merger *g, int side, uint32_t node)
{
    const view_side *s = &g->m->side[side];
    if (side == 1 && s->pair[node] != VIEW_NONE) return item_of_node(g, 0, s->pair[node]);
    const uint32_t call = call_of(s->graph, node);
    return call != VIEW_NONE ? g->container[side][call] : g->starts[side][0] + node;
}

static uint32_t item_of(const merger *g, int side, view_item child)
{
    return child.kind == VIEW_ITEM_NODE ? item_of_node(g, side, child.ref)
                                        : g->container[side][child.ref];
}

/* Puts an item behind another one of the same list; VIEW_NONE: at its start. */
static void insert(merger *g, uint32_t list, uint32_t behind, uint32_t at)
{
    item *l = &g->items[list], *i = &g->items[at];
    uint32_t *link = behind == VIEW_NONE ? &l->first : &g->items[behind].next;
    i->parent = list;
    i->next = *link;
    *link = at;
    if (l->last == behind) l->last = at;
}

/* ---- Containers of both ---------------------------------------------------------------------- */

bool merge_is_root(const view_graph *g, uint32_t c)
{
    return g->containers[c].parent == VIEW_NONE;
}

/* The n-th container in a container. */
static uint32_t nth_inside(const view_graph *g, uint32_t c, uint32_t n)
{
    for (uint32_t i = 0; i < g->containers[c].child_count; i++) {
        const view_item child = g->containers[c].children[i];
        if (child.kind == VIEW_ITEM_CONTAINER && n-- == 0) return child.ref;
    }
    return VIEW_NONE;
}

static uint32_t place_inside(const view_graph *g, uint32_t c)
{
    const view_container *parent = &g->containers[g->containers[c].parent];
    uint32_t n = 0;
    for (uint32_t i = 0; i < parent->child_count; i++) {
        if (parent->children[i].kind != VIEW_ITEM_CONTAINER) continue;
        if (parent->children[i].ref == c) break;
        n++;
    }
    return n;
}

/* A's container that is the same as one of B; VIEW_NONE: none. `same` has those of B's containers
 * before this one. */
static uint32_t same_container(const merger *g, const uint32_t *same, uint32_t c)
{
    const view_graph *a = merger_graph(g, 0), *b = merger_graph(g, 1);
    const view_container *k = &b->containers[c];
    if (c == 0) return 0;
    if (k->node != VIEW_NONE) {
        const uint32_t x = g->m->side[1].pair[k->node];
        return x == VIEW_NONE ? VIEW_NONE : call_of(a, x);
    }
    if (k->parent != VIEW_NONE) {
        const uint32_t parent = k->parent < c ? same[k->parent] : VIEW_NONE;
        if (k->kind != VIEW_BODY || parent == VIEW_NONE) return VIEW_NONE;
        const uint32_t x = nth_inside(a, parent, place_inside(b, c));
        return x != VIEW_NONE && a->containers[x].kind == VIEW_BODY ? x : VIEW_NONE;
    }
    for (uint32_t i = 1; i < a->container_count; i++)
        if (merge_is_root(a, i) && a->containers[i].kind == k->kind &&
            strcmp(a->containers[i].name, k->name) == 0)
            return i;
    return VIEW_NONE;
}

static void map_containers(merger *g)
{
    const uint32_t count_a = merger_graph(g, 0)->container_count;
    const uint32_t count_b = merger_graph(g, 1)->container_count;
    for (uint32_t i = 0; i < count_a; i++) g->container[0][i] = g->starts[0][1] + i;
    for (uint32_t i = 0; i < count_b; i++) /* numbers of A's containers for now */
        g->container[1][i] = same_container(g, g->container[1], i);
    for (uint32_t i = 0; i < count_b; i++)
        g->container[1][i] = g->container[1][i] == VIEW_NONE ? g->starts[1][1] + i
                                                             : g->starts[0][1] + g->container[1][i];
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static void list_first(merger *g)
{
    const view_graph *a = merger_graph(g, 0);
    for (uint32_t c = 0; c < a->container_count; c++)
        for (uint32_t i = 0; i < a->containers[c].child_count; i++) {
            const uint32_t list = g->container[0][c];
            insert(g, list, g->items[list].last, item_of(g, 0, a->containers[c].children[i]));
        }
}

/* Adds what only B has to the list of one of its containers. */
static void list_second(merger *g, uint32_t c)
{
    const view_side *s = &g->m->side[1];
    const view_container *k = &s->graph->containers[c];
    const uint32_t list = g->container[1][c];
    uint32_t behind = VIEW_NONE;
    for (uint32_t i = 0; i < k->child_count; i++) {
        const uint32_t at = item_of(g, 1, k->children[i]);
        if (at < g->starts[1][0]) {
            if (g->items[at].parent == list) behind = at;
            continue;
        }
        const uint32_t node =
            k->children[i].kind == VIEW_ITEM_NODE ? k->children[i].ref : VIEW_NONE;
        const uint32_t whole = node == VIEW_NONE ? VIEW_NONE : s->whole[node];
        const uint32_t start = whole == VIEW_NONE ? VIEW_NONE : item_of_node(g, 0, whole);
        if (start != VIEW_NONE && g->items[start].parent == list &&
            (behind == VIEW_NONE || behind < g->starts[1][0]))
            behind = start;
        insert(g, list, behind, at);
        behind = at;
    }
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* A node is drawn as a container around its parts if these lie in one container. */
static void find_frames(merger *g, int side)
{
    const view_side *w = &g->m->side[side], *p = &g->m->side[!side];
    uint32_t *home = g->stamp; /* borrowed: parent of the first part */
    memset(home, 0xFF, w->graph->node_count * sizeof *home);
    for (uint32_t i = 0; i < w->graph->node_count; i++)
        g->is_framed[side][i] = w->part_count[i] && call_of(w->graph, i) == VIEW_NONE;
    for (uint32_t i = 0; i < p->graph->node_count; i++) {
        const uint32_t k = p->whole[i];
        if (k == VIEW_NONE) continue;
        const uint32_t parent = p->graph->nodes[i].parent;
        if (call_of(p->graph, i) != VIEW_NONE || (home[k] != VIEW_NONE && home[k] != parent))
            g->is_framed[side][k] = false;
        home[k] = parent;
    }
}

/* Moves nodes that were fused from the list into the frame that shows their fusion. The frame stands
 * where the last of them stood. */
static void fill_frames(merger *g, uint32_t list)
{
    uint32_t before = VIEW_NONE;
    for (uint32_t at = g->items[list].first, next; at != VIEW_NONE; at = next) {
        next = g->items[at].next;
        const int side = at >= g->starts[1][0];
        const uint32_t node = at - g->starts[side][0];
        const uint32_t whole =
            node < merger_graph(g, side)->node_count ? g->m->side[side].whole[node] : VIEW_NONE;
        if (whole == VIEW_NONE || !g->is_framed[!side][whole]) {
            before = at;
            continue;
        }
        const uint32_t frame = g->starts[!side][0] + whole;
        if (before == VIEW_NONE)
            g->items[list].first = next;
        else
            g->items[before].next = next;
        if (g->items[list].last == at) g->items[list].last = before;
        insert(g, frame, g->items[frame].last, at);
    }
}

void merge_order(merger *g)
{
    const view_graph *b = merger_graph(g, 1);
    find_frames(g, 0);
    find_frames(g, 1);
    map_containers(g);
    list_first(g);
    for (uint32_t c = 0; c < b->container_count; c++) list_second(g, c);
    for (uint32_t c = 0; c < merger_graph(g, 0)->container_count; c++)
        fill_frames(g, g->container[0][c]);
    for (uint32_t c = 0; c < b->container_count; c++)
        if (g->container[1][c] >= g->starts[1][0]) fill_frames(g, g->container[1][c]);
}

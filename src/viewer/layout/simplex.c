/* SPDX-License-Identifier: Apache-2.0 */
/* The network simplex method on a spanning tree (Gansner, Koutsofios, North, Vo: A technique for
 * drawing directed graphs, 1993). The cut value of a tree edge is the weight that leaves its
 * subtree less the weight that enters it, or the negative of that, by the edge's direction. A pivot
 * costs as many steps as its subtree has edges, and the way from there to the root. */
#include "viewer/layout/simplex.h"

#include "base/cancel.h"

typedef struct pivoting {
    simplex *s;
    uint32_t *start, *incident;               /* edges of each node */
    uint32_t *parent, *child, *before, *next; /* tree: parent, first child, its neighbours */
    uint32_t *subtree, count;                 /* nodes of the subtree that was collected last */
    uint32_t *mark, stamp;                    /* mark == stamp: node is in that subtree */
    int64_t *net; /* weight that leaves the subtree less that enters it */
    uint32_t search;
    uint64_t work;
} pivoting;

static uint32_t other_end(const simplex_edge *e, uint32_t node)
{
    return e->tail == node ? e->head : e->tail;
}

static int32_t slack(const pivoting *p, uint32_t edge)
{
    const simplex_edge *e = &p->s->edges[edge];
    return p->s->places[e->head] - p->s->places[e->tail] - e->length;
}

static void attach(pivoting *p, uint32_t node, uint32_t parent)
{
    const uint32_t first = p->child[parent];
    p->parent[node] = parent;
    p->before[node] = VIEW_NONE;
    p->next[node] = first;
    if (first != VIEW_NONE) p->before[first] = node;
    p->child[parent] = node;
}

static void detach(pivoting *p, uint32_t node)
{
    const uint32_t before = p->before[node], next = p->next[node];
    if (before == VIEW_NONE)
        p->child[p->parent[node]] = next;
    else
        p->next[before] = next;
    if (next != VIEW_NONE) p->before[next] = before;
}

/* Lists the nodes of a subtree, parents first. */
static void collect(pivoting *p, uint32_t root)
{
    p->stamp++;
    p->count = 0;
    p->subtree[p->count++] = root;
    for (uint32_t i = 0; i < p->count; i++) {
        const uint32_t node = p->subtree[i];
        p->mark[node] = p->stamp;
        for (uint32_t c = p->child[node]; c != VIEW_NONE; c = p->next[c])
            p->subtree[p->count++] = c;
    }
    p->work += p->count;
}

static bool list_incident(pivoting *p)
{
    const simplex *s = p->s;
    uint32_t *start = p->start;
    for (uint32_t i = 0; i < s->edge_count; i++) {
        start[s->edges[i].tail + 2]++;
        start[s->edges[i].head + 2]++;
    }
    for (uint32_t i = 1; i < s->node_count; i++) start[i + 1] += start[i];
    p->incident = arena_alloc_array(s->l->memory, 2 * (size_t)s->edge_count + 1, sizeof(uint32_t));
    if (!p->incident) return false;
    for (uint32_t i = 0; i < s->edge_count; i++) {
        p->incident[start[s->edges[i].tail + 1]++] = i;
        p->incident[start[s->edges[i].head + 1]++] = i;
    }
    return true;
}

static bool begin(pivoting *p)
{
    simplex *s = p->s;
    const size_t n = (size_t)s->node_count + 3;
    uint32_t **const lists[] = {&p->start, &p->parent,  &p->child, &p->before,
                                &p->next,  &p->subtree, &p->mark};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!(*lists[i] = arena_alloc_array(s->l->memory, n, sizeof(uint32_t)))) return false;
    if (!(p->net = arena_alloc_array(s->l->memory, n, sizeof *p->net)) || !list_incident(p))
        return false;
    for (uint32_t i = 0; i < s->node_count; i++) p->child[i] = p->next[i] = VIEW_NONE;
    p->parent[0] = VIEW_NONE;
    for (uint32_t i = s->node_count; i-- > 1;)
        attach(p, i, other_end(&s->edges[s->parent_edge[i]], i));
    for (uint32_t i = 0; i < s->edge_count; i++) {
        p->net[s->edges[i].tail] += s->edges[i].weight;
        p->net[s->edges[i].head] -= s->edges[i].weight;
    }
    collect(p, 0);
    for (uint32_t k = s->node_count; k-- > 1;)
        p->net[p->parent[p->subtree[k]]] += p->net[p->subtree[k]];
    return true;
}

static int64_t cut_value(const pivoting *p, uint32_t child)
{
    const bool up = p->s->edges[p->s->parent_edge[child]].tail == child;
    return up ? p->net[child] : -p->net[child];
}

/* A node whose tree edge costs more than it saves: the worst of the next some. 0: none. */
static uint32_t leaving(pivoting *p)
{
    enum { CANDIDATES = 30 };
    uint32_t best = 0, found = 0;
    int64_t least = 0;
    for (uint32_t i = 1; i < p->s->node_count && found < CANDIDATES; i++) {
        if (++p->search >= p->s->node_count) p->search = 1;
        p->work++;
        const int64_t cut = cut_value(p, p->search);
        if (cut >= 0) continue;
        found++;
        if (cut < least) least = cut, best = p->search;
    }
    return best;
}

/* The edge of the least slack that crosses the border of the subtree the other way. Collects the
 * subtree. */
static uint32_t entering(pivoting *p, uint32_t subtree)
{
    const simplex *s = p->s;
    const bool leaves = s->edges[s->parent_edge[subtree]].tail == subtree;
    uint32_t best = VIEW_NONE;
    int32_t least = INT32_MAX;
    collect(p, subtree);
    for (uint32_t k = 0; k < p->count; k++) {
        const uint32_t node = p->subtree[k];
        p->work += p->start[node + 1] - p->start[node] + 1;
        for (uint32_t i = p->start[node]; i < p->start[node + 1]; i++) {
            const uint32_t edge = p->incident[i];
            const simplex_edge *e = &s->edges[edge];
            if ((leaves ? e->head : e->tail) != node || p->mark[other_end(e, node)] == p->stamp)
                continue;
            const int32_t room = slack(p, edge);
            if (room < least) least = room, best = edge;
            if (room == 0) return edge;
        }
    }
    return best;
}

static void add_to_root(pivoting *p, uint32_t node, int64_t weight)
{
    for (; node != VIEW_NONE; node = p->parent[node], p->work++) p->net[node] += weight;
}

/* Hangs the collected subtree, that of `child`, on the outer end of `edge` by its inner end. */
static void exchange(pivoting *p, uint32_t child, uint32_t edge)
{
    simplex *s = p->s;
    const simplex_edge *e = &s->edges[edge];
    const uint32_t inner = p->mark[e->tail] == p->stamp ? e->tail : e->head;
    const uint32_t outer = other_end(e, inner);
    const int64_t whole = p->net[child];
    add_to_root(p, p->parent[child], -whole);
    add_to_root(p, outer, whole);
    uint32_t at = inner, parent = outer, tie = edge;
    int64_t below = 0; /* what hung on `at` before and now lies above it */
    for (;;) {
        const uint32_t up = p->parent[at], old_tie = s->parent_edge[at];
        const int64_t old = p->net[at];
        detach(p, at);
        attach(p, at, parent);
        s->parent_edge[at] = tie;
        p->net[at] = whole - below;
        below = old;
        p->work++;
        if (at == child) break;
        parent = at;
        tie = old_tie;
        at = up;
    }
}

pgy_status simplex_run(simplex *s, pgy_error *err)
{
    pivoting p = {.s = s};
    uint32_t child;
    s->is_best = true;
    if (s->node_count < 2) return PGY_OK;
    if (!begin(&p)) return layout_no_memory(err);
    for (uint32_t round = 0; (child = leaving(&p)) != 0; round++) {
        if (round % 64 == 0 && cancel_requested()) return cancel_check(err);
        const uint32_t edge = entering(&p, child);
        if (edge == VIEW_NONE || p.work > s->work_limit || (round % 64 == 0 && layers_late(s->l))) {
            s->is_best = false;
            break;
        }
        const bool leaves = s->edges[s->parent_edge[child]].tail == child;
        const int32_t room = leaves ? -slack(&p, edge) : slack(&p, edge);
        if (room != 0)
            for (uint32_t k = 0; k < p.count; k++) s->places[p.subtree[k]] += room;
        exchange(&p, child, edge);
    }
    return PGY_OK;
}

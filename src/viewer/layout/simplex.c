/* SPDX-License-Identifier: Apache-2.0 */
/* The network simplex method on a spanning tree (Gansner, Koutsofios, North, Vo: A technique for
 * drawing directed graphs, 1993). Nodes of a subtree have consecutive numbers in a walk that visits
 * children first, so a subtree is a range. The cut value of a tree edge is the weight that leaves
 * its subtree less the weight that enters it, or the negative of that, by the edge's direction. */
#include "viewer/layout/simplex.h"

#include "base/cancel.h"

typedef struct pivoting {
    simplex *s;
    uint32_t *start, *incident;        /* edges of each node */
    uint32_t *parent, *child, *next;   /* tree: parent, first child, next of the same parent */
    uint32_t *low, *number, *numbered; /* the walk: first number of the subtree, own; its inverse */
    int64_t *net;                      /* weight that leaves the subtree less that enters it */
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
    p->parent[node] = parent;
    p->next[node] = p->child[parent];
    p->child[parent] = node;
}

static void detach(pivoting *p, uint32_t node)
{
    uint32_t *at = &p->child[p->parent[node]];
    while (*at != node) {
        at = &p->next[*at];
        p->work++;
    }
    *at = p->next[node];
}

/* Numbers the subtree of `root` from `from` on. */
static void walk(pivoting *p, uint32_t root, uint32_t from)
{
    uint32_t at = root, n = from;
    for (;;) {
        p->low[at] = n;
        if (p->child[at] != VIEW_NONE) {
            at = p->child[at];
            continue;
        }
        for (;;) {
            p->number[at] = n;
            p->numbered[n++] = at;
            if (at == root) {
                p->work += n - from;
                return;
            }
            if (p->next[at] != VIEW_NONE) break;
            at = p->parent[at];
        }
        at = p->next[at];
    }
}

static bool is_in(const pivoting *p, uint32_t node, uint32_t subtree)
{
    return p->low[subtree] <= p->number[node] && p->number[node] <= p->number[subtree];
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
    uint32_t **const lists[] = {&p->start, &p->parent, &p->child,   &p->next,
                                &p->low,   &p->number, &p->numbered};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!(*lists[i] = arena_alloc_array(s->l->memory, n, sizeof(uint32_t)))) return false;
    if (!(p->net = arena_alloc_array(s->l->memory, n, sizeof *p->net)) || !list_incident(p))
        return false;
    for (uint32_t i = 0; i < s->node_count; i++) p->child[i] = p->next[i] = VIEW_NONE;
    p->parent[0] = VIEW_NONE;
    for (uint32_t i = s->node_count; i-- > 1;)
        attach(p, i, other_end(&s->edges[s->parent_edge[i]], i));
    walk(p, 0, 0);
    for (uint32_t i = 0; i < s->edge_count; i++) {
        p->net[s->edges[i].tail] += s->edges[i].weight;
        p->net[s->edges[i].head] -= s->edges[i].weight;
    }
    for (uint32_t k = 0; k + 1 < s->node_count; k++)
        p->net[p->parent[p->numbered[k]]] += p->net[p->numbered[k]];
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

/* The edge of the least slack that crosses the border of the subtree the other way. */
static uint32_t entering(pivoting *p, uint32_t subtree)
{
    const simplex *s = p->s;
    const bool leaves = s->edges[s->parent_edge[subtree]].tail == subtree;
    uint32_t best = VIEW_NONE;
    int32_t least = INT32_MAX;
    for (uint32_t k = p->low[subtree]; k <= p->number[subtree]; k++) {
        const uint32_t node = p->numbered[k];
        p->work += p->start[node + 1] - p->start[node] + 1;
        for (uint32_t i = p->start[node]; i < p->start[node + 1]; i++) {
            const uint32_t edge = p->incident[i];
            const simplex_edge *e = &s->edges[edge];
            if ((leaves ? e->head : e->tail) != node || is_in(p, other_end(e, node), subtree))
                continue;
            const int32_t room = slack(p, edge);
            if (room < least) least = room, best = edge;
            if (room == 0) return edge;
        }
    }
    return best;
}

/* Hangs the subtree of `child` on the outer end of `edge`, by the edge's inner end. */
static void exchange(pivoting *p, uint32_t child, uint32_t edge)
{
    simplex *s = p->s;
    const simplex_edge *e = &s->edges[edge];
    const uint32_t inner = is_in(p, e->tail, child) ? e->tail : e->head;
    const uint32_t outer = other_end(e, inner), before = p->parent[child];
    const int64_t whole = p->net[child];
    uint32_t common = outer;
    while (!is_in(p, before, common)) {
        p->net[common] += whole;
        common = p->parent[common];
    }
    for (uint32_t at = before; at != common; at = p->parent[at]) p->net[at] -= whole;
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
    walk(p, common, p->low[common]);
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
            for (uint32_t k = p.low[child]; k <= p.number[child]; k++)
                s->places[p.numbered[k]] += room;
        exchange(&p, child, edge);
    }
    return PGY_OK;
}

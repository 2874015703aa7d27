/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: flips edges of cycles, and puts each item below what it reads. */
#include <string.h>

#include "base/cancel.h"
#include "viewer/layout/simplex.h"

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
    e->top_port = e->bottom_port = 0; /* ports for the other direction */
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

/* The graph whose nodes get rows: 0 stands for all ports at the top and above everything, the last
 * for all ports at the bottom and below everything; item i is i + 1. */
typedef struct ranking {
    layers *l;
    simplex s;
    uint32_t *start, *list, *order; /* edges by tail; nodes so that edges point forwards */
    bool has_in, has_out;
} ranking;

static uint32_t rank_node(const layers *l, uint32_t item)
{
    if (item < l->child_count) return item + 1;
    return l->items[item].kind == VIEW_ITEM_IN ? 0 : l->child_count + 1;
}

static void add_edge(simplex *s, uint32_t tail, uint32_t head, int32_t weight)
{
    s->edges[s->edge_count++] = (simplex_edge){tail, head, 1, weight};
}

static bool make_graph(ranking *r)
{
    const layers *l = r->l;
    simplex *s = &r->s;
    s->node_count = l->child_count + 2;
    s->edges = arena_alloc_array(l->memory, (size_t)l->edge_count + 2 * (size_t)s->node_count,
                                 sizeof *s->edges);
    bool *reads = arena_alloc(l->memory, s->node_count);
    bool *is_read = arena_alloc(l->memory, s->node_count);
    if (!s->edges || !reads || !is_read) return false;
    for (uint32_t i = l->child_count; i < l->item_count; i++)
        *(l->items[i].kind == VIEW_ITEM_IN ? &r->has_in : &r->has_out) = true;
    for (uint32_t i = 0; i < l->edge_count; i++) {
        const uint32_t tail = rank_node(l, l->edges[i].top);
        const uint32_t head = rank_node(l, l->edges[i].bottom);
        is_read[tail] = reads[head] = true;
        add_edge(s, tail, head, 1);
    }
    for (uint32_t i = 1; i <= l->child_count; i++) {
        if (!reads[i]) add_edge(s, 0, i, 0);
        if (!is_read[i]) add_edge(s, i, l->child_count + 1, 0);
    }
    if (l->child_count == 0) add_edge(s, 0, 1, 0);
    return true;
}

static bool sort_nodes(ranking *r)
{
    const simplex *s = &r->s;
    const size_t n = (size_t)s->node_count + 2;
    uint32_t *open = arena_alloc_array(s->l->memory, n, sizeof *open), count = 0;
    r->start = arena_alloc_array(s->l->memory, n, sizeof *r->start);
    r->order = arena_alloc_array(s->l->memory, n, sizeof *r->order);
    r->list = arena_alloc_array(s->l->memory, (size_t)s->edge_count + 1, sizeof *r->list);
    if (!open || !r->start || !r->order || !r->list) return false;
    for (uint32_t i = 0; i < s->edge_count; i++) {
        open[s->edges[i].head]++;
        if (s->edges[i].tail + 2 < n) r->start[s->edges[i].tail + 2]++;
    }
    for (uint32_t i = 1; i < s->node_count; i++) r->start[i + 1] += r->start[i];
    for (uint32_t i = 0; i < s->edge_count; i++) r->list[r->start[s->edges[i].tail + 1]++] = i;
    for (uint32_t i = 0; i < s->node_count; i++)
        if (!open[i]) r->order[count++] = i;
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = r->start[r->order[k]]; i < r->start[r->order[k] + 1]; i++)
            if (--open[s->edges[r->list[i]].head] == 0)
                r->order[count++] = s->edges[r->list[i]].head;
    return count == s->node_count;
}

/* Each node right under the lowest that it reads; those that read nothing right over the highest of
 * their readers. So each has an edge without slack, and these make a tree. */
static void longest_paths(ranking *r)
{
    simplex *s = &r->s;
    for (uint32_t i = 0; i < s->node_count; i++) s->parent_edge[i] = VIEW_NONE;
    for (uint32_t k = 0; k < s->node_count; k++)
        for (uint32_t i = r->start[r->order[k]]; i < r->start[r->order[k] + 1]; i++) {
            const simplex_edge *e = &s->edges[r->list[i]];
            if (s->parent_edge[e->head] != VIEW_NONE &&
                s->places[e->head] >= s->places[e->tail] + 1)
                continue;
            s->places[e->head] = s->places[e->tail] + 1;
            s->parent_edge[e->head] = r->list[i];
        }
    for (uint32_t node = 1; node + 1 < s->node_count; node++) {
        const uint32_t tie = s->parent_edge[node];
        uint32_t nearest = VIEW_NONE;
        if (s->edges[tie].tail != 0 || s->edges[tie].weight > 0) continue;
        for (uint32_t i = r->start[node]; i < r->start[node + 1]; i++) {
            const uint32_t at = r->list[i];
            if (s->edges[at].weight > 0 &&
                (nearest == VIEW_NONE ||
                 s->places[s->edges[at].head] < s->places[s->edges[nearest].head]))
                nearest = at;
        }
        if (nearest == VIEW_NONE || s->places[s->edges[nearest].head] <= s->places[node] + 1)
            continue;
        s->places[node] = s->places[s->edges[nearest].head] - 1;
        s->parent_edge[node] = nearest;
    }
}

/* Nodes that could lie in several rows at the same cost go up. */
static void rise(ranking *r)
{
    simplex *s = &r->s;
    int32_t *weights = arena_alloc_array(s->l->memory, s->node_count, sizeof *weights);
    int32_t *highest = arena_alloc_array(s->l->memory, s->node_count, sizeof *highest);
    if (!weights || !highest) return; /* this is for looks only */
    for (uint32_t i = 0; i < s->edge_count; i++) {
        weights[s->edges[i].tail] += s->edges[i].weight;
        weights[s->edges[i].head] -= s->edges[i].weight;
    }
    for (uint32_t k = 0; k < s->node_count; k++) {
        const uint32_t node = r->order[k];
        if (weights[node] == 0 && highest[node] > 0 && node + 1 < s->node_count)
            s->places[node] = highest[node];
        for (uint32_t i = r->start[node]; i < r->start[node + 1]; i++) {
            const uint32_t head = s->edges[r->list[i]].head;
            if (highest[head] <= s->places[node]) highest[head] = s->places[node] + 1;
        }
    }
}

static uint32_t root_of(uint32_t *roots, uint32_t node)
{
    while (roots[node] != node) node = roots[node] = roots[roots[node]];
    return node;
}

/* Parts that hang on nothing else begin at the top. */
static void raise_parts(ranking *r)
{
    simplex *s = &r->s;
    const uint32_t last = s->node_count - 1;
    uint32_t *roots = arena_alloc_array(s->l->memory, s->node_count, sizeof *roots);
    int32_t *tops = arena_alloc_array(s->l->memory, s->node_count, sizeof *tops);
    if (!roots || !tops) return; /* this is for looks only */
    for (uint32_t i = 0; i <= last; i++) roots[i] = i, tops[i] = INT32_MAX;
    for (uint32_t i = 0; i < s->edge_count; i++)
        if (s->edges[i].weight > 0)
            roots[root_of(roots, s->edges[i].head)] = root_of(roots, s->edges[i].tail);
    for (uint32_t i = 1; i < last; i++) {
        int32_t *top = &tops[root_of(roots, i)];
        if (s->places[i] < *top) *top = s->places[i];
    }
    const int32_t first = s->places[0] + 1;
    for (uint32_t i = 1; i < last; i++) {
        const uint32_t root = root_of(roots, i);
        if (root != root_of(roots, 0) && root != root_of(roots, last))
            s->places[i] -= tops[root] - first;
    }
}

/* Items without any edge fill several rows, so that they make no endless one. */
static void wrap_singles(ranking *r)
{
    enum { LEAST = 8 };
    simplex *s = &r->s;
    const uint32_t last = s->node_count - 1;
    bool *is_tied = arena_alloc(s->l->memory, s->node_count);
    if (!is_tied) return; /* this is for looks only */
    uint32_t singles = 0, per_row = LEAST, k = 0;
    for (uint32_t i = 0; i < s->edge_count; i++)
        if (s->edges[i].weight > 0) is_tied[s->edges[i].tail] = is_tied[s->edges[i].head] = true;
    for (uint32_t i = 1; i < last; i++) singles += !is_tied[i];
    while ((uint64_t)per_row * per_row < singles) per_row++;
    for (uint32_t i = 1; i < last; i++)
        if (!is_tied[i]) s->places[i] = s->places[0] + 1 + (int32_t)(k++ / per_row);
}

static void take_rows(ranking *r)
{
    layers *l = r->l;
    int32_t top = INT32_MAX, last = -1;
    for (uint32_t i = 1; i <= l->child_count; i++)
        if (r->s.places[i] < top) top = r->s.places[i];
    if (r->has_in) top = r->s.places[0];
    for (uint32_t i = 0; i < l->child_count; i++) {
        const int32_t row = r->s.places[i + 1] - top;
        l->rows[i] = (uint32_t)row;
        if (row > last) last = row;
    }
    if (r->has_in && last < 0) last = 0;
    if (r->has_out) last++;
    for (uint32_t i = l->child_count; i < l->item_count; i++)
        l->rows[i] = l->items[i].kind == VIEW_ITEM_IN ? 0 : (uint32_t)last;
    l->row_count = (uint32_t)(last + 1);
}

pgy_status layers_rank(layers *l, pgy_error *err)
{
    ranking r = {.l = l, .s = {.l = l, .work_limit = 30000000}};
    l->rows = arena_alloc_array(l->memory, (size_t)l->item_count + 1, sizeof *l->rows);
    if (!l->rows || !make_graph(&r)) return layout_no_memory(err);
    r.s.places = arena_alloc_array(l->memory, r.s.node_count, sizeof *r.s.places);
    r.s.parent_edge = arena_alloc_array(l->memory, r.s.node_count, sizeof(uint32_t));
    if (!r.s.places || !r.s.parent_edge || !sort_nodes(&r)) return layout_no_memory(err);
    longest_paths(&r);
    const pgy_status st = simplex_run(&r.s, err);
    if (st) return st;
    rise(&r);
    raise_parts(&r);
    wrap_singles(&r);
    take_rows(&r);
    return PGY_OK;
}

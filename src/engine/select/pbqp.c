/* SPDX-License-Identifier: Apache-2.0 */
/* Solves by reduction (Scholz and Eckstein): a node with one neighbour is folded into the
 * neighbour's costs, a node with two neighbours into an edge between them. Both steps keep the
 * optimum. If only nodes with more neighbours remain, a small rest is enumerated; else the node
 * with most neighbours takes its locally best state. Then the folded nodes are decided in reverse
 * order. At the end nodes change states one at a time while that helps, from this solution and from
 * the first guess. */
#include "engine/select/pbqp.h"

#include <string.h>

#include "base/alloc.h"

enum { MOST_TRIALS = 20000, MOST_SWEEPS = 16, NO_EDGE = UINT32_MAX };

typedef struct edge {
    uint32_t a, b;
    uint32_t next_a, next_b; /* indices of the next edge in the edge lists of nodes a and b */
    double *cost;
    bool gone;
} edge;

typedef struct node {
    uint32_t count, first; /* number of states; index of the first edge */
    double *cost;
    uint32_t degree;
    bool gone;
} node;

struct pbqp {
    arena *memory;
    node *nodes;
    edge *edges;
    size_t node_count, node_capacity, edge_count, edge_capacity;
};

/* ---- The problem ---------------------------------------------------------------------------- */

pbqp *pbqp_create(arena *memory)
{
    pbqp *p = arena_alloc(memory, sizeof *p);
    if (p) p->memory = memory;
    return p;
}

static bool grow(void **items, size_t *capacity, size_t count, size_t size, arena *memory)
{
    if (count < *capacity) return true;
    const size_t wanted = *capacity ? 2 * *capacity : 64;
    void *more = arena_alloc_array(memory, wanted, size);
    if (!more) return false;
    if (count) memcpy(more, *items, count * size);
    *items = more;
    *capacity = wanted;
    return true;
}

static double *copy_costs(arena *memory, const double *costs, size_t count)
{
    double *made = arena_alloc_array(memory, count, sizeof *made);
    if (made) memcpy(made, costs, count * sizeof *made);
    return made;
}

bool pbqp_add_node(pbqp *p, uint32_t *index, size_t count, const double *costs)
{
    if (!grow((void **)&p->nodes, &p->node_capacity, p->node_count, sizeof *p->nodes, p->memory))
        return false;
    node *n = &p->nodes[p->node_count];
    *n = (node){.count = (uint32_t)count, .first = NO_EDGE};
    n->cost = copy_costs(p->memory, costs, count);
    *index = (uint32_t)p->node_count++;
    return n->cost != NULL;
}

static uint32_t next_edge(const pbqp *p, uint32_t e, uint32_t n)
{
    return p->edges[e].a == n ? p->edges[e].next_a : p->edges[e].next_b;
}

static uint32_t other_end(const pbqp *p, uint32_t e, uint32_t n)
{
    return p->edges[e].a == n ? p->edges[e].b : p->edges[e].a;
}

static uint32_t find_edge(const pbqp *p, uint32_t a, uint32_t b)
{
    if (p->nodes[b].degree < p->nodes[a].degree) {
        const uint32_t swap = a;
        a = b;
        b = swap;
    }
    for (uint32_t e = p->nodes[a].first; e != NO_EDGE; e = next_edge(p, e, a))
        if (!p->edges[e].gone && other_end(p, e, a) == b) return e;
    return NO_EDGE;
}

static double pair_cost(const pbqp *p, uint32_t e, uint32_t n, size_t own, size_t other)
{
    const edge *it = &p->edges[e];
    return it->a == n ? it->cost[own * p->nodes[it->b].count + other]
                      : it->cost[other * p->nodes[it->b].count + own];
}

static void add_to_edge(pbqp *p, uint32_t e, uint32_t a, const double *costs)
{
    const edge *it = &p->edges[e];
    const size_t rows = p->nodes[it->a].count, columns = p->nodes[it->b].count;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < columns; k++)
            it->cost[i * columns + k] += it->a == a ? costs[i * columns + k] : costs[k * rows + i];
}

bool pbqp_add_edge(pbqp *p, uint32_t a, uint32_t b, const double *costs)
{
    const size_t rows = p->nodes[a].count, columns = p->nodes[b].count;
    if (a == b) {
        for (size_t i = 0; i < rows; i++) p->nodes[a].cost[i] += costs[i * columns + i];
        return true;
    }
    const uint32_t found = find_edge(p, a, b);
    if (found != NO_EDGE) {
        add_to_edge(p, found, a, costs);
        return true;
    }
    if (!grow((void **)&p->edges, &p->edge_capacity, p->edge_count, sizeof *p->edges, p->memory))
        return false;
    edge *e = &p->edges[p->edge_count];
    *e = (edge){.a = a, .b = b, .next_a = p->nodes[a].first, .next_b = p->nodes[b].first};
    e->cost = copy_costs(p->memory, costs, rows * columns);
    if (!e->cost) return false;
    p->nodes[a].first = p->nodes[b].first = (uint32_t)p->edge_count++;
    p->nodes[a].degree++;
    p->nodes[b].degree++;
    return true;
}

size_t pbqp_node_count(const pbqp *p)
{
    return p->node_count;
}

double pbqp_cost(const pbqp *p, const uint32_t *states)
{
    double total = 0;
    for (size_t i = 0; i < p->node_count; i++) total += p->nodes[i].cost[states[i]];
    for (size_t i = 0; i < p->edge_count; i++) {
        const edge *e = &p->edges[i];
        total += e->cost[states[e->a] * p->nodes[e->b].count + states[e->b]];
    }
    return total;
}

/* ---- Reduction ------------------------------------------------------------------------------ */

/* A copy of the problem that the reduction takes apart, and the removed nodes. */
typedef struct work {
    pbqp p;
    arena memory;
    uint32_t *order; /* nodes in the order of removal */
    size_t taken;
    uint32_t *queue; /* nodes that may have up to two neighbours */
    size_t head, tail, queue_size;
    bool *queued;
} work;

static bool copy_problem(work *w, const pbqp *from)
{
    w->p = (pbqp){.memory = &w->memory};
    for (size_t i = 0; i < from->node_count; i++) {
        uint32_t index;
        if (!pbqp_add_node(&w->p, &index, from->nodes[i].count, from->nodes[i].cost)) return false;
    }
    for (size_t i = 0; i < from->edge_count; i++) {
        const edge *e = &from->edges[i];
        if (!pbqp_add_edge(&w->p, e->a, e->b, e->cost)) return false;
    }
    w->queue_size = from->node_count + 1;
    w->order = arena_alloc_array(&w->memory, w->queue_size, sizeof *w->order);
    w->queue = arena_alloc_array(&w->memory, w->queue_size, sizeof *w->queue);
    w->queued = arena_alloc_array(&w->memory, w->queue_size, sizeof *w->queued);
    return w->order && w->queue && w->queued;
}

static void look_at(work *w, uint32_t n)
{
    const node *it = &w->p.nodes[n];
    if (it->gone || (it->degree > 2 && it->count > 1) || w->queued[n]) return;
    w->queued[n] = true;
    w->queue[w->tail] = n;
    w->tail = (w->tail + 1) % w->queue_size;
}

/* Removes a node; its edges stay, since decide() needs them. */
static void take_out(work *w, uint32_t n)
{
    pbqp *p = &w->p;
    p->nodes[n].gone = true;
    w->order[w->taken++] = n;
    for (uint32_t e = p->nodes[n].first; e != NO_EDGE; e = next_edge(p, e, n)) {
        if (p->edges[e].gone) continue;
        const uint32_t other = other_end(p, e, n);
        p->edges[e].gone = true;
        p->nodes[other].degree--;
        look_at(w, other);
    }
}

/* Collects the remaining edges of a node, at most two. */
static size_t edges_of(uint32_t *found, const pbqp *p, uint32_t n)
{
    size_t count = 0;
    for (uint32_t e = p->nodes[n].first; e != NO_EDGE && count < 2; e = next_edge(p, e, n))
        if (!p->edges[e].gone) found[count++] = e;
    return count;
}

static void fold_one(pbqp *p, uint32_t n, uint32_t e)
{
    node *other = &p->nodes[other_end(p, e, n)];
    for (uint32_t k = 0; k < other->count; k++) {
        double best = PBQP_NEVER;
        for (uint32_t i = 0; i < p->nodes[n].count; i++) {
            const double cost = p->nodes[n].cost[i] + pair_cost(p, e, n, i, k);
            if (cost < best) best = cost;
        }
        other->cost[k] += best;
    }
}

static bool fold_two(pbqp *p, uint32_t n, const uint32_t *e)
{
    const uint32_t a = other_end(p, e[0], n), b = other_end(p, e[1], n);
    const uint32_t rows = p->nodes[a].count, columns = p->nodes[b].count;
    double *costs = arena_alloc_array(p->memory, (size_t)rows * columns, sizeof *costs);
    if (!costs) return false;
    for (uint32_t j = 0; j < rows; j++)
        for (uint32_t k = 0; k < columns; k++) {
            double best = PBQP_NEVER;
            for (uint32_t i = 0; i < p->nodes[n].count; i++) {
                const double cost =
                    p->nodes[n].cost[i] + pair_cost(p, e[0], n, i, j) + pair_cost(p, e[1], n, i, k);
                if (cost < best) best = cost;
            }
            costs[(size_t)j * columns + k] = best;
        }
    return pbqp_add_edge(p, a, b, costs);
}

/* Fixes a node's state and adds its edges' costs to its neighbours. */
static void fix(work *w, uint32_t n, uint32_t state)
{
    pbqp *p = &w->p;
    for (uint32_t e = p->nodes[n].first; e != NO_EDGE; e = next_edge(p, e, n)) {
        if (p->edges[e].gone) continue;
        node *other = &p->nodes[other_end(p, e, n)];
        for (uint32_t k = 0; k < other->count; k++) other->cost[k] += pair_cost(p, e, n, state, k);
    }
    for (uint32_t i = 0; i < p->nodes[n].count; i++)
        if (i != state) p->nodes[n].cost[i] = PBQP_NEVER;
    take_out(w, n);
}

/* Removes nodes with one state or up to two neighbours. take_out queues neighbours that may
 * follow. */
static bool reduce(work *w)
{
    while (w->head != w->tail) {
        const uint32_t n = w->queue[w->head];
        uint32_t e[2];
        w->head = (w->head + 1) % w->queue_size;
        w->queued[n] = false;
        if (w->p.nodes[n].gone) continue;
        if (w->p.nodes[n].count == 1) {
            fix(w, n, 0);
            continue;
        }
        if (w->p.nodes[n].degree > 2) continue;
        const size_t count = edges_of(e, &w->p, n);
        if (count == 1) fold_one(&w->p, n, e[0]);
        if (count == 2 && !fold_two(&w->p, n, e)) return false;
        take_out(w, n);
    }
    return true;
}

/* ---- Nodes that cannot be reduced ----------------------------------------------------------- */

/* Cost of a state if each neighbour takes its best state for it. */
static double outlook(const pbqp *p, uint32_t n, uint32_t state)
{
    double total = p->nodes[n].cost[state];
    for (uint32_t e = p->nodes[n].first; e != NO_EDGE; e = next_edge(p, e, n)) {
        if (p->edges[e].gone) continue;
        const node *other = &p->nodes[other_end(p, e, n)];
        double best = PBQP_NEVER;
        for (uint32_t k = 0; k < other->count; k++) {
            const double cost = other->cost[k] + pair_cost(p, e, n, state, k);
            if (cost < best) best = cost;
        }
        total += best;
    }
    return total;
}

static uint32_t busiest(const pbqp *p)
{
    uint32_t found = NO_EDGE;
    for (uint32_t i = 0; i < p->node_count; i++)
        if (!p->nodes[i].gone && (found == NO_EDGE || p->nodes[i].degree > p->nodes[found].degree))
            found = i;
    return found;
}

static void fix_busiest(work *w)
{
    const uint32_t n = busiest(&w->p);
    uint32_t best = 0;
    double best_cost = PBQP_NEVER;
    for (uint32_t i = 0; i < w->p.nodes[n].count; i++) {
        const double cost = outlook(&w->p, n, i);
        if (cost >= best_cost) continue;
        best = i;
        best_cost = cost;
    }
    fix(w, n, best);
}

/* Do the remaining nodes have few combinations of states? */
static bool is_small(const work *w)
{
    double trials = 1;
    for (size_t i = 0; i < w->p.node_count && trials <= MOST_TRIALS; i++)
        if (!w->p.nodes[i].gone) trials *= w->p.nodes[i].count;
    return trials <= MOST_TRIALS;
}

/* The remaining nodes, and the edges between them. */
typedef struct rest {
    uint32_t *nodes, *edges;
    size_t node_count, edge_count;
} rest;

static bool gather_rest(rest *r, work *w)
{
    const pbqp *p = &w->p;
    r->nodes = arena_alloc_array(&w->memory, p->node_count, sizeof *r->nodes);
    r->edges = arena_alloc_array(&w->memory, p->edge_count + 1, sizeof *r->edges);
    if (!r->nodes || !r->edges) return false;
    for (uint32_t i = 0; i < p->node_count; i++)
        if (!p->nodes[i].gone) r->nodes[r->node_count++] = i;
    for (uint32_t i = 0; i < p->edge_count; i++)
        if (!p->edges[i].gone) r->edges[r->edge_count++] = i;
    return true;
}

static double cost_of_rest(const pbqp *p, const rest *r, const uint32_t *states)
{
    double total = 0;
    for (size_t i = 0; i < r->node_count; i++)
        total += p->nodes[r->nodes[i]].cost[states[r->nodes[i]]];
    for (size_t i = 0; i < r->edge_count; i++) {
        const edge *e = &p->edges[r->edges[i]];
        total += e->cost[states[e->a] * p->nodes[e->b].count + states[e->b]];
    }
    return total;
}

/* Steps to the next combination of states, counting like digits. */
static bool next_states(const pbqp *p, const rest *r, uint32_t *states)
{
    for (size_t i = 0; i < r->node_count; i++) {
        const uint32_t n = r->nodes[i];
        if (++states[n] < p->nodes[n].count) return true;
        states[n] = 0;
    }
    return false;
}

/* Tries all combinations of the remaining nodes, and fixes the best. */
static bool enumerate(work *w)
{
    const pbqp *p = &w->p;
    rest r = {0};
    uint32_t *states = arena_alloc_array(&w->memory, p->node_count, sizeof *states);
    uint32_t *best = arena_alloc_array(&w->memory, p->node_count, sizeof *best);
    if (!states || !best || !gather_rest(&r, w)) return false;
    double best_cost = PBQP_NEVER;
    do {
        const double cost = cost_of_rest(p, &r, states);
        if (cost >= best_cost) continue;
        best_cost = cost;
        memcpy(best, states, p->node_count * sizeof *best);
    } while (next_states(p, &r, states));
    for (size_t i = 0; i < r.node_count; i++) fix(w, r.nodes[i], best[r.nodes[i]]);
    return true;
}

/* ---- States of the removed nodes ------------------------------------------------------------ */

/* Sets the states of removed nodes in reverse order: the neighbours that a node had when it was
 * removed are decided by now, and determine its best state. */
static void decide(const work *w, uint32_t *states)
{
    const pbqp *p = &w->p;
    bool *known = w->queued; /* reused: the queue is empty now */
    memset(known, 0, p->node_count * sizeof *known);
    for (size_t t = w->taken; t-- > 0;) {
        const uint32_t n = w->order[t];
        double best_cost = PBQP_NEVER;
        states[n] = 0;
        for (uint32_t i = 0; i < p->nodes[n].count; i++) {
            double cost = p->nodes[n].cost[i];
            for (uint32_t e = p->nodes[n].first; e != NO_EDGE; e = next_edge(p, e, n)) {
                const uint32_t other = other_end(p, e, n);
                if (known[other]) cost += pair_cost(p, e, n, i, states[other]);
            }
            if (cost >= best_cost) continue;
            best_cost = cost;
            states[n] = i;
        }
        known[n] = true;
    }
}

/* Changes one node at a time, while that helps. */
static void improve(const pbqp *p, uint32_t *states)
{
    bool changed = true;
    for (int sweep = 0; changed && sweep < MOST_SWEEPS; sweep++) {
        changed = false;
        for (uint32_t n = 0; n < p->node_count; n++) {
            double best_cost = PBQP_NEVER;
            uint32_t best = states[n];
            for (uint32_t k = 0; k < p->nodes[n].count; k++) {
                const uint32_t i = (states[n] + k) % p->nodes[n].count; /* present state first */
                double cost = p->nodes[n].cost[i];
                for (uint32_t e = p->nodes[n].first; e != NO_EDGE; e = next_edge(p, e, n))
                    cost += pair_cost(p, e, n, i, states[other_end(p, e, n)]);
                if (cost >= best_cost) continue;
                best_cost = cost;
                best = i;
            }
            changed |= best != states[n];
            states[n] = best;
        }
    }
}

static bool solve_from_edges(work *w, uint32_t *states)
{
    for (uint32_t i = 0; i < w->p.node_count; i++) look_at(w, i);
    for (;;) {
        if (!reduce(w)) return false;
        if (w->taken == w->p.node_count) break;
        if (!is_small(w))
            fix_busiest(w);
        else if (!enumerate(w))
            return false;
    }
    decide(w, states);
    return true;
}

bool pbqp_solve(const pbqp *p, uint32_t *states)
{
    work w = {0};
    if (!p->node_count) return true;
    uint32_t *found = arena_alloc_array(&w.memory, p->node_count, sizeof *found);
    const bool done = found && copy_problem(&w, p) && solve_from_edges(&w, found);
    if (done) {
        improve(p, states);
        improve(p, found);
        if (pbqp_cost(p, found) < pbqp_cost(p, states))
            memcpy(states, found, p->node_count * sizeof *states);
    }
    arena_deinit(&w.memory);
    return done;
}

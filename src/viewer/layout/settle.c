/* SPDX-License-Identifier: Apache-2.0 */
/* The best places along the rows: the least sum of weighted distances between neighbours that order
 * and gaps allow, by the network simplex method. Places are counted in halves of a pixel. */
#include <math.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "viewer/layout/simplex.h"

enum {
    SETTLE_LIMIT = 60000,   /* nodes and lines; larger graphs keep the places they have */
    SETTLE_WORK = 60000000, /* steps of the simplex method */
    SETTLE_CENTRE_PASSES = 2
};

/* Lines between bends are kept straight first, then those between items. */
static int32_t weight_of(const layers *l, uint32_t upper, uint32_t lower)
{
    const int bends = (upper >= l->item_count) + (lower >= l->item_count);
    return bends == 2 ? 8 : bends == 1 ? 1 : 2;
}

static int64_t halves(double distance)
{
    return (int64_t)ceil(2 * distance - 1e-6);
}

/* In halves; from the left side of the row if nothing is left of it. */
static int64_t distance(const layers *l, uint32_t row, uint32_t k)
{
    const uint32_t node = l->order[k];
    if (k == l->row_start[row]) return halves(layer_width(l, node) / 2);
    const uint32_t left = l->order[k - 1];
    return halves((layer_width(l, left) + layer_width(l, node)) / 2 + layer_gap(l, left, node));
}

/* Rows packed to the left: node 0 is the left side, node i is i + 1. */
static void add_rows(simplex *s, const layers *l)
{
    for (uint32_t r = 0; r < l->row_count; r++)
        for (uint32_t k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
            const uint32_t node = l->order[k] + 1;
            const uint32_t left = k > l->row_start[r] ? l->order[k - 1] + 1 : 0;
            const int32_t length = (int32_t)distance(l, r, k);
            s->places[node] = s->places[left] + length;
            s->parent_edge[node] = s->edge_count;
            s->edges[s->edge_count++] = (simplex_edge){left, node, length, 0};
        }
}

/* A line's node lies at its left end; it pays for the distance to both ends. */
static void add_lines(simplex *s, const layers *l)
{
    uint32_t at = 1 + l->node_count;
    for (uint32_t i = 0; i < l->node_count; i++)
        for (uint32_t k = l->down.start[i]; k < l->down.start[i + 1]; k++, at++) {
            const uint32_t upper = i + 1, lower = l->down.to[k] + 1;
            const int32_t weight = weight_of(l, i, l->down.to[k]);
            const bool is_upper = s->places[upper] < s->places[lower];
            s->places[at] = s->places[is_upper ? upper : lower];
            s->parent_edge[at] = s->edge_count + !is_upper;
            s->edges[s->edge_count++] = (simplex_edge){at, upper, 0, weight};
            s->edges[s->edge_count++] = (simplex_edge){at, lower, 0, weight};
        }
}

static double cost(const layers *l, const float *x)
{
    double sum = 0;
    for (uint32_t i = 0; i < l->node_count; i++)
        for (uint32_t k = l->down.start[i]; k < l->down.start[i + 1]; k++)
            sum += weight_of(l, i, l->down.to[k]) * fabs((double)x[i] - x[l->down.to[k]]);
    return sum;
}

typedef struct neighbour {
    float x;
    uint32_t node;
} neighbour;

static int compare_neighbours(const void *a, const void *b)
{
    const neighbour *x = a, *y = b;
    if (x->x != y->x) return x->x < y->x ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* A node that only reads or is only read goes to the middle between the two middle neighbours, or
 * to the one that is no bend: all places between them cost the same. */
static void centre(layers *l, uint32_t row, uint32_t k, neighbour *list)
{
    const uint32_t node = l->order[k];
    const uint32_t up = l->up.start[node + 1] - l->up.start[node];
    const uint32_t count = up + l->down.start[node + 1] - l->down.start[node];
    const uint32_t *to = up ? l->up.to + l->up.start[node] : l->down.to + l->down.start[node];
    if ((up > 0 && up < count) || count < 2 || count % 2) return;
    for (uint32_t i = 0; i < count; i++) list[i] = (neighbour){l->x[to[i]], to[i]};
    qsort(list, count, sizeof *list, compare_neighbours);
    const neighbour *left = &list[count / 2 - 1], *right = &list[count / 2];
    double wish = (left->x + (double)right->x) / 2;
    if ((left->node < l->item_count) != (right->node < l->item_count))
        wish = left->node < l->item_count ? left->x : right->x;
    if (k > l->row_start[row]) {
        const double least = l->x[l->order[k - 1]] + (double)distance(l, row, k) / 2;
        if (wish < least) wish = least;
    }
    if (k + 1 < l->row_start[row + 1]) {
        const double most = l->x[l->order[k + 1]] - (double)distance(l, row, k + 1) / 2;
        if (wish > most) wish = most;
    }
    l->x[node] = (float)(floor(2 * wish) / 2);
}

static pgy_status centre_all(layers *l, pgy_error *err)
{
    const size_t lines = (size_t)l->down.start[l->node_count] + 1;
    neighbour *list = arena_alloc_array(l->memory, lines, sizeof *list);
    if (!list) return layout_no_memory(err);
    for (uint32_t pass = 0; pass < SETTLE_CENTRE_PASSES; pass++)
        for (uint32_t r = 0; r < l->row_count; r++)
            for (uint32_t k = l->row_start[r]; k < l->row_start[r + 1]; k++) centre(l, r, k, list);
    return PGY_OK;
}

pgy_status layers_settle(layers *l, pgy_error *err)
{
    const uint32_t n = l->node_count, lines = l->down.start[n];
    if ((uint64_t)n + lines > SETTLE_LIMIT) return PGY_OK;
    simplex s = {.l = l, .node_count = 1 + n + lines, .work_limit = SETTLE_WORK};
    s.edges = arena_alloc_array(l->memory, (size_t)n + 2 * (size_t)lines + 1, sizeof *s.edges);
    s.places = arena_alloc_array(l->memory, s.node_count, sizeof *s.places);
    s.parent_edge = arena_alloc_array(l->memory, s.node_count, sizeof *s.parent_edge);
    float *x = arena_alloc_array(l->memory, (size_t)n + 1, sizeof *x);
    if (!s.edges || !s.places || !s.parent_edge || !x) return layout_no_memory(err);
    for (uint32_t r = 0; r < l->row_count; r++) { /* widths may be of any size */
        int64_t width = 0;
        for (uint32_t k = l->row_start[r]; k < l->row_start[r + 1]; k++) width += distance(l, r, k);
        if (width > INT32_MAX / 4) return PGY_OK;
    }
    add_rows(&s, l);
    add_lines(&s, l);
    const pgy_status st = simplex_run(&s, err);
    if (st) return st;
    for (uint32_t i = 0; i < n; i++) x[i] = (float)s.places[i + 1] / 2;
    if (cost(l, x) < cost(l, l->x)) l->x = x;
    return centre_all(l, err);
}

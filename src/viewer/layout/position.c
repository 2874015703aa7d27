/* SPDX-License-Identifier: Apache-2.0 */
/* Places along the rows: sweeps pull each node to the mean of its neighbours in the row before, as
 * far as the order and the gaps allow. The simplex method then finds better places if it can. */
#include <math.h>

#include "base/cancel.h"
#include "viewer/layout/layers.h"

/* Nodes that were pushed together: their mean wish is where they lie. */
typedef struct block {
    double sum, weight;
    uint32_t first;
} block;

typedef struct positioning {
    layers *l;
    double *offsets; /* of each place in its row: the sum of the distances to its left */
    block *blocks;
} positioning;

static double wish(const layers *l, uint32_t node, const layer_lists *toward, double *weight)
{
    const uint32_t first = toward->start[node], last = toward->start[node + 1];
    double sum = 0;
    *weight = 0.01;
    if (first == last) return l->x[node];
    *weight = last - first;
    if (node >= l->item_count) *weight = 4;
    for (uint32_t i = first; i < last; i++) sum += l->x[toward->to[i]];
    return sum / (last - first);
}

static void place_row(positioning *p, uint32_t row, const layer_lists *toward)
{
    layers *l = p->l;
    const uint32_t *nodes = l->order + l->row_start[row];
    const uint32_t count = l->row_start[row + 1] - l->row_start[row];
    const double *offsets = p->offsets + l->row_start[row];
    uint32_t blocks = 0;
    for (uint32_t k = 0; k < count; k++) {
        block b = {.first = k};
        b.sum = wish(l, nodes[k], toward, &b.weight) - offsets[k];
        b.sum *= b.weight;
        while (blocks > 0) {
            const block *left = &p->blocks[blocks - 1];
            if (left->sum * b.weight < b.sum * left->weight) break;
            b = (block){left->sum + b.sum, left->weight + b.weight, left->first};
            blocks--;
        }
        p->blocks[blocks++] = b;
    }
    for (uint32_t i = 0; i < blocks; i++) {
        const uint32_t end = i + 1 < blocks ? p->blocks[i + 1].first : count;
        for (uint32_t k = p->blocks[i].first; k < end; k++)
            l->x[nodes[k]] = (float)(p->blocks[i].sum / p->blocks[i].weight + offsets[k]);
    }
}

static void find_offsets(positioning *p)
{
    layers *l = p->l;
    for (uint32_t r = 0; r < l->row_count; r++) {
        double at = 0;
        for (uint32_t k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
            if (k > l->row_start[r])
                at += (layer_width(l, l->order[k - 1]) + layer_width(l, l->order[k])) / 2 +
                      layer_gap(l, l->order[k - 1], l->order[k]);
            p->offsets[k] = at;
        }
        for (uint32_t k = l->row_start[r]; k < l->row_start[r + 1]; k++)
            l->x[l->order[k]] = (float)(p->offsets[k] - at / 2);
    }
}

/* Multiples of 1/2, so that equal places are equal in every reader. */
static void snap(layers *l)
{
    double left = 0, at = 0;
    for (uint32_t i = 0; i < l->node_count; i++) {
        const double side = l->x[i] - layer_width(l, i) / 2;
        if (i == 0 || side < left) left = side;
    }
    for (uint32_t r = 0; r < l->row_count; r++)
        for (uint32_t k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
            const uint32_t node = l->order[k];
            double least = layer_width(l, node) / 2;
            if (k > l->row_start[r])
                least +=
                    at + layer_width(l, l->order[k - 1]) / 2 + layer_gap(l, l->order[k - 1], node);
            at = round((l->x[node] - left) * 2) / 2;
            if (at < least) at = ceil(least * 2) / 2;
            l->x[node] = (float)at;
        }
}

pgy_status layers_position(layers *l, pgy_error *err)
{
    enum { SWEEPS = 16 };
    const size_t n = (size_t)l->node_count + 1;
    positioning p = {.l = l};
    l->x = arena_alloc_array(l->memory, n, sizeof *l->x);
    p.offsets = arena_alloc_array(l->memory, n, sizeof *p.offsets);
    p.blocks = arena_alloc_array(l->memory, n, sizeof *p.blocks);
    if (!l->x || !p.offsets || !p.blocks) return layout_no_memory(err);
    find_offsets(&p);
    for (uint32_t sweep = 0; sweep < SWEEPS; sweep++) {
        if (cancel_requested()) return cancel_check(err);
        if (layers_late(l)) break;
        for (uint32_t r = 1; r < l->row_count; r++)
            if (sweep % 2)
                place_row(&p, l->row_count - 1 - r, &l->down);
            else
                place_row(&p, r, &l->up);
    }
    const pgy_status st = layers_settle(l, err);
    if (!st) snap(l);
    return st;
}

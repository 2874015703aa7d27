/* SPDX-License-Identifier: Apache-2.0 */
/* Orders rows: sweeps down and up put each node at the mean place of its neighbours in the row
 * before; the order with the fewest crossings stays. */
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "viewer/layout/layers.h"

typedef struct order_key {
    double at;
    uint32_t place, node;
} order_key;

static int compare_keys(const void *a, const void *b)
{
    const order_key *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

/* Rows filled in the order in which a walk down meets their nodes. */
static bool first_order(layers *l)
{
    const uint32_t n = l->node_count;
    l->order = arena_alloc_array(l->memory, (size_t)n + 1, sizeof(uint32_t));
    l->place = arena_alloc_array(l->memory, (size_t)n + 1, sizeof(uint32_t));
    l->row_start = arena_alloc_array(l->memory, (size_t)l->row_count + 2, sizeof(uint32_t));
    uint32_t *next = arena_alloc_array(l->memory, (size_t)l->row_count + 1, sizeof(uint32_t));
    uint32_t *stack = arena_alloc_array(l->memory, (size_t)n + 1, sizeof(uint32_t));
    uint32_t *at = arena_alloc_array(l->memory, (size_t)n + 1, sizeof(uint32_t));
    bool *met = arena_alloc(l->memory, (size_t)n + 1);
    if (!l->order || !l->place || !l->row_start || !next || !stack || !at || !met) return false;
    for (uint32_t i = 0; i < n; i++) l->row_start[l->rows[i] + 1]++;
    for (uint32_t r = 0; r < l->row_count; r++) l->row_start[r + 1] += l->row_start[r];
    for (uint32_t root = 0; root < n; root++) {
        uint32_t depth = 0;
        if (met[root] || l->up.start[root] != l->up.start[root + 1]) continue;
        stack[depth++] = root;
        met[root] = true;
        at[root] = l->down.start[root];
        while (depth > 0) {
            const uint32_t i = stack[depth - 1];
            if (at[i] == l->down.start[i]) {
                const uint32_t row = l->rows[i];
                l->place[i] = next[row];
                l->order[l->row_start[row] + next[row]++] = i;
            }
            while (at[i] < l->down.start[i + 1] && met[l->down.to[at[i]]]) at[i]++;
            if (at[i] == l->down.start[i + 1]) {
                depth--;
                continue;
            }
            const uint32_t to = l->down.to[at[i]++];
            stack[depth++] = to;
            met[to] = true;
            at[to] = l->down.start[to];
        }
    }
    return true;
}

static void sort_row(layers *l, uint32_t row, const layer_lists *toward, order_key *keys)
{
    uint32_t *nodes = l->order + l->row_start[row];
    const uint32_t count = l->row_start[row + 1] - l->row_start[row];
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t first = toward->start[nodes[k]], last = toward->start[nodes[k] + 1];
        double sum = 0;
        for (uint32_t i = first; i < last; i++) sum += l->place[toward->to[i]];
        keys[k] = (order_key){first == last ? k : sum / (last - first), k, nodes[k]};
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    for (uint32_t k = 0; k < count; k++) {
        nodes[k] = keys[k].node;
        l->place[nodes[k]] = k;
    }
}

static int compare_places(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Crossings below a row: for each line, in order from the left, those to the right of its end among
 * the ends before it. `tree` counts ends; it is a binary tree of sums with `leaves` leaves. */
static uint64_t crossings_below(layers *l, uint32_t row, uint32_t *ends, uint32_t *tree)
{
    const uint32_t width = l->row_start[row + 2] - l->row_start[row + 1];
    uint32_t leaves = 1;
    uint64_t sum = 0;
    while (leaves < width) leaves *= 2;
    memset(tree, 0, 2 * (size_t)leaves * sizeof *tree);
    for (uint32_t k = l->row_start[row]; k < l->row_start[row + 1]; k++) {
        const uint32_t first = l->down.start[l->order[k]];
        const uint32_t count = l->down.start[l->order[k] + 1] - first;
        for (uint32_t i = 0; i < count; i++) ends[i] = l->place[l->down.to[first + i]];
        qsort(ends, count, sizeof *ends, compare_places);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t at = ends[i] + leaves;
            for (tree[at]++; at > 1; at /= 2) {
                if (at % 2 == 0) sum += tree[at + 1];
                tree[at / 2]++;
            }
        }
    }
    return sum;
}

pgy_status layers_order(layers *l, pgy_error *err)
{
    enum { SWEEPS = 8 };
    const size_t n = (size_t)l->node_count + 1;
    order_key *keys = arena_alloc_array(l->memory, n, sizeof *keys);
    uint32_t *best = arena_alloc_array(l->memory, n, sizeof *best);
    uint32_t *ends = arena_alloc_array(l->memory, (size_t)l->down.start[l->node_count] + 1, 4);
    uint32_t *tree = arena_alloc_array(l->memory, 4 * n, sizeof *tree);
    if (!keys || !best || !ends || !tree || !first_order(l)) return layout_no_memory(err);
    uint64_t fewest = UINT64_MAX;
    for (uint32_t sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
        if (cancel_requested()) return cancel_check(err);
        for (uint32_t r = 1; r < l->row_count; r++)
            if (sweep % 2)
                sort_row(l, l->row_count - 1 - r, &l->down, keys);
            else
                sort_row(l, r, &l->up, keys);
        uint64_t sum = 0;
        for (uint32_t r = 0; r + 1 < l->row_count; r++) sum += crossings_below(l, r, ends, tree);
        if (sum >= fewest) continue;
        fewest = sum;
        memcpy(best, l->order, l->node_count * sizeof *best);
    }
    memcpy(l->order, best, l->node_count * sizeof *best);
    for (uint32_t r = 0; r < l->row_count; r++)
        for (uint32_t k = l->row_start[r]; k < l->row_start[r + 1]; k++)
            l->place[l->order[k]] = k - l->row_start[r];
    return PGY_OK;
}

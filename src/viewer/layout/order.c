/* SPDX-License-Identifier: Apache-2.0 */
/* Orders rows: sweeps down and up put each node at the median or mean place of its neighbours in
 * the row before, then neighbours change places while that saves crossings; the order with the
 * fewest crossings stays. The work is limited by counts, so that the result is the same on each
 * machine. */
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "viewer/layout/layers.h"

enum {
    ORDER_ROUNDS = 24,    /* at most, from each first order */
    ORDER_PATIENCE = 6,   /* rounds without fewer crossings */
    ORDER_SWAP_PASSES = 8 /* over one row */
};

typedef struct order_key {
    double at;
    uint32_t place, node;
} order_key;

typedef struct ordering {
    layers *l;
    order_key *keys;
    uint32_t *best;
    uint32_t *up_places, *down_places; /* places of neighbours in the order of the lists, sorted */
    uint32_t *tops, *bottoms; /* of each node: places of its ports among those of the row */
    uint32_t *ends;           /* lines of one node: port and end */
    uint32_t *tree;
    uint64_t *below; /* crossings below each row */
    uint64_t fewest, work, limit;
} ordering;

static int compare_keys(const void *a, const void *b)
{
    const order_key *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static int compare_places(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void sort_places(uint32_t *list, uint32_t count)
{
    if (count > 16) {
        qsort(list, count, sizeof *list, compare_places);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        const uint32_t p = list[i];
        uint32_t k = i;
        for (; k > 0 && list[k - 1] > p; k--) list[k] = list[k - 1];
        list[k] = p;
    }
}

/* Writes the sorted places of the neighbours of all nodes of a row. */
static void read_places(ordering *o, uint32_t row, const layer_lists *toward, uint32_t *places)
{
    const layers *l = o->l;
    const uint32_t *base = toward == &l->up ? o->bottoms : o->tops;
    for (uint32_t k = l->row_start[row]; k < l->row_start[row + 1]; k++) {
        const uint32_t node = l->order[k], first = toward->start[node];
        const uint32_t count = toward->start[node + 1] - first;
        for (uint32_t i = first; i < first + count; i++)
            places[i] = base[toward->to[i]] + toward->port[i];
        sort_places(places + first, count);
        o->work += 1 + 2 * (uint64_t)count;
    }
}

/* Numbers the ports of a row after its order changed. */
static void number_ports(ordering *o, uint32_t row)
{
    const layers *l = o->l;
    uint32_t top = 0, bottom = 0;
    for (uint32_t k = l->row_start[row]; k < l->row_start[row + 1]; k++) {
        const uint32_t node = l->order[k];
        o->tops[node] = top;
        o->bottoms[node] = bottom;
        top += node < l->item_count ? l->ins[node] : 1;
        bottom += node < l->item_count ? l->outs[node] : 1;
    }
}

/* The median; of an even number the point between both middle ones, nearer to where the others are
 * closer together. */
static double median(const uint32_t *p, uint32_t count)
{
    const uint32_t middle = count / 2;
    if (count % 2) return p[middle];
    if (count == 2) return (p[0] + (double)p[1]) / 2;
    const double left = p[middle - 1] - p[0], right = p[count - 1] - p[middle];
    if (left + right == 0) return (p[middle - 1] + (double)p[middle]) / 2;
    return (p[middle - 1] * right + p[middle] * left) / (left + right);
}

static double mean(const uint32_t *p, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += p[i];
    return sum / count;
}

/* Nodes without neighbours keep their places among the others. */
static void sort_row(ordering *o, uint32_t row, bool from_above, uint32_t round)
{
    layers *l = o->l;
    const layer_lists *toward = from_above ? &l->up : &l->down;
    uint32_t *places = from_above ? o->up_places : o->down_places;
    uint32_t *nodes = l->order + l->row_start[row];
    const uint32_t count = l->row_start[row + 1] - l->row_start[row];
    uint32_t n = 0;
    read_places(o, row, toward, places);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t first = toward->start[nodes[k]], last = toward->start[nodes[k] + 1];
        if (first == last) continue;
        const double at =
            round % 2 ? mean(places + first, last - first) : median(places + first, last - first);
        o->keys[n++] = (order_key){at, round & 4 ? count - k : k, nodes[k]};
    }
    qsort(o->keys, n, sizeof *o->keys, compare_keys);
    for (uint32_t k = 0, i = 0; k < count; k++) {
        const uint32_t node = nodes[k];
        if (toward->start[node] != toward->start[node + 1]) nodes[k] = o->keys[i++].node;
    }
    number_ports(o, row);
    o->work += 8 * (uint64_t)n;
}

/* Crossings of lines to `a` with lines to `b` if a is left of b. */
static uint64_t crossings_of(const uint32_t *a, uint32_t a_count, const uint32_t *b,
                             uint32_t b_count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0, k = 0; i < a_count; i++) {
        while (k < b_count && b[k] < a[i]) k++;
        sum += k;
    }
    return sum;
}

/* What swapping nodes u, v saves. */
static int64_t gain(ordering *o, uint32_t u, uint32_t v)
{
    const layers *l = o->l;
    int64_t saved = 0;
    for (int side = 0; side < 2; side++) {
        const uint32_t *start = side ? l->down.start : l->up.start;
        const uint32_t *p = side ? o->down_places : o->up_places;
        const uint32_t nu = start[u + 1] - start[u], nv = start[v + 1] - start[v];
        if (!nu || !nv) continue;
        o->work += 2 * ((uint64_t)nu + nv);
        saved += (int64_t)crossings_of(p + start[u], nu, p + start[v], nv) -
                 (int64_t)crossings_of(p + start[v], nv, p + start[u], nu);
    }
    return saved;
}

/* Swaps neighbours of a row while that saves crossings. True: something was saved. */
static bool swap_row(ordering *o, uint32_t row, bool also_equal)
{
    layers *l = o->l;
    uint32_t *nodes = l->order + l->row_start[row];
    const uint32_t count = l->row_start[row + 1] - l->row_start[row];
    bool saved = false;
    if (count < 2) return false;
    if (row > 0) read_places(o, row, &l->up, o->up_places);
    if (row + 1 < l->row_count) read_places(o, row, &l->down, o->down_places);
    for (int pass = 0; pass < ORDER_SWAP_PASSES; pass++) {
        bool moved = false;
        for (uint32_t k = 0; k + 1 < count; k++) {
            const int64_t g = gain(o, nodes[k], nodes[k + 1]);
            if (g < 0 || (g == 0 && !also_equal)) continue;
            const uint32_t node = nodes[k];
            nodes[k] = nodes[k + 1];
            nodes[k + 1] = node;
            if (g > 0) moved = saved = true;
        }
        o->work += count;
        if (!moved) break;
        also_equal = false;
    }
    number_ports(o, row);
    return saved;
}

static void swap_all(ordering *o, bool also_equal)
{
    bool saved = true;
    for (int pass = 0; saved && pass < ORDER_SWAP_PASSES && o->work < o->limit; pass++) {
        saved = false;
        for (uint32_t r = 0; r < o->l->row_count; r++)
            if (swap_row(o, r, also_equal)) saved = true;
        also_equal = false;
    }
}

static int compare_ends(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* The ends of a node's lines, from its leftmost port to the rightmost. */
static void sort_by_port(ordering *o, uint32_t node)
{
    const layer_lists *down = &o->l->down;
    const uint32_t first = down->start[node], count = down->start[node + 1] - first;
    if (node >= o->l->item_count || o->l->outs[node] < 2) return;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = first + i;
        o->ends[2 * i] = down->own_port[at];
        o->ends[2 * i + 1] = o->tops[down->to[at]] + down->port[at];
    }
    qsort(o->ends, count, 2 * sizeof *o->ends, compare_ends);
    for (uint32_t i = 0; i < count; i++) o->down_places[first + i] = o->ends[2 * i + 1];
}

/* Crossings below a row: for each line, from the left, the lines before it that end further right.
 * `tree` holds sums of ends in a binary tree. */
static uint64_t crossings_below(ordering *o, uint32_t row)
{
    layers *l = o->l;
    const uint32_t last = l->order[l->row_start[row + 2] - 1];
    const uint32_t width = o->tops[last] + (last < l->item_count ? l->ins[last] : 1);
    uint32_t leaves = 1;
    uint64_t sum = 0;
    while (leaves < width) leaves *= 2;
    memset(o->tree, 0, 2 * (size_t)leaves * sizeof *o->tree);
    read_places(o, row, &l->down, o->down_places);
    for (uint32_t k = l->row_start[row]; k < l->row_start[row + 1]; k++) {
        const uint32_t node = l->order[k];
        sort_by_port(o, node);
        for (uint32_t i = l->down.start[node]; i < l->down.start[node + 1]; i++) {
            uint32_t at = o->down_places[i] + leaves;
            for (o->tree[at]++; at > 1; at /= 2) {
                if (at % 2 == 0) sum += o->tree[at + 1];
                o->tree[at / 2]++;
            }
        }
    }
    return sum;
}

/* Keeps the order if it is the best yet. */
static bool judge(ordering *o)
{
    const layers *l = o->l;
    uint64_t sum = 0;
    for (uint32_t r = 0; r + 1 < l->row_count; r++) sum += crossings_below(o, r);
    if (sum >= o->fewest) return false;
    o->fewest = sum;
    memcpy(o->best, l->order, l->node_count * sizeof *o->best);
    return true;
}

/* Rows filled in the order in which a walk down (or up) meets their nodes. */
static pgy_status first_order(layers *l, bool downwards, pgy_error *err)
{
    const uint32_t n = l->node_count;
    const layer_lists *from = downwards ? &l->up : &l->down, *to = downwards ? &l->down : &l->up;
    uint32_t *next = arena_alloc_array(l->memory, (size_t)l->row_count + 1, sizeof(uint32_t));
    uint32_t *stack = arena_alloc_array(l->memory, (size_t)n + 1, sizeof(uint32_t));
    uint32_t *at = arena_alloc_array(l->memory, (size_t)n + 1, sizeof(uint32_t));
    bool *met = arena_alloc(l->memory, (size_t)n + 1);
    if (!next || !stack || !at || !met) return layout_no_memory(err);
    for (uint32_t root = 0; root < n; root++) {
        uint32_t depth = 0;
        if (met[root] || from->start[root] != from->start[root + 1]) continue;
        stack[depth++] = root;
        met[root] = true;
        at[root] = to->start[root];
        while (depth > 0) {
            const uint32_t i = stack[depth - 1];
            if (at[i] == to->start[i]) {
                const uint32_t row = l->rows[i];
                l->order[l->row_start[row] + next[row]++] = i;
            }
            while (at[i] < to->start[i + 1] && met[to->to[at[i]]]) at[i]++;
            if (at[i] == to->start[i + 1]) {
                depth--;
                continue;
            }
            const uint32_t other = to->to[at[i]++];
            stack[depth++] = other;
            met[other] = true;
            at[other] = to->start[other];
        }
    }
    return PGY_OK;
}

static bool start(ordering *o)
{
    layers *l = o->l;
    const size_t n = (size_t)l->node_count + 1, lines = (size_t)l->down.start[l->node_count] + 1;
    l->order = arena_alloc_array(l->memory, n, sizeof(uint32_t));
    l->place = arena_alloc_array(l->memory, n, sizeof(uint32_t));
    l->row_start = arena_alloc_array(l->memory, (size_t)l->row_count + 2, sizeof(uint32_t));
    o->keys = arena_alloc_array(l->memory, n, sizeof *o->keys);
    o->best = arena_alloc_array(l->memory, n, sizeof *o->best);
    o->up_places = arena_alloc_array(l->memory, lines, sizeof(uint32_t));
    o->down_places = arena_alloc_array(l->memory, lines, sizeof(uint32_t));
    o->tops = arena_alloc_array(l->memory, n, sizeof *o->tops);
    o->bottoms = arena_alloc_array(l->memory, n, sizeof *o->bottoms);
    o->ends = arena_alloc_array(l->memory, 2 * lines, sizeof *o->ends);
    size_t ports = n;
    for (uint32_t i = 0; i < l->item_count; i++) ports += l->ins[i];
    o->tree = arena_alloc_array(l->memory, 4 * ports, sizeof *o->tree);
    if (!l->order || !l->place || !l->row_start || !o->keys || !o->best || !o->up_places ||
        !o->down_places || !o->tops || !o->bottoms || !o->ends || !o->tree)
        return false;
    for (uint32_t i = 0; i < l->node_count; i++) l->row_start[l->rows[i] + 1]++;
    for (uint32_t r = 0; r < l->row_count; r++) l->row_start[r + 1] += l->row_start[r];
    return true;
}

static pgy_status improve(ordering *o, bool downwards, pgy_error *err)
{
    layers *l = o->l;
    uint32_t patience = ORDER_PATIENCE;
    judge(o);
    for (uint32_t round = 0; round < ORDER_ROUNDS && patience > 0; round++) {
        if (cancel_requested()) return cancel_check(err);
        if (o->fewest == 0 || o->work >= o->limit || layers_late(l)) break;
        const bool down = (round % 2 == 0) == downwards;
        for (uint32_t r = 1; r < l->row_count; r++)
            sort_row(o, down ? r : l->row_count - 1 - r, down, round / 2);
        swap_all(o, round & 2);
        patience = judge(o) ? ORDER_PATIENCE : patience - 1;
    }
    return PGY_OK;
}

pgy_status layers_order(layers *l, pgy_error *err)
{
    ordering o = {.l = l, .fewest = UINT64_MAX, .limit = 100000000};
    if (!start(&o)) return layout_no_memory(err);
    for (int way = 0; way < 2 && o.fewest > 0; way++) {
        pgy_status st = first_order(l, way == 0, err);
        for (uint32_t r = 0; !st && r < l->row_count; r++) number_ports(&o, r);
        if (!st) st = improve(&o, way == 0, err);
        if (st) return st;
    }
    memcpy(l->order, o.best, l->node_count * sizeof *o.best);
    for (uint32_t r = 0; r < l->row_count; r++)
        for (uint32_t k = l->row_start[r]; k < l->row_start[r + 1]; k++)
            l->place[l->order[k]] = k - l->row_start[r];
    return PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Places intervals in the arena: one after the other, each in the smallest gap between the
 * intervals that overlap it in time. The result depends on the order, so several orders are tried,
 * the best one is changed at random while that helps, and the best result is kept. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/program/program.h"

enum { ALIGNMENT = 64 };

typedef int (*order_function)(const void *, const void *);

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_size(const void *a, const void *b)
{
    const program_interval *x = *(program_interval *const *)a, *y = *(program_interval *const *)b;
    const int size = compare_u64(y->size_bytes, x->size_bytes);
    return size ? size : compare_u64(x->first, y->first);
}

static int by_duration(const void *a, const void *b)
{
    const program_interval *x = *(program_interval *const *)a, *y = *(program_interval *const *)b;
    const int duration = compare_u64(y->last - y->first, x->last - x->first);
    return duration ? duration : by_size(a, b);
}

static int by_time(const void *a, const void *b)
{
    const program_interval *x = *(program_interval *const *)a, *y = *(program_interval *const *)b;
    const int first = compare_u64(x->first, y->first);
    return first ? first : by_size(a, b);
}

static int by_area(const void *a, const void *b)
{
    const program_interval *x = *(program_interval *const *)a, *y = *(program_interval *const *)b;
    const double p = (double)x->size_bytes * (x->last - x->first + 1.0);
    const double q = (double)y->size_bytes * (y->last - y->first + 1.0);
    return p == q ? by_size(a, b) : p < q ? 1 : -1;
}

/* Intervals that live at steps where most bytes are alive come first. */
static int by_breadth(const void *a, const void *b)
{
    const program_interval *x = *(program_interval *const *)a, *y = *(program_interval *const *)b;
    const int breadth = compare_u64(y->breadth, x->breadth);
    return breadth ? breadth : by_size(a, b);
}

enum { QUICK_ORDERS = 2 }; /* orders that a placement without a search tries */
static const order_function ORDERS[] = {by_size, by_duration, by_time, by_area, by_breadth};

/* The intervals placed so far, sorted by offset. */
typedef struct layout {
    program_interval **placed;
    size_t count;
} layout;

static bool overlap(const program_interval *a, const program_interval *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static void place(layout *l, program_interval *it)
{
    uint64_t end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (size_t i = 0; i < l->count; i++) {
        const program_interval *other = l->placed[i];
        if (!overlap(it, other)) continue;
        if (other->offset >= end + it->size_bytes && other->offset - end < best_gap) {
            best = end;
            best_gap = other->offset - end;
        }
        if (other->offset + other->size_bytes > end) end = other->offset + other->size_bytes;
    }
    it->offset = best == UINT64_MAX ? end : best;
    size_t at = l->count++;
    for (; at && l->placed[at - 1]->offset > it->offset; at--) l->placed[at] = l->placed[at - 1];
    l->placed[at] = it;
}

static uint64_t place_in_order(program_interval **order, size_t count, layout *l)
{
    uint64_t total = 0;
    l->count = 0;
    for (size_t i = 0; i < count; i++) {
        place(l, order[i]);
        const uint64_t end = order[i]->offset + order[i]->size_bytes;
        if (end > total) total = end;
    }
    return total;
}

/* ---- Bounds --------------------------------------------------------------------------------- */

/* Returns the most bytes alive at any step, and stores in each interval's `breadth` the most bytes
 * alive during its life. The maximum is always at the start of an interval. `by_start` is sorted by
 * first step. */
static uint64_t find_bound(program_interval **by_start, size_t count)
{
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) by_start[i]->breadth = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t now = by_start[i]->first;
        uint64_t alive = 0;
        size_t end = i;
        while (end < count && by_start[end]->first == now) end++;
        for (size_t k = 0; k < end; k++)
            if (by_start[k]->last >= now) alive += by_start[k]->size_bytes;
        for (size_t k = 0; k < end; k++)
            if (by_start[k]->last >= now && by_start[k]->breadth < alive)
                by_start[k]->breadth = alive;
        if (alive > most) most = alive;
        i = end - 1;
    }
    return most;
}

/* ---- The search ----------------------------------------------------------------------------- */

enum { SEARCH_PAIRS = 120000000, SEARCH_MOST = 4000 };

/* The order being tried, the best order, and the offsets that it gave. */
typedef struct search {
    program_interval **order, **best_order;
    uint64_t *best_offsets, best, best_excess, bound;
    program_interval *items;
    layout l;
    size_t count;
    uint32_t random;
} search;

/* Sum of the bytes by which intervals end above the bound. In a model of many equal layers the
 * order improves one layer at a time, which this sum shows before the arena's size changes. */
static uint64_t find_excess(const search *s)
{
    uint64_t excess = 0;
    for (size_t i = 0; i < s->count; i++) {
        const uint64_t end = s->items[i].offset + s->items[i].size_bytes;
        if (end > s->bound) excess += end - s->bound;
    }
    return excess;
}

/* Places the intervals in this order, and keeps it if it is not worse than the best. */
static void try_order(search *s)
{
    const uint64_t size = place_in_order(s->order, s->count, &s->l), excess = find_excess(s);
    if (size > s->best || (size == s->best && excess > s->best_excess)) return;
    s->best = size;
    s->best_excess = excess;
    memcpy(s->best_order, s->order, s->count * sizeof *s->order);
    for (size_t i = 0; i < s->count; i++) s->best_offsets[i] = s->items[i].offset;
}

static size_t draw(search *s, size_t below)
{
    s->random = s->random * 1664525u + 1013904223u;
    return (size_t)(((uint64_t)s->random * below) >> 32);
}

/* Picks the interval to move: one that ends above the bound, or sometimes any. */
static size_t pick(search *s)
{
    const size_t start = draw(s, s->count), looked_at = draw(s, 4) ? s->count : 0;
    for (size_t k = 0; k < looked_at; k++) {
        const size_t at = (start + k) % s->count;
        if (s->order[at]->offset + s->order[at]->size_bytes > s->bound) return at;
    }
    return start;
}

/* Moves an interval in the order before one that overlaps it in time: only their order affects
 * offsets. */
static void move_forward(search *s, size_t from)
{
    program_interval *moved = s->order[from];
    size_t neighbours = 0, to = from;
    for (size_t k = 0; k < from; k++) neighbours += overlap(s->order[k], moved);
    if (!neighbours) return;
    for (size_t left = draw(s, neighbours) + 1; left;) left -= overlap(s->order[--to], moved);
    memmove(&s->order[to + 1], &s->order[to], (from - to) * sizeof *s->order);
    s->order[to] = moved;
}

/* Shuffles the order of the intervals that overlap interval `at` in time. */
static void shuffle_around(search *s, size_t at)
{
    const program_interval *middle = s->order[at];
    for (size_t i = 0, seen = 0; i < s->count; i++) {
        if (!overlap(s->order[i], middle)) continue;
        size_t other = draw(s, ++seen), k = 0;
        for (;; k++)
            if (overlap(s->order[k], middle) && other-- == 0) break;
        program_interval *swapped = s->order[i];
        s->order[i] = s->order[k];
        s->order[k] = swapped;
    }
}

static void change_order(search *s)
{
    if (draw(s, 2))
        shuffle_around(s, pick(s));
    else
        move_forward(s, pick(s));
}

static void improve(search *s)
{
    const size_t pairs = s->count * s->count + 1;
    size_t rounds = SEARCH_PAIRS / pairs < SEARCH_MOST ? SEARCH_PAIRS / pairs : SEARCH_MOST;
    for (; rounds && s->best > s->bound + s->bound / 100; rounds--) {
        memcpy(s->order, s->best_order, s->count * sizeof *s->order);
        for (size_t i = 0; i < s->count; i++) s->items[i].offset = s->best_offsets[i];
        change_order(s);
        try_order(s);
    }
}

static bool allocate(search *s)
{
    s->order = mem_calloc(s->count + 1, sizeof *s->order);
    s->best_order = mem_calloc(s->count + 1, sizeof *s->best_order);
    s->best_offsets = mem_calloc(s->count + 1, sizeof *s->best_offsets);
    s->l.placed = mem_calloc(s->count + 1, sizeof *s->l.placed);
    return s->order && s->best_order && s->best_offsets && s->l.placed;
}

static pgy_status place_all(program_interval *items, size_t count, bool searches, uint64_t *total,
                            uint64_t *bound, pgy_error *err)
{
    search s = {.items = items, .count = count, .best = UINT64_MAX, .random = 1};
    pgy_status st = PGY_OK;
    if (!allocate(&s)) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while planning the arena");
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t size = items[i].size_bytes ? items[i].size_bytes : 1;
        items[i].size_bytes = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        s.order[i] = &items[i];
    }
    if (count) qsort(s.order, count, sizeof *s.order, by_time);
    *bound = s.bound = find_bound(s.order, count);
    for (size_t k = 0; k < (searches ? sizeof ORDERS / sizeof *ORDERS : QUICK_ORDERS); k++) {
        if (count) qsort(s.order, count, sizeof *s.order, ORDERS[k]);
        try_order(&s);
    }
    if (searches) improve(&s);
    for (size_t i = 0; i < count; i++) items[i].offset = s.best_offsets[i];
    *total = s.best;
done:
    mem_free(s.order);
    mem_free(s.best_order);
    mem_free(s.best_offsets);
    mem_free(s.l.placed);
    return st;
}

pgy_status program_place_intervals(program_interval *items, size_t count, uint64_t *total,
                                   uint64_t *bound, pgy_error *err)
{
    return place_all(items, count, true, total, bound, err);
}

pgy_status program_place_quickly(program_interval *items, size_t count, uint64_t *total,
                                 uint64_t *bound, pgy_error *err)
{
    return place_all(items, count, false, total, bound, err);
}

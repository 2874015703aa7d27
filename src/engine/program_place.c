/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets in the arena: intervals are placed one after the other into the smallest gap that the
 * neighbours in time leave. The order decides how good the result is, so several are tried and the
 * best is kept. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/program.h"

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

static const order_function ORDERS[] = {by_size, by_duration, by_time, by_area};

/* Those placed so far, sorted by offset. */
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

/* The most bytes alive at any step: only starts of intervals need a look. */
static uint64_t find_bound(program_interval **by_start, size_t count)
{
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t alive = 0;
        for (size_t k = 0; k <= i; k++)
            if (by_start[k]->last >= by_start[i]->first) alive += by_start[k]->size_bytes;
        for (size_t k = i + 1; k < count && by_start[k]->first == by_start[i]->first; k++)
            alive += by_start[k]->size_bytes;
        if (alive > most) most = alive;
    }
    return most;
}

pgy_status program_place_intervals(program_interval *items, size_t count, uint64_t *total,
                                   uint64_t *bound, pgy_error *err)
{
    const size_t orders = sizeof ORDERS / sizeof *ORDERS;
    program_interval **order = mem_calloc(count + 1, sizeof *order);
    uint64_t *best = mem_calloc(count + 1, sizeof *best);
    layout l = {.placed = mem_calloc(count + 1, sizeof *l.placed)};
    pgy_status st = PGY_OK;
    if (!order || !best || !l.placed) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while planning the arena");
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t size = items[i].size_bytes ? items[i].size_bytes : 1;
        items[i].size_bytes = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        order[i] = &items[i];
    }
    *total = UINT64_MAX;
    for (size_t k = 0; k < orders; k++) {
        if (count) qsort(order, count, sizeof *order, ORDERS[k]);
        const uint64_t size = place_in_order(order, count, &l);
        if (size >= *total) continue;
        *total = size;
        for (size_t i = 0; i < count; i++) best[i] = items[i].offset;
    }
    for (size_t i = 0; i < count; i++) items[i].offset = best[i];
    if (count) qsort(order, count, sizeof *order, by_time);
    *bound = find_bound(order, count);
done:
    mem_free(order);
    mem_free(best);
    mem_free(l.placed);
    return st;
}

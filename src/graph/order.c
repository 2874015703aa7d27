/* SPDX-License-Identifier: Apache-2.0 */
/* Topological sort. The needs of all items lie in one array, grouped by item, so the sort accesses
 * no graph. It has its own stack instead of recursion, because a chain can be as deep as the graph
 * is long. */
#include "graph/order.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

static const size_t UNSEEN = SIZE_MAX, ON_STACK = SIZE_MAX - 1;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while sorting the graph");
}

pgy_status order_init(order *o, size_t count, pgy_error *err)
{
    *o = (order){.count = count};
    o->first = mem_calloc(count + 1, sizeof *o->first);
    o->settled = mem_calloc(count, sizeof *o->settled);
    o->level = mem_calloc(count, sizeof *o->level);
    if (o->first && o->settled && o->level) return PGY_OK;
    order_deinit(o);
    return no_memory(err);
}

void order_deinit(order *o)
{
    mem_free(o->first);
    mem_free(o->needs);
    mem_free(o->settled);
    mem_free(o->level);
    mem_free(o->cycle);
    *o = (order){0};
}

void order_open(order *o, size_t item)
{
    o->first[item] = o->need_count;
}

pgy_status order_need(order *o, size_t need, pgy_error *err)
{
    if (o->need_count == o->need_capacity &&
        !mem_grow((void **)&o->needs, &o->need_capacity, o->need_count + 1, sizeof *o->needs))
        return no_memory(err);
    o->needs[o->need_count++] = need;
    return PGY_OK;
}

/* Stores the cycle that was found. Each item on the stack needs the one above it, and the top item
 * needs `need`, which is further down in the stack. */
static pgy_status keep_cycle(order *o, const size_t *stack, size_t depth, size_t need,
                             pgy_error *err)
{
    size_t from = depth - 1;
    while (stack[from] != need) from--;
    const size_t length = depth - from;
    o->cycle = mem_calloc(length, sizeof *o->cycle);
    if (!o->cycle) return no_memory(err);
    o->cycle_length = length;
    o->cycle[0] = stack[from];
    for (size_t i = 1; i < length; i++) o->cycle[i] = stack[depth - i];
    return PGY_E_FORMAT;
}

static void finish_item(order *o, size_t item)
{
    size_t level = 0;
    for (size_t i = o->first[item]; i < o->first[item + 1]; i++) {
        const size_t below = o->level[o->needs[i]];
        if (below != ON_STACK && below + 1 > level) level = below + 1;
    }
    o->level[item] = level;
}

static pgy_status settle_item(order *o, size_t item, size_t *stack, size_t *cursor, size_t *done,
                              pgy_error *err)
{
    size_t depth = 0;
    stack[depth++] = item;
    o->level[item] = ON_STACK;
    while (depth) {
        const size_t at = stack[depth - 1];
        if (cursor[at] == o->first[at + 1]) {
            finish_item(o, at);
            o->settled[(*done)++] = at;
            depth--;
            continue;
        }
        const size_t need = o->needs[cursor[at]++];
        if (o->level[need] == UNSEEN) {
            o->level[need] = ON_STACK;
            stack[depth++] = need;
        } else if (o->level[need] == ON_STACK) {
            if (!o->on_cycle) return keep_cycle(o, stack, depth, need, err);
            o->on_cycle(at, need, o->user);
        }
    }
    return PGY_OK;
}

pgy_status order_settle(order *o, pgy_error *err)
{
    size_t *stack = mem_calloc(o->count, sizeof *stack);
    size_t *cursor = mem_calloc(o->count, sizeof *cursor);
    size_t done = 0;
    pgy_status st = stack && cursor ? PGY_OK : no_memory(err);
    if (st) goto done;
    o->first[o->count] = o->need_count;
    if (o->count) memcpy(cursor, o->first, o->count * sizeof *cursor);
    for (size_t i = 0; i < o->count; i++) o->level[i] = UNSEEN;
    for (size_t i = 0; i < o->count && !st; i++)
        if (o->level[i] == UNSEEN) st = settle_item(o, i, stack, cursor, &done, err);
done:
    mem_free(stack);
    mem_free(cursor);
    return st;
}

pgy_status order_by_level(order *o, pgy_error *err)
{
    size_t *sorted = mem_calloc(o->count, sizeof *sorted);
    size_t *start = mem_calloc(o->count + 1, sizeof *start);
    if (!sorted || !start) {
        mem_free(sorted);
        mem_free(start);
        return no_memory(err);
    }
    for (size_t i = 0; i < o->count; i++) start[o->level[i] + 1]++;
    for (size_t i = 0; i < o->count; i++) start[i + 1] += start[i];
    for (size_t i = 0; i < o->count; i++) {
        size_t item = o->settled[i];
        sorted[start[o->level[item]]++] = item;
    }
    mem_free(start);
    mem_free(o->settled);
    o->settled = sorted;
    return PGY_OK;
}

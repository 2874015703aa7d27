/* SPDX-License-Identifier: Apache-2.0 */
/* Items that need each other, put in order. Needs lie in one array, grouped by item, so that the
 * walk touches three arrays and no graph; it keeps its own stack, since chains are as deep as
 * graphs are long. */
#include "gs/edit/order.h"

#include "base/alloc.h"

#include <string.h>

static const size_t UNSEEN = SIZE_MAX, ON_STACK = SIZE_MAX - 1;

pgy_status order_init(order *o, size_t count, pgy_error *err)
{
    *o = (order){.count = count};
    o->first = mem_calloc(count + 1, sizeof *o->first);
    o->settled = mem_calloc(count, sizeof *o->settled);
    o->level = mem_calloc(count, sizeof *o->level);
    if (o->first && o->settled && o->level) return PGY_OK;
    order_deinit(o);
    return gs_no_memory(err);
}

void order_deinit(order *o)
{
    mem_free(o->first);
    mem_free(o->needs);
    mem_free(o->settled);
    mem_free(o->level);
    mem_free(o->circle);
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
        return gs_no_memory(err);
    o->needs[o->need_count++] = need;
    return PGY_OK;
}

/* The stack holds what waits for its needs: from `from` on each item needs the next one, and the
 * last needs the first. */
static pgy_status keep_circle(order *o, const size_t *stack, size_t from, size_t depth,
                              pgy_error *err)
{
    size_t length = depth - from;
    o->circle = mem_calloc(length, sizeof *o->circle);
    if (!o->circle) return gs_no_memory(err);
    o->circle_length = length;
    o->circle[0] = stack[from];
    for (size_t i = 1; i < length; i++) o->circle[i] = stack[depth - i];
    return PGY_E_FORMAT;
}

static pgy_status settle_item(order *o, size_t item, size_t *stack, size_t *cursor, size_t *done,
                              pgy_error *err)
{
    size_t depth = 0;
    stack[depth++] = item;
    o->level[item] = ON_STACK;
    while (depth) {
        size_t at = stack[depth - 1];
        if (cursor[at] < o->first[at + 1]) {
            size_t need = o->needs[cursor[at]++];
            if (o->level[need] == ON_STACK) {
                size_t from = depth - 1;
                while (stack[from] != need) from--;
                return keep_circle(o, stack, from, depth, err);
            }
            if (o->level[need] == UNSEEN) {
                o->level[need] = ON_STACK;
                stack[depth++] = need;
            }
            continue;
        }
        size_t level = 0;
        for (size_t i = o->first[at]; i < o->first[at + 1]; i++) {
            size_t above = o->level[o->needs[i]] + 1;
            if (above > level) level = above;
        }
        o->level[at] = level;
        o->settled[(*done)++] = at;
        depth--;
    }
    return PGY_OK;
}

pgy_status order_settle(order *o, pgy_error *err)
{
    size_t *stack = mem_calloc(o->count, sizeof *stack);
    size_t *cursor = mem_calloc(o->count, sizeof *cursor);
    size_t done = 0;
    pgy_status st = stack && cursor ? PGY_OK : gs_no_memory(err);
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
        return gs_no_memory(err);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Orders units (items, and scopes of items) as a topological sort does: a unit follows once all
 * that its items need is placed. Where no unit can follow, some scopes are left and entered again.
 * Then the items of one of them that can follow are placed as a part, and the sort goes on. */
#include "viewer/groups_order.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"

enum { SPLIT_LIMIT = 256 }; /* parts made by splitting, in one list */

typedef struct unit {
    uint32_t scope;
    uint32_t *items;
    uint32_t count, left; /* items, and those not placed yet */
    uint32_t blocked;     /* edges from items of other units that are not placed yet */
    uint32_t visit;       /* of the walk that came here last */
    uint32_t parts;
} unit;

typedef struct sorter {
    grouping *s;
    group_order_state *o;
    arena *memory;
    uint32_t call;
    unit *units;
    uint32_t unit_count, first; /* units before `first` are placed */
    uint32_t *heap, heap_count; /* units that can follow; the smallest index is on top */
    uint32_t *work;             /* items */
    group_part *parts;
    uint32_t part_count, part_room, walks, splits;
    bool failed;
} sorter;

bool group_order_start(group_order_state *o, grouping *s)
{
    const uint32_t n = s->item_count, scopes = s->scope_count;
    o->owner = arena_alloc_array(&s->memory, n, sizeof *o->owner);
    o->blocked = arena_alloc_array(&s->memory, n, sizeof *o->blocked);
    o->unit = arena_alloc_array(&s->memory, n, sizeof *o->unit);
    o->placed = arena_alloc_array(&s->memory, n, sizeof *o->placed);
    o->queued = arena_alloc_array(&s->memory, n, sizeof *o->queued);
    o->scope_unit = arena_alloc_array(&s->memory, scopes, sizeof *o->scope_unit);
    o->scope_owner = arena_alloc_array(&s->memory, scopes, sizeof *o->scope_owner);
    return o->owner && o->blocked && o->unit && o->placed && o->queued && o->scope_unit &&
           o->scope_owner;
}

/* ---- Units ---------------------------------------------------------------------------------- */

static uint32_t unit_of_scope(sorter *x, uint32_t scope)
{
    group_order_state *o = x->o;
    if (o->scope_owner[scope] == x->call) return o->scope_unit[scope];
    o->scope_owner[scope] = x->call;
    o->scope_unit[scope] = x->unit_count;
    x->units[x->unit_count] = (unit){.scope = scope};
    return x->unit_count++;
}

static void make_units(sorter *x, const uint32_t *items, uint32_t count, uint32_t depth)
{
    group_order_state *o = x->o;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t item = items[i];
        o->owner[item] = x->call;
        o->placed[item] = o->queued[item] = false;
        o->blocked[item] = 0;
        if (x->s->path_sizes[item] > depth) {
            o->unit[item] = unit_of_scope(x, x->s->paths[item][depth]);
        } else {
            o->unit[item] = x->unit_count;
            x->units[x->unit_count++] = (unit){.scope = VIEW_NONE};
        }
        x->units[o->unit[item]].count++;
    }
    uint32_t *room = x->work + count;
    for (uint32_t u = 0; u < x->unit_count; u++) {
        x->units[u].items = room;
        room += x->units[u].count;
    }
    for (uint32_t i = 0; i < count; i++) {
        unit *u = &x->units[o->unit[items[i]]];
        u->items[u->left++] = items[i];
    }
}

static void count_edges(sorter *x, const uint32_t *items, uint32_t count)
{
    group_order_state *o = x->o;
    const group_lists *after = &x->s->after;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = after->start[items[i]]; k < after->start[items[i] + 1]; k++) {
            const uint32_t to = after->values[k];
            if (o->owner[to] != x->call) continue;
            o->blocked[to]++;
            if (o->unit[to] != o->unit[items[i]]) x->units[o->unit[to]].blocked++;
        }
}

/* ---- The heap ------------------------------------------------------------------------------- */

static void push(sorter *x, uint32_t u)
{
    uint32_t i = x->heap_count++;
    for (; i && x->heap[(i - 1) / 2] > u; i = (i - 1) / 2) x->heap[i] = x->heap[(i - 1) / 2];
    x->heap[i] = u;
}

static uint32_t pop(sorter *x)
{
    const uint32_t top = x->heap[0], last = x->heap[--x->heap_count];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= x->heap_count) break;
        if (child + 1 < x->heap_count && x->heap[child + 1] < x->heap[child]) child++;
        if (x->heap[child] >= last) break;
        x->heap[i] = x->heap[child];
        i = child;
    }
    x->heap[i] = last;
    return top;
}

/* ---- Placing -------------------------------------------------------------------------------- */

static void place(sorter *x, uint32_t item)
{
    group_order_state *o = x->o;
    const group_lists *after = &x->s->after;
    o->placed[item] = true;
    x->units[o->unit[item]].left--;
    for (uint32_t k = after->start[item]; k < after->start[item + 1]; k++) {
        const uint32_t to = after->values[k];
        if (o->owner[to] != x->call) continue;
        o->blocked[to]--;
        if (o->unit[to] == o->unit[item]) continue;
        unit *u = &x->units[o->unit[to]];
        if (--u->blocked == 0 && u->left) push(x, o->unit[to]);
    }
}

static void add_part(sorter *x, unit *u, uint32_t *items, uint32_t count)
{
    if (x->part_count == x->part_room) {
        const uint32_t room = 2 * x->part_room + 16;
        group_part *more = arena_alloc_array(x->memory, room, sizeof *more);
        if (!more) {
            x->failed = true;
            return;
        }
        if (x->part_count) memcpy(more, x->parts, x->part_count * sizeof *more);
        x->parts = more;
        x->part_room = room;
    }
    x->parts[x->part_count++] =
        (group_part){.scope = u->scope, .items = items, .count = count, .number = ++u->parts};
}

/* Places all that is left of a unit. */
static void place_unit(sorter *x, uint32_t index)
{
    unit *u = &x->units[index];
    uint32_t *items = arena_alloc_array(x->memory, u->left, sizeof *items), count = 0;
    if (!items) {
        x->failed = true;
        return;
    }
    for (uint32_t i = 0; i < u->count; i++)
        if (!x->o->placed[u->items[i]]) items[count++] = u->items[i];
    for (uint32_t i = 0; i < count; i++) place(x, items[i]);
    add_part(x, u, items, count);
}

static bool can_follow(const sorter *x, uint32_t item)
{
    return !x->o->placed[item] && !x->o->blocked[item];
}

static bool has_ready(const sorter *x, const unit *u)
{
    for (uint32_t i = 0; i < u->count; i++)
        if (can_follow(x, u->items[i])) return true;
    return false;
}

/* Places the items of a scope that can follow, and those that can follow then. */
static void place_ready(sorter *x, uint32_t index)
{
    unit *u = &x->units[index];
    group_order_state *o = x->o;
    const group_lists *after = &x->s->after;
    uint32_t *work = x->work, top = 0, count = 0;
    uint32_t *items = arena_alloc_array(x->memory, u->left, sizeof *items);
    if (!items) {
        x->failed = true;
        return;
    }
    for (uint32_t i = 0; i < u->count; i++)
        if (can_follow(x, u->items[i])) work[top++] = u->items[i];
    while (top) {
        const uint32_t item = work[--top];
        place(x, item);
        o->queued[item] = true;
        for (uint32_t k = after->start[item]; k < after->start[item + 1]; k++) {
            const uint32_t to = after->values[k];
            if (o->owner[to] == x->call && o->unit[to] == index && can_follow(x, to) &&
                !o->queued[to]) {
                o->queued[to] = true;
                work[top++] = to;
            }
        }
    }
    for (uint32_t i = 0; i < u->count; i++)
        if (o->queued[u->items[i]]) {
            o->queued[u->items[i]] = false;
            items[count++] = u->items[i];
        }
    add_part(x, u, items, count);
}

/* ---- Where the sort is stuck ---------------------------------------------------------------- */

/* A unit that must precede some item of u; VIEW_NONE: none. */
static uint32_t blocker(const sorter *x, const unit *u)
{
    const group_order_state *o = x->o;
    const group_lists *before = &x->s->before;
    for (uint32_t i = 0; i < u->count; i++) {
        const uint32_t item = u->items[i];
        if (o->placed[item] || !o->blocked[item]) continue;
        for (uint32_t k = before->start[item]; k < before->start[item + 1]; k++) {
            const uint32_t from = before->values[k];
            if (o->owner[from] == x->call && !o->placed[from] && o->unit[from] != o->unit[item])
                return o->unit[from];
        }
    }
    return VIEW_NONE;
}

/* The unit to divide: of units that block each other in a circle, the first that has an item that
 * can follow; or any. VIEW_NONE: the items themselves depend on each other in a circle. */
static uint32_t unit_to_split(sorter *x)
{
    uint32_t at = x->first, best = VIEW_NONE;
    const uint32_t walk = ++x->walks;
    while (at != VIEW_NONE && x->units[at].visit != walk) {
        x->units[at].visit = walk;
        at = blocker(x, &x->units[at]);
    }
    for (const uint32_t start = at; at != VIEW_NONE;) {
        if (at < best && has_ready(x, &x->units[at])) best = at;
        at = blocker(x, &x->units[at]);
        if (at == start) break;
    }
    for (uint32_t u = x->first; u < x->unit_count && best == VIEW_NONE; u++)
        if (has_ready(x, &x->units[u])) best = u;
    return best;
}

/* Gives up the scopes of what is left: too many are left and entered again. */
static void place_singly(sorter *x)
{
    for (bool moved = true; moved && !x->failed;) {
        moved = false;
        for (uint32_t u = x->first; u < x->unit_count && !x->failed; u++)
            for (uint32_t i = 0; i < x->units[u].count; i++) {
                uint32_t *item = &x->units[u].items[i];
                if (!can_follow(x, *item)) continue;
                place(x, *item);
                add_part(x, &(unit){.scope = VIEW_NONE}, item, 1);
                moved = true;
            }
    }
}

static void sort_units(sorter *x)
{
    for (uint32_t u = 0; u < x->unit_count; u++)
        if (!x->units[u].blocked) push(x, u);
    while (x->first < x->unit_count && !x->failed && !cancel_requested()) {
        if (!x->units[x->first].left) {
            x->first++;
        } else if (x->heap_count) {
            const uint32_t u = pop(x);
            if (x->units[u].left) place_unit(x, u);
        } else if (x->splits++ < SPLIT_LIMIT) {
            const uint32_t u = unit_to_split(x);
            if (u == VIEW_NONE)
                place_unit(x, x->first);
            else
                place_ready(x, u);
        } else if (x->splits == SPLIT_LIMIT + 1) {
            place_singly(x);
        } else {
            place_unit(x, x->first);
        }
    }
}

pgy_status group_order(group_part **out, uint32_t *count, grouping *s, group_order_state *o,
                       const uint32_t *items, uint32_t item_count, uint32_t depth, arena *memory,
                       pgy_error *err)
{
    arena scratch = {0};
    sorter x = {.s = s, .o = o, .memory = memory, .call = ++o->calls};
    x.units = arena_alloc_array(&scratch, item_count, sizeof *x.units);
    x.heap = arena_alloc_array(&scratch, (size_t)item_count + 1, sizeof *x.heap);
    x.work = arena_alloc_array(memory, 2 * (size_t)item_count, sizeof *x.work);
    x.failed = !x.units || !x.heap || !x.work;
    if (!x.failed) {
        make_units(&x, items, item_count, depth);
        count_edges(&x, items, item_count);
        sort_units(&x);
    }
    for (uint32_t i = 0; !x.failed && i < x.part_count; i++) {
        group_part *p = &x.parts[i];
        p->total = p->scope == VIEW_NONE ? 1 : x.units[o->unit[p->items[0]]].parts;
    }
    arena_deinit(&scratch);
    if (x.failed) return group_no_memory(err);
    *out = x.parts;
    *count = x.part_count;
    return PGY_OK;
}

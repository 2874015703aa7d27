/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of a range's programs. Blocks whose size varies are placed with room to grow by half,
 * so that most new shapes need no placement: it takes longer than all else that a new shape needs.
 * But no program gets an arena that is many times as large as what it needs. */
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "engine/program/range_parts.h"

/* The most bytes that the program being made needs at once. */
static uint64_t most_alive(const range *r)
{
    uint64_t alive = 0, most = 0;
    memset(r->changes, 0, (r->base->step_count + 1) * sizeof *r->changes);
    for (size_t i = 0; i < r->slot_count; i++) { /* sums of differences may wrap */
        r->changes[r->slots[i].first] += r->slots[i].needed;
        r->changes[r->slots[i].last + 1] -= r->slots[i].needed;
    }
    for (size_t i = 0; i < r->base->step_count; i++) {
        alive += r->changes[i];
        if (alive > most) most = alive;
    }
    return most;
}

/* Is the arena larger than a program should hold that needs so many bytes at once? */
static bool is_vast(const range *r, uint64_t alive)
{
    enum { FACTOR = 4, SPARE_BYTES = 16 << 20 };
    return r->arena_bytes > SPARE_BYTES && (r->arena_bytes - SPARE_BYTES) / FACTOR > alive;
}

static bool is_enough(const range *r)
{
    for (size_t i = 0; i < r->moving_count; i++) {
        const range_slot *s = &r->slots[r->moving[i]];
        if (s->needed > s->size_bytes) return false;
    }
    return true;
}

/* Room for a block: a size that has changed may grow further. */
static uint64_t room_of(const range_slot *s)
{
    if (s->needed == s->size_bytes) return s->size_bytes;
    const uint64_t roomy = s->needed + s->needed / 2;
    return roomy > s->size_bytes ? roomy : s->size_bytes;
}

static pgy_status place(range *r, bool roomy, pgy_error *err)
{
    program_interval *items = mem_calloc(r->slot_count + 1, sizeof *items);
    if (!items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while planning the arena");
    for (size_t i = 0; i < r->slot_count; i++) {
        const range_slot *s = &r->slots[i];
        items[i] = (program_interval){
            .first = s->first, .last = s->last, .size_bytes = roomy ? room_of(s) : s->needed};
    }
    const pgy_status st =
        program_place_quickly(items, r->slot_count, &r->arena_bytes, &r->arena_bound, err);
    for (size_t i = 0; !st && i < r->slot_count; i++) {
        r->slots[i].size_bytes = items[i].size_bytes;
        r->slots[i].offset = items[i].offset;
    }
    mem_free(items);
    return st;
}

void range_place_tensors(range *r)
{
    for (size_t i = 0; i < r->tensor_count; i++) {
        const uint32_t slot = r->tensors[r->tensors[i].root].slot;
        if (r->placed[i].place == PROGRAM_ARENA && slot != RANGE_NONE)
            r->placed[i].offset = r->slots[slot].offset;
    }
}

pgy_status range_place(range *r, pgy_error *err)
{
    if (!is_vast(r, 0) && is_enough(r)) return PGY_OK;
    const uint64_t alive = most_alive(r);
    if (is_enough(r) && !is_vast(r, alive)) return PGY_OK;
    pgy_status st = is_enough(r) ? place(r, false, err) : place(r, true, err);
    if (!st && (is_vast(r, alive) || r->arena_bytes > memory_limit_bytes()))
        st = place(r, false, err);
    if (!st && r->arena_bytes > memory_limit_bytes())
        st = pgy_error_set(err, PGY_E_UNSUPPORTED, "the arena's %llu bytes exceed %s",
                           (unsigned long long)r->arena_bytes, memory_limit_describe().text);
    r->placings++;
    range_place_tensors(r);
    return st;
}

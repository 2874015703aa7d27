/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of a range's programs. Blocks whose size varies are placed with room to grow by half,
 * so that most new shapes need no placement: it takes longer than all else that a new shape needs.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "engine/program/range_parts.h"

static bool is_enough(const range *r)
{
    for (size_t i = 0; i < r->slot_count; i++)
        if (r->slots[i].needed > r->slots[i].size_bytes) return false;
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

pgy_status range_place(range *r, pgy_error *err)
{
    if (is_enough(r)) return PGY_OK;
    pgy_status st = place(r, true, err);
    if (!st && r->arena_bytes > memory_limit_bytes()) st = place(r, false, err);
    if (!st && r->arena_bytes > memory_limit_bytes())
        st = pgy_error_set(err, PGY_E_MEMORY, "the arena's %llu bytes exceed %s",
                           (unsigned long long)r->arena_bytes, memory_limit_describe().text);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a document by name: an open-addressed table of chains. A chain holds everything of
 * one name, whatever level it is on, so that nothing has to be rebuilt when edges or lists change:
 * who asks looks through the few items of a chain. */
#include <string.h>

#include "base/alloc.h"
#include "gs/gs.h"

enum { FIRST_SLOTS = 64 };

static const gs_named GONE; /* stands where a chain was taken out */

uint64_t gs_hash(const char *name)
{
    return span_hash(span_of(name));
}

void gs_names_deinit(gs_names *names)
{
    mem_free(names->slots);
    *names = (gs_names){0};
}

/* The slot of a name, or the one where it goes. */
static gs_named **slot_of(const gs_names *names, const char *name, uint64_t hash)
{
    const size_t mask = names->slot_count - 1;
    gs_named **spare = NULL;
    size_t at = hash & mask;
    for (; names->slots[at]; at = (at + 1) & mask) {
        gs_named *item = names->slots[at];
        if (item == &GONE) {
            if (!spare) spare = &names->slots[at];
        } else if (item->hash == hash && strcmp(item->name, name) == 0) {
            return &names->slots[at];
        }
    }
    return spare ? spare : &names->slots[at];
}

static bool is_chain(const gs_named *item)
{
    return item && item != &GONE;
}

static bool make_room(gs_names *names)
{
    if ((names->used + 1) * 2 <= names->slot_count) return true;
    size_t live = 0, slot_count = FIRST_SLOTS;
    for (size_t i = 0; i < names->slot_count; i++) live += is_chain(names->slots[i]);
    while (slot_count < (live + 1) * 4) slot_count *= 2;
    gs_names grown = {mem_calloc(slot_count, sizeof(*grown.slots)), slot_count, live};
    if (!grown.slots) return false;
    for (size_t i = 0; i < names->slot_count; i++) {
        gs_named *item = names->slots[i];
        if (is_chain(item)) *slot_of(&grown, item->name, item->hash) = item;
    }
    gs_names_deinit(names);
    *names = grown;
    return true;
}

gs_named *gs_names_find(const gs_names *names, const char *name, uint64_t hash)
{
    if (!names->slot_count) return NULL;
    gs_named *item = *slot_of(names, name, hash);
    return is_chain(item) ? item : NULL;
}

bool gs_names_add(gs_names *names, gs_named *item)
{
    if (!*item->name) return true;
    if (!make_room(names)) return false;
    gs_named **slot = slot_of(names, item->name, item->hash);
    item->next = is_chain(*slot) ? *slot : NULL;
    item->not_alone = item->next;
    if (item->next) item->next->not_alone = true;
    if (!*slot) names->used++;
    *slot = item;
    return true;
}

bool gs_names_put(gs_names *names, gs_named *item)
{
    if (!make_room(names)) return false;
    gs_named **slot = slot_of(names, item->name, item->hash);
    if (!*slot) names->used++;
    *slot = item;
    return true;
}

void gs_names_remove(gs_names *names, gs_named *item)
{
    if (!*item->name || !names->slot_count) return;
    gs_named **slot = slot_of(names, item->name, item->hash);
    if (*slot == item) {
        *slot = item->next ? item->next : (gs_named *)&GONE;
    } else if (is_chain(*slot)) {
        gs_named *before = *slot;
        while (before->next && before->next != item) before = before->next;
        if (before->next) before->next = item->next;
    }
    item->next = NULL;
}

bool gs_names_rename(gs_names *names, gs_named *item, const char *name)
{
    if (!make_room(names)) return false;
    gs_names_remove(names, item);
    item->name = name;
    item->hash = gs_hash(name);
    return gs_names_add(names, item);
}

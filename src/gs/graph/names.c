/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a document's tensors or nodes by name: an open-addressed hash table of chains. A
 * chain links all items of one name, in whatever graph they are, so it stays valid when edges or
 * node lists change; a look-up filters the few items of a chain. Hashes are in the table, so a
 * probe reads an item only if its hash matches. */
#include <string.h>

#include "base/alloc.h"
#include "gs/graph/document.h"

enum { FIRST_SLOTS = 64 };

static const gs_named GONE; /* marks the slot of a removed chain */

uint64_t gs_hash(const char *name)
{
    return span_hash(span_of(name));
}

void gs_names_deinit(gs_names *names)
{
    mem_free(names->slots);
    *names = (gs_names){0};
}

/* The table slot that holds a name, or the free slot where it belongs. */
static gs_slot *slot_of(const gs_names *names, const char *name, uint64_t hash)
{
    const size_t mask = names->slot_count - 1;
    gs_slot *spare = NULL;
    size_t at = hash & mask;
    for (; names->slots[at].first; at = (at + 1) & mask) {
        gs_slot *slot = &names->slots[at];
        if (slot->first == &GONE) {
            if (!spare) spare = slot;
        } else if (slot->hash == hash && strcmp(slot->first->name, name) == 0) {
            return slot;
        }
    }
    return spare ? spare : &names->slots[at];
}

static bool is_chain(const gs_named *item)
{
    return item && item != &GONE;
}

static void fill(gs_names *names, gs_slot *slot, gs_named *item)
{
    if (!slot->first) names->used++;
    *slot = (gs_slot){item->hash, item};
}

bool gs_names_reserve(gs_names *names, size_t more)
{
    size_t live = 0, slot_count = FIRST_SLOTS;
    if ((names->used + more) * 2 <= names->slot_count) return true;
    for (size_t i = 0; i < names->slot_count; i++) live += is_chain(names->slots[i].first);
    while (slot_count / 2 < live + more) slot_count *= 2;
    if (more == 1) slot_count *= 2;
    gs_names grown = {mem_calloc(slot_count, sizeof(*grown.slots)), slot_count, live};
    if (!grown.slots) return false;
    for (size_t i = 0; i < names->slot_count; i++) {
        if (!is_chain(names->slots[i].first)) continue;
        size_t at = names->slots[i].hash & (slot_count - 1);
        while (grown.slots[at].first) at = (at + 1) & (slot_count - 1);
        grown.slots[at] = names->slots[i];
    }
    gs_names_deinit(names);
    *names = grown;
    return true;
}

gs_named *gs_names_find(const gs_names *names, const char *name, uint64_t hash)
{
    if (!names->slot_count) return NULL;
    gs_named *item = slot_of(names, name, hash)->first;
    return is_chain(item) ? item : NULL;
}

bool gs_names_add(gs_names *names, gs_named *item)
{
    if (!*item->name) return true;
    if (!gs_names_reserve(names, 1)) return false;
    gs_slot *slot = slot_of(names, item->name, item->hash);
    item->next = is_chain(slot->first) ? slot->first : NULL;
    item->not_alone = item->next;
    if (item->next) item->next->not_alone = true;
    fill(names, slot, item);
    return true;
}

bool gs_names_put(gs_names *names, gs_named *item)
{
    if (!gs_names_reserve(names, 1)) return false;
    fill(names, slot_of(names, item->name, item->hash), item);
    return true;
}

void gs_names_remove(gs_names *names, gs_named *item)
{
    if (!*item->name || !names->slot_count) return;
    gs_slot *slot = slot_of(names, item->name, item->hash);
    if (slot->first == item) {
        slot->first = item->next ? item->next : (gs_named *)&GONE;
    } else if (is_chain(slot->first)) {
        gs_named *before = slot->first;
        while (before->next && before->next != item) before = before->next;
        if (before->next) before->next = item->next;
    }
    item->next = NULL;
}

bool gs_names_rename(gs_names *names, gs_named *item, const char *name)
{
    if (!gs_names_reserve(names, 1)) return false;
    gs_names_remove(names, item);
    item->name = name;
    item->hash = gs_hash(name);
    return gs_names_add(names, item);
}

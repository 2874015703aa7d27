/* SPDX-License-Identifier: Apache-2.0 */
/* The map from strings to pointers: entries in insertion order, and an open-addressed table of
 * entry numbers (0 is empty) that is at most half full. Small maps have neither table nor hashes and
 * are searched in order: the names of a model's inputs and outputs are looked up in every run. */
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"

enum { LINEAR_COUNT = 8 };

void strmap_deinit(strmap *m)
{
    for (size_t i = 0; !m->names && i < m->count; i++) mem_free(m->entries[i].key);
    mem_free(m->entries);
    mem_free(m->slots);
    *m = (strmap){0};
}

static char *copy_key(const strmap *m, span key)
{
    return m->names ? arena_strndup(m->names, key.data, key.size) : mem_strndup(key.data, key.size);
}

static bool entry_is(const strmap_entry *e, span key)
{
    return strncmp(e->key, key.data, key.size) == 0 && e->key[key.size] == '\0';
}

static strmap_entry *lookup(const strmap *m, span key)
{
    if (!m->slots) {
        for (size_t i = 0; i < m->count; i++)
            if (entry_is(&m->entries[i], key)) return &m->entries[i];
        return NULL;
    }
    const uint64_t hash = span_hash(key);
    const size_t mask = m->slot_count - 1;
    for (size_t at = hash & mask; m->slots[at]; at = (at + 1) & mask) {
        strmap_entry *e = &m->entries[m->slots[at] - 1];
        if (e->hash == hash && entry_is(e, key)) return e;
    }
    return NULL;
}

static void place(uint32_t *slots, size_t slot_count, uint64_t hash, size_t index)
{
    size_t at = hash & (slot_count - 1);
    while (slots[at]) at = (at + 1) & (slot_count - 1);
    slots[at] = (uint32_t)(index + 1);
}

static bool make_room(strmap *m)
{
    if (m->count >= UINT32_MAX / 2) return false;
    if (!mem_grow((void **)&m->entries, &m->capacity, m->count + 1, sizeof *m->entries))
        return false;
    if (m->count < LINEAR_COUNT || (m->count + 1) * 2 <= m->slot_count) return true;
    const size_t slot_count = m->slot_count ? m->slot_count * 2 : LINEAR_COUNT * 4;
    uint32_t *slots = mem_calloc(slot_count, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < m->count; i++) {
        strmap_entry *e = &m->entries[i];
        if (!m->slots) e->hash = span_hash(span_of(e->key));
        place(slots, slot_count, e->hash, i);
    }
    mem_free(m->slots);
    m->slots = slots;
    m->slot_count = slot_count;
    return true;
}

bool strmap_put(strmap *m, const char *key, void *value)
{
    return strmap_put_n(m, key, strlen(key), value);
}

/* Ends a key at its first zero byte, because the map stores keys as C strings. */
static span key_of(const char *key, size_t key_size)
{
    return (span){key, key_size ? strnlen(key, key_size) : 0};
}

bool strmap_put_n(strmap *m, const char *key, size_t key_size, void *value)
{
    const span k = key_of(key, key_size);
    strmap_entry *e = lookup(m, k);
    if (e) {
        e->value = value;
        return true;
    }
    if (!make_room(m)) return false;
    char *copy = copy_key(m, k);
    if (!copy) return false;
    const uint64_t hash = m->slots ? span_hash(k) : 0;
    m->entries[m->count] = (strmap_entry){copy, value, hash};
    if (m->slots) place(m->slots, m->slot_count, hash, m->count);
    m->count++;
    return true;
}

void *strmap_get(const strmap *m, const char *key)
{
    return strmap_get_n(m, key, strlen(key));
}

void *strmap_get_n(const strmap *m, const char *key, size_t key_size)
{
    const span k = key_of(key, key_size);
    const strmap_entry *e = lookup(m, k);
    return e ? e->value : NULL;
}

bool strmap_has(const strmap *m, const char *key)
{
    return strmap_find(m, key) != NULL;
}

strmap_entry *strmap_find(const strmap *m, const char *key)
{
    const span k = span_of(key);
    return lookup(m, k);
}

/* Empties the slot of an entry and moves later entries of the same probe sequence into the gap. */
static void unplace(strmap *m, size_t index)
{
    const size_t mask = m->slot_count - 1;
    size_t hole = m->entries[index].hash & mask;
    while (m->slots[hole] != index + 1) hole = (hole + 1) & mask;
    for (size_t at = (hole + 1) & mask; m->slots[at]; at = (at + 1) & mask) {
        const size_t home = m->entries[m->slots[at] - 1].hash & mask;
        if (((at - home) & mask) < ((at - hole) & mask)) continue;
        m->slots[hole] = m->slots[at];
        hole = at;
    }
    m->slots[hole] = 0;
}

bool strmap_rename(strmap *m, const char *from, const char *to)
{
    strmap_entry *e = strmap_find(m, from);
    if (!e || strmap_has(m, to)) return false;
    char *copy = copy_key(m, span_of(to));
    if (!copy) return false;
    const size_t index = (size_t)(e - m->entries);
    if (m->slots) unplace(m, index);
    if (!m->names) mem_free(e->key);
    e->key = copy;
    if (m->slots) e->hash = span_hash(span_of(to));
    if (m->slots) place(m->slots, m->slot_count, e->hash, index);
    return true;
}

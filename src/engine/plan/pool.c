/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces are found by hash and then compared, so the file holds a weight once, even if several
 * programs, or a program and a graph, share it. */
#include "engine/plan/pool.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/plan/format.h"

typedef struct pool_key {
    char text[40]; /* hash and size */
} pool_key;

void plan_pool_deinit(plan_pool *p)
{
    mem_free(p->pieces);
    strmap_deinit(&p->by_hash);
    *p = (plan_pool){0};
}

static pool_key key_of(const void *data, uint64_t size_bytes)
{
    pool_key key;
    snprintf(key.text, sizeof key.text, "%016llx%llx",
             (unsigned long long)hash_xxh64(data, size_bytes, 0), (unsigned long long)size_bytes);
    return key;
}

static const plan_piece *find(const plan_pool *p, const pool_key *key, const void *data,
                              uint64_t size_bytes)
{
    const uintptr_t place = (uintptr_t)strmap_get(&p->by_hash, key->text);
    const plan_piece *piece = place ? &p->pieces[place - 1] : NULL;
    const bool same =
        piece && (piece->data == data || !size_bytes || memcmp(piece->data, data, size_bytes) == 0);
    return same ? piece : NULL;
}

bool plan_pool_find(uint64_t *offset, const plan_pool *p, const void *data, uint64_t size_bytes)
{
    const pool_key key = key_of(data, size_bytes);
    const plan_piece *piece = find(p, &key, data, size_bytes);
    if (piece) *offset = piece->offset;
    return piece != NULL;
}

bool plan_pool_add(uint64_t *offset, plan_pool *p, const void *data, uint64_t size_bytes)
{
    const pool_key key = key_of(data, size_bytes);
    const plan_piece *known = find(p, &key, data, size_bytes);
    if (known) {
        *offset = known->offset;
        return true;
    }
    if (!mem_grow((void **)&p->pieces, &p->capacity, p->count + 1, sizeof *p->pieces)) return false;
    const uint64_t start = (p->size_bytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
    p->pieces[p->count++] = (plan_piece){.data = data, .size_bytes = size_bytes, .offset = p->base + start};
    p->size_bytes = start + size_bytes;
    *offset = p->base + start;
    return strmap_put(&p->by_hash, key.text, (void *)(uintptr_t)p->count);
}

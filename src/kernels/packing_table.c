/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces are found by a key: the form, its numbers, and what identifies the elements. A piece that
 * a thread is filling is already in the table, so that others wait for it instead of packing the
 * same weights a second time. */
#include "kernels/packing_table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { FIRST_BUCKETS = 64 };

/* ---- The table ------------------------------------------------------------------------------ */

packed_table *packed_table_create(void)
{
    packed_table *t = mem_calloc(1, sizeof *t);
    if (!t) return NULL;
    t->users = 1;
    t->bucket_count = FIRST_BUCKETS;
    t->buckets = mem_calloc(FIRST_BUCKETS, sizeof(packed_piece *));
    if (!t->buckets || pthread_mutex_init(&t->lock, NULL)) {
        mem_free(t->buckets);
        mem_free(t);
        return NULL;
    }
    pthread_cond_init(&t->filled, NULL);
    return t;
}

packed_table *packed_table_retain(packed_table *t)
{
    pthread_mutex_lock(&t->lock);
    t->users++;
    pthread_mutex_unlock(&t->lock);
    return t;
}

static void free_piece(packed_piece *p)
{
    if (!p->borrowed) mem_free_block(p->data, p->size_bytes);
    mem_free(p->key);
    mem_free(p);
}

/* Unlocks the table after it lost a user. */
static void leave(packed_table *t)
{
    const bool last = !--t->users;
    pthread_mutex_unlock(&t->lock);
    if (!last) return;
    for (size_t i = 0; i < t->bucket_count; i++) /* only pinned pieces are left */
        for (packed_piece *p = t->buckets[i], *next; p; p = next) {
            next = p->next;
            free_piece(p);
        }
    pthread_cond_destroy(&t->filled);
    pthread_mutex_destroy(&t->lock);
    strmap_deinit(&t->narrow);
    mem_free(t->buckets);
    mem_free(t);
}

void packed_table_release(packed_table *t)
{
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    leave(t);
}

void packed_table_set_lasting(packed_table *t)
{
    t->lasts = true;
}

packed_count packed_table_count(packed_table *t)
{
    pthread_mutex_lock(&t->lock);
    const packed_count c = {t->count, t->bytes};
    pthread_mutex_unlock(&t->lock);
    return c;
}

/* ---- Types that hold constants without loss -------------------------------------------------- */

bool packed_table_narrow(pgy_dtype *out, packed_table *t, const void *source)
{
    pthread_mutex_lock(&t->lock);
    const uintptr_t noted =
        (uintptr_t)strmap_get_n(&t->narrow, (const char *)&source, sizeof source);
    pthread_mutex_unlock(&t->lock);
    if (noted) *out = (pgy_dtype)(noted - 1);
    return noted != 0;
}

void packed_table_note_narrow(packed_table *t, const void *source, pgy_dtype narrow)
{
    void *const noted = (void *)((uintptr_t)narrow + 1); /* NULL would be no note */
    pthread_mutex_lock(&t->lock);
    (void)strmap_put_n(&t->narrow, (const char *)&source, sizeof source, noted);
    pthread_mutex_unlock(&t->lock);
}

/* ---- Pieces; the caller holds the lock ------------------------------------------------------- */

static packed_piece **bucket_of(packed_table *t, uint64_t hash)
{
    return &t->buckets[hash % t->bucket_count];
}

/* A table that cannot grow stays correct, only slower. */
static void grow(packed_table *t)
{
    const size_t count = t->bucket_count * 2;
    packed_piece **larger = t->count < t->bucket_count ? NULL : mem_calloc(count, sizeof *larger);
    if (!larger) return;
    for (size_t i = 0; i < t->bucket_count; i++)
        for (packed_piece *p = t->buckets[i], *next; p; p = next) {
            next = p->next;
            p->next = larger[p->hash % count];
            larger[p->hash % count] = p;
        }
    mem_free(t->buckets);
    t->buckets = larger;
    t->bucket_count = count;
}

static void link_piece(packed_table *t, packed_piece *p)
{
    grow(t);
    packed_piece **bucket = bucket_of(t, p->hash);
    p->next = *bucket;
    *bucket = p;
    t->count++;
    t->bytes += p->size_bytes;
}

static void unlink_piece(packed_piece *p)
{
    packed_piece **at = bucket_of(p->table, p->hash);
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    p->table->count--;
    p->table->bytes -= p->size_bytes;
}

static packed_piece *find(packed_table *t, const char *key, uint64_t hash, uint64_t size_bytes)
{
    for (packed_piece *p = *bucket_of(t, hash); p; p = p->next)
        if (p->hash == hash && p->size_bytes == size_bytes && p->state != FAILED &&
            strcmp(p->key, key) == 0)
            return p;
    return NULL;
}

/* ---- Pieces --------------------------------------------------------------------------------- */

/* A pinned piece keeps its table only while others use it. The caller holds the lock. */
static void hold(packed_piece *p)
{
    p->users++;
    if (p->pinned) p->table->users++;
}

packed_piece *packed_piece_retain(packed_piece *p)
{
    pthread_mutex_lock(&p->table->lock);
    hold(p);
    pthread_mutex_unlock(&p->table->lock);
    return p;
}

void packed_piece_release(packed_piece *p)
{
    if (!p) return;
    packed_table *t = p->table;
    pthread_mutex_lock(&t->lock);
    if (--p->users) {
        if (p->pinned)
            leave(t);
        else
            pthread_mutex_unlock(&t->lock);
        return;
    }
    unlink_piece(p);
    leave(t);
    free_piece(p);
}

const void *packed_piece_data(const packed_piece *p)
{
    return p->data;
}

uint64_t packed_piece_bytes(const packed_piece *p)
{
    return p->size_bytes;
}

/* Makes a piece of `data`, or if that is NULL of a block without elements. Takes the key, also on
 * failure. */
static packed_piece *make_piece(packed_table *t, char *key, const void *data, uint64_t size_bytes)
{
    packed_piece *p = key ? mem_calloc(1, sizeof *p) : NULL;
    void *block = data || !p ? NULL : mem_alloc_block(size_bytes);
    if (!p || !(data || block)) {
        mem_free(key);
        mem_free(p);
        return NULL;
    }
    *p = (packed_piece){.table = t,
                        .users = 1,
                        .key = key,
                        .hash = hash_xxh64(key, strlen(key), 0),
                        .data = data ? (void *)data : block,
                        .borrowed = data != NULL,
                        .size_bytes = size_bytes};
    return p;
}

packed_piece *packed_table_find_or_add(packed_table *t, char *key, const void *data,
                                       uint64_t size_bytes, bool *made)
{
    const uint64_t hash = hash_xxh64(key, strlen(key), 0);
    packed_piece *p;
    *made = false;
    pthread_mutex_lock(&t->lock);
    while ((p = find(t, key, hash, size_bytes)) && p->state == FILLING)
        pthread_cond_wait(&t->filled, &t->lock);
    if (p) {
        hold(p);
        mem_free(key);
    } else if ((p = make_piece(t, key, data, size_bytes))) {
        *made = true;
        if (data) p->state = READY;
        link_piece(t, p);
        t->users++;
    }
    pthread_mutex_unlock(&t->lock);
    return p;
}

void packed_piece_finish(packed_piece *p, bool filled)
{
    pthread_mutex_lock(&p->table->lock);
    p->state = filled ? READY : FAILED;
    pthread_cond_broadcast(&p->table->filled);
    pthread_mutex_unlock(&p->table->lock);
}

const packed_recipe *packed_piece_recipe(const packed_piece *p)
{
    return p->recipe.form[0] ? &p->recipe : NULL;
}

packed_piece *packed_table_at(packed_table *t, const void *data)
{
    packed_piece *found = NULL;
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; !found && i < t->bucket_count; i++)
        for (packed_piece *p = t->buckets[i]; p && !found; p = p->next)
            if (p->data == data) found = p;
    pthread_mutex_unlock(&t->lock);
    return found;
}

bool packed_table_pin(packed_table *t, char *key, const packed_recipe *r, const void *data,
                      uint64_t size_bytes)
{
    packed_piece *p = make_piece(t, key, data, size_bytes);
    if (!p) return false;
    p->state = READY;
    p->pinned = true;
    p->recipe = *r;
    pthread_mutex_lock(&t->lock);
    link_piece(t, p);
    pthread_mutex_unlock(&t->lock);
    return true;
}

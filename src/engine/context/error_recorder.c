/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded list of failures behind a lock. */
#include <polygraphy/runtime.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"

enum { USUAL_CAPACITY = 64 };

typedef struct entry {
    pgy_status status;
    char *text;
} entry;

struct pgy_error_recorder {
    atomic_size_t users;
    pthread_mutex_t lock; /* guards the fields below */
    entry *entries;
    size_t count, capacity;
    bool overflowed;
};

/* Casts const away: locking does not change the recorder for its readers. */
static pgy_error_recorder *lock(const pgy_error_recorder *r)
{
    pgy_error_recorder *open = (pgy_error_recorder *)r;
    pthread_mutex_lock(&open->lock);
    return open;
}

pgy_status pgy_error_recorder_create(pgy_error_recorder **out, size_t capacity, pgy_error *err)
{
    pgy_error_recorder *r = mem_calloc(1, sizeof *r);
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    atomic_init(&r->users, 1);
    r->capacity = capacity ? capacity : USUAL_CAPACITY;
    r->entries = mem_calloc(r->capacity, sizeof *r->entries);
    if (!r->entries || pthread_mutex_init(&r->lock, NULL)) {
        mem_free(r->entries);
        mem_free(r);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    *out = r;
    return PGY_OK;
}

pgy_error_recorder *pgy_error_recorder_retain(pgy_error_recorder *r)
{
    atomic_fetch_add_explicit(&r->users, 1, memory_order_relaxed);
    return r;
}

void pgy_error_recorder_release(pgy_error_recorder *r)
{
    if (!r || atomic_fetch_sub_explicit(&r->users, 1, memory_order_acq_rel) > 1) return;
    pgy_error_recorder_clear(r);
    pthread_mutex_destroy(&r->lock);
    mem_free(r->entries);
    mem_free(r);
}

void pgy_error_recorder_report(pgy_error_recorder *r, pgy_status status, const char *text)
{
    if (!r || !status) return;
    lock(r);
    char *copy = r->count < r->capacity ? mem_strdup(text) : NULL;
    if (copy)
        r->entries[r->count++] = (entry){.status = status, .text = copy};
    else
        r->overflowed = true;
    pthread_mutex_unlock(&r->lock);
}

size_t pgy_error_recorder_count(const pgy_error_recorder *r)
{
    pgy_error_recorder *open = lock(r);
    const size_t count = open->count;
    pthread_mutex_unlock(&open->lock);
    return count;
}

bool pgy_error_recorder_overflowed(const pgy_error_recorder *r)
{
    pgy_error_recorder *open = lock(r);
    const bool overflowed = open->overflowed;
    pthread_mutex_unlock(&open->lock);
    return overflowed;
}

pgy_status pgy_error_recorder_at(pgy_error *out, const pgy_error_recorder *r, size_t i)
{
    pgy_error_recorder *open = lock(r);
    pgy_status st = PGY_OK;
    if (i < open->count)
        st = pgy_error_set(out, open->entries[i].status, "%s", open->entries[i].text);
    pthread_mutex_unlock(&open->lock);
    return st;
}

void pgy_error_recorder_clear(pgy_error_recorder *r)
{
    lock(r);
    for (size_t i = 0; i < r->count; i++) mem_free(r->entries[i].text);
    r->count = 0;
    r->overflowed = false;
    pthread_mutex_unlock(&r->lock);
}

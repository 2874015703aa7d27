/* SPDX-License-Identifier: Apache-2.0 */
/* Timing caches are sorted arrays, small enough that an insertion may move all entries behind it.
 * Keys include the processor, so entries of several processors may share a cache; the name of the
 * processor that made it serves people and the check before combining. */
#include "engine/tactics/timing_cache.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/alloc.h"
#include "base/hash.h"

/* ---- Names ---------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static void cpu_model(char name[64])
{
    unsigned words[12] = {0};
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                         &words[4 * i + 3]))
            return;
    memcpy(name, words, sizeof words);
}
#else
static void cpu_model(char name[64])
{
    (void)name;
}
#endif

void timing_device(char *out, size_t size)
{
    char name[64] = {0};
    cpu_model(name);
    const char *start = name + strspn(name, " ");
    size_t length = strlen(start);
    while (length && start[length - 1] == ' ') length--;
    for (size_t i = 0; i < length; i++)
        if (start[i] < ' ' || start[i] > '~' || start[i] == '#') length = i;
    snprintf(out, size, "%.*s, %s%s%s", length ? (int)length : 7, length ? start : "unknown",
             cpu_level_name(cpu_features()), cpu_has_byte_sums(cpu_features()) ? " vnni" : "",
             cpu_has_tiles() ? " amx" : "");
}

uint64_t timing_tactic_of(const kernel *k)
{
    return hash_xxh64(k->name, strlen(k->name), 1 + (uint64_t)k->version);
}

uint64_t pgy_timing_tactic(const char *kernel_name)
{
    const kernel *k;
    for (size_t i = 0; (k = kernel_at(i)); i++)
        if (strcmp(k->name, kernel_name) == 0) return timing_tactic_of(k);
    return 0;
}

const char *pgy_timing_tactic_name(uint64_t tactic)
{
    const kernel *k;
    for (size_t i = 0; (k = kernel_at(i)); i++)
        if (timing_tactic_of(k) == tactic) return k->name;
    return NULL;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a timing cache");
}

pgy_status timing_cache_make(pgy_timing_cache **out, const char *text, size_t text_bytes,
                             pgy_error *err)
{
    pgy_timing_cache *c = mem_calloc(1, sizeof *c);
    if (!c) return no_memory(err);
    c->device = mem_strndup(text, text_bytes);
    if (!c->device || pthread_mutex_init(&c->lock, NULL)) {
        mem_free(c->device);
        mem_free(c);
        return no_memory(err);
    }
    *out = c;
    return PGY_OK;
}

pgy_status pgy_timing_cache_create(pgy_timing_cache **out, pgy_error *err)
{
    char text[128];
    timing_device(text, sizeof text);
    return timing_cache_make(out, text, strlen(text), err);
}

void pgy_timing_cache_destroy(pgy_timing_cache *c)
{
    if (!c) return;
    pthread_mutex_destroy(&c->lock);
    mem_free(c->rows);
    mem_free(c->device);
    mem_free(c);
}

/* ---- Entries -------------------------------------------------------------------------------- */

/* Casts const away: locking does not change the cache for the caller. */
static void lock(const pgy_timing_cache *c)
{
    pthread_mutex_lock((pthread_mutex_t *)&c->lock);
}

static void unlock(const pgy_timing_cache *c)
{
    pthread_mutex_unlock((pthread_mutex_t *)&c->lock);
}

/* The index of the first entry whose key is not smaller. */
static size_t find(const pgy_timing_cache *c, const pgy_timing_key *key)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (memcmp(&c->rows[middle].key, key, sizeof *key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const pgy_timing_cache *c, size_t at, const pgy_timing_key *key)
{
    return at < c->count && memcmp(&c->rows[at].key, key, sizeof *key) == 0;
}

static bool insert(pgy_timing_cache *c, size_t at, const timing_row *row)
{
    if (!mem_grow((void **)&c->rows, &c->capacity, c->count + 1, sizeof *c->rows)) return false;
    memmove(c->rows + at + 1, c->rows + at, (c->count - at) * sizeof *c->rows);
    c->rows[at] = *row;
    c->count++;
    return true;
}

static bool is_time(float milliseconds)
{
    return isfinite(milliseconds) && milliseconds >= 0;
}

bool timing_cache_append(pgy_timing_cache *c, const timing_row *row)
{
    if (c->count && memcmp(&c->rows[c->count - 1].key, &row->key, sizeof row->key) >= 0)
        return false;
    return is_time(row->entry.milliseconds) && insert(c, c->count, row);
}

const char *pgy_timing_cache_device(const pgy_timing_cache *c)
{
    return c->device;
}

size_t pgy_timing_cache_count(const pgy_timing_cache *c)
{
    lock(c);
    const size_t count = c->count;
    unlock(c);
    return count;
}

size_t pgy_timing_cache_keys(const pgy_timing_cache *c, pgy_timing_key *out, size_t capacity)
{
    lock(c);
    const size_t count = c->count;
    for (size_t i = 0; i < count && i < capacity; i++) out[i] = c->rows[i].key;
    unlock(c);
    return count;
}

bool pgy_timing_cache_query(pgy_timing_entry *out, const pgy_timing_cache *c,
                            const pgy_timing_key *key)
{
    lock(c);
    const size_t at = find(c, key);
    const bool found = is_at(c, at, key);
    if (found) *out = c->rows[at].entry;
    unlock(c);
    return found;
}

pgy_status pgy_timing_cache_update(pgy_timing_cache *c, const pgy_timing_key *key,
                                   const pgy_timing_entry *entry, pgy_error *err)
{
    const timing_row row = {.key = *key, .entry = *entry};
    if (!is_time(entry->milliseconds))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the time of a timing cache entry is %g milliseconds; expected a "
                             "finite number of at least 0",
                             (double)entry->milliseconds);
    lock(c);
    const size_t at = find(c, key);
    bool done = true;
    if (is_at(c, at, key))
        c->rows[at] = row;
    else
        done = insert(c, at, &row);
    unlock(c);
    return done ? PGY_OK : no_memory(err);
}

void pgy_timing_cache_reset(pgy_timing_cache *c)
{
    lock(c);
    mem_free(c->rows);
    c->rows = NULL;
    c->count = c->capacity = 0;
    unlock(c);
}

/* ---- Combining ------------------------------------------------------------------------------ */

/* Merges the entries of two caches; where both have a key, the entry of `a` wins. */
static size_t merge(timing_row *out, const timing_row *a, size_t a_count, const timing_row *b,
                    size_t b_count)
{
    size_t i = 0, k = 0, count = 0;
    while (i < a_count || k < b_count) {
        const int order = i == a_count   ? 1
                          : k == b_count ? -1
                                         : memcmp(&a[i].key, &b[k].key, sizeof a[i].key);
        out[count++] = order <= 0 ? a[i] : b[k];
        i += order <= 0;
        k += order >= 0;
    }
    return count;
}

/* Copies the entries, so that the locks of two caches are never held together. */
static bool copy_rows(timing_row **out, size_t *count, const pgy_timing_cache *c)
{
    lock(c);
    *count = c->count;
    *out = mem_alloc(c->count * sizeof **out);
    if (*out && c->count) memcpy(*out, c->rows, c->count * sizeof **out);
    unlock(c);
    return *out != NULL;
}

pgy_status pgy_timing_cache_combine(pgy_timing_cache *c, const pgy_timing_cache *other,
                                    bool ignore_mismatch, pgy_error *err)
{
    timing_row *more = NULL, *merged = NULL;
    size_t more_count, whole;
    if (!ignore_mismatch && strcmp(c->device, other->device) != 0)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the timing cache was measured on '%s', but the other one on '%s'",
                             c->device, other->device);
    if (c == other) return PGY_OK;
    if (!copy_rows(&more, &more_count, other)) return no_memory(err);
    lock(c);
    pgy_status st = PGY_OK;
    if (size_add(&whole, c->count, more_count) && size_mul(&whole, whole, sizeof *merged))
        merged = mem_alloc(whole);
    if (merged) {
        c->count = merge(merged, c->rows, c->count, more, more_count);
        c->capacity = whole / sizeof *merged;
        mem_free(c->rows);
        c->rows = merged;
    } else {
        st = no_memory(err);
    }
    unlock(c);
    mem_free(more);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from the address of a tensor's elements to its draws. Reshape and similar operators
 * share elements, so their results are found, too, and get the other shape when they are read. The
 * entry goes with the last reference to the elements. */
#include "where/floor_draws.h"

#include <string.h>

#include "base/alloc.h"

enum { BUCKETS = 4096 };

struct floor_companion {
    floor_draws *owner;
    pgy_tensor *exact; /* holds the elements */
    const void *key;
    pgy_tensor **draws;
    size_t count, bytes;
    floor_companion *next;
};

static size_t bucket_of(const void *key)
{
    return (size_t)(((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 52) % BUCKETS;
}

static floor_companion *find(const floor_draws *d, const pgy_tensor *exact)
{
    const void *key = pgy_tensor_data(exact);
    floor_companion *c = pgy_tensor_count(exact) ? d->buckets[bucket_of(key)] : NULL;
    while (c && c->key != key) c = c->next;
    return c;
}

bool floor_draws_init(floor_draws *d)
{
    *d = (floor_draws){.buckets = mem_calloc(BUCKETS, sizeof *d->buckets)};
    return d->buckets != NULL;
}

void floor_draws_deinit(floor_draws *d)
{
    mem_free(d->buckets);
    *d = (floor_draws){0};
}

static void release_all(pgy_tensor **draws, size_t count)
{
    for (size_t k = 0; k < count; k++) pgy_tensor_release(draws[k]);
}

static void drop(void *data, void *user)
{
    floor_companion *c = user;
    floor_companion **at = &c->owner->buckets[bucket_of(c->key)];
    (void)data;
    while (*at && *at != c) at = &(*at)->next;
    if (*at) *at = c->next;
    c->owner->live_bytes -= c->bytes;
    release_all(c->draws, c->count);
    mem_free(c->draws);
    pgy_tensor_release(c->exact);
    mem_free(c);
}

pgy_status floor_draws_put(floor_draws *d, pgy_tensor **exact, pgy_tensor **draws, size_t count,
                           pgy_error *err)
{
    pgy_tensor *held = *exact, *wrapped = NULL;
    floor_companion *c = mem_calloc(1, sizeof *c);
    pgy_tensor **kept = mem_calloc(count + 1, sizeof *kept);
    pgy_status st = c && kept ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st)
        st = pgy_tensor_wrap(&wrapped, pgy_tensor_data(held), pgy_tensor_dtype(held),
                             pgy_tensor_rank(held), pgy_tensor_shape(held), drop, c, err);
    if (st) {
        release_all(draws, count);
        mem_free(kept);
        mem_free(c);
        return st;
    }
    memcpy(kept, draws, count * sizeof *draws);
    floor_companion **bucket = &d->buckets[bucket_of(pgy_tensor_data(held))];
    *c = (floor_companion){.owner = d,
                           .exact = held,
                           .key = pgy_tensor_data(held),
                           .draws = kept,
                           .count = count,
                           .bytes = count * pgy_tensor_size_bytes(held),
                           .next = *bucket};
    *bucket = c;
    d->live_bytes += c->bytes;
    if (d->live_bytes > d->peak_bytes) d->peak_bytes = d->live_bytes;
    *exact = wrapped;
    return PGY_OK;
}

bool floor_draws_has(const floor_draws *d, const pgy_tensor *exact)
{
    return find(d, exact) != NULL;
}

pgy_status floor_draws_get(pgy_tensor **out, const floor_draws *d, const pgy_tensor *exact,
                           size_t k, pgy_error *err)
{
    const floor_companion *c = find(d, exact);
    *out = NULL;
    if (!c || k >= c->count || !c->draws[k] || pgy_tensor_count(c->draws[k]) != pgy_tensor_count(exact))
        return PGY_OK;
    return pgy_tensor_reshape(out, c->draws[k], pgy_tensor_rank(exact), pgy_tensor_shape(exact),
                              err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of timing caches: entries sorted by key, under a lock. */
#ifndef ENGINE_TACTICS_TIMING_CACHE_H
#define ENGINE_TACTICS_TIMING_CACHE_H

#include <polygraphy/timing_cache.h>

#include <pthread.h>

#include "kernels/kernel.h"

typedef struct timing_row {
    pgy_timing_key key;
    pgy_timing_entry entry;
} timing_row;

struct pgy_timing_cache {
    pthread_mutex_t lock; /* guards the fields below */
    timing_row *rows;     /* sorted by key, ascending */
    size_t count, capacity;
    char *device;
};

/* ---- timing_cache.c ---- */
pgy_status timing_cache_make(pgy_timing_cache **out, const char *device_text, size_t text_bytes,
                             pgy_error *err) PGY_MUST_CHECK;
/* Appends an entry at the end. False: its key is not greater than the last one, its time is
 * invalid, or out of memory. */
bool timing_cache_append(pgy_timing_cache *c, const timing_row *row);
uint64_t timing_tactic_of(const kernel *k);
/* Describes this processor: model and instruction-set level. `size` >= 1; the text is truncated to
 * fit. */
void timing_device(char *out, size_t size);

/* ---- timing_cache_form.c ---- */
pgy_timing_form timing_form_of(const void *data, size_t size_bytes);

#endif

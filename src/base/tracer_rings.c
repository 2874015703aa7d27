/* SPDX-License-Identifier: Apache-2.0 */
/* The rings of the threads, which are emptied into the store. A ring has one writer, its thread,
 * and one reader, whoever holds the lock; a full ring drops new records, so the writer never waits.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/tracer_state.h"

enum { RING_RECORDS = 1 << 16, CACHE_LINE = 64 };

typedef struct ring {
    _Alignas(CACHE_LINE) atomic_size_t head; /* written by the thread */
    atomic_size_t lost;
    _Alignas(CACHE_LINE) atomic_size_t tail; /* written by the reader */
    struct ring *next;
    bool taken;   /* by a living thread */
    uint32_t row; /* of its thread as a worker; TRACE_NONE: not made yet */
    uint32_t epoch;
    uint32_t number;
    trace_record *records;
} ring;

atomic_uint tracer_state;
static atomic_uint epoch;
static tracer_store store = {.lock = PTHREAD_MUTEX_INITIALIZER};
static ring *rings; /* never freed: a thread may write into its ring at any time */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t leaving;
static atomic_bool recording;
static _Thread_local ring *mine;

/* ---- Rings ---------------------------------------------------------------------------------- */

static void leave(void *user)
{
    ring *r = user;
    pthread_mutex_lock(&store.lock);
    r->taken = false;
    pthread_mutex_unlock(&store.lock);
}

static void prepare_once(void)
{
    (void)pthread_key_create(&leaving, leave);
}

static ring *make_ring(void)
{
    ring *r = mem_alloc_aligned(CACHE_LINE, sizeof *r);
    if (!r) return NULL;
    *r = (ring){.row = TRACE_NONE, .number = rings ? rings->number + 1 : 0};
    r->records = mem_calloc(RING_RECORDS, sizeof *r->records);
    if (!r->records) {
        mem_free(r);
        return NULL;
    }
    r->next = rings;
    rings = r;
    return r;
}

/* Gives this thread the ring of a thread that has ended, or a new one. */
static ring *attach(void)
{
    pthread_once(&once, prepare_once);
    pthread_mutex_lock(&store.lock);
    ring *found = NULL;
    for (ring *r = rings; r; r = r->next)
        if (!r->taken && (!found || r->number < found->number)) found = r;
    if (!found) found = make_ring();
    if (found) found->taken = true;
    pthread_mutex_unlock(&store.lock);
    if (found) (void)pthread_setspecific(leaving, found);
    return mine = found;
}

void tracer_put(const trace_record *r)
{
    ring *to = mine ? mine : attach();
    if (!to || r->label == TRACE_NONE || r->row == TRACE_NONE ||
        !(atomic_load_explicit(&tracer_state, memory_order_relaxed) & TRACER_RECORDS))
        return;
    const size_t head = atomic_load_explicit(&to->head, memory_order_relaxed);
    if (head - atomic_load_explicit(&to->tail, memory_order_acquire) >= RING_RECORDS) {
        atomic_fetch_add_explicit(&to->lost, 1, memory_order_relaxed);
        return;
    }
    to->records[head % RING_RECORDS] = *r;
    atomic_store_explicit(&to->head, head + 1, memory_order_release);
}

static void empty_ring(ring *r, bool keep)
{
    const size_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    while (keep && tail < head) {
        const size_t at = tail % RING_RECORDS, left = RING_RECORDS - at;
        const size_t count = head - tail < left ? head - tail : left;
        store_add(&store, r->records + at, count);
        tail += count;
    }
    atomic_store_explicit(&r->tail, head, memory_order_release);
    store.dropped += atomic_exchange_explicit(&r->lost, 0, memory_order_relaxed);
}

void rings_empty(bool keep)
{
    for (ring *r = rings; r; r = r->next) empty_ring(r, keep);
}

void tracer_drain(void)
{
    if (!tracer_is_recording()) return;
    pthread_mutex_lock(&store.lock);
    rings_empty(true);
    store_shrink(&store);
    pthread_mutex_unlock(&store.lock);
}

/* ---- Labels and rows ------------------------------------------------------------------------ */

uint32_t tracer_epoch(void)
{
    return atomic_load_explicit(&epoch, memory_order_relaxed);
}

uint32_t tracer_label(const trace_label *label)
{
    if (!atomic_load(&recording)) return TRACE_NONE;
    pthread_mutex_lock(&store.lock);
    const uint32_t made = store_label(&store, label);
    pthread_mutex_unlock(&store.lock);
    return made;
}

uint32_t tracer_name(const char *name)
{
    if (!atomic_load(&recording)) return TRACE_NONE;
    pthread_mutex_lock(&store.lock);
    const uint32_t made = store_name(&store, name);
    pthread_mutex_unlock(&store.lock);
    return made;
}

uint64_t tracer_correlation(void)
{
    static atomic_uint_least64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void tracer_note_residual(int64_t ns)
{
    pthread_mutex_lock(&store.lock);
    if (ns > store.residual_ns) store.residual_ns = ns;
    pthread_mutex_unlock(&store.lock);
}

static void make_worker_row(ring *r)
{
    char name[32];
    snprintf(name, sizeof name, "worker %u", r->number);
    pthread_mutex_lock(&store.lock);
    r->row = store_row(&store, 1, NULL, 1 + (int64_t)r->number, name);
    r->epoch = tracer_epoch();
    pthread_mutex_unlock(&store.lock);
}

void tracer_work(uint32_t label, uint32_t run, int64_t start_ns, int64_t end_ns, uint32_t part,
                 uint32_t parts)
{
    ring *r = mine ? mine : attach();
    if (!r) return;
    if (r->row == TRACE_NONE || r->epoch != tracer_epoch()) make_worker_row(r);
    const trace_record made = {.start_ns = start_ns,
                               .end_ns = end_ns,
                               .kind = TRACE_WORKER,
                               .label = label,
                               .row = r->row,
                               .run = run,
                               .words = {part, parts}};
    tracer_put(&made);
}

/* ---- The store ------------------------------------------------------------------------------ */

bool tracer_is_recording(void)
{
    return atomic_load_explicit(&recording, memory_order_relaxed);
}

void tracer_set_recording(bool on)
{
    if (on) atomic_fetch_add(&epoch, 1);
    atomic_store(&recording, on);
}

tracer_store *tracer_hold(void)
{
    pthread_mutex_lock(&store.lock);
    return &store;
}

tracer_store *tracer_lock(void)
{
    if (!(atomic_load_explicit(&tracer_state, memory_order_relaxed) & TRACER_RECORDS)) return NULL;
    pthread_mutex_lock(&store.lock);
    return &store;
}

void tracer_unlock(tracer_store *s)
{
    pthread_mutex_unlock(&s->lock);
}

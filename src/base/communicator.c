/* SPDX-License-Identifier: Apache-2.0 */
/* Meetings of ranks. A rank is absent, inside, waiting (it has come to a collective), reading, or
 * has read. Who completes a meeting moves all members to reading, and who reads last moves them
 * back inside, so each rank waits for a change of its own state only. A rank that is reading is
 * never woken by a failure: others may read its data. */
#include "base/communicator.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cancel.h"

enum { LOOK_MS = 20 }; /* how often a waiting rank looks for a request to stop */

typedef enum rank_state { ABSENT, INSIDE, WAITING, READING, READ } rank_state;

typedef struct rank_slot {
    rank_state state;
    uint64_t runs; /* number of runs begun */
    communicator_call call;
    const void *data;
} rank_slot;

struct pgy_communicator {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t ranks;
    bool failed;
    pgy_error why;
    communicator_attachment attached;
    rank_slot slots[PGY_MAX_RANKS];
};

static _Thread_local pgy_communicator *current;
static _Thread_local int64_t current_rank;
static _Thread_local pgy_error last;

pgy_communicator *communicator_current(int64_t *rank)
{
    *rank = current_rank;
    return current;
}

const char *communicator_why(void)
{
    return last.text;
}

void communicator_note(const char *text)
{
    pgy_error_set(&last, PGY_E_DEVICE, "%s", text);
}

/* ---- Life ----------------------------------------------------------------------------------- */

pgy_status pgy_communicator_create(pgy_communicator **out, int64_t ranks, pgy_error *err)
{
    if (ranks < 1 || ranks > PGY_MAX_RANKS)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%lld ranks; expected 1 to %d", (long long)ranks,
                             PGY_MAX_RANKS);
    pgy_communicator *c = mem_calloc(1, sizeof *c);
    if (!c) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    c->ranks = ranks;
    *out = c;
    return PGY_OK;
}

void pgy_communicator_destroy(pgy_communicator *c)
{
    if (!c) return;
    if (c->attached.destroy) c->attached.destroy(c->attached.state);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

int64_t pgy_communicator_ranks(const pgy_communicator *c)
{
    return c->ranks;
}

/* ---- Failure -------------------------------------------------------------------------------- */

/* The lock is held. */
static void fail(pgy_communicator *c, const char *text)
{
    if (c->failed) return;
    c->failed = true;
    pgy_error_set(&c->why, PGY_E_DEVICE, "%s", text);
    if (c->attached.stop) c->attached.stop(c->attached.state);
    pthread_cond_broadcast(&c->changed);
}

void pgy_communicator_fail(pgy_communicator *c, const char *text)
{
    pthread_mutex_lock(&c->lock);
    fail(c, text);
    pthread_mutex_unlock(&c->lock);
}

const char *pgy_communicator_failure(pgy_communicator *c)
{
    pthread_mutex_lock(&c->lock);
    const char *text = c->failed ? c->why.text : NULL;
    pthread_mutex_unlock(&c->lock);
    return text;
}

void *communicator_attached(pgy_communicator *c)
{
    pthread_mutex_lock(&c->lock);
    void *state = c->attached.state;
    pthread_mutex_unlock(&c->lock);
    return state;
}

void *communicator_attach(pgy_communicator *c, const communicator_attachment *a)
{
    pthread_mutex_lock(&c->lock);
    const bool is_first = !c->attached.state;
    if (is_first) c->attached = *a;
    if (is_first && c->failed && a->stop) a->stop(a->state);
    void *state = c->attached.state;
    pthread_mutex_unlock(&c->lock);
    if (!is_first && a->destroy) a->destroy(a->state);
    return state;
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static bool is_member(const communicator_call *call, int64_t rank)
{
    return call->members >> rank & 1;
}

/* Fails if a rank that is waiting needs one that has ended the same run. */
static void look_for_missing(pgy_communicator *c)
{
    for (int64_t i = 0; i < c->ranks; i++)
        for (int64_t k = 0; k < c->ranks && c->slots[i].state == WAITING; k++) {
            const rank_slot *waits = &c->slots[i], *other = &c->slots[k];
            if (!is_member(&waits->call, k) || other->state != ABSENT || other->runs < waits->runs)
                continue;
            pgy_error text = {0};
            pgy_error_set(&text, PGY_E_DEVICE,
                          "rank %lld waits in %s, but rank %lld has ended its run without it",
                          (long long)i, waits->call.name, (long long)k);
            fail(c, text.text);
        }
}

pgy_status pgy_communicator_enter(pgy_communicator *c, int64_t rank, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (rank < 0 || rank >= c->ranks)
        return pgy_error_set(err, PGY_E_ARGUMENT, "rank %lld does not exist: there are %lld",
                             (long long)rank, (long long)c->ranks);
    if (current) return pgy_error_set(err, PGY_E_ARGUMENT, "this thread is a rank already");
    pthread_mutex_lock(&c->lock);
    if (c->slots[rank].state != ABSENT) {
        st = pgy_error_set(err, PGY_E_ARGUMENT, "another thread is rank %lld", (long long)rank);
    } else {
        c->slots[rank].state = INSIDE;
        c->slots[rank].runs++;
        current = c;
        current_rank = rank;
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

void pgy_communicator_leave(void)
{
    pgy_communicator *c = current;
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->slots[current_rank].state = ABSENT;
    look_for_missing(c);
    pthread_mutex_unlock(&c->lock);
    current = NULL;
}

/* ---- Meetings ------------------------------------------------------------------------------- */

static bool equal_calls(const communicator_call *a, const communicator_call *b)
{
    return a->members == b->members && a->place == b->place && a->bytes == b->bytes &&
           a->operation == b->operation && a->reduction == b->reduction && a->type == b->type &&
           a->root == b->root && a->on_device == b->on_device;
}

/* Moves all members from one state to the next, if all are there. False: not all are. */
static bool move_all(pgy_communicator *c, const communicator_call *call, rank_state from,
                     rank_state to)
{
    for (int64_t i = 0; i < c->ranks; i++)
        if (is_member(call, i) &&
            (c->slots[i].state != from || !equal_calls(&c->slots[i].call, call)))
            return false;
    for (int64_t i = 0; i < c->ranks; i++)
        if (is_member(call, i)) c->slots[i].state = to;
    pthread_cond_broadcast(&c->changed);
    return true;
}

/* If all ranks wait, none can come any more. Names two that wait for different things. */
static void look_for_mismatch(pgy_communicator *c, int64_t rank)
{
    int64_t other = rank;
    for (int64_t i = 0; i < c->ranks; i++) {
        if (c->slots[i].state != WAITING) return;
        if (other == rank && !equal_calls(&c->slots[i].call, &c->slots[rank].call)) other = i;
    }
    const int64_t low = rank < other ? rank : other, high = rank < other ? other : rank;
    const communicator_call *a = &c->slots[low].call, *b = &c->slots[high].call;
    pgy_error text = {0};
    pgy_error_set(&text, PGY_E_DEVICE,
                  "rank %lld calls %s with %llu bytes, but rank %lld calls %s with %llu bytes: all "
                  "ranks must come to the same collectives with the same attributes, types and "
                  "sizes",
                  (long long)low, a->name, (unsigned long long)a->bytes, (long long)high, b->name,
                  (unsigned long long)b->bytes);
    fail(c, text.text);
}

static void wait_for_change(pgy_communicator *c)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&c->changed, &c->lock, &until);
}

/* Waits until all members have come. The lock is held. */
static pgy_status come_together(pgy_communicator *c, int64_t rank, const communicator_call *call,
                                const void *data, pgy_error *err)
{
    rank_slot *own = &c->slots[rank];
    if (!c->failed && !cancel_requested()) {
        own->call = *call;
        own->data = data;
        own->state = WAITING;
        if (!move_all(c, call, WAITING, READING)) {
            look_for_missing(c);
            look_for_mismatch(c, rank);
        }
    }
    while (own->state == WAITING && !c->failed && !cancel_requested()) wait_for_change(c);
    if (own->state == READING) return PGY_OK;
    own->state = INSIDE;
    /* A request comes first: that others have heard it may look like their failure. */
    if (c->failed && !cancel_requested())
        return pgy_error_set(err, PGY_E_DEVICE, "%s", c->why.text);
    return cancel_check(err);
}

pgy_status communicator_meet(const communicator_call *call, const void *data,
                             communicator_read read, void *user, pgy_error *err)
{
    const void *all[PGY_MAX_RANKS];
    pgy_communicator *c = current;
    const int64_t rank = current_rank;
    size_t count = 0, self = 0;
    pthread_mutex_lock(&c->lock);
    const pgy_status st = come_together(c, rank, call, data, err);
    for (int64_t i = 0; !st && i < c->ranks; i++) {
        if (!is_member(call, i)) continue;
        if (i == rank) self = count;
        all[count++] = c->slots[i].data;
    }
    pthread_mutex_unlock(&c->lock);
    if (st) return st;
    read(all, count, self, user);
    pthread_mutex_lock(&c->lock);
    c->slots[rank].state = READ;
    move_all(c, call, READ, INSIDE);
    while (c->slots[rank].state == READ) pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return cancel_check(err);
}

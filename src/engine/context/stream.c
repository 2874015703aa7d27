/* SPDX-License-Identifier: Apache-2.0 */
/* A stream is a queue of work items and a thread that runs them in order. A ticket is the number of
 * an item, which is done once the count of finished items reaches it. The latest failures are kept
 * for queries about single tickets. */
#include <polygraphy/runtime.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

enum { KEPT_FAILURES = 16 };

typedef struct work {
    pgy_status (*run)(void *user, pgy_error *err);
    void *user;
    struct work *next;
} work;

typedef struct failure {
    pgy_ticket ticket;
    pgy_status status;
    pgy_error error;
} failure;

struct pgy_stream {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t more, done;
    work *first, **end;
    pgy_ticket enqueued, finished;
    failure failures[KEPT_FAILURES]; /* ring buffer, indexed by the number of the failure modulo its
                                        size */
    uint64_t failure_count;
    failure earliest; /* first failure since the last synchronisation; status PGY_OK: none */
    bool stopping;
};

static void note_failure(pgy_stream *s, pgy_ticket ticket, pgy_status st, const pgy_error *err)
{
    failure *f = &s->failures[s->failure_count++ % KEPT_FAILURES];
    *f = (failure){.ticket = ticket, .status = st, .error = *err};
    if (!s->earliest.status) s->earliest = *f;
}

/* Waits for the next work; NULL: the stream is stopping and empty. The caller holds the lock. */
static work *next_work(pgy_stream *s)
{
    while (!s->first && !s->stopping) pthread_cond_wait(&s->more, &s->lock);
    work *w = s->first;
    if (!w) return NULL;
    s->first = w->next;
    if (!s->first) s->end = &s->first;
    return w;
}

static void *stream_main(void *arg)
{
    pgy_stream *s = arg;
    pthread_mutex_lock(&s->lock);
    for (work *w; (w = next_work(s)) != NULL;) {
        pgy_error err = {0};
        pthread_mutex_unlock(&s->lock);
        const pgy_status st = w->run(w->user, &err);
        mem_free(w);
        pthread_mutex_lock(&s->lock);
        s->finished++;
        if (st) note_failure(s, s->finished, st, &err);
        pthread_cond_broadcast(&s->done);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void deinit(pgy_stream *s)
{
    pthread_cond_destroy(&s->more);
    pthread_cond_destroy(&s->done);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

pgy_status pgy_stream_create(pgy_stream **out, pgy_error *err)
{
    pgy_stream *s = mem_calloc(1, sizeof *s);
    if (!s) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    s->end = &s->first;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->more, NULL);
    pthread_cond_init(&s->done, NULL);
    if (pthread_create(&s->thread, NULL, stream_main, s)) {
        deinit(s);
        return pgy_error_set(err, PGY_E_MEMORY,
                             "the system could not start a thread for the stream");
    }
    *out = s;
    return PGY_OK;
}

void pgy_stream_destroy(pgy_stream *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    deinit(s);
}

pgy_status pgy_stream_enqueue(pgy_stream *s, pgy_status (*run)(void *user, pgy_error *err),
                              void *user, pgy_ticket *ticket, pgy_error *err)
{
    work *w = mem_calloc(1, sizeof *w);
    if (!w) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    w->run = run;
    w->user = user;
    pthread_mutex_lock(&s->lock);
    *s->end = w;
    s->end = &w->next;
    const pgy_ticket made = ++s->enqueued;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    if (ticket) *ticket = made;
    return PGY_OK;
}

static pgy_status execute(void *user, pgy_error *err)
{
    return pgy_context_execute(user, err);
}

pgy_status pgy_context_enqueue(pgy_context *c, pgy_stream *s, pgy_ticket *ticket, pgy_error *err)
{
    return pgy_stream_enqueue(s, execute, c, ticket, err);
}

pgy_ticket pgy_stream_last(pgy_stream *s)
{
    pthread_mutex_lock(&s->lock);
    const pgy_ticket last = s->enqueued;
    pthread_mutex_unlock(&s->lock);
    return last;
}

bool pgy_stream_is_done(pgy_stream *s, pgy_ticket ticket)
{
    pthread_mutex_lock(&s->lock);
    const bool done = s->finished >= ticket;
    pthread_mutex_unlock(&s->lock);
    return done;
}

pgy_status pgy_stream_wait(pgy_stream *s, pgy_ticket ticket, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&s->lock);
    if (ticket > s->enqueued)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "the stream has not issued ticket %llu yet",
                           (unsigned long long)ticket);
    while (!st && s->finished < ticket) pthread_cond_wait(&s->done, &s->lock);
    for (size_t i = 0; !st && i < KEPT_FAILURES; i++) {
        const failure *f = &s->failures[i];
        if (f->status && f->ticket == ticket)
            st = pgy_error_set(err, f->status, "%s", f->error.text);
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}

pgy_status pgy_stream_synchronize(pgy_stream *s, pgy_error *err)
{
    pthread_mutex_lock(&s->lock);
    while (s->finished < s->enqueued) pthread_cond_wait(&s->done, &s->lock);
    const pgy_status st = s->earliest.status;
    if (st) pgy_error_set(err, st, "%s", s->earliest.error.text);
    s->earliest.status = PGY_OK;
    pthread_mutex_unlock(&s->lock);
    return st;
}

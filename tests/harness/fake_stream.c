/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of fake devices are lists of tasks. A wait runs the tasks that it needs. */
#include "harness/fake_stream.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/system.h"

typedef struct fake_stream fake_stream;

/* A place in a stream, shared by the events recorded there and the tasks that wait for them. */
typedef struct fake_moment {
    size_t users;
    fake_stream *stream; /* NULL once the stream has passed this place */
    uint64_t position;
    bool passed;
    int64_t time_ns;
} moment;

typedef struct fake_event {
    device_event event;
    moment *last; /* place of the last recording; NULL: never recorded */
} fake_event;

struct fake_stream {
    device_stream stream;
    fake_task *first, **end;
    uint64_t enqueued, done;
    uint64_t needed; /* position up to which the current wait needs this stream's tasks to run */
    fake_stream *next;
};

/* Tasks of all fake devices run on the thread that waits; the lock lets one thread do so at a time.
 */
static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static fake_stream *streams;
static uint64_t random_state;

static void create_lock(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

void fake_enter(void)
{
    pthread_once(&once, create_lock);
    pthread_mutex_lock(&lock);
}

void fake_leave(void)
{
    pthread_mutex_unlock(&lock);
}

void fake_give_up(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("fake device: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

void *fake_need(void *p)
{
    if (p) return p;
    fprintf(stderr, "fake device: out of memory\n");
    exit(1);
}

static uint64_t draw(uint64_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % below;
}

void fake_streams_seed(uint64_t seed)
{
    random_state = seed;
}

/* ---- Moments -------------------------------------------------------------------------------- */

static moment *keep(moment *m)
{
    m->users++;
    return m;
}

static void let_go(moment *m)
{
    if (m && --m->users == 0) mem_free(m);
}

/* ---- Running -------------------------------------------------------------------------------- */

static bool is_ready(const fake_stream *s)
{
    return s->first && !(s->first->waits && !s->first->moment->passed);
}

static void run_first(fake_stream *s)
{
    fake_task *t = s->first;
    s->first = t->next;
    if (!s->first) s->end = &s->first;
    s->done++;
    if (t->run) t->run(t, (fake_device *)s->stream.device);
    if (t->moment && !t->waits) {
        t->moment->passed = true;
        t->moment->stream = NULL;
        t->moment->time_ns = clock_ns();
    }
    if (t->work.drop) t->work.drop(t->work.user);
    let_go(t->moment);
    mem_free(t);
}

static void need_until(fake_stream *s, uint64_t position)
{
    if (position > s->needed) s->needed = position;
}

/* Extends `needed` of all streams: if a needed task waits for an event, the tasks before that event
 * are needed, too. */
static void find_needed(void)
{
    for (bool more = true; more;) {
        more = false;
        for (fake_stream *s = streams; s; s = s->next) {
            uint64_t position = s->done;
            for (const fake_task *t = s->first; t && position++ < s->needed; t = t->next) {
                const moment *m = t->moment;
                if (!t->waits || m->passed || m->stream->needed >= m->position) continue;
                m->stream->needed = m->position;
                more = true;
            }
        }
    }
}

/* Draws a stream whose first task is needed and waits for nothing; NULL: none. */
static fake_stream *draw_needed(void)
{
    fake_stream *drawn = NULL;
    uint64_t count = 0;
    for (fake_stream *s = streams; s; s = s->next)
        if (s->done < s->needed && is_ready(s) && draw(++count) == 0) drawn = s;
    return drawn;
}

static void run_until(fake_stream *s, uint64_t position)
{
    need_until(s, position);
    find_needed();
    for (fake_stream *next; (next = draw_needed());) run_first(next);
    if (s->done < position) fake_give_up("work waits for an event that will never pass");
}

static void pass(moment *m)
{
    if (m && !m->passed) run_until(m->stream, m->position);
}

/* FAKE_MIXED: runs some tasks of random streams that no caller has waited for. */
static void run_ahead(fake_stream *last)
{
    if (((fake_device *)last->stream.device)->schedule == FAKE_LATE) return;
    for (uint64_t count = draw(4); count; count--) {
        fake_stream *s = streams;
        for (uint64_t k = draw(3); k; k--) s = s->next ? s->next : streams;
        if (is_ready(s) && !(s->first->copies && s->first->direction == DEVICE_TO_HOST))
            run_first(s);
    }
}

void fake_enqueue(device_stream *stream, fake_task t)
{
    fake_stream *s = (fake_stream *)stream;
    fake_task *made = fake_need(mem_alloc(sizeof *made));
    *made = t;
    *s->end = made;
    s->end = &made->next;
    s->enqueued++;
    run_ahead(s);
}

bool fake_streams_read(const char *memory, size_t size_bytes)
{
    for (const fake_stream *s = streams; s; s = s->next)
        for (const fake_task *t = s->first; t; t = t->next)
            if (t->copies && t->direction == DEVICE_FROM_HOST &&
                (const char *)t->from < memory + size_bytes &&
                memory < (const char *)t->from + t->size_bytes)
                return true;
    return false;
}

bool fake_streams_any(const device *d)
{
    for (const fake_stream *s = streams; s; s = s->next)
        if (s->stream.device == d) return true;
    return false;
}

/* ---- Streams -------------------------------------------------------------------------------- */

pgy_status fake_stream_create(device_stream **out, device *d, pgy_error *err)
{
    (void)err;
    fake_stream *s = fake_need(mem_calloc(1, sizeof *s));
    s->stream.device = d;
    s->end = &s->first;
    fake_enter();
    s->next = streams;
    streams = s;
    fake_leave();
    *out = &s->stream;
    return PGY_OK;
}

pgy_status fake_stream_synchronize(device_stream *stream, pgy_error *err)
{
    fake_stream *s = (fake_stream *)stream;
    (void)err;
    fake_enter();
    run_until(s, s->enqueued);
    fake_leave();
    return PGY_OK;
}

void fake_stream_destroy(device_stream *stream)
{
    fake_enter();
    (void)fake_stream_synchronize(stream, NULL);
    fake_stream **link = &streams;
    while (*link != (fake_stream *)stream) link = &(*link)->next;
    *link = (*link)->next;
    fake_leave();
    mem_free(stream);
}

/* ---- Events --------------------------------------------------------------------------------- */

pgy_status fake_event_create(device_event **out, device *d, pgy_error *err)
{
    (void)err;
    fake_event *e = fake_need(mem_calloc(1, sizeof *e));
    e->event.device = d;
    *out = &e->event;
    return PGY_OK;
}

void fake_event_destroy(device_event *event)
{
    fake_enter();
    let_go(((fake_event *)event)->last);
    fake_leave();
    mem_free(event);
}

pgy_status fake_event_record(device_event *event, device_stream *stream, pgy_error *err)
{
    fake_event *e = (fake_event *)event;
    fake_stream *s = (fake_stream *)stream;
    (void)err;
    fake_enter();
    moment *m = fake_need(mem_calloc(1, sizeof *m));
    m->stream = s;
    m->position = s->enqueued + 1;
    let_go(e->last);
    e->last = keep(m);
    fake_enqueue(stream, (fake_task){.moment = keep(m)});
    fake_leave();
    return PGY_OK;
}

pgy_status fake_event_synchronize(device_event *event, pgy_error *err)
{
    (void)err;
    fake_enter();
    pass(((fake_event *)event)->last);
    fake_leave();
    return PGY_OK;
}

pgy_status fake_event_elapsed(double *out_ns, device_event *from, device_event *to, pgy_error *err)
{
    const moment *start = ((fake_event *)from)->last, *end = ((fake_event *)to)->last;
    if (!start || !end || !start->passed || !end->passed)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "no time lies between two events that have not both passed");
    *out_ns = (double)(end->time_ns - start->time_ns);
    return PGY_OK;
}

/* Events of other kinds of devices are waited for on the host, at once. An event that was never
 * recorded needs no wait. */
pgy_status fake_event_wait(device_stream *s, device_event *event, pgy_error *err)
{
    if (event->device->does != s->device->does) return device_event_synchronize(event, err);
    fake_enter();
    moment *m = ((fake_event *)event)->last;
    if (m) fake_enqueue(s, (fake_task){.moment = keep(m), .waits = true});
    fake_leave();
    return PGY_OK;
}

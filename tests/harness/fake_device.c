/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/fake_device.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "harness/fake_memory.h"

typedef struct fake_device {
    device device;
    fake_schedule schedule;
    const char *fingerprint;
} fake_device;

typedef struct fake_stream fake_stream;

/* A moment of a stream, which events and what waits for them refer to. */
typedef struct moment {
    size_t users;
    fake_stream *stream; /* until it has passed */
    uint64_t position;
    bool passed;
    int64_t time_ns;
} moment;

typedef struct fake_event {
    device_event event;
    moment *last; /* NULL: not recorded */
} fake_event;

typedef struct task {
    struct task *next;
    void (*run)(struct task *t, fake_device *d);
    moment *moment;    /* of a record or wait */
    bool waits;        /* for the moment */
    fake_block *block; /* to be allocated or released */
    fake_work work;
    void *to;
    const void *from;
    size_t size_bytes;
    device_direction direction;
    bool copies;
    uint8_t byte;
} task;

struct fake_stream {
    device_stream stream;
    task *first, **end;
    uint64_t enqueued, done;
    uint64_t needed; /* by the wait that is going on: position */
    fake_stream *next;
};

/* All fake devices of the process run on whichever thread waits, one thread at a time. */
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

static void enter(void)
{
    pthread_once(&once, create_lock);
    pthread_mutex_lock(&lock);
}

static void leave(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((format(printf, 1, 2), noreturn)) static void give_up(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("fake device: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

/* No abort: that stands for a planted fault, which refused memory is not. */
static void *need(void *p)
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
    task *t = s->first;
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

/* What work that is needed waits for is needed, too. */
static void find_needed(void)
{
    for (bool more = true; more;) {
        more = false;
        for (fake_stream *s = streams; s; s = s->next) {
            uint64_t position = s->done;
            for (const task *t = s->first; t && position++ < s->needed; t = t->next) {
                const moment *m = t->moment;
                if (!t->waits || m->passed || m->stream->needed >= m->position) continue;
                m->stream->needed = m->position;
                more = true;
            }
        }
    }
}

/* One of the streams that have something needed to do and can do it. */
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
    if (s->done < position) give_up("work waits for an event that will never pass");
}

static void pass(moment *m)
{
    if (m && !m->passed) run_until(m->stream, m->position);
}

/* Some work that nobody has waited for so far. */
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

static void enqueue(device_stream *stream, task t)
{
    fake_stream *s = (fake_stream *)stream;
    task *made = need(mem_alloc(sizeof *made));
    *made = t;
    *s->end = made;
    s->end = &made->next;
    s->enqueued++;
    run_ahead(s);
}

/* ---- Memory --------------------------------------------------------------------------------- */

void *fake_device_reach(device *d, const void *address, size_t size_bytes)
{
    const fake_block *b = fake_block_find(address);
    if (!b || b->owner != d) give_up("%p is not in the memory of '%s'", address, d->name);
    if (b->state == FAKE_RELEASED) give_up("%p on '%s' was released before", address, d->name);
    if (b->state == FAKE_ENQUEUED)
        give_up("%p on '%s' is used before the stream that allocates it has done so", address,
                d->name);
    const size_t at = (size_t)((const char *)address - b->outside);
    if (at > b->size_bytes || size_bytes > b->size_bytes - at)
        give_up("%zu bytes at %p on '%s' reach beyond the block", size_bytes, address, d->name);
    return b->inside + at;
}

static void run_allocate(task *t, fake_device *d)
{
    (void)d;
    t->block->state = FAKE_LIVE;
}

static void run_release(task *t, fake_device *d)
{
    if (t->block->state != FAKE_LIVE)
        give_up("%p on '%s' is released twice", (void *)t->block->outside, d->device.name);
    fake_block_close(t->block);
}

static pgy_status allocate(void **out, device_stream *s, size_t size_bytes, pgy_error *err)
{
    (void)err;
    enter();
    fake_block *b = fake_block_create(s->device, size_bytes, false);
    enqueue(s, (task){.run = run_allocate, .block = b});
    leave();
    *out = b->outside;
    return PGY_OK;
}

static void release(device_stream *s, void *memory)
{
    enter();
    fake_block *b = fake_block_find(memory);
    if (!b || b->owner != s->device || b->outside != memory || b->inside == memory)
        give_up("%p is released, which '%s' has not allocated", memory, s->device->name);
    enqueue(s, (task){.run = run_release, .block = b});
    leave();
}

static pgy_status allocate_shared(void **out, device *d, size_t size_bytes, pgy_error *err)
{
    (void)err;
    enter();
    fake_block *b = fake_block_create(d, size_bytes, true);
    b->state = FAKE_LIVE;
    leave();
    *out = b->outside;
    return PGY_OK;
}

static void release_shared(device *d, void *memory)
{
    enter();
    fake_block *b = fake_block_find(memory);
    if (!b || b->owner != d || b->outside != memory || b->inside != memory || b->state != FAKE_LIVE)
        give_up("%p is released, which '%s' does not share", memory, d->name);
    fake_block_close(b);
    leave();
}

/* ---- Copies --------------------------------------------------------------------------------- */

static void *reach_host(const void *address)
{
    const fake_block *b = fake_block_find(address);
    if (b && b->outside != b->inside)
        give_up("%p is an address of a device, where one of the host is meant", address);
    return (void *)address;
}

static void run_copy(task *t, fake_device *d)
{
    const bool to_host = t->direction == DEVICE_TO_HOST,
               from_host = t->direction == DEVICE_FROM_HOST;
    void *to = to_host ? reach_host(t->to) : fake_device_reach(&d->device, t->to, t->size_bytes);
    const void *from =
        from_host ? reach_host(t->from) : fake_device_reach(&d->device, t->from, t->size_bytes);
    memmove(to, from, t->size_bytes);
}

/* Does work that has not run read this memory of the host? */
static bool is_source(const char *memory, size_t size_bytes)
{
    for (const fake_stream *s = streams; s; s = s->next)
        for (const task *t = s->first; t; t = t->next)
            if (t->copies && t->direction == DEVICE_FROM_HOST &&
                (const char *)t->from < memory + size_bytes &&
                memory < (const char *)t->from + t->size_bytes)
                return true;
    return false;
}

static pgy_status copy(device_stream *s, void *to, const void *from, size_t size_bytes,
                       device_direction direction, pgy_error *err)
{
    (void)err;
    if (!size_bytes) return PGY_OK;
    enter();
    if (direction == DEVICE_TO_HOST && !is_source(reach_host(to), size_bytes))
        fake_poison(to, size_bytes);
    enqueue(s, (task){.run = run_copy,
                      .to = to,
                      .from = from,
                      .size_bytes = size_bytes,
                      .direction = direction,
                      .copies = true});
    leave();
    return PGY_OK;
}

static void run_fill(task *t, fake_device *d)
{
    memset(fake_device_reach(&d->device, t->to, t->size_bytes), t->byte, t->size_bytes);
}

static pgy_status fill(device_stream *s, void *to, uint8_t byte, size_t size_bytes, pgy_error *err)
{
    (void)err;
    if (!size_bytes) return PGY_OK;
    enter();
    enqueue(s, (task){.run = run_fill, .to = to, .byte = byte, .size_bytes = size_bytes});
    leave();
    return PGY_OK;
}

static void run_work(task *t, fake_device *d)
{
    t->work.run(&d->device, t->work.user);
}

void fake_device_enqueue(device_stream *s, fake_work work)
{
    enter();
    enqueue(s, (task){.run = run_work, .work = work});
    leave();
}

/* ---- Streams -------------------------------------------------------------------------------- */

static pgy_status stream_create(device_stream **out, device *d, pgy_error *err)
{
    (void)err;
    fake_stream *s = need(mem_calloc(1, sizeof *s));
    s->stream.device = d;
    s->end = &s->first;
    enter();
    s->next = streams;
    streams = s;
    leave();
    *out = &s->stream;
    return PGY_OK;
}

static pgy_status stream_synchronize(device_stream *stream, pgy_error *err)
{
    fake_stream *s = (fake_stream *)stream;
    (void)err;
    enter();
    run_until(s, s->enqueued);
    leave();
    return PGY_OK;
}

static void stream_destroy(device_stream *stream)
{
    enter();
    (void)stream_synchronize(stream, NULL);
    fake_stream **link = &streams;
    while (*link != (fake_stream *)stream) link = &(*link)->next;
    *link = (*link)->next;
    leave();
    mem_free(stream);
}

/* ---- Events --------------------------------------------------------------------------------- */

static pgy_status event_create(device_event **out, device *d, pgy_error *err)
{
    (void)err;
    fake_event *e = need(mem_calloc(1, sizeof *e));
    e->event.device = d;
    *out = &e->event;
    return PGY_OK;
}

static void event_destroy(device_event *event)
{
    enter();
    let_go(((fake_event *)event)->last);
    leave();
    mem_free(event);
}

static pgy_status event_record(device_event *event, device_stream *stream, pgy_error *err)
{
    fake_event *e = (fake_event *)event;
    fake_stream *s = (fake_stream *)stream;
    (void)err;
    enter();
    moment *m = need(mem_calloc(1, sizeof *m));
    m->stream = s;
    m->position = s->enqueued + 1;
    let_go(e->last);
    e->last = keep(m);
    enqueue(stream, (task){.moment = keep(m)});
    leave();
    return PGY_OK;
}

static pgy_status event_synchronize(device_event *event, pgy_error *err)
{
    (void)err;
    enter();
    pass(((fake_event *)event)->last);
    leave();
    return PGY_OK;
}

static pgy_status event_elapsed(double *out_ns, device_event *from, device_event *to,
                                pgy_error *err)
{
    const moment *start = ((fake_event *)from)->last, *end = ((fake_event *)to)->last;
    if (!start || !end || !start->passed || !end->passed)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "no time lies between two events that have not both passed");
    *out_ns = (double)(end->time_ns - start->time_ns);
    return PGY_OK;
}

/* Events of other kinds of devices are waited for at once. One that was never recorded is behind
 * nothing. */
static pgy_status event_wait(device_stream *s, device_event *event, pgy_error *err)
{
    if (event->device->does != s->device->does) return device_event_synchronize(event, err);
    enter();
    moment *m = ((fake_event *)event)->last;
    if (m) enqueue(s, (task){.moment = keep(m), .waits = true});
    leave();
    return PGY_OK;
}

/* ---- The device ----------------------------------------------------------------------------- */

static pgy_status describe(device_properties *out, device *d, pgy_error *err)
{
    (void)err;
    *out = (device_properties){
        .memory_bytes = UINT64_C(1) << 32, .clock_ghz = 1, .copy_ns = 100, .copy_rate = 10};
    snprintf(out->description, sizeof out->description, "fake accelerator '%s'", d->name);
    snprintf(out->fingerprint, sizeof out->fingerprint, "%s", ((fake_device *)d)->fingerprint);
    return PGY_OK;
}

static const device_functions FUNCTIONS = {
    .properties = describe,
    .allocate = allocate,
    .release = release,
    .allocate_shared = allocate_shared,
    .release_shared = release_shared,
    .copy = copy,
    .fill = fill,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
};

device *fake_device_create(const char *name, fake_schedule schedule, uint64_t seed)
{
    fake_device *d = need(mem_calloc(1, sizeof *d));
    *d = (fake_device){.device = {.name = name, .kind = FAKE_KIND, .does = &FUNCTIONS},
                       .schedule = schedule,
                       .fingerprint = "fake, driver 1"};
    enter();
    random_state = seed;
    leave();
    return &d->device;
}

void fake_device_set_schedule(device *d, fake_schedule schedule, uint64_t seed)
{
    enter();
    ((fake_device *)d)->schedule = schedule;
    random_state = seed;
    leave();
}

void fake_device_set_fingerprint(device *d, const char *fingerprint)
{
    ((fake_device *)d)->fingerprint = fingerprint;
}

void fake_device_destroy(device *d)
{
    if (!d) return;
    enter();
    for (const fake_stream *s = streams; s; s = s->next)
        if (s->stream.device == d) give_up("a stream of '%s' was not destroyed", d->name);
    if (!fake_block_forget(d)) give_up("memory of '%s' was not released", d->name);
    leave();
    mem_free(d);
}

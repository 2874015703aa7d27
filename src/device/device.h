/* SPDX-License-Identifier: Apache-2.0 */
/* A device: memory of its own, streams of work, events. The host is the first one.
 *
 * An implementation is one file with a const `device_functions`, and a `device` for each piece of
 * hardware. Its streams and events begin with the structs below, so a handle leads to its device.
 *
 *     device_stream *s = NULL;
 *     pgy_status st = device_stream_create(&s, d, err);
 *     if (!st) st = device_copy(s, to, from, size_bytes, DEVICE_FROM_HOST, err);
 *     if (!st) st = device_stream_synchronize(s, err);
 *
 * Order: work on one stream runs in the order of the calls. Work on two streams, or on a stream and
 * the host, is ordered by events and by nothing else. Whoever enqueues work keeps its memory until
 * an event that was recorded behind it has passed.
 *
 * Errors: `err` names the operation, and says what the driver says. A failure of work that runs
 * later is returned by the next event_synchronize or stream_synchronize on its stream.
 *
 * Threads: a stream is used by one thread at a time; different streams, and all else, by any.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <polygraphy/base.h>

typedef struct device device;

typedef struct device_stream {
    device *device;
} device_stream;

typedef struct device_event {
    device *device;
} device_event;

enum { DEVICE_ALIGNMENT = 256 }; /* of what `allocate` gives, at least; the host gives 64 */

typedef struct device_properties {
    char description[96]; /* for people: "NVIDIA H200" */
    /* What plans and times depend on: architecture, driver, libraries with their versions. Plans
     * that were built under another text are refused. */
    char fingerprint[192];
    uint64_t memory_bytes;
    double clock_ghz; /* 0: not known */
    /* Copies from and to the host, for estimates: how long the shortest takes, and bytes per ns. */
    double copy_ns, copy_rate;
} device_properties;

typedef enum device_direction {
    DEVICE_FROM_HOST, /* host to device */
    DEVICE_TO_HOST,
    DEVICE_WITHIN, /* both ends on the device */
} device_direction;

/* All members must be there. New ones are added at the end. */
typedef struct device_functions {
    pgy_status (*properties)(device_properties *out, device *d, pgy_error *err);

    /* Memory of the device. Work on `s` that comes later may use it; the host must not touch it.
     * `release` lets work that is on `s` already finish first. Neither waits. */
    pgy_status (*allocate)(void **out, device_stream *s, size_t size_bytes, pgy_error *err);
    void (*release)(device_stream *s, void *memory);
    /* Memory of the host that the device reaches, too: both may use it at the same address, and
     * copies from and to it do not hold the caller up. */
    pgy_status (*allocate_shared)(void **out, device *d, size_t size_bytes, pgy_error *err);
    void (*release_shared)(device *d, void *memory);

    /* Enqueue; may return before the work is done, with any memory of the host. */
    pgy_status (*copy)(device_stream *s, void *to, const void *from, size_t size_bytes,
                       device_direction direction, pgy_error *err);
    pgy_status (*fill)(device_stream *s, void *to, uint8_t byte, size_t size_bytes, pgy_error *err);

    pgy_status (*stream_create)(device_stream **out, device *d, pgy_error *err);
    void (*stream_destroy)(device_stream *s); /* waits for its work */
    /* The host waits until all work of the stream is done. */
    pgy_status (*stream_synchronize)(device_stream *s, pgy_error *err);

    pgy_status (*event_create)(device_event **out, device *d, pgy_error *err);
    void (*event_destroy)(device_event *e);
    /* The event passes when the work that is on `s` now is done. To record again forgets the time
     * before. */
    pgy_status (*event_record)(device_event *e, device_stream *s, pgy_error *err);
    /* Later work of `s` waits for the event as it was recorded last; the host goes on. The event
     * may be another device's. */
    pgy_status (*event_wait)(device_stream *s, device_event *e, pgy_error *err);
    /* The host waits for it. */
    pgy_status (*event_synchronize)(device_event *e, pgy_error *err);
    /* Nanoseconds between two that have passed, by the device's clock. */
    pgy_status (*event_elapsed)(double *out_ns, device_event *from, device_event *to,
                                pgy_error *err);
} device_functions;

struct device {
    const char *name; /* one piece of hardware: "host", "cuda:0"; plans name it */
    const char *kind; /* "host", "cuda": kernels name it */
    const device_functions *does;
};

/* ---- The devices of the process ----------------------------------------------------------------
 */

device *device_host(void);
/* The host first, then those that were registered, in order; NULL after the last. */
device *device_at(size_t i);
device *device_find(const char *name); /* NULL: there is none */
/* Borrowed from now on; the name must be new. PGY_E_ARGUMENT, PGY_E_MEMORY. */
pgy_status device_register(device *d, pgy_error *err) PGY_MUST_CHECK;
/* Nobody finds it any more. Those that use it go on, so it must outlive them. */
void device_withdraw(device *d);

/* ---- Calls -------------------------------------------------------------------------------------
 */

static inline pgy_status device_describe(device_properties *out, device *d, pgy_error *err)
{
    return d->does->properties(out, d, err);
}

static inline pgy_status device_allocate(void **out, device_stream *s, size_t size_bytes,
                                         pgy_error *err)
{
    return s->device->does->allocate(out, s, size_bytes, err);
}

/* NULL memory is fine. */
static inline void device_release(device_stream *s, void *memory)
{
    if (memory) s->device->does->release(s, memory);
}

static inline pgy_status device_allocate_shared(void **out, device *d, size_t size_bytes,
                                                pgy_error *err)
{
    return d->does->allocate_shared(out, d, size_bytes, err);
}

static inline void device_release_shared(device *d, void *memory)
{
    if (memory) d->does->release_shared(d, memory);
}

static inline pgy_status device_copy(device_stream *s, void *to, const void *from,
                                     size_t size_bytes, device_direction direction, pgy_error *err)
{
    return s->device->does->copy(s, to, from, size_bytes, direction, err);
}

static inline pgy_status device_fill(device_stream *s, void *to, uint8_t byte, size_t size_bytes,
                                     pgy_error *err)
{
    return s->device->does->fill(s, to, byte, size_bytes, err);
}

static inline pgy_status device_stream_create(device_stream **out, device *d, pgy_error *err)
{
    return d->does->stream_create(out, d, err);
}

static inline void device_stream_destroy(device_stream *s)
{
    if (s) s->device->does->stream_destroy(s);
}

static inline pgy_status device_stream_synchronize(device_stream *s, pgy_error *err)
{
    return s->device->does->stream_synchronize(s, err);
}

static inline pgy_status device_event_create(device_event **out, device *d, pgy_error *err)
{
    return d->does->event_create(out, d, err);
}

static inline void device_event_destroy(device_event *e)
{
    if (e) e->device->does->event_destroy(e);
}

static inline pgy_status device_event_record(device_event *e, device_stream *s, pgy_error *err)
{
    return e->device->does->event_record(e, s, err);
}

static inline pgy_status device_event_wait(device_stream *s, device_event *e, pgy_error *err)
{
    return s->device->does->event_wait(s, e, err);
}

static inline pgy_status device_event_synchronize(device_event *e, pgy_error *err)
{
    return e->device->does->event_synchronize(e, err);
}

static inline pgy_status device_event_elapsed(double *out_ns, device_event *from, device_event *to,
                                              pgy_error *err)
{
    return from->device->does->event_elapsed(out_ns, from, to, err);
}

#endif

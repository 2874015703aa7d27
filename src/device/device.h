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
 * Order: work on one stream runs in the order of the calls. Only events order work on two streams,
 * or on a stream and the host. The caller that enqueues work keeps its memory alive until an event
 * recorded after the work has passed.
 *
 * Errors: `err` names the operation and repeats the driver's message. If work fails after its call
 * returned, the next event_synchronize or stream_synchronize on its stream returns the error.
 *
 * Threads: only one thread at a time may use a stream. Different streams, and all other functions,
 * may be used from any thread.
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

enum { DEVICE_ALIGNMENT = 256 }; /* minimum alignment of `allocate`'s memory; the host's is 64 */

typedef struct device_properties {
    char description[96]; /* for people: "NVIDIA H200" */
    /* Everything that plans and times depend on: architecture, driver, libraries with their
     * versions. A plan that was built with another fingerprint is refused. */
    char fingerprint[192];
    uint64_t memory_bytes;
    double clock_ghz; /* 0: not known */
    /* Estimates for copies from and to the host: time of the shortest copy, and bytes per ns. */
    double copy_ns, copy_rate;
} device_properties;

typedef enum device_direction {
    DEVICE_FROM_HOST, /* host to device */
    DEVICE_TO_HOST,
    DEVICE_WITHIN, /* both ends on the device */
} device_direction;

/* All members are required. New ones are added at the end. */
typedef struct device_functions {
    pgy_status (*properties)(device_properties *out, device *d, pgy_error *err);

    /* Device memory, for work that is enqueued on `s` later; the host must not touch it. `release`
     * takes effect after the work that is already on `s`. Neither call waits. */
    pgy_status (*allocate)(void **out, device_stream *s, size_t size_bytes, pgy_error *err);
    void (*release)(device_stream *s, void *memory);
    /* Host memory that the device can access at the same address. Copies from and to it do not
     * block the caller. */
    pgy_status (*allocate_shared)(void **out, device *d, size_t size_bytes, pgy_error *err);
    void (*release_shared)(device *d, void *memory);

    /* Both enqueue work and may return before it is done, whatever host memory is used. */
    pgy_status (*copy)(device_stream *s, void *to, const void *from, size_t size_bytes,
                       device_direction direction, pgy_error *err);
    pgy_status (*fill)(device_stream *s, void *to, uint8_t byte, size_t size_bytes, pgy_error *err);

    pgy_status (*stream_create)(device_stream **out, device *d, pgy_error *err);
    void (*stream_destroy)(device_stream *s); /* waits for its work */
    /* The host waits until all work of the stream is done. */
    pgy_status (*stream_synchronize)(device_stream *s, pgy_error *err);

    pgy_status (*event_create)(device_event **out, device *d, pgy_error *err);
    void (*event_destroy)(device_event *e);
    /* The event passes when all work that is on `s` now is done. Recording again discards the
     * earlier time. */
    pgy_status (*event_record)(device_event *e, device_stream *s, pgy_error *err);
    /* Makes later work on `s` wait for the latest recording of the event, without blocking the
     * host. The event may belong to another device. */
    pgy_status (*event_wait)(device_stream *s, device_event *e, pgy_error *err);
    /* Blocks the host until the event has passed. */
    pgy_status (*event_synchronize)(device_event *e, pgy_error *err);
    /* Nanoseconds between two passed events, by the device's clock. */
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
/* Device i: the host first, then the registered ones in order; NULL after the last. */
device *device_at(size_t i);
device *device_find(const char *name); /* NULL if no device has this name */
/* Adds a device, which stays borrowed; its name must be new. PGY_E_ARGUMENT, PGY_E_MEMORY. */
pgy_status device_register(device *d, pgy_error *err) PGY_MUST_CHECK;
/* Removes a device from the list. Existing users keep using it, so it must outlive them. */
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

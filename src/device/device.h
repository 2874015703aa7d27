/* SPDX-License-Identifier: Apache-2.0 */
/* A device: memory of its own, streams of work, events. The host is device 0.
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

/* Recorded work of a stream, which one call enqueues again. */
typedef struct device_graph {
    device *device;
} device_graph;

enum { DEVICE_ALIGNMENT = 256 }; /* minimum alignment of `allocate`'s memory; the host's is 64 */

typedef struct device_properties {
    char description[96]; /* text for people: "NVIDIA H200" */
    /* Everything that plans and times depend on: architecture, driver, libraries with their
     * versions. A plan that was built with another fingerprint is refused. */
    char fingerprint[192];
    uint64_t memory_bytes;
    double clock_ghz; /* clock in GHz; 0: unknown */
    /* Estimates for copies from and to the host: nanoseconds that any copy takes, and bytes per ns.
     */
    double copy_ns, copy_rate;
} device_properties;

typedef enum device_direction {
    DEVICE_FROM_HOST, /* host to device */
    DEVICE_TO_HOST,
    DEVICE_WITHIN, /* device to the same device */
} device_direction;

/* All members except the graph functions and `carry` are required. New members are added at the
 * end. */
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

    /* copy and fill enqueue work and may return before it is done, whatever host memory is used. */
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

    /* Graphs. All of these functions are NULL for a device without graphs. Between `graph_begin`
     * and `graph_end` work on `s` is recorded with its addresses, and not done. After a failure in
     * between, `graph_end` must still be called, and fails. */
    pgy_status (*graph_begin)(device_stream *s, pgy_error *err);
    pgy_status (*graph_end)(device_graph **out, device_stream *s, pgy_error *err);
    /* Enqueues the recorded work. Before the work is done, the graph may be launched again only on
     * the same stream. */
    pgy_status (*graph_launch)(device_graph *g, device_stream *s, pgy_error *err);
    void (*graph_destroy)(device_graph *g); /* call it when the graph's work is done */

    /* Enqueues a copy between memory of the device and of allocate_shared, as work of the device
     * itself, which a graph can record. Size 0 only loads what it needs, which must come first
     * outside of a graph. NULL: the device has no such copies. */
    pgy_status (*carry)(device_stream *s, void *to, const void *from, size_t size_bytes,
                        pgy_error *err);
} device_functions;

struct device {
    const char *name; /* name of this piece of hardware, which plans use: "host", "cuda:0" */
    const char *kind; /* "host" or "cuda": a kernel states the kind that it runs on */
    const device_functions *does;
};

/* ---- The devices of the process ----------------------------------------------------------------
 */

device *device_host(void);
/* Device i: the host first, then the registered ones in order; NULL after the last. */
device *device_at(size_t i);
device *device_find(const char *name); /* NULL if no device has this name */
/* Finds a device, and registers devices on demand: a name of kind "cuda" opens NVIDIA's driver and
 * registers the GPUs as "cuda:0", "cuda:1" ...; "cuda" is the first one. PGY_E_NOT_FOUND,
 * PGY_E_DEVICE. */
pgy_status device_open(device **out, const char *name, pgy_error *err) PGY_MUST_CHECK;
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

static inline bool device_has_graphs(const device *d)
{
    return d->does->graph_begin != NULL;
}

static inline pgy_status device_graph_begin(device_stream *s, pgy_error *err)
{
    return s->device->does->graph_begin(s, err);
}

static inline pgy_status device_graph_end(device_graph **out, device_stream *s, pgy_error *err)
{
    return s->device->does->graph_end(out, s, err);
}

static inline pgy_status device_graph_launch(device_graph *g, device_stream *s, pgy_error *err)
{
    return g->device->does->graph_launch(g, s, err);
}

static inline void device_graph_destroy(device_graph *g)
{
    if (g) g->device->does->graph_destroy(g);
}

static inline bool device_carries(const device *d)
{
    return d->does->carry != NULL;
}

static inline pgy_status device_carry(device_stream *s, void *to, const void *from,
                                      size_t size_bytes, pgy_error *err)
{
    return s->device->does->carry(s, to, from, size_bytes, err);
}

static inline pgy_status device_event_elapsed(double *out_ns, device_event *from, device_event *to,
                                              pgy_error *err)
{
    return from->device->does->event_elapsed(out_ns, from, to, err);
}

#endif

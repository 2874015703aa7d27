/* SPDX-License-Identifier: Apache-2.0 */
/* The host runs work when it is enqueued, so a stream never waits, and an event is a reading of the
 * clock. */
#include "device/host.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/system.h"

enum { ALIGNMENT = 64 };

typedef struct host_event {
    device_event event;
    int64_t time_ns; /* when the event was recorded; 0: never */
} host_event;

static pgy_status no_memory(size_t size_bytes, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu bytes on the host", size_bytes);
}

/* The fingerprint names only the kind: host plans depend on the instruction set, which plans store
 * separately. */
static pgy_status describe(device_properties *out, device *d, pgy_error *err)
{
    (void)err;
    *out = (device_properties){.memory_bytes = memory_limit_bytes(), .copy_rate = 10};
    snprintf(out->description, sizeof out->description, "%zu processors with %s", cpu_count(),
             cpu_level_name(cpu_features()));
    snprintf(out->fingerprint, sizeof out->fingerprint, "%s", d->kind);
    return PGY_OK;
}

/* ---- Memory --------------------------------------------------------------------------------- */

static pgy_status allocate_shared(void **out, device *d, size_t size_bytes, pgy_error *err)
{
    (void)d;
    void *made = mem_alloc_aligned(ALIGNMENT, size_bytes ? size_bytes : 1);
    if (!made) return no_memory(size_bytes, err);
    *out = made;
    return PGY_OK;
}

static void release_shared(device *d, void *memory)
{
    (void)d;
    mem_free(memory);
}

static pgy_status allocate(void **out, device_stream *s, size_t size_bytes, pgy_error *err)
{
    return allocate_shared(out, s->device, size_bytes, err);
}

static void release(device_stream *s, void *memory)
{
    (void)s;
    mem_free(memory);
}

static pgy_status copy(device_stream *s, void *to, const void *from, size_t size_bytes,
                       device_direction direction, pgy_error *err)
{
    (void)s, (void)direction, (void)err;
    if (size_bytes) memcpy(to, from, size_bytes);
    return PGY_OK;
}

static pgy_status fill(device_stream *s, void *to, uint8_t byte, size_t size_bytes, pgy_error *err)
{
    (void)s, (void)err;
    if (size_bytes) memset(to, byte, size_bytes);
    return PGY_OK;
}

/* ---- Streams -------------------------------------------------------------------------------- */

static pgy_status stream_create(device_stream **out, device *d, pgy_error *err)
{
    device_stream *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(sizeof *s, err);
    s->device = d;
    *out = s;
    return PGY_OK;
}

static void stream_destroy(device_stream *s)
{
    mem_free(s);
}

static pgy_status stream_synchronize(device_stream *s, pgy_error *err)
{
    (void)s, (void)err;
    return PGY_OK;
}

/* ---- Events --------------------------------------------------------------------------------- */

static pgy_status event_create(device_event **out, device *d, pgy_error *err)
{
    host_event *e = mem_calloc(1, sizeof *e);
    if (!e) return no_memory(sizeof *e, err);
    e->event.device = d;
    *out = &e->event;
    return PGY_OK;
}

static void event_destroy(device_event *e)
{
    mem_free(e);
}

static pgy_status event_record(device_event *e, device_stream *s, pgy_error *err)
{
    (void)s, (void)err;
    ((host_event *)e)->time_ns = clock_ns();
    return PGY_OK;
}

static pgy_status event_synchronize(device_event *e, pgy_error *err)
{
    (void)e, (void)err;
    return PGY_OK;
}

/* Waits for another device's event now, because later work on a host stream runs immediately. */
static pgy_status event_wait(device_stream *s, device_event *e, pgy_error *err)
{
    (void)s;
    return device_event_synchronize(e, err);
}

static pgy_status event_elapsed(double *out_ns, device_event *from, device_event *to,
                                pgy_error *err)
{
    const int64_t start = ((host_event *)from)->time_ns, end = ((host_event *)to)->time_ns;
    if (!start || !end)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "cannot measure the time between two events: one of them was never recorded");
    *out_ns = (double)(end - start);
    return PGY_OK;
}

const device_functions DEVICE_HOST_FUNCTIONS = {
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

device DEVICE_HOST = {.name = "host", .kind = "host", .does = &DEVICE_HOST_FUNCTIONS};

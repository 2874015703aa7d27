/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events of a GPU. */
#include "base/alloc.h"
#include "device/cuda/staging.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static cu_stream stream_of(device_stream *s)
{
    return ((cuda_stream *)s)->handle;
}

static cu_event event_of(device_event *e)
{
    return ((cuda_event *)e)->handle;
}

void *cuda_stream_handle(device_stream *s)
{
    return stream_of(s);
}

/* ---- Streams -------------------------------------------------------------------------------- */

/* Streams do not wait for the default stream, which other libraries in the process may use. */
pgy_status cuda_stream_create(device_stream **out, device *d, pgy_error *err)
{
    cuda_gpu *g = gpu_of(d);
    cuda_stream *s = mem_calloc(1, sizeof *s);
    if (s) s->staging = staging_create(g);
    if (!s || !s->staging) {
        mem_free(s);
        return no_memory(err);
    }
    s->stream.device = d;
    pgy_status st = gpu_enter(g, err);
    if (!st) {
        st = gpu_check(g, g->driver->stream_create(&s->handle, CU_STREAM_NON_BLOCKING),
                       "creating a stream", err);
        gpu_leave(g);
    }
    if (st) {
        staging_release(s->staging);
        mem_free(s);
    } else {
        *out = &s->stream;
    }
    return st;
}

void cuda_stream_destroy(device_stream *s)
{
    cuda_gpu *g = gpu_of(s->device);
    cuda_stream *own = (cuda_stream *)s;
    (void)cuda_stream_synchronize(s, NULL);
    if (!gpu_enter(g, NULL)) {
        (void)g->driver->stream_destroy(stream_of(s));
        gpu_leave(g);
    }
    cuda_code_destroy(own->carry);
    staging_release(own->staging);
    mem_free(s);
}

pgy_status cuda_stream_synchronize(device_stream *s, pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    cuda_staging *staging = ((cuda_stream *)s)->staging;
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    staging_ready(staging, staging_mark(staging));
    st = gpu_check(g, g->driver->stream_synchronize(stream_of(s)), "waiting for its stream", err);
    gpu_leave(g);
    staging_finish(staging, staging_mark(staging), !st);
    return st;
}

/* ---- Events --------------------------------------------------------------------------------- */

pgy_status cuda_event_create(device_event **out, device *d, pgy_error *err)
{
    cuda_gpu *g = gpu_of(d);
    cuda_event *e = mem_calloc(1, sizeof *e);
    if (!e) return no_memory(err);
    e->event.device = d;
    pgy_status st = gpu_enter(g, err);
    if (!st) {
        st = gpu_check(g, g->driver->event_create(&e->handle, 0), "creating an event", err);
        gpu_leave(g);
    }
    if (st)
        mem_free(e);
    else
        *out = &e->event;
    return st;
}

void cuda_event_destroy(device_event *e)
{
    cuda_gpu *g = gpu_of(e->device);
    if (!gpu_enter(g, NULL)) {
        (void)g->driver->event_destroy(event_of(e));
        gpu_leave(g);
    }
    staging_release(((cuda_event *)e)->staging);
    mem_free(e);
}

/* Keeps what the event must finish when it has passed. */
static void remember(cuda_event *e, cuda_staging *s)
{
    if (e->staging != s) {
        staging_release(e->staging);
        e->staging = staging_retain(s);
    }
    e->mark = staging_mark(s);
}

pgy_status cuda_event_record(device_event *e, device_stream *s, pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    st =
        gpu_check(g, g->driver->event_record(event_of(e), stream_of(s)), "recording an event", err);
    gpu_leave(g);
    if (!st) remember(((cuda_event *)e), ((cuda_stream *)s)->staging);
    return st;
}

/* A GPU can wait for events of other GPUs, but not for those of other kinds of devices. */
pgy_status cuda_event_wait(device_stream *s, device_event *e, pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    if (e->device->does != s->device->does) return device_event_synchronize(e, err);
    const cuda_event *own = (cuda_event *)e;
    pgy_status st = PGY_OK;
    if (own->staging && staging_is_owed(own->staging, own->mark))
        st = cuda_event_synchronize(e, err); /* the host must take what later work may read there */
    if (!st) st = gpu_enter(g, err);
    if (st) return st;
    st = gpu_check(g, g->driver->stream_wait(stream_of(s), event_of(e), 0),
                   "making a stream wait for an event", err);
    gpu_leave(g);
    return st;
}

pgy_status cuda_event_synchronize(device_event *e, pgy_error *err)
{
    cuda_gpu *g = gpu_of(e->device);
    const cuda_event *own = (cuda_event *)e;
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    if (own->staging) staging_ready(own->staging, own->mark);
    st = gpu_check(g, g->driver->event_synchronize(event_of(e)), "waiting for an event", err);
    gpu_leave(g);
    if (own->staging) staging_finish(own->staging, own->mark, !st);
    return st;
}

pgy_status cuda_event_elapsed(double *out_ns, device_event *from, device_event *to, pgy_error *err)
{
    cuda_gpu *g = gpu_of(from->device);
    float ms = 0;
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    st = gpu_check(g, g->driver->event_elapsed(&ms, event_of(from), event_of(to)),
                   "reading the time between two events", err);
    gpu_leave(g);
    if (!st) *out_ns = (double)ms * 1e6;
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a GPU is allocated from a pool and released in stream order; shared memory is pinned
 * memory of the host. Copies from and to other memory of the host are staged (staging.h), or by the
 * driver, which may wait for the stream. */
#include <stdio.h>

#include "device/cuda/staging.h"

static cu_stream handle_of(device_stream *s)
{
    return ((cuda_stream *)s)->handle;
}

static cu_address address_of(const void *p)
{
    return (cu_address)(uintptr_t)p;
}

static pgy_status no_memory(cuda_gpu *g, size_t size_bytes, pgy_error *err)
{
    size_t free_bytes = 0, total_bytes = 0;
    (void)g->driver->memory_info(&free_bytes, &total_bytes);
    str text = {0};
    str_append_bytes(&text, size_bytes);
    str_append(&text, " were asked for, ");
    str_append_bytes(&text, free_bytes);
    str_append(&text, " of ");
    str_append_bytes(&text, total_bytes);
    pgy_error_set(err, PGY_E_MEMORY, "device '%s' is out of memory: %s are free", g->name,
                  str_text(&text));
    str_deinit(&text);
    return PGY_E_MEMORY;
}

pgy_status cuda_allocate(void **out, device_stream *s, size_t size_bytes, pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    cu_address made = 0;
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    const int code = g->driver->allocate(&made, size_bytes ? size_bytes : 1, g->pool, handle_of(s));
    st = code == CU_OUT_OF_MEMORY ? no_memory(g, size_bytes, err)
                                  : gpu_check(g, code, "allocating memory", err);
    gpu_leave(g);
    if (!st) *out = (void *)(uintptr_t)made;
    return st;
}

void cuda_release(device_stream *s, void *memory)
{
    cuda_gpu *g = gpu_of(s->device);
    if (gpu_enter(g, NULL)) return;
    (void)g->driver->release(address_of(memory), handle_of(s));
    gpu_leave(g);
}

pgy_status cuda_allocate_shared(void **out, device *d, size_t size_bytes, pgy_error *err)
{
    cuda_gpu *g = gpu_of(d);
    void *made = NULL;
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    const int code = g->driver->host_allocate(&made, size_bytes ? size_bytes : 1,
                                              CU_HOST_PORTABLE | CU_HOST_DEVICE_MAP);
    if (code == CU_OUT_OF_MEMORY)
        st = pgy_error_set(err, PGY_E_MEMORY,
                           "device '%s': the host has no %zu bytes of pinned memory", g->name,
                           size_bytes);
    else
        st = gpu_check(g, code, "allocating pinned memory", err);
    gpu_leave(g);
    if (!st) *out = made;
    return st;
}

void cuda_release_shared(device *d, void *memory)
{
    cuda_gpu *g = gpu_of(d);
    if (gpu_enter(g, NULL)) return;
    (void)g->driver->host_release(memory);
    gpu_leave(g);
}

static int copy_with_host(const cuda_driver *d, cuda_stream *s, void *to, const void *from,
                          size_t size_bytes, device_direction direction)
{
    const bool out = direction == DEVICE_TO_HOST;
    bool done = false;
    int code = 0;
    if (!s->captured)
        code =
            out ? staging_to_host(&done, s->staging, s->handle, to, address_of(from), size_bytes)
                : staging_from_host(&done, s->staging, s->handle, address_of(to), from, size_bytes);
    if (done) return code;
    return out ? d->copy_to_host(to, address_of(from), size_bytes, s->handle)
               : d->copy_from_host(address_of(to), from, size_bytes, s->handle);
}

pgy_status cuda_copy(device_stream *s, void *to, const void *from, size_t size_bytes,
                     device_direction direction, pgy_error *err)
{
    static const char *const WAYS[] = {"from the host", "to the host", "on the device"};
    cuda_gpu *g = gpu_of(s->device);
    cuda_stream *own = (cuda_stream *)s;
    char doing[64] = "";
    if (!size_bytes) return PGY_OK;
    if (direction != DEVICE_WITHIN &&
        staging_owes(own->staging, direction == DEVICE_TO_HOST ? to : from, size_bytes)) {
        const pgy_status waited = cuda_stream_synchronize(s, err);
        if (waited) return waited;
    }
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    const int code =
        direction == DEVICE_WITHIN
            ? g->driver->copy_within(address_of(to), address_of(from), size_bytes, handle_of(s))
            : copy_with_host(g->driver, own, to, from, size_bytes, direction);
    if (code) snprintf(doing, sizeof doing, "copying %zu bytes %s", size_bytes, WAYS[direction]);
    st = gpu_check(g, code, doing, err);
    gpu_leave(g);
    return st;
}

pgy_status cuda_fill(device_stream *s, void *to, uint8_t byte, size_t size_bytes, pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    if (!size_bytes) return PGY_OK;
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    st = gpu_check(g, g->driver->fill(address_of(to), byte, size_bytes, handle_of(s)),
                   "filling memory", err);
    gpu_leave(g);
    return st;
}

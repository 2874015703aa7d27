/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the GPUs of the machine and registers them as devices. This asks the driver for their names
 * and attributes only. */
#include "device/cuda/gpu.h"

#include <stdio.h>

enum { COPY_NS = 10000, COPY_BYTES_PER_NS = 12 }; /* estimates for a card on PCI Express */

/* ---- Properties ----------------------------------------------------------------------------- */

/* Clock and memory size are not in the fingerprint, because they do not change which plans a device
 * can run. */
static pgy_status describe(device_properties *out, device *d, pgy_error *err)
{
    cuda_gpu *g = gpu_of(d);
    const cuda_nvrtc *nvrtc = NULL;
    char name[64] = ""; /* short, to leave room for the rest of the fingerprint */
    size_t bytes = 0;
    int khz = 0;
    pgy_status st = cuda_nvrtc_open(&nvrtc, err);
    if (st) return st;
    int code = g->driver->device_name(name, sizeof name, g->handle);
    if (!code) code = g->driver->device_memory(&bytes, g->handle);
    st = gpu_check(g, code, "its properties were read", err);
    if (st) return st;
    (void)g->driver->device_attribute(&khz, CU_CLOCK_RATE, g->handle);
    *out = (device_properties){.memory_bytes = bytes,
                               .clock_ghz = khz * 1e-6,
                               .copy_ns = COPY_NS,
                               .copy_rate = COPY_BYTES_PER_NS};
    snprintf(out->description, sizeof out->description, "%s", name);
    snprintf(out->fingerprint, sizeof out->fingerprint,
             "%s, sm_%d%d, %d multiprocessors, CUDA %d.%d, NVRTC %d.%d", name, g->major, g->minor,
             g->multiprocessors, g->driver->version / 1000, g->driver->version % 1000 / 10,
             nvrtc->major, nvrtc->minor);
    return PGY_OK;
}

const device_functions DEVICE_CUDA_FUNCTIONS = {
    .properties = describe,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .allocate_shared = cuda_allocate_shared,
    .release_shared = cuda_release_shared,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .stream_synchronize = cuda_stream_synchronize,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_synchronize = cuda_event_synchronize,
    .event_elapsed = cuda_event_elapsed,
    .graph_begin = cuda_graph_begin,
    .graph_end = cuda_graph_end,
    .graph_launch = cuda_graph_launch,
    .graph_destroy = cuda_graph_destroy,
    .carry = cuda_carry,
};

/* ---- Finding -------------------------------------------------------------------------------- */

static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;
static cuda_gpu gpus[CUDA_MAX_GPUS];
static int gpu_count; /* number of registered GPUs */

static int read_attributes(cuda_gpu *g)
{
    const struct {
        int *to, attribute;
    } READS[] = {
        {&g->major, CU_CAPABILITY_MAJOR},
        {&g->minor, CU_CAPABILITY_MINOR},
        {&g->multiprocessors, CU_MULTIPROCESSOR_COUNT},
        {&g->shared_optin, CU_SHARED_MEMORY_OPTIN},
    };
    int code = 0;
    for (size_t i = 0; !code && i < sizeof READS / sizeof *READS; i++)
        code = g->driver->device_attribute(READS[i].to, READS[i].attribute, g->handle);
    return code;
}

static pgy_status register_gpu(cuda_gpu *g, const cuda_driver *driver, int ordinal, pgy_error *err)
{
    *g = (cuda_gpu){.device = {.kind = "cuda", .does = &DEVICE_CUDA_FUNCTIONS}, .driver = driver};
    snprintf(g->name, sizeof g->name, "cuda:%d", ordinal);
    g->device.name = g->name;
    int code = driver->device_get(&g->handle, ordinal);
    if (!code) code = read_attributes(g);
    const pgy_status st = gpu_check(g, code, "looking for GPUs", err);
    if (st) return st;
    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->code_lock, NULL);
    return device_register(&g->device, err);
}

static pgy_status register_all(pgy_error *err)
{
    const cuda_driver *driver = NULL;
    int count = 0;
    pgy_status st = cuda_driver_open(&driver, err);
    if (st) return st;
    const int code = driver->device_count(&count);
    if (code || count <= 0)
        return pgy_error_set(err, PGY_E_DEVICE, "the NVIDIA driver finds no GPU");
    for (; !st && gpu_count < count && gpu_count < CUDA_MAX_GPUS; gpu_count += !st)
        st = register_gpu(&gpus[gpu_count], driver, gpu_count, err);
    return st;
}

pgy_status cuda_register_gpus(pgy_error *err)
{
    pthread_mutex_lock(&finding);
    const pgy_status st = gpu_count ? PGY_OK : register_all(err);
    pthread_mutex_unlock(&finding);
    return st;
}

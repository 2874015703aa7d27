/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a GPU share: errors of the driver, and the context. A context takes memory and
 * tenths of a second, so it is created only for a GPU that is used. */
#include "device/cuda/gpu.h"

/* ---- Errors --------------------------------------------------------------------------------- */

/* True if the error breaks the context, so that every later call fails, too. */
static bool is_lost(int code)
{
    return code == CU_ECC_UNCORRECTABLE || code == CU_NVLINK_UNCORRECTABLE ||
           code == CU_CONTAINED || code == CU_ILLEGAL_ADDRESS || code == CU_LAUNCH_TIMEOUT ||
           (code >= CU_CONTEXT_IS_DESTROYED && code <= CU_ASSERT) ||
           (code >= CU_HARDWARE_STACK_ERROR && code <= CU_LAUNCH_FAILED) || code == CU_UNKNOWN;
}

static pgy_status report(const cuda_gpu *g, int code, const char *doing, const char *text,
                         pgy_error *err)
{
    if (code == CU_DEVICE_UNAVAILABLE)
        return pgy_error_set(err, PGY_E_DEVICE,
                             "device '%s' is used by another process, and its compute mode is "
                             "exclusive (%s)",
                             g->name, text);
    if (code == CU_OUT_OF_MEMORY)
        return pgy_error_set(err, PGY_E_MEMORY, "device '%s': out of memory while %s", g->name,
                             doing);
    if (is_lost(code))
        return pgy_error_set(err, PGY_E_DEVICE,
                             "device '%s' was lost while %s (%s); this process cannot use it any "
                             "more",
                             g->name, doing, text);
    return pgy_error_set(err, PGY_E_DEVICE, "device '%s': the driver failed while %s (%s)", g->name,
                         doing, text);
}

pgy_status gpu_check(cuda_gpu *g, int code, const char *doing, pgy_error *err)
{
    str text = {0};
    if (!code) return PGY_OK;
    cuda_append_error(&text, g->driver, code);
    const pgy_status st = report(g, code, doing, str_text(&text), err);
    str_deinit(&text);
    return st;
}

/* ---- The context ---------------------------------------------------------------------------- */

/* Released memory stays in the pool, so that later allocations are fast. */
static int create_pool(cuda_gpu *g)
{
    uint64_t threshold = UINT64_MAX;
    const cu_pool_properties properties = {.allocation = CU_POOL_PINNED,
                                           .location = {CU_POOL_ON_DEVICE, g->handle}};
    cu_pool pool = NULL;
    int code = g->driver->pool_create(&pool, &properties);
    if (!code) code = g->driver->pool_set(pool, CU_POOL_RELEASE_THRESHOLD, &threshold);
    if (!code) g->pool = pool;
    return code;
}

static pgy_status create_context(cuda_gpu *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&g->lock);
    if (!g->context)
        st = gpu_check(g, g->driver->context_retain(&g->context, g->handle), "creating its context",
                       err);
    if (!st && !g->pool) st = gpu_check(g, create_pool(g), "creating its memory pool", err);
    pthread_mutex_unlock(&g->lock);
    return st;
}

pgy_status gpu_enter(cuda_gpu *g, pgy_error *err)
{
    const pgy_status st = create_context(g, err);
    return st ? st : gpu_check(g, g->driver->context_push(g->context), "entering its context", err);
}

void gpu_leave(cuda_gpu *g)
{
    cu_context popped;
    (void)g->driver->context_pop(&popped);
}

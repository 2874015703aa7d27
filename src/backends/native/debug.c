/* SPDX-License-Identifier: Apache-2.0 */
/* The listener copies debug tensors and keeps them until the inference is over. Element types that
 * NumPy arrays cannot have are left out with a warning. */
#include "backends/native/debug.h"

#include "base/alloc.h"
#include "base/log.h"

static const char LOG_PATH[] = "backends/native/debug.c";

struct native_debug {
    pgy_tensor_map *seen;
    pgy_status status; /* first failure to copy a tensor */
    pgy_error error;
};

static bool is_left_out(pgy_dtype dtype)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    return info->bits < 8 || dtype == PGY_BF16 || (info->kind == PGY_KIND_FLOAT && info->bits == 8);
}

static bool see(void *user, const char *name, pgy_view value)
{
    native_debug *d = user;
    pgy_tensor *copy = NULL;
    if (is_left_out(value.dtype)) {
        LOG_ONCE(WARNING, "Not supported datatype for debug tensor '%s': %s", name,
                 pgy_dtype_name(value.dtype));
        return true;
    }
    d->status = pgy_tensor_copy(&copy, value, &d->error);
    if (!d->status) d->status = pgy_tensor_map_adopt(d->seen, name, copy, &d->error);
    return !d->status;
}

void native_debug_destroy(native_debug *d)
{
    if (!d) return;
    pgy_tensor_map_destroy(d->seen);
    mem_free(d);
}

pgy_status native_debug_create(native_debug **out, pgy_context *c, const pgy_build_config *config,
                               pgy_error *err)
{
    *out = NULL;
    if (!config->debug_tensors.count && !config->debug_unfused) return PGY_OK;
    native_debug *d = mem_calloc(1, sizeof *d);
    if (!d) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const pgy_debug_listener l = {.size = sizeof l, .user = d, .tensor = see};
    pgy_status st = pgy_tensor_map_create(&d->seen, err);
    if (!st) st = pgy_context_set_debug_listener(c, &l, err);
    if (st)
        native_debug_destroy(d);
    else
        *out = d;
    return st;
}

pgy_status native_debug_take(native_debug *d, pgy_status st, pgy_tensor_map *out, pgy_error *err)
{
    if (d->status) st = pgy_error_set(err, d->status, "%s", d->error.text);
    d->status = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(d->seen); i++)
        st = pgy_tensor_map_set(out, pgy_tensor_map_name(d->seen, i), pgy_tensor_map_at(d->seen, i),
                                err);
    if (!st) LOG(VERBOSE, "The run reported %zu debug tensors", pgy_tensor_map_count(d->seen));
    pgy_tensor_map_clear(d->seen);
    return st;
}

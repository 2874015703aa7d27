/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a device by name; registers the devices of that kind first, if this has not been done. */
#include <string.h>

#include "base/str.h"
#include "device/cuda/gpu.h"

static pgy_status unknown_device(const char *name, pgy_error *err)
{
    str names = {0};
    device *d;
    for (size_t i = 0; (d = device_at(i)); i++) str_printf(&names, "%s%s", i ? ", " : "", d->name);
    pgy_error_set(err, PGY_E_NOT_FOUND, "device '%s' does not exist; this process has: %s", name,
                  str_text(&names));
    str_deinit(&names);
    return PGY_E_NOT_FOUND;
}

static bool is_cuda(const char *name)
{
    return strcmp(name, "cuda") == 0 || str_starts_with(name, "cuda:");
}

pgy_status device_open(device **out, const char *name, pgy_error *err)
{
    const char *full = strcmp(name, "cuda") == 0 ? "cuda:0" : name;
    device *d = device_find(full);
    if (!d && is_cuda(name)) {
        const pgy_status st = cuda_register_gpus(err);
        if (st) return st;
        d = device_find(full);
    }
    if (!d) return unknown_device(full, err);
    *out = d;
    return PGY_OK;
}

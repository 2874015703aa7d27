/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the CUDA driver and NVRTC. The libraries stay open until the process ends. */
#include "device/cuda/driver.h"

#include <pthread.h>

#include "base/dl.h"
#include "device/cuda/libraries.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cuda_driver driver;
static cuda_nvrtc nvrtc;
static bool driver_works, nvrtc_works;

void cuda_append_error(str *out, const cuda_driver *d, int code)
{
    const char *name = NULL, *text = NULL;
    (void)d->error_name(code, &name);
    (void)d->error_text(code, &text);
    if (name)
        str_printf(out, "%s%s%s", name, text ? ": " : "", text ? text : "");
    else
        str_printf(out, "error %d", code);
}

/* ---- The driver ----------------------------------------------------------------------------- */

static pgy_status resolve_driver(pgy_error *err)
{
    static const char *const NAMES[] = {"libcuda.so.1", NULL};
    const dl_symbol symbols[] = {
#define X(member, symbol, arguments) {symbol, (void **)(void *)&driver.member, true},
#include "device/cuda/driver.def"
#undef X
    };
    void *handle = NULL;
    pgy_status st = cuda_library_open(&handle, NAMES, err);
    if (st) return pgy_error_prefix(err, st, "a CUDA device needs NVIDIA's driver: ");
    st = dl_resolve(handle, symbols, sizeof symbols / sizeof *symbols, err);
    return st ? pgy_error_prefix(err, st, "the NVIDIA driver is too old; libcuda.so.1: ") : PGY_OK;
}

static const char *reason_of(int code)
{
    switch (code) {
    case CU_NO_DEVICE: return "the NVIDIA driver finds no GPU";
    case CU_STUB_LIBRARY: return "libcuda.so.1 is the toolkit's stub, not a driver";
    case CU_DRIVER_MISMATCH:
        return "libcuda.so.1 and the kernel's NVIDIA module are of different versions";
    case CU_NOT_INITIALIZED:
        return "the NVIDIA driver cannot be used in a child of a process that has used it";
    default: return "the NVIDIA driver does not start";
    }
}

static pgy_status start_driver(pgy_error *err)
{
    str text = {0};
    int code = driver.init(0);
    if (!code) code = driver.driver_version(&driver.version);
    if (!code) return PGY_OK;
    cuda_append_error(&text, &driver, code);
    pgy_error_set(err, PGY_E_DEVICE, "%s (%s)", reason_of(code), str_text(&text));
    str_deinit(&text);
    return PGY_E_DEVICE;
}

pgy_status cuda_driver_open(const cuda_driver **out, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&lock);
    if (!driver_works) {
        st = resolve_driver(err);
        if (!st) st = start_driver(err);
        driver_works = !st;
    }
    pthread_mutex_unlock(&lock);
    if (!st) *out = &driver;
    return st;
}

/* ---- NVRTC ---------------------------------------------------------------------------------- */

static pgy_status resolve_nvrtc(pgy_error *err)
{
    static const char *const NAMES[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
    const dl_symbol symbols[] = {
#define X(member, symbol, arguments) {symbol, (void **)(void *)&nvrtc.member, true},
#include "device/cuda/nvrtc.def"
#undef X
    };
    void *handle = NULL;
    pgy_status st = cuda_library_open(&handle, NAMES, err);
    if (!st) st = dl_resolve(handle, symbols, sizeof symbols / sizeof *symbols, err);
    if (st)
        return pgy_error_prefix(
            err, st, "kernels for CUDA devices need NVRTC, the compiler of the CUDA toolkit: ");
    if (nvrtc.version(&nvrtc.major, &nvrtc.minor))
        return pgy_error_set(err, PGY_E_DEVICE, "NVRTC does not tell its version");
    return PGY_OK;
}

pgy_status cuda_nvrtc_open(const cuda_nvrtc **out, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&lock);
    if (!nvrtc_works) {
        st = resolve_nvrtc(err);
        nvrtc_works = !st;
    }
    pthread_mutex_unlock(&lock);
    if (!st) *out = &nvrtc;
    return st;
}

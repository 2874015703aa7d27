/* SPDX-License-Identifier: Apache-2.0 */
/* Opens ONNX Runtime and fills the API table. It asks for the lowest API version first, because
 * ONNX Runtime prints a message when it lacks the version asked for. Its log is forwarded to this
 * library's log. */
#include "backends/onnxruntime/api.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/onnxruntime/locate.h"
#include "base/alloc.h"
#include "base/dl.h"
#include "base/log.h"

static const char LOG_PATH[] = "backends/onnxruntime/api.c";

typedef struct ort_base {
    const void *const *(*table)(uint32_t version);
    const char *(*version)(void);
} ort_base;

static struct {
    pthread_mutex_t lock;
    bool tried;
    pgy_status status;
    pgy_error error;
    ort_api api;
} runtime = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Types ---------------------------------------------------------------------------------- */

static const struct {
    int type;
    pgy_dtype dtype;
} NEW_TYPES[] = {{23, PGY_F4E2M1}, {24, PGY_U2}, {25, PGY_I2}, {26, PGY_F8E8M0}};
enum { NEW_TYPE_COUNT = sizeof NEW_TYPES / sizeof *NEW_TYPES, LAST_COMMON_TYPE = 22 };

int ort_type_from_dtype(pgy_dtype dtype)
{
    for (int i = 0; i < NEW_TYPE_COUNT; i++)
        if (NEW_TYPES[i].dtype == dtype) return NEW_TYPES[i].type;
    return pgy_dtype_describe(dtype)->onnx;
}

pgy_dtype ort_dtype_from_type(int type)
{
    for (int i = 0; i < NEW_TYPE_COUNT; i++)
        if (NEW_TYPES[i].type == type) return NEW_TYPES[i].dtype;
    return type > 0 && type <= LAST_COMMON_TYPE ? pgy_dtype_from_onnx(type) : PGY_DTYPE_NONE;
}

/* ---- Log ------------------------------------------------------------------------------------ */

static void forward_log(void *user, int severity, const char *category, const char *log_id,
                        const char *location, const char *message)
{
    static const pgy_severity SEVERITIES[] = {PGY_LOG_ULTRA_VERBOSE, PGY_LOG_SUPER_VERBOSE,
                                              PGY_LOG_WARNING, PGY_LOG_ERROR, PGY_LOG_ERROR};
    (void)user, (void)category, (void)log_id, (void)location;
    if (severity < 0 || severity > 4) severity = 4;
    pgy_log_write(SEVERITIES[severity], LOG_PATH, __LINE__, "ONNX Runtime: %s", message);
}

static int runtime_log_level(void)
{
    if (pgy_log_is_on(PGY_LOG_ULTRA_VERBOSE, LOG_PATH)) return 0;
    return pgy_log_is_on(PGY_LOG_SUPER_VERBOSE, LOG_PATH) ? 1 : 2;
}

/* ---- Opening -------------------------------------------------------------------------------- */

pgy_status ort_check(const ort_api *api, ort_status *status, const char *what, pgy_error *err)
{
    if (!status) return PGY_OK;
    pgy_status st =
        pgy_error_set(err, PGY_E_BACKEND, "ONNX Runtime, %s: %s", what, api->status_text(status));
    api->release_status(status);
    return st;
}

/* Copies the table's entries that this backend uses. This release's table ends at `count`, so later
 * entries stay NULL. */
static void fill(ort_api *api, const void *const *table, int count)
{
#define F(index, field, arguments) \
    if (index < count) memcpy(&api->field, &table[index], sizeof api->field);
#define V F
#include "backends/onnxruntime/api.def"
#undef F
#undef V
    memcpy(&api->status_text, &table[2], sizeof api->status_text);
}

static int minor_of(const char *version)
{
    const char *dot = strchr(version, '.');
    return dot ? (int)strtol(dot + 1, NULL, 10) : 0;
}

static pgy_status open_table(ort_api *api, void *handle, pgy_error *err)
{
    union {
        void *address;
        const ort_base *(*call)(void);
    } entry = {NULL};
    const dl_symbol symbols[] = {{"OrtGetApiBase", &entry.address, true}};
    pgy_status st = dl_resolve(handle, symbols, 1, err);
    if (st) return pgy_error_prefix(err, st, "'%s' is not ONNX Runtime: ", api->path);

    const ort_base *base = entry.call();
    const void *const *table = base ? base->table(ORT_API_MIN) : NULL;
    if (!table)
        return pgy_error_set(err, PGY_E_BACKEND,
                             "'%s' is too old: ONNX Runtime 1.%d or newer is needed", api->path,
                             ORT_API_MIN);
    api->version = base->version();
    api->minor = minor_of(api->version);
    bool recent = api->minor >= ORT_API_PROVIDERS;
    if (recent) table = base->table(ORT_API_PROVIDERS);
    fill(api, table, recent ? ORT_COUNT_PROVIDERS : ORT_COUNT_MIN);
    return PGY_OK;
}

static pgy_status open_runtime(ort_api *api, pgy_error *err)
{
    void *handle = NULL;
    char *path = NULL;
    pgy_status st = ort_locate(&handle, &path, err);
    if (st) return st;
    api->path = path; /* kept for the process, like the library */
    st = open_table(api, handle, err);
    if (!st)
        st = ort_check(
            api, api->create_env(forward_log, NULL, runtime_log_level(), "polygraphy", &api->env),
            "creating the environment", err);
    if (!st)
        st = ort_check(api, api->default_allocator(&api->allocator), "getting the allocator", err);
    if (!st)
        st = ort_check(api, api->cpu_memory(0, 0, &api->memory),
                       "creating the description of CPU memory", err);
    if (!st) LOG(VERBOSE, "Loaded ONNX Runtime | Version: %s | Path: %s", api->version, api->path);
    return st;
}

pgy_status ort_open(const ort_api **out, pgy_error *err)
{
    pthread_mutex_lock(&runtime.lock);
    if (!runtime.tried) {
        runtime.status = open_runtime(&runtime.api, &runtime.error);
        runtime.tried = true;
    }
    pgy_status st = runtime.status;
    if (st) pgy_error_set(err, st, "%s", runtime.error.text);
    pthread_mutex_unlock(&runtime.lock);
    if (!st) *out = &runtime.api;
    return st;
}

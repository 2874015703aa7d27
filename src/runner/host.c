/* SPDX-License-Identifier: Apache-2.0 */
/* The function table that backends receive, so that a backend built elsewhere need not link this
 * library. */
#include <polygraphy/runner.h>

#include "base/alloc.h"

static void log_line(pgy_severity severity, const char *path, int line, const char *text)
{
    pgy_log_write(severity, path, line, "%s", text);
}

static pgy_status set_error(pgy_error *err, pgy_status status, const char *text)
{
    return pgy_error_set(err, status, "%s", text);
}

static const pgy_backend_host HOST = {
    .size = sizeof(pgy_backend_host),
    .abi = PGY_BACKEND_ABI,
    .allocate = mem_alloc,
    .free = mem_free,
    .log = log_line,
    .set_error = set_error,
    .tensor_create = pgy_tensor_create,
    .tensor_wrap = pgy_tensor_wrap,
    .tensor_view = pgy_tensor_view,
    .tensor_set_string = pgy_tensor_set_string,
    .tensor_release = pgy_tensor_release,
    .map_adopt = pgy_tensor_map_adopt,
    .map_find = pgy_tensor_map_find,
    .map_count = pgy_tensor_map_count,
    .map_name = pgy_tensor_map_name,
    .map_at = pgy_tensor_map_at,
    .metadata_set = pgy_metadata_set,
};

const pgy_backend_host *pgy_backend_host_table(void)
{
    return &HOST;
}

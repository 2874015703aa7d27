/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a runner's model that is an unchanged file. The runtime opens it itself, so weights
 * are read once and external data is found beside the file. */
#include <polygraphy/runner.h>

#include "base/alloc.h"
#include "base/file.h"

static pgy_status path_open(pgy_backend_model *out, void *user, pgy_error *err)
{
    const char *path = user;
    if (!file_exists(path))
        return pgy_error_set(err, PGY_E_NOT_FOUND, "Model path does not exist: %s", path);
    if (file_is_dir(path))
        return pgy_error_set(err, PGY_E_IO, "Model path is a directory: %s", path);
    out->path = path;
    return PGY_OK;
}

static void path_destroy(void *user)
{
    mem_free(user);
}

pgy_status pgy_source_from_path(pgy_model_source *out, const char *path, pgy_error *err)
{
    if (!path || !*path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'path' must be the name of a model file");
    char *copy = mem_strdup(path);
    if (!copy) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = (pgy_model_source){.open = path_open, .destroy = path_destroy, .user = copy};
    return PGY_OK;
}

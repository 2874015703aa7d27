/* SPDX-License-Identifier: Apache-2.0 */
/* Timing caches in files. Readers and writers hold the file's lock, and a file is replaced as a
 * whole. So builds that share a cache lose no entries, and a killed build leaves the old file. */
#include <polygraphy/tensor.h>

#include "base/cancel.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/log.h"
#include "engine/tactics/timing_cache.h"

static const char LOG_PATH[] = "engine/tactics/timing_cache_file.c";

/* Reads a cache file. An empty file is an empty cache: scripts make temporary files first. */
static pgy_status read_cache(pgy_timing_cache **out, pgy_timing_form *form, const char *path,
                             pgy_error *err)
{
    file_map map = {0};
    pgy_status st = file_map_open(&map, path, err);
    if (st) return st;
    *form = map.size_bytes ? timing_form_of(map.data, map.size_bytes) : PGY_TIMING_BINARY;
    st = map.size_bytes ? pgy_timing_cache_parse(out, map.data, map.size_bytes, err)
                        : pgy_timing_cache_create(out, err);
    file_map_close(&map);
    return st ? pgy_error_prefix(err, st, "timing cache '%s': ", path) : PGY_OK;
}

/* Takes no lock where the folder does not allow a lock file. */
pgy_status pgy_timing_cache_load(pgy_timing_cache **out, const char *path, pgy_error *err)
{
    file_lock *lock = NULL;
    pgy_timing_form form;
    pgy_status st = file_lock_take(&lock, path, err);
    if (status_ends_all(st)) return st;
    st = read_cache(out, &form, path, err);
    file_lock_release(lock);
    return st;
}

static pgy_status write_cache(const pgy_timing_cache *c, const char *path, pgy_timing_form form,
                              pgy_error *err)
{
    void *data = NULL;
    size_t size_bytes;
    pgy_status st = pgy_timing_cache_serialize(&data, &size_bytes, c, form, err);
    if (!st) st = file_write_all(path, data, size_bytes, err);
    pgy_text_free(data);
    return st;
}

/* Creates the folder first, where the lock file goes. */
static pgy_status take_lock(file_lock **out, const char *path, pgy_error *err)
{
    char *folder = path_dirname(path);
    pgy_status st =
        folder ? file_make_dirs(folder, err) : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_text_free(folder);
    return st ? st : file_lock_take(out, path, err);
}

pgy_status pgy_timing_cache_save(const pgy_timing_cache *c, const char *path, pgy_timing_form form,
                                 pgy_error *err)
{
    file_lock *lock = NULL;
    pgy_status st = take_lock(&lock, path, err);
    if (!st) st = write_cache(c, path, form, err);
    file_lock_release(lock);
    return st;
}

/* Merges the entries of the file at `path` into c. An unreadable file is replaced. */
static pgy_status merge_old(pgy_timing_cache *c, pgy_timing_form *form, const char *path,
                            pgy_error *err)
{
    pgy_timing_cache *old = NULL;
    pgy_error why = {0};
    pgy_status st = file_exists(path) ? read_cache(&old, form, path, &why) : PGY_OK;
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        *form = PGY_TIMING_BINARY;
        LOG(WARNING, "%s; a new file replaces it", why.text);
        return PGY_OK;
    }
    st = old ? pgy_timing_cache_combine(c, old, true, err) : PGY_OK;
    pgy_timing_cache_destroy(old);
    return st;
}

pgy_status pgy_timing_cache_save_merged(pgy_timing_cache *c, const char *path, pgy_error *err)
{
    file_lock *lock = NULL;
    pgy_timing_form form = PGY_TIMING_BINARY;
    pgy_status st = take_lock(&lock, path, err);
    if (!st) st = merge_old(c, &form, path, err);
    if (!st) st = write_cache(c, path, form, err);
    file_lock_release(lock);
    return st;
}

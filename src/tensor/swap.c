/* SPDX-License-Identifier: Apache-2.0 */
/* Swapping tensors to disk: the elements move to a temporary file. The tensor's last release
 * removes it; base/file.h removes it at exit and on signals. Reading back gives a separate resident
 * tensor each time, so memory is held only while that tensor is in use. Strings, empty tensors
 * and tensors that somebody else holds too stay in memory: others may be reading the elements. */
#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "tensor/tensor.h"

static const char LOG_PATH[] = "tensor/swap.c";
static const char VARIABLE[] = "POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB";

pgy_status pgy_swap_threshold_mb(int64_t *out, pgy_error *err)
{
    const char *text = getenv(VARIABLE);
    char *end = NULL;
    if (!text) {
        *out = -1;
        return PGY_OK;
    }
    errno = 0;
    long long value = strtoll(text, &end, 10);
    while (*end == ' ' || *end == '\t' || *end == '\n') end++;
    if (end == text || *end || errno)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s must be an integer, not '%s'", VARIABLE,
                             text);
    *out = value;
    return PGY_OK;
}

static pgy_status write_temporary(char **out, const pgy_tensor *t, pgy_error *err)
{
    char *path = NULL;
    file_writer *w = NULL;
    pgy_status st = file_temp_path(&path, ".bin", err);
    if (!st) st = file_writer_create_temp(&w, path, err);
    if (!st) st = file_writer_write(w, pgy_tensor_data(t), pgy_tensor_size_bytes(t), err);
    if (!st) st = file_writer_commit(w, err);
    file_writer_destroy(w);
    if (st)
        file_temp_release(path);
    else
        *out = path;
    return st;
}

pgy_status pgy_tensor_swap_out(pgy_tensor *t, pgy_error *err)
{
    int64_t threshold;
    char *path = NULL;
    pgy_status st = pgy_swap_threshold_mb(&threshold, err);
    if (st) return st;
    if (threshold < 0 || !tensor_can_swap(t)) return PGY_OK;
    uint64_t mib = pgy_tensor_size_bytes(t) >> 20,
             rest = pgy_tensor_size_bytes(t) & ((1 << 20) - 1);
    bool over = mib > (uint64_t)threshold || (mib == (uint64_t)threshold && rest);
    if (!over) return PGY_OK;
    st = write_temporary(&path, t, err);
    if (st) return st;
    LOG(EXTRA_VERBOSE, "Swapped an array of %.3f MiB out to %s",
        (double)pgy_tensor_size_bytes(t) / (1 << 20), path);
    tensor_set_swapped(t, path);
    return PGY_OK;
}

bool pgy_tensor_is_swapped(const pgy_tensor *t)
{
    return tensor_swap_path(t) != NULL;
}

pgy_status pgy_tensor_load(pgy_tensor **out, pgy_tensor *t, pgy_error *err)
{
    pgy_tensor *r = NULL;
    if (!pgy_tensor_is_swapped(t)) {
        *out = pgy_tensor_retain(t);
        return PGY_OK;
    }
    pgy_status st = pgy_raw_load(&r, tensor_swap_path(t), pgy_tensor_dtype(t), pgy_tensor_rank(t),
                                 pgy_tensor_shape(t), err);
    if (st) return pgy_error_prefix(err, st, "cannot read an array back from disk: ");
    *out = r;
    return PGY_OK;
}

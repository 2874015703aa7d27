/* SPDX-License-Identifier: Apache-2.0 */
/* Raw element files: nothing but the elements, row-major, little-endian; the caller gives the
 * shape, which must account for every byte of the file. */
#include "base/alloc.h"
#include "base/file.h"
#include "tensor/tensor.h"

pgy_status pgy_raw_load(pgy_tensor **out, const char *path, pgy_dtype dtype, size_t rank,
                        const int64_t *shape, pgy_error *err)
{
    file_map map = {.fd = -1};
    pgy_tensor *t = NULL;
    size_t count, size_bytes;

    if (dtype == PGY_STRING)
        return pgy_error_set(err, PGY_E_TYPE, "%s: a raw file cannot hold strings", path);
    pgy_status st = pgy_shape_count(&count, rank, shape, err);
    if (st) return st;
    st = pgy_dtype_size_bytes(&size_bytes, dtype, count, err);
    if (st) return st;
    st = file_map_open(&map, path, err);
    if (st) return st;
    if (map.size_bytes != size_bytes) {
        st = pgy_error_set(err, PGY_E_SHAPE, "%s has %zu bytes, but %zu elements of %s need %zu",
                           path, map.size_bytes, count, pgy_dtype_name(dtype), size_bytes);
        goto done;
    }
    st = tensor_create_raw(&t, dtype, rank, shape, err);
    if (st) goto done;
    tensor_read_bytes(pgy_tensor_data(t), &map, 0, size_bytes);
    *out = t;
    t = NULL;
done:
    pgy_tensor_release(t);
    file_map_close(&map);
    return st;
}

pgy_status pgy_raw_save(const char *path, pgy_view v, pgy_error *err)
{
    pgy_tensor *compact = NULL;
    const pgy_status host = view_need_host(&v, err);
    if (host) return host;
    if (v.dtype == PGY_STRING)
        return pgy_error_set(err, PGY_E_TYPE, "%s: a raw file cannot hold strings", path);
    if (!pgy_view_is_compact(v)) {
        pgy_status st = pgy_tensor_copy(&compact, v, err);
        if (st) return st;
        v = pgy_tensor_view(compact);
    }
    pgy_status st = file_write_all(path, pgy_view_data(v), pgy_view_size_bytes(v), err);
    pgy_tensor_release(compact);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the weights that move out. All files are written before the first is put in place, so a
 * failure leaves the old files unchanged. Only beyond PENDING_MAX files (one file per tensor)
 * complete files are put in place earlier, because descriptors are limited. Mapped files that get
 * replaced stay readable through their maps. */
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "onnx/computed.h"
#include "onnx/external.h"
#include "onnx/placement.h"

enum { PENDING_MAX = 256, KERNEL_COPY_MIN = 64 * 1024 };

static pgy_status put_bytes(void *user, const void *data, size_t size_bytes, pgy_error *err)
{
    return file_writer_write(user, data, size_bytes, err);
}

pgy_status file_writer_put(file_writer *w, pgy_model *m, const void *data, size_t size_bytes,
                           pgy_error *err)
{
    size_t offset = 0;
    const file_map *map =
        size_bytes < KERNEL_COPY_MIN ? NULL : model_find_map(m, data, size_bytes, &offset);
    if (map) return file_writer_copy(w, map, offset, size_bytes, err);
    bool sent;
    const pgy_status st =
        computed_tensor_send(&sent, m, (pgy_bytes){data, size_bytes}, put_bytes, w, err);
    return st || sent ? st : file_writer_write(w, data, size_bytes, err);
}

static pgy_status pad(file_writer *w, uint64_t offset, pgy_error *err)
{
    static const char ZEROS[4096];
    return file_writer_write(w, ZEROS, (size_t)(offset - file_writer_offset(w)), err);
}

/* Tensors that are adjacent in a mapped file and stay adjacent in the new one; they are copied by
 * one call. */
typedef struct neighbours {
    file_writer *to;
    const file_map *from;
    size_t offset, size_bytes;
} neighbours;

static pgy_status copy_neighbours(neighbours *n, pgy_error *err)
{
    const size_t size = n->size_bytes;
    n->size_bytes = 0;
    return size ? file_writer_copy(n->to, n->from, n->offset, size, err) : PGY_OK;
}

/* Adds the bytes to the collected neighbours, or collects them as the first ones if they are large
 * enough. False: the caller must write the collected neighbours first, or these bytes alone. */
static bool join_neighbours(neighbours *n, file_writer *w, pgy_model *m, pgy_bytes bytes,
                            uint64_t to)
{
    size_t offset = 0;
    const file_map *map = bytes.size ? model_find_map(m, bytes.data, bytes.size, &offset) : NULL;
    if (!map) return false;
    if (n->size_bytes) {
        if (n->to != w || n->from != map || n->offset + n->size_bytes != offset ||
            file_writer_offset(w) + n->size_bytes != to)
            return false;
        n->size_bytes += bytes.size;
        return true;
    }
    if (bytes.size < KERNEL_COPY_MIN || file_writer_offset(w) != to) return false;
    *n = (neighbours){w, map, offset, bytes.size};
    return true;
}

/* Raw and external bytes are written unchanged; typed lists are decoded, one tensor at a time. */
static pgy_status put_tensor(neighbours *n, file_writer *w, pgy_model *m, const moved_tensor *moved,
                             pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_bytes bytes = moved->tensor->raw_data;
    pgy_status st = PGY_OK;
    if (tensor_is_external(moved->tensor)) {
        st = external_bytes(&bytes, m, moved->tensor, moved->size_bytes, err);
        if (st) st = pgy_error_prefix(err, st, "tensor '%.200s': ", moved->tensor->name);
    } else if (bytes.size != moved->size_bytes) {
        st = pgy_onnx_tensor_load(&t, m, moved->tensor, err);
        if (!st) bytes = (pgy_bytes){pgy_tensor_data(t), pgy_tensor_size_bytes(t)};
    }
    if (!st && !join_neighbours(n, w, m, bytes, moved->offset)) {
        st = copy_neighbours(n, err);
        if (!st) st = pad(w, moved->offset, err);
        if (!st && !join_neighbours(n, w, m, bytes, moved->offset))
            st = file_writer_put(w, m, bytes.data, bytes.size, err);
    }
    pgy_tensor_release(t);
    return st;
}

static pgy_status open_next(data_files *d, const char *folder, const char *name, const char *suffix,
                            pgy_error *err)
{
    pgy_status st = d->count >= PENDING_MAX ? data_files_commit(d, err) : PGY_OK;
    if (st) return st;
    void *items = d->items;
    const bool grown = mem_grow(&items, &d->capacity, d->count + 1, sizeof(d->items[0]));
    d->items = items;
    char *path = grown ? path_join(folder, name) : NULL;
    if (!path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing '%s'", name);
    st = file_writer_create(&d->items[d->count], path, err);
    if (!st && suffix) {
        path[strlen(path) - strlen(suffix)] = '\0';
        file_writer_show_as(d->items[d->count], path);
    }
    if (!st) d->count++;
    mem_free(path);
    return st;
}

pgy_status data_files_write(data_files *d, const placement *p, const char *folder, pgy_error *err)
{
    pgy_status st = PGY_OK;
    neighbours n = {0};
    progress_begin("Writing weights", p->moved_count);
    for (size_t i = 0; i < p->moved_count && !st; i++) {
        if (i == 0 || p->one_file_per_tensor) {
            st = copy_neighbours(&n, err);
            if (!st) st = open_next(d, folder, p->moved[i].location, p->suffix, err);
        }
        if (!st) st = put_tensor(&n, d->items[d->count - 1], p->m, &p->moved[i], err);
        progress_advance(i + 1);
    }
    progress_end();
    return st ? st : copy_neighbours(&n, err);
}

pgy_status data_files_settle(data_files *d, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < d->count && !st; i++) st = file_writer_settle(d->items[i], err);
    return st;
}

pgy_status data_files_commit(data_files *d, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < d->count && !st; i++) st = file_writer_commit(d->items[i], err);
    if (st) return st;
    for (size_t i = 0; i < d->count; i++) file_writer_destroy(d->items[i]);
    d->count = 0;
    return PGY_OK;
}

void data_files_deinit(data_files *d)
{
    for (size_t i = 0; i < d->count; i++) file_writer_destroy(d->items[i]);
    mem_free(d->items);
    *d = (data_files){0};
}

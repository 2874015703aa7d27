/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of arrays. A member's header is read first; before memory for the elements is allocated,
 * it must account for exactly the size that the archive declares, so a small archive cannot claim
 * all memory. Numeric elements are then read or inflated straight into their tensor. Members are
 * written stored, as numpy.savez does. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tensor/npy_data.h"
#include "tensor/tensor.h"
#include "tensor/zip.h"

enum { HEAD_BYTES = 4096, HEAD_LIMIT = 1 << 20 };

/* The first bytes of a member: its header, and elements that were read together with it. */
typedef struct head {
    npy_header npy;
    str bytes;
} head;

static pgy_status read_more(str *bytes, zip_stream *s, size_t wanted, pgy_error *err)
{
    size_t got, before = bytes->size;
    if (wanted <= before) return PGY_OK;
    str_append_fill(bytes, 0, wanted - before);
    if (bytes->failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = zip_stream_read(s, bytes->data + before, wanted - before, &got, err);
    if (!st) bytes->size = before + got;
    return st;
}

static pgy_status read_head(head *h, zip_stream *s, const zip_member *m, pgy_error *err)
{
    pgy_status st = read_more(&h->bytes, s, HEAD_BYTES, err);
    if (st) return st;
    st = npy_header_parse(&h->npy, str_text(&h->bytes), h->bytes.size, NULL);
    if (st && h->bytes.size == HEAD_BYTES) { /* a long header, or a bad one */
        st = read_more(&h->bytes, s, HEAD_LIMIT, err);
        if (st) return st;
    }
    if (st) st = npy_header_parse(&h->npy, str_text(&h->bytes), h->bytes.size, err);
    if (st) return st;
    if (m->size_bytes - h->npy.data_offset != h->npy.data_bytes)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "npy: the header says %zu bytes of elements, but %zu follow",
                             h->npy.data_bytes, m->size_bytes - h->npy.data_offset);
    return PGY_OK;
}

static pgy_status read_rest(void *out, const head *h, zip_stream *s, pgy_error *err)
{
    size_t had = h->bytes.size - h->npy.data_offset, got = 0;
    if (had > h->npy.data_bytes) had = h->npy.data_bytes;
    if (had) memcpy(out, h->bytes.data + h->npy.data_offset, had);
    pgy_status st = zip_stream_read(s, (char *)out + had, h->npy.data_bytes - had, &got, err);
    return st ? st : zip_stream_finish(s, err);
}

static pgy_status read_strings(pgy_tensor **out, const head *h, zip_stream *s, pgy_error *err)
{
    void *elements = mem_alloc(h->npy.data_bytes);
    if (!elements)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu bytes of strings",
                             h->npy.data_bytes);
    pgy_status st = read_rest(elements, h, s, err);
    if (!st) st = npy_decode(out, &h->npy, elements, err);
    mem_free(elements);
    return st;
}

static pgy_status read_member(pgy_tensor **out, const zip_member *m, pgy_error *err)
{
    zip_stream *s = NULL;
    head h = {0};
    pgy_tensor *t = NULL;
    pgy_status st = zip_stream_open(&s, m, err);
    if (!st) st = read_head(&h, s, m, err);
    if (st) goto done;
    if (h.npy.dtype == PGY_STRING) {
        st = read_strings(&t, &h, s, err);
    } else {
        st = tensor_create_raw(&t, h.npy.dtype, h.npy.rank, h.npy.shape, err);
        if (!st) st = read_rest(pgy_tensor_data(t), &h, s, err);
        if (!st) st = npy_finish(&t, &h.npy, err);
    }
    if (st) goto done;
    *out = t;
    t = NULL;
done:
    pgy_tensor_release(t);
    zip_stream_destroy(s);
    str_deinit(&h.bytes);
    return st;
}

static pgy_status add_member(pgy_tensor_map *map, const zip_member *m, pgy_error *err)
{
    pgy_tensor *t = NULL;
    size_t size = m->name.size;
    if (size > 4 && !memcmp(m->name.data + size - 4, ".npy", 4)) size -= 4;
    pgy_status st = read_member(&t, m, err);
    if (st)
        return pgy_error_prefix(err, st, "member '%.*s': ", (int)(size < 200 ? size : 200),
                                m->name.data);
    char *name = mem_strndup(m->name.data, size);
    if (name)
        st = pgy_tensor_map_adopt(map, name, t, err);
    else
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!name) pgy_tensor_release(t);
    mem_free(name);
    return st;
}

pgy_status pgy_npz_parse(pgy_tensor_map **out, const void *data, size_t size_bytes, pgy_error *err)
{
    zip_reader z;
    zip_member m;
    bool more = true;
    pgy_tensor_map *map = NULL;
    pgy_status st = zip_reader_init(&z, data, size_bytes, err);
    if (!st) st = pgy_tensor_map_create(&map, err);
    while (!st && more) {
        st = zip_next(&z, &m, &more, err);
        if (!st && more) st = add_member(map, &m, err);
    }
    if (!st) {
        *out = map;
        map = NULL;
    }
    pgy_tensor_map_destroy(map);
    return st;
}

pgy_status pgy_npz_load(pgy_tensor_map **out, const char *path, pgy_error *err)
{
    file_map map = {.fd = -1};
    pgy_status st = file_map_open(&map, path, err);
    if (st) return st;
    st = pgy_npz_parse(out, map.data, map.size_bytes, err);
    if (st) st = pgy_error_prefix(err, st, "%s: ", path);
    file_map_close(&map);
    return st;
}

static pgy_status write_member(zip_writer *z, const char *name, pgy_tensor *t, pgy_error *err)
{
    npy_image image = {0};
    pgy_tensor *resident = NULL;
    str member = {0};
    str_printf(&member, "%s.npy", name);
    pgy_status st = member.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
    if (!st) st = pgy_tensor_load(&resident, t, err);
    if (!st) st = npy_image_init(&image, pgy_tensor_view(resident), err);
    if (!st)
        st = zip_writer_add(z, member.data, (span){image.header.data, image.header.size},
                            (span){image.elements, image.elements_bytes}, err);
    if (st) st = pgy_error_prefix(err, st, "array '%s': ", name);
    npy_image_deinit(&image);
    pgy_tensor_release(resident);
    str_deinit(&member);
    return st;
}

pgy_status pgy_npz_save(const char *path, const pgy_tensor_map *m, pgy_error *err)
{
    zip_writer z = {0};
    pgy_status st = file_writer_create(&z.file, path, err);
    file_writer *w = z.file;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(m); i++)
        st = write_member(&z, pgy_tensor_map_name(m, i), pgy_tensor_map_at(m, i), err);
    if (!st) st = zip_writer_finish(&z, err);
    if (!st) st = file_writer_commit(w, err);
    zip_writer_deinit(&z);
    file_writer_destroy(w);
    return st;
}

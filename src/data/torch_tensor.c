/* SPDX-License-Identifier: Apache-2.0 */
/* torch.save's archive: data.pkl describes the tensor (pickle.c), data/<key> holds the elements of
 * its storage. The description is checked against the storage before anything is copied: every
 * element that shape, strides and offset can reach must exist. */
#include "data/torch_tensor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "data/pickle.h"
#include "tensor/zip.h"

enum { MAX_PICKLE_BYTES = 1 << 16 };
/* Strides of zero repeat elements, so a small file could ask for any amount of memory; this is the
 * limit. */
static const size_t MAX_REPEATED_BYTES = (size_t)1 << 28;

/* ---- Archive ---- */

/* Finds the member "<folder>/<name>", whatever the folder before the first slash is called. */
static pgy_status find_member(zip_member *out, span archive, span name, pgy_error *err)
{
    zip_reader zip;
    bool more;
    pgy_status st = zip_reader_init(&zip, archive.data, archive.size, err);
    if (st) return st;
    for (;;) {
        zip_member m;
        st = zip_next(&zip, &m, &more, err);
        if (st) return st;
        if (!more)
            return pgy_error_set(err, PGY_E_FORMAT, "the archive has no member '%.*s'",
                                 (int)(name.size < 80 ? name.size : 80), name.data);
        const char *slash = memchr(m.name.data, '/', m.name.size);
        size_t skip = slash ? (size_t)(slash - m.name.data) + 1 : 0;
        if (span_equal((span){m.name.data + skip, m.name.size - skip}, name)) {
            *out = m;
            return PGY_OK;
        }
    }
}

static pgy_status read_member(void *out, const zip_member *m, pgy_error *err)
{
    zip_stream *stream = NULL;
    size_t got = 0;
    pgy_status st = zip_stream_open(&stream, m, err);
    if (!st) st = zip_stream_read(stream, out, m->size_bytes, &got, err);
    if (!st && got != m->size_bytes)
        st = pgy_error_set(err, PGY_E_FORMAT, "the archive is truncated");
    if (!st) st = zip_stream_finish(stream, err);
    zip_stream_destroy(stream);
    return st;
}

static pgy_status check_byte_order(span archive, pgy_error *err)
{
    zip_member m;
    pgy_error ignored = {0};
    if (find_member(&m, archive, span_of("byteorder"), &ignored))
        return PGY_OK; /* older files lack it and are little-endian */
    if (!m.deflated && span_equals((span){(const char *)m.data, m.size_bytes}, "little"))
        return PGY_OK;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "the tensor is stored in big-endian order, which is not supported");
}

/* ---- Elements ---- */

/* Checks that every element lies in the storage. */
static pgy_status check_extent(const pickle_tensor *p, size_t stored_bytes, pgy_error *err)
{
    size_t count, needed, last = p->offset, item = pgy_dtype_describe(p->dtype)->bits / 8;
    pgy_status st = pgy_shape_count(&count, p->rank, p->shape, err);
    if (st || !count) return st;
    bool good = p->storage_bytes <= stored_bytes;
    for (size_t i = 0; good && i < p->rank; i++) {
        size_t reach;
        good = size_mul(&reach, (size_t)(p->shape[i] - 1), (size_t)p->strides[i]) &&
               size_add(&last, last, reach);
    }
    good = good && size_add(&last, last, 1) && size_mul(&needed, last, item) &&
           needed <= p->storage_bytes;
    if (!good)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the tensor's shape and strides reach beyond its storage of %zu bytes",
                             stored_bytes);
    if (!size_mul(&needed, count, item) || (needed > stored_bytes && needed > MAX_REPEATED_BYTES))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the tensor expands %zu stored bytes to more than the limit of %zu",
                             stored_bytes, MAX_REPEATED_BYTES);
    return PGY_OK;
}

static pgy_status read_elements(pgy_tensor **out, const pickle_tensor *p, const zip_member *m,
                                pgy_error *err)
{
    pgy_status st = check_extent(p, m->size_bytes, err);
    if (st) return st;
    void *storage = mem_alloc(m->size_bytes + 1);
    if (!storage)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu bytes", m->size_bytes);
    pgy_view v = pgy_view_of(storage, p->dtype, p->rank, p->shape);
    v.strides = (int64_t *)p->strides;
    v.byte_offset = (uint64_t)p->offset * (pgy_dtype_describe(p->dtype)->bits / 8);
    st = read_member(storage, m, err);
    if (!st) st = pgy_tensor_copy(out, v, err);
    mem_free(storage);
    return st;
}

static pgy_status read_archive(pgy_tensor **out, span archive, pgy_error *err)
{
    zip_member pickled, elements;
    pickle_tensor p;
    str name = {0};
    char *bytes = NULL;
    pgy_status st = find_member(&pickled, archive, span_of("data.pkl"), err);
    if (st) goto done;
    if (pickled.size_bytes > MAX_PICKLE_BYTES) {
        st = pgy_error_set(err, PGY_E_FORMAT, "data.pkl has %zu bytes, more than one tensor needs",
                           pickled.size_bytes);
        goto done;
    }
    bytes = mem_alloc(pickled.size_bytes);
    st = bytes ? read_member(bytes, &pickled, err)
               : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = pickle_tensor_read(&p, bytes, pickled.size_bytes, err);
    if (!st) st = check_byte_order(archive, err);
    if (st) goto done;
    str_append(&name, "data/");
    str_append_n(&name, p.key.data, p.key.size);
    st = name.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                     : find_member(&elements, archive, (span){name.data, name.size}, err);
    if (!st) st = read_elements(out, &p, &elements, err);
done:
    mem_free(bytes);
    str_deinit(&name);
    return st;
}

pgy_status torch_tensor_read(pgy_tensor **out, const json_value *text, const char *where,
                             pgy_error *err)
{
    arena memory = {0};
    size_t size = 0, got = 0, chars = 0;
    void *bytes = NULL;
    pgy_status st = PGY_OK;
    if (!text || text->type != JSON_STRING)
        return pgy_error_set(err, PGY_E_FORMAT, "%s: the Tensor object lacks the key 'tensor'",
                             where);
    const char *p = json_string(text, &memory, &chars);
    if (!p)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    else if (!base64_decoded_size(&size, p, chars))
        st = pgy_error_set(err, PGY_E_FORMAT, "%zu characters are not a valid length of base64",
                           chars);
    if (st) goto done;
    bytes = mem_alloc(size + 4);
    if (!bytes)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu bytes", size);
    else if (!base64_decode(bytes, &got, p, chars, true))
        st = pgy_error_set(err, PGY_E_FORMAT, "the base64 text is invalid");
    else if (!zip_is_archive(bytes, got))
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "the Tensor's bytes are not an archive written by torch.save");
    else
        st = read_archive(out, (span){bytes, got}, err);
done:
    mem_free(bytes);
    arena_deinit(&memory);
    return st ? pgy_error_prefix(err, st, "%s: ", where) : PGY_OK;
}

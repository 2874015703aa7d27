/* SPDX-License-Identifier: Apache-2.0 */
/* Reading elements piece by piece. Raw and external bytes are read from their file instead of the
 * map, because mapped pages count as memory until they are released; lists of numbers are decoded
 * whole. */
#include "onnx/reader.h"

#include <string.h>

#include "onnx/computed.h"
#include "onnx/elements.h"
#include "onnx/external.h"

enum {
    RAW_DATA = 9,
    NEAR_BYTES = 64 * 1024, /* the kernel maps this much around a page that is read */
    KEPT_BYTES = 2 << 20
};

static pgy_status decode(element_reader *r, pgy_model *m, const pgy_onnx_tensor *t, pgy_error *err)
{
    const pgy_status st = onnx_tensor_load_anywhere(&r->whole, m, t, err);
    if (!st) r->memory = pgy_tensor_data(r->whole);
    return st;
}

/* True for a float32 tensor whose elements are in float_data. */
static bool is_float_list(const pgy_onnx_tensor *t)
{
    return !tensor_is_external(t) && !t->raw_data.size && !(t->message.present >> RAW_DATA & 1) &&
           pgy_dtype_from_onnx(t->data_type) == PGY_F32;
}

pgy_status element_reader_open(element_reader *out, pgy_model *m, const pgy_onnx_tensor *t,
                               pgy_error *err)
{
    element_reader r = {.name = t->name ? t->name : ""};
    pgy_bytes bytes = t->raw_data;
    pgy_status st = tensor_needs_bytes(&r.size_bytes, t, err);
    if (st) return st;
    if (pgy_dtype_from_onnx(t->data_type) == PGY_STRING)
        return pgy_error_set(err, PGY_E_TYPE,
                             "tensor '%.200s' holds strings, which have no bytes to read", r.name);
    if (tensor_is_external(t) && !t->segment) {
        st = external_bytes(&bytes, m, t, r.size_bytes, err);
        if (st) return pgy_error_prefix(err, st, "tensor '%.200s': ", r.name);
    }
    if (r.size_bytes && is_float_list(t))
        bytes = t->float_data; /* float_data has the same layout as raw_data */
    const bool plain = !t->segment && bytes.size && bytes.size == r.size_bytes;
    if (plain) st = computed_reading_create(&r.made, m, bytes, err);
    if (!st && plain && !r.made) {
        r.memory = bytes.data;
        r.map = model_find_map(m, bytes.data, bytes.size, &r.map_offset);
    }
    if (!st && !plain) st = decode(&r, m, t, err);
    if (!st) *out = r;
    return st;
}

pgy_status element_reader_get(element_reader *r, void *to, size_t offset, size_t size_bytes,
                              pgy_error *err)
{
    if (!size_bytes) return PGY_OK;
    if (r->made) return computed_reading_get(r->made, to, offset, size_bytes, err);
    if (!r->map) {
        memcpy(to, (const char *)r->memory + offset, size_bytes);
        return PGY_OK;
    }
    const pgy_status st = file_map_read(r->map, to, r->map_offset + offset, size_bytes, err);
    return st ? pgy_error_prefix(err, st, "tensor '%.200s': ", r->name) : PGY_OK;
}

/* Pieces that are close together in a file share pages. So they are read from the map, which needs
 * no system call per piece, and the pages are released along the way. */
static void gather_mapped(const element_reader *r, char *to, size_t offset, size_t size_bytes,
                          size_t step, size_t count)
{
    const char *from = (const char *)r->map->data + r->map_offset + offset;
    size_t kept = 0; /* the first piece whose pages are still mapped */
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * size_bytes, from + i * step, size_bytes);
        if ((i + 1 - kept) * step < KEPT_BYTES && i + 1 < count) continue;
        const size_t first = r->map_offset + offset + kept * step;
        const size_t begin = first > NEAR_BYTES ? first - NEAR_BYTES : 0;
        file_map_forget(r->map, begin, r->map_offset + offset + i * step + size_bytes - begin);
        kept = i + 1;
    }
}

pgy_status element_reader_gather(element_reader *r, void *to, size_t offset, size_t size_bytes,
                                 size_t step, size_t count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (r->map && step <= NEAR_BYTES && step > size_bytes) {
        gather_mapped(r, to, offset, size_bytes, step, count);
        return PGY_OK;
    }
    for (size_t i = 0; !st && i < count; i++)
        st = element_reader_get(r, (char *)to + i * size_bytes, offset + i * step, size_bytes, err);
    return st;
}

void element_reader_close(element_reader *r)
{
    computed_reading_destroy(r->made);
    pgy_tensor_release(r->whole);
    *r = (element_reader){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Locates the elements of a weight. Data in a file is read with pread into the caller's buffer, so
 * that neither page faults nor resident memory grow with the model. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/diff.h"
#include "onnx/computed.h"
#include "onnx/elements.h"
#include "onnx/external.h"
#include "onnx/model.h"

/* Typed lists that store the elements' own bytes need no decoding. */
static bool typed_bytes(pgy_bytes *out, const pgy_onnx_tensor *t, pgy_dtype dtype)
{
    const uint16_t probe = 1;
    uint8_t low;
    memcpy(&low, &probe, 1);
    if (!low) return false; /* lists are little-endian in the file */
    switch (dtype) {
    case PGY_F32: *out = t->float_data; return true;
    case PGY_F64: *out = t->double_data; return true;
    case PGY_I64: *out = (pgy_bytes){t->int64_data, t->int64_count * 8}; return true;
    case PGY_U64: *out = (pgy_bytes){t->uint64_data, t->uint64_count * 8}; return true;
    default: return false;
    }
}

const char *diff_storage(const pgy_onnx_tensor *t)
{
    if (tensor_is_external(t)) return "external";
    return t->raw_data.size || t->message.present >> 9 & 1 ? "raw" : "typed";
}

pgy_status diff_locate(diff_source *out, pgy_model *m, const pgy_onnx_tensor *t, pgy_dtype dtype,
                       pgy_error *err)
{
    size_t wanted = 0;
    pgy_bytes bytes = t->raw_data;
    diff_source s = {0};
    pgy_status st = tensor_needs_bytes(&wanted, t, err);
    if (st) return st;
    const bool typed = strcmp(diff_storage(t), "typed") == 0;
    if (tensor_is_external(t) && !t->segment) {
        st = external_bytes(&bytes, m, t, wanted, err);
        if (st) return pgy_error_prefix(err, st, "tensor '%.200s': ", t->name);
    }
    if (t->segment || dtype == PGY_STRING ||
        (typed && (!typed_bytes(&bytes, t, dtype) || bytes.size != wanted)) ||
        (!typed && bytes.size != wanted) || computed_has(m, bytes)) {
        st = onnx_tensor_load_anywhere(&s.decoded, m, t, err);
        if (st) return st;
        bytes = (pgy_bytes){pgy_tensor_data(s.decoded), wanted};
    }
    s.data = bytes.data;
    s.size_bytes = wanted;
    s.map = s.decoded ? NULL : model_find_map(m, bytes.data, wanted, &s.offset);
    if (s.map && s.map->fd < 0) s.map = NULL;
    *out = s;
    return PGY_OK;
}

bool diff_same_place(const diff_source *a, const diff_source *b)
{
    struct stat x, y;
    if (a->data == b->data && a->size_bytes == b->size_bytes) return true;
    if (!a->map || !b->map || a->offset != b->offset || a->size_bytes != b->size_bytes)
        return false;
    if (fstat(a->map->fd, &x) || fstat(b->map->fd, &y)) return false;
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool diff_fetch(const uint8_t **out, const diff_source *s, size_t at, size_t size, uint8_t *buffer)
{
    *out = s->data + at;
    if (!s->map) return true;
    *out = buffer;
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pread(s->map->fd, buffer + done, size - done, (off_t)(s->offset + at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading zip archives that lie in memory. The central directory at the end says where members are;
 * every offset and size in it is checked against the archive before use, and members may not share
 * bytes. zlib inflates as a stream,
 * so a caller can look at the first bytes of a member before deciding how much memory the rest
 * deserves. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "tensor/zip.h"

enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    MAX_COMMENT = 65535,
    EXTRA_ZIP64 = 1,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    FLAG_ENCRYPTED = 1
};
enum { DEFLATE_MAX_RATIO = 1032 };
static const uint32_t LOCAL_MAGIC = 0x04034b50, CENTRAL_MAGIC = 0x02014b50, END_MAGIC = 0x06054b50,
                      LOCATOR_MAGIC = 0x07064b50, END64_MAGIC = 0x06064b50;

static uint64_t get(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | p[i];
    return v;
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get(p, 4);
}

static pgy_status bad(const char *what, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "zip: %s", what);
}

bool zip_is_archive(const void *data, size_t size_bytes)
{
    const uint8_t *p = data;
    return size_bytes >= 4 && (get32(p) == LOCAL_MAGIC || get32(p) == END_MAGIC);
}

/* Searches backwards for the end record, which only a comment may follow. */
static const uint8_t *find_end(const uint8_t *file, size_t size)
{
    size_t tries = size < END_BYTES                 ? 0
                   : size - END_BYTES < MAX_COMMENT ? size - END_BYTES + 1
                                                    : MAX_COMMENT + 1;
    for (size_t i = 0; i < tries; i++) {
        const uint8_t *p = file + size - END_BYTES - i;
        if (get32(p) == END_MAGIC && get(p + 20, 2) == i) return p;
    }
    return NULL;
}

static pgy_status open_directory(zip_reader *z, const void *data, size_t size_bytes, pgy_error *err)
{
    const uint8_t *file = data, *end = find_end(file, size_bytes);
    if (!end) return bad("the end of the central directory is missing", err);
    uint64_t count = get(end + 10, 2), size = get(end + 12, 4), offset = get(end + 16, 4);
    size_t end_at = (size_t)(end - file);
    if (count == 0xffff || size == 0xffffffff || offset == 0xffffffff) {
        if (end_at < LOCATOR_BYTES || get32(end - LOCATOR_BYTES) != LOCATOR_MAGIC)
            return bad("the zip64 locator is missing", err);
        uint64_t at = get(end - LOCATOR_BYTES + 8, 8);
        if (at > size_bytes || size_bytes - at < END64_BYTES || get32(file + at) != END64_MAGIC)
            return bad("the zip64 end record is missing", err);
        count = get(file + at + 32, 8);
        size = get(file + at + 40, 8);
        offset = get(file + at + 48, 8);
    }
    if (offset > end_at || size > end_at - offset)
        return bad("the central directory lies outside the file", err);
    *z = (zip_reader){.file = file,
                      .size_bytes = size_bytes,
                      .at = (size_t)offset,
                      .directory_end = (size_t)(offset + size),
                      .left = count};
    return PGY_OK;
}

/* Reads the sizes and the offset that did not fit 32 bits from an extra field, where they stand in
 * this order. */
static bool read_zip64(const uint8_t *extra, size_t extra_bytes, uint64_t *values[], int count)
{
    while (extra_bytes >= 4) {
        size_t id = get(extra, 2), size = get(extra + 2, 2);
        if (size > extra_bytes - 4) return false;
        const uint8_t *p = extra + 4;
        for (int i = 0; id == EXTRA_ZIP64 && i < count; i++) {
            if (*values[i] != 0xffffffff) continue;
            if (size < 8) return false;
            *values[i] = get(p, 8);
            p += 8;
            size -= 8;
        }
        if (id == EXTRA_ZIP64) return true;
        extra += 4 + size;
        extra_bytes -= 4 + size;
    }
    return true;
}

static pgy_status locate_data(const zip_reader *z, zip_member *m, uint64_t offset, uint64_t stored,
                              uint64_t size, pgy_error *err)
{
    if (offset > z->size_bytes || z->size_bytes - offset < LOCAL_BYTES ||
        get32(z->file + offset) != LOCAL_MAGIC)
        return bad("a member's local header is missing", err);
    uint64_t skip = LOCAL_BYTES + get(z->file + offset + 26, 2) + get(z->file + offset + 28, 2);
    if (skip > z->size_bytes - offset || stored > z->size_bytes - offset - skip)
        return bad("a member lies outside the file", err);
    if (m->deflated ? size / DEFLATE_MAX_RATIO > stored : size != stored)
        return bad("a member's compressed and uncompressed sizes cannot both be true", err);
    m->begin = (size_t)offset;
    m->data = z->file + offset + skip;
    m->stored_bytes = (size_t)stored;
    m->size_bytes = (size_t)size;
    return PGY_OK;
}

pgy_status zip_next(zip_reader *z, zip_member *out, bool *more, pgy_error *err)
{
    *more = z->left > 0;
    if (!*more) return PGY_OK;
    const uint8_t *p = z->file + z->at;
    size_t room = z->directory_end - z->at;
    if (room < CENTRAL_BYTES || get32(p) != CENTRAL_MAGIC)
        return bad("a central directory entry is malformed", err);
    size_t name = get(p + 28, 2), extra = get(p + 30, 2), comment = get(p + 32, 2);
    if (name + extra + comment > room - CENTRAL_BYTES)
        return bad("a central directory entry is truncated", err);
    unsigned flags = (unsigned)get(p + 8, 2), method = (unsigned)get(p + 10, 2);
    uint64_t stored = get(p + 20, 4), size = get(p + 24, 4), offset = get(p + 42, 4);
    uint64_t *wide[] = {&size, &stored, &offset};
    if (!read_zip64(p + CENTRAL_BYTES + name, extra, wide, 3))
        return bad("a zip64 extra field is truncated", err);
    zip_member m = {.name = {(const char *)p + CENTRAL_BYTES, name},
                    .deflated = method == METHOD_DEFLATED,
                    .crc = get32(p + 16)};
    if (flags & FLAG_ENCRYPTED)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "zip: member '%.*s' is encrypted, which is not supported",
                             (int)m.name.size, m.name.data);
    if (method != METHOD_STORED && method != METHOD_DEFLATED)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "zip: compression method %u of member '%.*s' is not supported", method,
                             (int)m.name.size, m.name.data);
    pgy_status st = locate_data(z, &m, offset, stored, size, err);
    if (st) return st;
    z->at += CENTRAL_BYTES + name + extra + comment;
    z->left--;
    *out = m;
    return PGY_OK;
}

/* ---- The whole archive ---------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
    const zip_member *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Checks that members do not overlap and that none expands more than deflate can. So together they
 * hold at most DEFLATE_MAX_RATIO times the bytes of the archive. */
static pgy_status check_disjoint(const zip_reader *z, zip_member *items, size_t count,
                                 pgy_error *err)
{
    qsort(items, count, sizeof *items, by_begin);
    for (size_t i = 0; i < count; i++) {
        const zip_member *m = &items[i];
        const size_t end = (size_t)(m->data - z->file) + m->stored_bytes;
        if (m->begin < z->directory_end && end > z->at)
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "zip: member '%.*s' overlaps the central directory",
                                 (int)m->name.size, m->name.data);
        if (i + 1 < count && end > items[i + 1].begin)
            return pgy_error_set(err, PGY_E_FORMAT, "zip: members '%.*s' and '%.*s' overlap",
                                 (int)m->name.size, m->name.data, (int)items[i + 1].name.size,
                                 items[i + 1].name.data);
    }
    return PGY_OK;
}

static pgy_status check_members(const zip_reader *z, pgy_error *err)
{
    zip_reader walk = *z;
    zip_member m, *items = NULL;
    size_t count = 0, capacity = 0;
    bool more = true;
    pgy_status st = PGY_OK;
    while (!st && more) {
        st = zip_next(&walk, &m, &more, err);
        if (st || !more) break;
        if (mem_grow((void **)&items, &capacity, count + 1, sizeof *items))
            items[count++] = m;
        else
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for the members of an archive");
    }
    if (!st && count) st = check_disjoint(z, items, count, err);
    mem_free(items);
    return st;
}

pgy_status zip_reader_init(zip_reader *z, const void *data, size_t size_bytes, pgy_error *err)
{
    zip_reader opened;
    pgy_status st = open_directory(&opened, data, size_bytes, err);
    if (!st) st = check_members(&opened, err);
    if (!st) *z = opened;
    return st;
}

/* ---- Members -------------------------------------------------------------------------------- */

struct zip_stream {
    zip_member member;
    z_stream inflater;
    bool inflating;
    size_t taken;    /* bytes of member.data that were read */
    size_t produced; /* bytes given out */
    uint32_t crc;
};

pgy_status zip_stream_open(zip_stream **out, const zip_member *m, pgy_error *err)
{
    zip_stream *s = mem_calloc(1, sizeof *s);
    if (!s) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    s->member = *m;
    if (m->deflated && inflateInit2(&s->inflater, -MAX_WBITS) != Z_OK) {
        mem_free(s);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for inflating");
    }
    s->inflating = m->deflated;
    *out = s;
    return PGY_OK;
}

void zip_stream_destroy(zip_stream *s)
{
    if (!s) return;
    if (s->inflating) inflateEnd(&s->inflater);
    mem_free(s);
}

static uInt clamp(size_t n)
{
    return n < UINT_MAX ? (uInt)n : UINT_MAX;
}

static pgy_status inflate_some(zip_stream *s, uint8_t *out, size_t size_bytes, size_t *got,
                               pgy_error *err)
{
    z_stream *z = &s->inflater;
    size_t done = 0;
    int code = Z_OK;
    while (done < size_bytes && code == Z_OK) {
        uInt in = clamp(s->member.stored_bytes - s->taken), room = clamp(size_bytes - done);
        const pgy_status st = cancel_check(err);
        if (st) return st;
        z->next_in = (Bytef *)(uintptr_t)(s->member.data + s->taken);
        z->avail_in = in;
        z->next_out = out + done;
        z->avail_out = room;
        code = inflate(z, Z_NO_FLUSH);
        s->taken += in - z->avail_in;
        done += room - z->avail_out;
    }
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return bad("a deflated member is corrupt", err);
    *got = done;
    return PGY_OK;
}

pgy_status zip_stream_read(zip_stream *s, void *out, size_t size_bytes, size_t *got, pgy_error *err)
{
    size_t n = s->member.size_bytes - s->produced;
    if (n > size_bytes) n = size_bytes;
    if (s->inflating) {
        pgy_status st = inflate_some(s, out, n, &n, err);
        if (st) return st;
    } else {
        memcpy(out, s->member.data + s->produced, n);
    }
    s->crc = (uint32_t)crc32_z(s->crc, out, n);
    s->produced += n;
    *got = n;
    return PGY_OK;
}

pgy_status zip_stream_finish(zip_stream *s, pgy_error *err)
{
    uint8_t extra;
    size_t got = 0;
    if (s->produced != s->member.size_bytes)
        return bad("a member is shorter than the central directory says", err);
    if (s->inflating) {
        pgy_status st = inflate_some(s, &extra, 1, &got, err);
        if (st) return st;
    }
    if (got) return bad("a member is longer than the central directory says", err);
    return s->crc == s->member.crc ? PGY_OK : bad("a member's checksum is wrong", err);
}

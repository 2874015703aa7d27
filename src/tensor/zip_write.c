/* SPDX-License-Identifier: Apache-2.0 */
/* Writing zip archives of stored members. Checksums and sizes are known before a member's header is
 * written, so nothing is patched afterwards and the target may be a pipe. Zip64 records appear only
 * where a number does not fit the classic ones. All members have zip's first date, as in files of
 * numpy.savez. */
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "tensor/zip.h"

enum { VERSION = 45, DATE_1980_01_01 = 0x21, EXTRA_ZIP64 = 1, FLAG_UTF8 = 0x800 };
static const uint32_t LIMIT = 0xffffffff;

static void put(str *s, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++, v >>= 8) str_append_char(s, (char)(v & 0xff));
}

static uint64_t clip(uint64_t v)
{
    return v < LIMIT ? v : LIMIT;
}

void zip_writer_deinit(zip_writer *z)
{
    str_deinit(&z->directory);
    *z = (zip_writer){0};
}

typedef struct entry {
    const char *name;
    uint32_t crc;
    uint64_t size_bytes, offset;
} entry;

/* The fields that local and central headers share, from "version needed" to the length of the extra
 * field. */
static void put_common(str *s, const entry *e, size_t extra_bytes)
{
    put(s, VERSION, 2);
    put(s, FLAG_UTF8, 2);
    put(s, 0, 2); /* stored */
    put(s, 0, 2); /* midnight */
    put(s, DATE_1980_01_01, 2);
    put(s, e->crc, 4);
    put(s, clip(e->size_bytes), 4);
    put(s, clip(e->size_bytes), 4);
    put(s, strlen(e->name), 2);
    put(s, extra_bytes, 2);
}

static void put_local(str *s, const entry *e)
{
    bool wide = e->size_bytes >= LIMIT;
    put(s, 0x04034b50, 4);
    put_common(s, e, wide ? 20 : 0);
    str_append(s, e->name);
    if (!wide) return;
    put(s, EXTRA_ZIP64, 2);
    put(s, 16, 2);
    put(s, e->size_bytes, 8);
    put(s, e->size_bytes, 8);
}

static void put_central(str *s, const entry *e)
{
    size_t sizes = e->size_bytes >= LIMIT ? 16 : 0, place = e->offset >= LIMIT ? 8 : 0;
    put(s, 0x02014b50, 4);
    put(s, VERSION | 3 << 8, 2); /* made on Unix, so that readers use the mode below */
    put_common(s, e, sizes + place ? 4 + sizes + place : 0);
    put(s, 0, 2); /* comment */
    put(s, 0, 2); /* disk */
    put(s, 0, 2); /* internal attributes */
    put(s, (uint64_t)0600 << 16, 4);
    put(s, clip(e->offset), 4);
    str_append(s, e->name);
    if (!(sizes + place)) return;
    put(s, EXTRA_ZIP64, 2);
    put(s, sizes + place, 2);
    if (sizes) put(s, e->size_bytes, 8);
    if (sizes) put(s, e->size_bytes, 8);
    if (place) put(s, e->offset, 8);
}

pgy_status zip_writer_add(zip_writer *z, const char *name, span head, span body, pgy_error *err)
{
    entry e = {
        .name = name, .size_bytes = head.size + body.size, .offset = file_writer_offset(z->file)};
    str header = {0};
    if (strlen(name) > UINT16_MAX - 16)
        return pgy_error_set(err, PGY_E_ARGUMENT, "zip: a member's name of %zu bytes is too long",
                             strlen(name));
    e.crc = (uint32_t)crc32_z(crc32_z(0, (const Bytef *)head.data, head.size),
                              (const Bytef *)body.data, body.size);
    put_local(&header, &e);
    put_central(&z->directory, &e);
    pgy_status st = header.failed || z->directory.failed
                        ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                        : PGY_OK;
    if (!st) st = file_writer_write(z->file, header.data, header.size, err);
    if (!st) st = file_writer_write(z->file, head.data, head.size, err);
    if (!st) st = file_writer_write(z->file, body.data, body.size, err);
    z->count++;
    str_deinit(&header);
    return st;
}

static void put_end64(str *s, uint64_t count, uint64_t size, uint64_t offset)
{
    put(s, 0x06064b50, 4);
    put(s, 44, 8); /* bytes of this record after here */
    put(s, VERSION | 3 << 8, 2);
    put(s, VERSION, 2);
    put(s, 0, 8); /* disks */
    put(s, count, 8);
    put(s, count, 8);
    put(s, size, 8);
    put(s, offset, 8);
    put(s, 0x07064b50, 4);
    put(s, 0, 4);
    put(s, offset + size, 8);
    put(s, 1, 4);
}

pgy_status zip_writer_finish(zip_writer *z, pgy_error *err)
{
    uint64_t offset = file_writer_offset(z->file), size = z->directory.size;
    uint64_t count = z->count < 0xffff ? z->count : 0xffff;
    str *s = &z->directory;
    if (count == 0xffff || size >= LIMIT || offset >= LIMIT) put_end64(s, z->count, size, offset);
    put(s, 0x06054b50, 4);
    put(s, 0, 4); /* disks */
    put(s, count, 2);
    put(s, count, 2);
    put(s, clip(size), 4);
    put(s, clip(offset), 4);
    put(s, 0, 2); /* comment */
    if (s->failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    return file_writer_write(z->file, s->data, s->size, err);
}

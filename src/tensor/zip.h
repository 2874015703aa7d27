/* SPDX-License-Identifier: Apache-2.0 */
/* Just enough of the zip format for .npz: members stored or deflated, zip64, no encryption, one
 * disk. */
#ifndef TENSOR_ZIP_H
#define TENSOR_ZIP_H

#include <polygraphy/tensor.h>

#include "base/file.h"
#include "base/str.h"

typedef struct zip_member {
    span name;
    bool deflated;
    uint32_t crc;
    size_t begin;        /* offset of the member's local header in the archive */
    const uint8_t *data; /* the member's bytes as stored in the archive */
    size_t stored_bytes, size_bytes;
} zip_member;

/* Reads the members of an archive in the order of its central directory. */
typedef struct zip_reader {
    const uint8_t *file;
    size_t size_bytes;
    size_t at, directory_end;
    uint64_t left; /* number of members not read yet */
} zip_reader;
bool zip_is_archive(const void *data, size_t size_bytes);
/* Checks all members first: PGY_E_FORMAT if two overlap. */
pgy_status zip_reader_init(zip_reader *z, const void *data, size_t size_bytes,
                           pgy_error *err) PGY_MUST_CHECK;
pgy_status zip_next(zip_reader *z, zip_member *out, bool *more, pgy_error *err) PGY_MUST_CHECK;

/* Reads a member sequentially and inflates it if it is deflated. zip_stream_finish checks its size
 * and CRC. */
typedef struct zip_stream zip_stream;
pgy_status zip_stream_open(zip_stream **out, const zip_member *m, pgy_error *err) PGY_MUST_CHECK;
/* Reads up to size_bytes; *got is smaller only at the member's end. */
pgy_status zip_stream_read(zip_stream *s, void *out, size_t size_bytes, size_t *got,
                           pgy_error *err) PGY_MUST_CHECK;
pgy_status zip_stream_finish(zip_stream *s, pgy_error *err) PGY_MUST_CHECK;
void zip_stream_destroy(zip_stream *s);

/* Writes stored members one after the other. */
typedef struct zip_writer {
    file_writer *file; /* borrowed */
    str directory;
    uint64_t count;
} zip_writer;
void zip_writer_deinit(zip_writer *z);
/* Writes one member, whose bytes are `head` and then `body`. */
pgy_status zip_writer_add(zip_writer *z, const char *name, span head, span body,
                          pgy_error *err) PGY_MUST_CHECK;
pgy_status zip_writer_finish(zip_writer *z, pgy_error *err) PGY_MUST_CHECK;

#endif

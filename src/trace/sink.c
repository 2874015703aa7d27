/* SPDX-License-Identifier: Apache-2.0 */
/* Where the writers of traces send bytes: a buffer before a file, and zlib between them. */
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "trace/trace.h"

enum { FLOW_BYTES = 1 << 18, GZIP_WINDOW = 15 + 16, FAST = 1, MEMORY_LEVEL = 8 };

struct trace_sink {
    file_writer *file;
    str text;
    bool compresses;
    z_stream z;
    uint8_t *packed;
    pgy_status st;
    pgy_error err;
};

pgy_status sink_create(trace_sink **out, file_writer *file, bool compresses, pgy_error *err)
{
    trace_sink *s = mem_calloc(1, sizeof *s);
    if (!s) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a trace is written");
    s->file = file;
    if (compresses) {
        s->packed = mem_alloc(FLOW_BYTES);
        s->compresses = s->packed && deflateInit2(&s->z, FAST, Z_DEFLATED, GZIP_WINDOW,
                                                  MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
        if (!s->compresses) {
            sink_destroy(s);
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a trace is written");
        }
    }
    *out = s;
    return PGY_OK;
}

void sink_destroy(trace_sink *s)
{
    if (!s) return;
    if (s->compresses) deflateEnd(&s->z);
    mem_free(s->packed);
    str_deinit(&s->text);
    mem_free(s);
}

str *sink_text(trace_sink *s)
{
    return &s->text;
}

static void pack(trace_sink *s, int flush)
{
    s->z.next_in = (Bytef *)str_text(&s->text);
    s->z.avail_in = (uInt)s->text.size;
    do {
        s->z.next_out = s->packed;
        s->z.avail_out = FLOW_BYTES;
        (void)deflate(&s->z, flush);
        const size_t made = FLOW_BYTES - s->z.avail_out;
        if (!s->st && made) s->st = file_writer_write(s->file, s->packed, made, &s->err);
    } while (!s->st && !s->z.avail_out);
}

static void write_out(trace_sink *s, int flush)
{
    if (s->text.failed && !s->st)
        s->st = pgy_error_set(&s->err, PGY_E_MEMORY, "out of memory while a trace is written");
    if (!s->st) s->st = cancel_check(&s->err);
    if (!s->st && s->compresses) pack(s, flush);
    if (!s->st && !s->compresses && s->text.size)
        s->st = file_writer_write(s->file, str_text(&s->text), s->text.size, &s->err);
    str_clear(&s->text);
}

void sink_flow(trace_sink *s)
{
    if (s->text.size >= FLOW_BYTES) write_out(s, Z_NO_FLUSH);
}

pgy_status sink_finish(trace_sink *s, pgy_error *err)
{
    write_out(s, Z_FINISH);
    return s->st ? pgy_error_set(err, s->st, "%s", s->err.text) : PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: a stream with Python's layout (indent of four, nothing inside empty containers,
 * ASCII only). All output goes through one large buffer; base64 is encoded straight into it. */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json_scan.h"
#include "base/pytext.h"
#include "base/utf8.h"

enum { BUFFER_SIZE = 512 << 10, DEPTH_LIMIT = 1024, INDENT = 4 };

struct json_writer {
    file_writer *file; /* output: either this file or the text below */
    str *text;
    pgy_status status;
    pgy_error error;
    int depth;
    bool after_key, for_html;
    uint8_t has_items[DEPTH_LIMIT];
    uint8_t pending[2]; /* base64 bytes that do not fill a group yet */
    size_t pending_count;
    size_t used;
    char buffer[BUFFER_SIZE];
};

static pgy_status create(json_writer **out, file_writer *file, str *text, pgy_error *err)
{
    json_writer *w = mem_alloc(sizeof *w);
    if (!w) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing JSON");
    memset(w, 0, offsetof(json_writer, buffer));
    w->file = file;
    w->text = text;
    *out = w;
    return PGY_OK;
}

pgy_status json_writer_create_file(json_writer **out, file_writer *file, pgy_error *err)
{
    return create(out, file, NULL, err);
}

pgy_status json_writer_create_str(json_writer **out, str *text, pgy_error *err)
{
    return create(out, NULL, text, err);
}

void json_for_html(json_writer *w)
{
    assert(w->depth == 0 && !w->used);
    w->for_html = true;
}

void json_writer_destroy(json_writer *w)
{
    mem_free(w);
}

static void flush(json_writer *w)
{
    if (!w->status && w->file)
        w->status = file_writer_write(w->file, w->buffer, w->used, &w->error);
    if (!w->status && w->text) {
        str_append_n(w->text, w->buffer, w->used);
        if (w->text->failed)
            w->status = pgy_error_set(&w->error, PGY_E_MEMORY, "out of memory while writing JSON");
    }
    w->used = 0;
}

pgy_status json_writer_finish(json_writer *w, pgy_error *err)
{
    assert(w->depth == 0 || w->status);
    flush(w);
    return w->status ? pgy_error_set(err, w->status, "%s", w->error.text) : PGY_OK;
}

void json_fail(json_writer *w, pgy_status status, const char *text)
{
    if (!w->status) w->status = pgy_error_set(&w->error, status, "%s", text);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static void put(json_writer *w, const char *text, size_t size)
{
    while (size > BUFFER_SIZE - w->used) {
        const size_t room = BUFFER_SIZE - w->used;
        memcpy(w->buffer + w->used, text, room);
        w->used = BUFFER_SIZE;
        text += room;
        size -= room;
        flush(w);
    }
    if (size) memcpy(w->buffer + w->used, text, size);
    w->used += size;
}

static void put_char(json_writer *w, char c)
{
    if (w->used == BUFFER_SIZE) flush(w);
    w->buffer[w->used++] = c;
}

static void new_line(json_writer *w)
{
    if (w->for_html) return;
    put_char(w, '\n');
    for (int i = 0; i < w->depth * INDENT; i++) put_char(w, ' ');
}

/* Writes the separator between the previous item of the container and the next one. */
static void begin_item(json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (w->depth == 0) return;
    if (w->has_items[w->depth - 1]) put_char(w, ',');
    w->has_items[w->depth - 1] = 1;
    new_line(w);
}

/* ---- containers ----------------------------------------------------------------------------- */

static void begin(json_writer *w, char bracket)
{
    begin_item(w);
    put_char(w, bracket);
    if (w->depth == DEPTH_LIMIT) {
        if (!w->status)
            w->status =
                pgy_error_set(&w->error, PGY_E_UNSUPPORTED,
                              "cannot write JSON that is nested more than 1024 levels deep");
        return;
    }
    w->has_items[w->depth++] = 0;
}

static void end(json_writer *w, char bracket)
{
    if (w->depth == 0) return;
    w->depth--;
    if (w->has_items[w->depth]) new_line(w);
    put_char(w, bracket);
}

void json_begin_object(json_writer *w)
{
    begin(w, '{');
}

void json_end_object(json_writer *w)
{
    end(w, '}');
}

void json_begin_array(json_writer *w)
{
    begin(w, '[');
}

void json_end_array(json_writer *w)
{
    end(w, ']');
}

/* ---- parts ---------------------------------------------------------------------------------- */

void json_begin_part(json_writer *w, int depth)
{
    assert(w->depth == 0 && depth > 0 && depth < DEPTH_LIMIT);
    w->depth = depth;
    w->has_items[depth - 1] = 0;
}

void json_end_part(json_writer *w)
{
    w->depth = 0;
}

void json_insert(json_writer *w, const file_map *part)
{
    assert(w->depth > 0);
    if (!part->size_bytes) return;
    if (w->has_items[w->depth - 1]) put_char(w, ',');
    w->has_items[w->depth - 1] = 1;
    if (!w->file) {
        put(w, part->data, part->size_bytes);
        return;
    }
    flush(w);
    if (!w->status) w->status = file_writer_copy(w->file, part, 0, part->size_bytes, &w->error);
}

/* ---- strings -------------------------------------------------------------------------------- */

static void put_unit(json_writer *w, uint32_t unit)
{
    char text[8];
    put(w, text, (size_t)snprintf(text, sizeof text, "\\u%04x", unit));
}

static void put_escaped(json_writer *w, uint32_t c)
{
    static const char SPECIAL[] = "\"\\\b\f\n\r\t", LETTERS[] = "\"\\bfnrt";
    const char *known = c && c < 0x80 ? strchr(SPECIAL, (char)c) : NULL;
    if (known) {
        put_char(w, '\\');
        put_char(w, LETTERS[known - SPECIAL]);
    } else if (c < 0x10000) {
        put_unit(w, c);
    } else {
        put_unit(w, 0xD800 + ((c - 0x10000) >> 10));
        put_unit(w, 0xDC00 + ((c - 0x10000) & 0x3FF));
    }
}

static void put_byte(json_writer *w, unsigned byte)
{
    char text[8];
    snprintf(text, sizeof text, "\\\\x%02x", byte);
    put(w, text, strlen(text));
}

/* The first byte in [p, end) that a page's markup could begin or end with. */
static const char *before_markup(const char *p, const char *end)
{
    while (p < end && *p != '<' && *p != '>' && *p != '&') p++;
    return p;
}

/* A byte that is not UTF-8 becomes the four characters \xNN, as on the terminal. Every reader
 * accepts them, and different names stay different. */
static void put_string(json_writer *w, const char *p, size_t size)
{
    const char *const stop = p + size;
    put_char(w, '"');
    while (p < stop) {
        const char *plain = json_scan_plain(p, stop);
        if (w->for_html) plain = before_markup(p, plain);
        put(w, p, (size_t)(plain - p));
        p = plain;
        if (p == stop) break;
        uint32_t c;
        const size_t n = utf8_read(p, stop, &c);
        if (n)
            put_escaped(w, c);
        else
            put_byte(w, (unsigned char)*p);
        p += n ? n : 1;
    }
    put_char(w, '"');
}

void json_key(json_writer *w, const char *key)
{
    begin_item(w);
    put_string(w, key, strlen(key));
    put(w, ": ", w->for_html ? 1 : 2);
    w->after_key = true;
}

void json_text(json_writer *w, const char *utf8)
{
    json_text_n(w, utf8, strlen(utf8));
}

void json_text_n(json_writer *w, const char *utf8, size_t size)
{
    begin_item(w);
    put_string(w, utf8, size);
}

/* ---- plain values --------------------------------------------------------------------------- */

static void put_word(json_writer *w, const char *word)
{
    begin_item(w);
    put(w, word, strlen(word));
}

void json_null(json_writer *w)
{
    put_word(w, "null");
}

void json_bool(json_writer *w, bool v)
{
    put_word(w, v ? "true" : "false");
}

void json_int(json_writer *w, int64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)v);
    put_word(w, text);
}

void json_uint(json_writer *w, uint64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    put_word(w, text);
}

/* Strict JSON, short: 12 instead of 12.0. */
static void put_real_for_html(json_writer *w, double v)
{
    char text[32];
    if (!isfinite(v)) {
        put_word(w, isnan(v) ? "\"nan\"" : v > 0 ? "\"inf\"" : "\"-inf\"");
        return;
    }
    size_t size = py_double_repr(text, v);
    if (size > 2 && text[size - 1] == '0' && text[size - 2] == '.') size -= 2;
    begin_item(w);
    put(w, text, size);
}

void json_real(json_writer *w, double v)
{
    char text[32];
    if (w->for_html) {
        put_real_for_html(w, v);
    } else if (isnan(v)) {
        put_word(w, "NaN");
    } else if (isinf(v)) {
        put_word(w, v < 0 ? "-Infinity" : "Infinity");
    } else {
        begin_item(w);
        put(w, text, py_double_repr(text, v));
    }
}

void json_real_or_text(json_writer *w, double v)
{
    if (isfinite(v) || w->for_html)
        json_real(w, v);
    else
        json_text(w, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
}

/* ---- items of objects ----------------------------------------------------------------------- */

void json_put_bool(json_writer *w, const char *key, bool v)
{
    json_key(w, key);
    json_bool(w, v);
}

void json_put_int(json_writer *w, const char *key, int64_t v)
{
    json_key(w, key);
    json_int(w, v);
}

void json_put_uint(json_writer *w, const char *key, uint64_t v)
{
    json_key(w, key);
    json_uint(w, v);
}

void json_put_real(json_writer *w, const char *key, double v)
{
    json_key(w, key);
    json_real(w, v);
}

void json_put_text(json_writer *w, const char *key, const char *utf8)
{
    json_key(w, key);
    if (utf8)
        json_text(w, utf8);
    else
        json_null(w);
}

void json_put_null(json_writer *w, const char *key)
{
    json_key(w, key);
    json_null(w);
}

void json_put_ints(json_writer *w, const char *key, const int64_t *items, size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) json_int(w, items[i]);
    json_end_array(w);
}

/* ---- base64 --------------------------------------------------------------------------------- */

static void put_base64(json_writer *w, const uint8_t *data, size_t size)
{
    while (size) {
        if (BUFFER_SIZE - w->used < 4) flush(w);
        size_t part = (BUFFER_SIZE - w->used) / 4 * 3;
        if (part > size) part = size;
        base64_encode(w->buffer + w->used, data, part);
        w->used += base64_encoded_size(part);
        data += part;
        size -= part;
    }
}

void json_base64_begin(json_writer *w)
{
    begin_item(w);
    put_char(w, '"');
    w->pending_count = 0;
}

void json_base64_append(json_writer *w, const void *data, size_t size_bytes)
{
    const uint8_t *p = data;
    while (w->pending_count && size_bytes) {
        if (w->pending_count == 2) {
            const uint8_t group[3] = {w->pending[0], w->pending[1], *p};
            put_base64(w, group, 3);
            w->pending_count = 0;
        } else {
            w->pending[w->pending_count++] = *p;
        }
        p++;
        size_bytes--;
    }
    const size_t whole = size_bytes / 3 * 3;
    put_base64(w, p, whole);
    for (size_t i = whole; i < size_bytes; i++) w->pending[w->pending_count++] = p[i];
}

void json_base64_end(json_writer *w)
{
    put_base64(w, w->pending, w->pending_count);
    put_char(w, '"');
    w->pending_count = 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

pgy_status json_output_open(json_output *out, const char *path, pgy_error *err)
{
    json_output o = {0};
    pgy_status st = file_writer_create(&o.file, path, err);
    if (!st) st = json_writer_create_file(&o.json, o.file, err);
    if (st)
        json_output_close(&o);
    else
        *out = o;
    return st;
}

pgy_status json_output_commit(json_output *o, pgy_error *err)
{
    pgy_status st = json_writer_finish(o->json, err);
    return st ? st : file_writer_commit(o->file, err);
}

void json_output_close(json_output *o)
{
    json_writer_destroy(o->json);
    file_writer_destroy(o->file);
    *o = (json_output){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Files of traces that are read: the container. Events are parsed one by one, because the tree of a
 * whole file takes ten times its size. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "trace/trace.h"

enum { CHUNK = 1 << 18, GZIP_WINDOW = 15 + 16 };
static const size_t MOST_BYTES = (size_t)1 << 30;

/* ---- Bytes ---------------------------------------------------------------------------------- */

static pgy_status too_long(const char *path, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT,
                         "%s: has more than %zu bytes of text; record fewer runs", path,
                         MOST_BYTES);
}

static pgy_status inflate_all(str *out, z_stream *z, const char *path, pgy_error *err)
{
    uint8_t *chunk = mem_alloc(CHUNK);
    int code = Z_OK;
    pgy_status st = chunk ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    while (!st && code != Z_STREAM_END) {
        z->next_out = chunk;
        z->avail_out = CHUNK;
        code = inflate(z, Z_NO_FLUSH);
        str_append_n(out, (const char *)chunk, CHUNK - z->avail_out);
        if (code == Z_BUF_ERROR)
            st = pgy_error_set(err, PGY_E_FORMAT, "%s: the compressed data is cut off", path);
        else if (code != Z_OK && code != Z_STREAM_END)
            st = pgy_error_set(err, PGY_E_FORMAT, "%s: the compressed data is damaged: %s", path,
                               z->msg ? z->msg : "unknown code");
        else if (out->failed)
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        else if (out->size > MOST_BYTES)
            st = too_long(path, err);
        else
            st = cancel_check(err);
    }
    mem_free(chunk);
    return st;
}

/* Replaces a compressed text by what it contains. */
static pgy_status decompress(str *text, const char *path, pgy_error *err)
{
    z_stream z = {.next_in = (Bytef *)text->data, .avail_in = (uInt)text->size};
    str plain = {0};
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const pgy_status st = inflate_all(&plain, &z, path, err);
    inflateEnd(&z);
    if (st) {
        str_deinit(&plain);
        return st;
    }
    str_deinit(text);
    *text = plain;
    return PGY_OK;
}

/* ---- The container -------------------------------------------------------------------------- */

typedef pgy_status (*read_item)(trace_reader *r, const json_value *item, pgy_error *err);

static pgy_status prefix(const trace_reader *r, pgy_status st, pgy_error *err)
{
    if (st && !status_ends_all(st)) pgy_error_prefix(err, st, "%s: ", r->path);
    return st;
}

/* The first item tells what an array contains. */
static read_item reader_of(const json_value *item)
{
    if (json_get(item, "ph")) return trace_read_event;
    if (json_get(item, "startComputeMs")) return trace_read_times;
    return json_get(item, "count") && !json_get(item, "name") ? trace_read_profile
                                                              : trace_read_event;
}

/* `read` NULL: the array is the whole text. Programs that write such an array while they run end it
 * only when they end, so viewers accept it without its end. */
static pgy_status read_array(trace_reader *r, json_cursor *at, read_item read, pgy_error *err)
{
    const bool may_be_open = !read;
    pgy_status st = json_expect(at, '[', "'['", err);
    if (!st && json_peek(at) == ']') return json_expect(at, ']', "']'", err);
    for (bool more = true; !st && more;) {
        json_value *item = NULL;
        st = json_next(&item, at, &r->item, err);
        if (!st && !read) read = reader_of(item);
        if (!st && ++r->count > TRACE_MOST_EVENTS)
            st = pgy_error_set(err, PGY_E_FORMAT, "line %u: more than %d events", at->line,
                               TRACE_MOST_EVENTS);
        if (!st) st = read(r, item, err);
        arena_deinit(&r->item);
        if (!st) st = cancel_check(err);
        more = !st && json_peek(at) == ',';
        if (more) at->p++;
        if (!st && may_be_open && read == trace_read_event && json_peek(at) == -1)
            return pgy_trace_set_fact(r->trace, "cut_off", "true", err);
    }
    return st ? st : json_expect(at, ']', "',' or ']'", err);
}

/* Members of otherData become facts; their values stay the JSON that they are. */
static pgy_status read_facts(trace_reader *r, json_cursor *at, pgy_error *err)
{
    pgy_status st = json_expect(at, '{', "an object", err);
    if (!st && json_peek(at) == '}') return json_expect(at, '}', "'}'", err);
    for (bool more = true; !st && more;) {
        json_value *key = NULL, *value = NULL;
        if (json_peek(at) != '"') return json_expect(at, '"', "a name", err);
        st = json_next(&key, at, &r->item, err);
        if (!st) st = json_expect(at, ':', "':'", err);
        if (st) break;
        json_peek(at);
        const char *from = at->p;
        st = json_next(&value, at, &r->item, err);
        if (st) break;
        const char *name = json_string(key, &r->item, NULL);
        const char *json = arena_strndup(&r->item, from, (size_t)(at->p - from));
        st = name && json ? pgy_trace_set_fact(r->trace, name, json, err)
                          : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        arena_deinit(&r->item);
        more = !st && json_peek(at) == ',';
        if (more) at->p++;
    }
    return st ? st : json_expect(at, '}', "',' or '}'", err);
}

static pgy_status read_member(trace_reader *r, json_cursor *at, bool *has_events, pgy_error *err)
{
    json_value *key = NULL, *value = NULL;
    if (json_peek(at) != '"') return json_expect(at, '"', "a name", err);
    pgy_status st = json_next(&key, at, &r->item, err);
    if (!st) st = json_expect(at, ':', "':'", err);
    if (st) return st;
    const char *name = json_string(key, &r->item, NULL);
    if (!name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const bool is_events = !strcmp(name, "traceEvents"), is_facts = !strcmp(name, "otherData");
    if (is_events && *has_events)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: a second 'traceEvents'", at->line);
    if (is_events) *has_events = true;
    if (!strcmp(name, "schemaVersion")) r->torch++;
    const int next = json_peek(at);
    if (is_events) return read_array(r, at, trace_read_event, err);
    if (is_facts && next == '{') return read_facts(r, at, err);
    st = json_next(&value, at, &r->item, err);
    arena_deinit(&r->item);
    return st;
}

static pgy_status read_object(trace_reader *r, json_cursor *at, pgy_error *err)
{
    bool has_events = false;
    pgy_status st = json_expect(at, '{', "'{'", err);
    if (!st && json_peek(at) != '}')
        for (bool more = true; !st && more;) {
            st = read_member(r, at, &has_events, err);
            more = !st && json_peek(at) == ',';
            if (more) at->p++;
        }
    if (!st) st = json_expect(at, '}', "',' or '}'", err);
    if (!st && !has_events)
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "the object has no member 'traceEvents', so it is not a timeline");
    return st;
}

static pgy_status read_text(trace_reader *r, span text, pgy_error *err)
{
    json_cursor at = json_cursor_at(text);
    const int first = json_peek(&at);
    pgy_status st;
    if (first == '{')
        st = read_object(r, &at, err);
    else if (first == '[')
        st = read_array(r, &at, NULL, err);
    else
        return trace_read_tables(r, text, err);
    if (!st && json_peek(&at) != -1)
        st = pgy_error_set(err, PGY_E_FORMAT, "line %u: text behind the end of the timeline",
                           at.line);
    return st;
}

/* `text` NULL: the file is a database. */
static pgy_status read_all(pgy_trace **out, const span *text, const char *path, pgy_error *err)
{
    trace_reader r = {.path = path, .first_ns = INT64_MAX};
    pgy_status st = pgy_trace_create(&r.trace, err);
    if (!st) st = text ? read_text(&r, *text, err) : trace_read_nsys(&r, err);
    if (!st) st = trace_read_end(&r, err);
    st = prefix(&r, st, err);
    if (st)
        pgy_trace_destroy(r.trace);
    else
        *out = r.trace;
    arena_deinit(&r.item);
    strmap_deinit(&r.rows);
    strmap_deinit(&r.processes);
    strmap_deinit(&r.words);
    strmap_deinit(&r.warm);
    strmap_deinit(&r.ids);
    mem_free(r.edges);
    return st;
}

pgy_status trace_parse(pgy_trace **out, span text, const char *path, pgy_error *err)
{
    return read_all(out, &text, path, err);
}

/* Databases may be larger than memory, so they are not read as a text. */
static bool is_database(const char *path)
{
    static const char MAGIC[] = "SQLite format 3";
    char start[sizeof MAGIC] = {0};
    struct stat s;
    if (stat(path, &s) || !S_ISREG(s.st_mode)) return false;
    FILE *f = fopen(path, "rbe");
    const bool whole = f && fread(start, 1, sizeof start, f) == sizeof start;
    if (f) fclose(f);
    return whole && !memcmp(start, MAGIC, sizeof start);
}

pgy_status pgy_trace_load(pgy_trace **out, const char *path, pgy_error *err)
{
    str text = {0};
    uint64_t size = 0;
    if (is_database(path)) return read_all(out, NULL, path, err);
    pgy_status st = file_size(&size, path, err);
    if (!st && size > MOST_BYTES) st = too_long(path, err);
    if (!st) st = file_read(&text, path, err);
    if (!st && text.size > MOST_BYTES) st = too_long(path, err);
    if (!st && text.size > 2 && !memcmp(text.data, "\x1f\x8b", 2))
        st = decompress(&text, path, err);
    if (!st) st = trace_parse(out, (span){str_text(&text), text.size}, path, err);
    str_deinit(&text);
    return st;
}

const char *pgy_trace_source(const pgy_trace *t)
{
    return t->source ? t->source : "Polygraphy";
}

/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in the dialect of Python's json module: NaN and Infinity, 4-space
 * indentation, ASCII output, float repr. Reading builds a small tree whose strings are views into
 * the text, so a file with gigabytes of base64 costs only its nodes; writing is a stream. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <polygraphy/base.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"

typedef enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_REAL,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} json_type;

typedef struct json_value json_value;
struct json_value {
    json_type type;
    bool boolean;
    bool escaped;    /* string: raw contains backslash escapes */
    int64_t integer; /* value of JSON_INT; an integer beyond int64 is JSON_REAL, and `raw` keeps its
                        digits */
    double real;     /* JSON_REAL, and JSON_INT as double */
    span raw;        /* string: text between the quotes; numbers: the digits */
    size_t count;    /* number of items of an array or object */
    json_value *first, *next; /* first child of an array or object; next sibling */
    span key;                 /* decoded key of this value in its object */
    uint32_t line, column;    /* where the value begins, from 1, for messages */
};

/* Parses text that must outlive the tree. Nesting over 512 levels, trailing text, invalid UTF-8 and
 * invalid escapes are PGY_E_FORMAT with line and column. Duplicate keys: the last one wins (earlier
 * ones are unlinked). */
pgy_status json_parse(json_value **out, const char *text, size_t size_bytes, arena *a,
                      pgy_error *err) PGY_MUST_CHECK;
json_value *json_get(const json_value *object,
                     const char *key); /* NULL if absent or not an object */
json_value *json_at(const json_value *array, size_t index);
/* Gives a decoded string, owned by the arena and terminated; NULL: out of memory. size may be NULL.
 */
const char *json_string(const json_value *v, arena *a, size_t *size);

/* Reads a long text value by value, so that memory holds one item of a large array at a time. */
typedef struct json_cursor {
    const char *p, *end, *line_start;
    uint32_t line;
} json_cursor;
json_cursor json_cursor_at(span text);
int json_peek(json_cursor *c); /* the next byte that is not blank; -1: the end of the text */
/* Steps over a bracket, comma or colon. `what` names it in the error: "',' or ']'". */
pgy_status json_expect(json_cursor *c, char byte, const char *what, pgy_error *err) PGY_MUST_CHECK;
/* Parses one value, and moves behind it. */
pgy_status json_next(json_value **out, json_cursor *c, arena *a, pgy_error *err) PGY_MUST_CHECK;

/* Where writers send bytes: a file_writer or a str. */
typedef struct json_writer json_writer;
pgy_status json_writer_create_file(json_writer **out, file_writer *file,
                                   pgy_error *err) PGY_MUST_CHECK;
pgy_status json_writer_create_str(json_writer **out, str *text, pgy_error *err) PGY_MUST_CHECK;
/* From now on: no blanks, no line breaks, `<`, `>` and `&` escaped, so that the document can stand
 * in a <script> of a page; NaN and infinities are the texts "nan", "inf" and "-inf", since a
 * browser reads strict JSON. Call it before the first value. */
void json_for_html(json_writer *w);
void json_writer_destroy(json_writer *w);
/* The writer keeps its first error, so callers check only here. */
pgy_status json_writer_finish(json_writer *w, pgy_error *err) PGY_MUST_CHECK;
/* Makes json_writer_finish fail with this error: for functions that write, and fail for another
 * reason. */
void json_fail(json_writer *w, pgy_status status, const char *text);
/* A part holds later items of a container, written to another file while the container's earlier
 * items are still being made. It lies `depth` containers deep and has no brackets of its own.
 * json_insert copies it into the container. */
void json_begin_part(json_writer *w, int depth);
void json_end_part(json_writer *w);
/* Appends the items of a part to the current container, which must be as deep as the part. */
void json_insert(json_writer *w, const file_map *part);
void json_begin_object(json_writer *w);
void json_end_object(json_writer *w);
void json_begin_array(json_writer *w);
void json_end_array(json_writer *w);
void json_key(json_writer *w, const char *key);
void json_null(json_writer *w);
void json_bool(json_writer *w, bool v);
void json_int(json_writer *w, int64_t v);
void json_uint(json_writer *w, uint64_t v);
void json_real(json_writer *w, double v); /* Python float repr */
/* For readers of strict JSON, which has no NaN and infinities: these become strings. */
void json_real_or_text(json_writer *w, double v);
void json_text(json_writer *w, const char *utf8);
void json_text_n(json_writer *w, const char *utf8, size_t size);
/* An item of an object: its key and its value. */
void json_put_bool(json_writer *w, const char *key, bool v);
void json_put_int(json_writer *w, const char *key, int64_t v);
void json_put_uint(json_writer *w, const char *key, uint64_t v);
void json_put_real(json_writer *w, const char *key, double v);
void json_put_text(json_writer *w, const char *key, const char *utf8); /* NULL: null */
void json_put_null(json_writer *w, const char *key);
void json_put_ints(json_writer *w, const char *key, const int64_t *items, size_t count);
/* A string given in pieces of base64-encoded bytes: begin, any number of appends, end. */
void json_base64_begin(json_writer *w);
void json_base64_append(json_writer *w, const void *data, size_t size_bytes);
void json_base64_end(json_writer *w);

/* A JSON file: open it, write to `json`, commit, and always close. Without commit no file appears.
 * Close accepts a zeroed struct. */
typedef struct json_output {
    file_writer *file;
    json_writer *json;
} json_output;
pgy_status json_output_open(json_output *out, const char *path, pgy_error *err) PGY_MUST_CHECK;
pgy_status json_output_commit(json_output *o, pgy_error *err) PGY_MUST_CHECK;
void json_output_close(json_output *o);

/* Writes one document. */
typedef pgy_status (*json_body)(json_writer *w, const void *user, pgy_error *err);
/* Write one document, either to a file that appears whole or not at all, or to a text (free it with
 * mem_free). */
pgy_status json_save(const char *path, json_body write, const void *user,
                     pgy_error *err) PGY_MUST_CHECK;
pgy_status json_to_text(char **out, json_body write, const void *user,
                        pgy_error *err) PGY_MUST_CHECK;

#endif

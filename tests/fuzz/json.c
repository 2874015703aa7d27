/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: what parses is written back and parsed again; both trees must be equal, and writing the
 * second one must give the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_value(json_writer *w, const json_value *v, arena *a)
{
    size_t size = 0;
    const char *text = NULL;
    switch (v->type) {
    case JSON_NULL: json_null(w); break;
    case JSON_BOOL: json_bool(w, v->boolean); break;
    case JSON_INT: json_int(w, v->integer); break;
    case JSON_REAL: json_real(w, v->real); break;
    case JSON_STRING:
        text = json_string(v, a, &size);
        if (!text) abort();
        json_text_n(w, text, size);
        break;
    case JSON_ARRAY:
        json_begin_array(w);
        for (const json_value *c = v->first; c; c = c->next) write_value(w, c, a);
        json_end_array(w);
        break;
    case JSON_OBJECT:
        json_begin_object(w);
        for (const json_value *c = v->first; c; c = c->next) {
            char *key = arena_strndup(a, c->key.data, c->key.size);
            if (!key) abort();
            json_key(w, key);
            write_value(w, c, a);
        }
        json_end_object(w);
        break;
    }
}

static void write_text(str *out, const json_value *v, arena *a)
{
    json_writer *w = NULL;
    if (json_writer_create_str(&w, out, NULL)) abort();
    write_value(w, v, a);
    if (json_writer_finish(w, NULL)) abort();
    json_writer_destroy(w);
}

/* Keys with a zero byte are cut by json_key, so trees that have one are not compared. */
static int has_odd_key(const json_value *v)
{
    for (const json_value *c = v->first; c; c = c->next)
        if ((c->key.size && memchr(c->key.data, 0, c->key.size)) || has_odd_key(c)) return 1;
    return 0;
}

static int equal(const json_value *a, const json_value *b, arena *memory)
{
    if (a->type != b->type || a->count != b->count || a->boolean != b->boolean) return 0;
    if (a->type == JSON_INT && a->integer != b->integer) return 0;
    if (a->type == JSON_REAL && a->real == a->real && a->real != b->real) return 0;
    if (a->type == JSON_STRING) {
        size_t n = 0, m = 0;
        const char *x = json_string(a, memory, &n), *y = json_string(b, memory, &m);
        if (!x || !y || n != m || memcmp(x, y, n) != 0) return 0;
    }
    for (a = a->first, b = b->first; a && b; a = a->next, b = b->next)
        if (!span_equal(a->key, b->key) || !equal(a, b, memory)) return 0;
    return !a && !b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a = {0};
    json_value *first = NULL, *second = NULL;
    str once = {0}, twice = {0};
    pgy_error err = {0};
    if (json_parse(&first, (const char *)data, size, &a, &err) == PGY_OK && !has_odd_key(first)) {
        write_text(&once, first, &a);
        if (json_parse(&second, once.data, once.size, &a, &err)) abort();
        if (!equal(first, second, &a)) abort();
        write_text(&twice, second, &a);
        if (once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0) abort();
    }
    str_deinit(&once);
    str_deinit(&twice);
    arena_deinit(&a);
    return 0;
}

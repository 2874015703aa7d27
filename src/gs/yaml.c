/* SPDX-License-Identifier: Apache-2.0 */
/* Reads YAML by recursive descent over the text. Structure comes from columns: what belongs to a
 * key or a dash stands further right, but for the dashes of a list, which may stand below their
 * key. What a plain scalar means is decided by yaml_scalar.c's table. */
#include "gs/yaml.h"

#include <string.h>

#include "base/utf8.h"
#include "gs/yaml_scalar.h"

enum { MAX_DEPTH = 64, MAX_REPEATED = 1 << 20 };

/* "&name" in front of a value, for which "*name" stands later. */
typedef struct anchor {
    span name;
    const json_value *value; /* NULL: not read to its end yet */
    size_t size;             /* values in it */
    struct anchor *next;
} anchor;

typedef struct yaml {
    const char *p, *end, *line_start;
    uint32_t line;
    int depth;
    size_t made, repeated; /* values read, and by how many more aliases made the tree grow */
    anchor *anchors;
    arena *memory;
    pgy_error *err;
    pgy_status st;
} yaml;

static long column(const yaml *y)
{
    return (long)(y->p - y->line_start);
}

static json_value *fail(yaml *y, const char *what)
{
    if (!y->st)
        y->st = pgy_error_set(y->err, PGY_E_FORMAT, "line %u column %ld: %s", y->line,
                              column(y) + 1, what);
    return NULL;
}

static json_value *no_memory(yaml *y)
{
    if (!y->st) y->st = pgy_error_set(y->err, PGY_E_MEMORY, "out of memory");
    return NULL;
}

static json_value *make(yaml *y, json_type type)
{
    json_value *v = y->st ? NULL : arena_alloc(y->memory, sizeof *v);
    if (!v) return no_memory(y);
    y->made++;
    v->type = type;
    v->line = y->line;
    v->column = (uint32_t)(column(y) + 1);
    return v;
}

static char peek(const yaml *y, size_t ahead)
{
    return (size_t)(y->end - y->p) > ahead ? y->p[ahead] : '\n';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool at_end(const yaml *y)
{
    return y->p >= y->end;
}

static void skip_spaces(yaml *y)
{
    while (!at_end(y) && (*y->p == ' ' || *y->p == '\t')) y->p++;
    if (!at_end(y) && *y->p == '#' && (y->p == y->line_start || is_space(y->p[-1])))
        while (!at_end(y) && *y->p != '\n') y->p++;
    if (!at_end(y) && *y->p == '\r') y->p++;
}

/* To the next token, over ends of lines and comments. */
static void skip_lines(yaml *y)
{
    for (;;) {
        skip_spaces(y);
        if (at_end(y) || *y->p != '\n') break;
        y->p++;
        y->line++;
        y->line_start = y->p;
    }
    if (!at_end(y) && memchr(y->line_start, '\t', (size_t)(y->p - y->line_start)) &&
        y->p[-1] == '\t')
        fail(y, "a tab in front of a value");
}

static bool ends_line(yaml *y)
{
    skip_spaces(y);
    return at_end(y) || *y->p == '\n';
}

static bool at_marker(const yaml *y, const char *marker)
{
    return y->p == y->line_start && y->end - y->p >= 3 && !memcmp(y->p, marker, 3) &&
           is_space(peek(y, 3));
}

static bool document_ends(const yaml *y)
{
    return at_end(y) || at_marker(y, "---") || at_marker(y, "...");
}

/* ---- Quoted scalars ---- */

static int hex(yaml *y, int digits, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++) {
        const char c = peek(y, 0);
        const int v = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
        if (v < 0) return -1;
        *out = *out << 4 | (uint32_t)v;
        y->p++;
    }
    return 0;
}

static void append_utf8(str *out, uint32_t c)
{
    char bytes[4];
    str_append_n(out, bytes, utf8_write(bytes, c));
}

/* The end of a line inside a scalar: one stands for a blank, more for one less ends of lines.
 * `escaped`: for nothing. */
static void fold(yaml *y, str *out, bool escaped)
{
    size_t lines = 0;
    while (!escaped && out->size && (str_text(out)[out->size - 1] == ' '))
        out->data[--out->size] = 0;
    while (!at_end(y) && is_space(*y->p)) {
        if (*y->p == '\n') {
            lines++;
            y->line++;
            y->line_start = y->p + 1;
        }
        y->p++;
    }
    if (lines > 1)
        str_append_fill(out, '\n', lines - 1);
    else if (!escaped)
        str_append_char(out, ' ');
}

static void escape(yaml *y, str *out)
{
    static const char NAMES[] = "0abtnvfre \"/\\", VALUES[] = "\0\a\b\t\n\v\f\r\x1b \"/\\";
    uint32_t code;
    const char c = peek(y, 0);
    const char *known = c ? strchr(NAMES, c) : NULL;
    if (c == '\n' || c == '\r') {
        fold(y, out, true);
        return;
    }
    y->p++;
    if (known && VALUES[known - NAMES]) {
        str_append_char(out, VALUES[known - NAMES]);
        return;
    }
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (!digits || hex(y, digits, &code) || !code || code > 0x10FFFF ||
        (code >= 0xD800 && code < 0xE000))
        fail(y, "an escape that is none, or stands for a zero byte");
    else
        append_utf8(out, code);
}

static void read_quoted(yaml *y, str *out)
{
    const char quote = *y->p++;
    while (!y->st) {
        if (at_end(y)) {
            fail(y, "a quoted text without end");
        } else if (*y->p == quote) {
            y->p++;
            if (quote != '\'' || at_end(y) || *y->p != '\'') return;
            str_append_char(out, *y->p++);
        } else if (*y->p == '\\' && quote == '"') {
            y->p++;
            escape(y, out);
        } else if (*y->p == '\n' || *y->p == '\r') {
            fold(y, out, false);
        } else if (*y->p == 0) {
            fail(y, "a zero byte");
        } else {
            str_append_char(out, *y->p++);
        }
    }
}

/* ---- Plain scalars ---- */

static bool plain_ends(const yaml *y, bool flow)
{
    const char c = peek(y, 0), next = peek(y, 1);
    if (at_end(y) || c == '\n' || c == '\r') return true;
    if (c == '#' && y->p > y->line_start && is_space(y->p[-1])) return true;
    if (c == ':' && (is_space(next) || (flow && strchr(",[]{}", next)))) return true;
    return flow && strchr(",[]{}", c);
}

static void read_plain_line(yaml *y, str *out, bool flow)
{
    while (!y->st && !plain_ends(y, flow)) {
        const unsigned char c = (unsigned char)*y->p;
        if (c == 0 || (c < 0x20 && c != '\t'))
            fail(y, "a control character");
        else
            str_append_char(out, *y->p++);
    }
    while (out->size && (out->data[out->size - 1] == ' ' || out->data[out->size - 1] == '\t'))
        out->data[--out->size] = 0;
}

static void check_plain_start(yaml *y)
{
    const char c = peek(y, 0);
    if (c && strchr("&*!|>%@`", c))
        fail(y, "anchors, tags, block scalars and directives are not understood here");
    else if (c && strchr(",]}", c))
        fail(y, "a value should stand here");
    else if ((c == '?' || c == '-' || c == ':') && is_space(peek(y, 1)))
        fail(y, c == '?' ? "complex keys are not understood here" : "a value should stand here");
}

/* Lines that stand further right than the parent go on with the text. */
static void read_plain(yaml *y, str *out, long parent, bool flow)
{
    check_plain_start(y);
    read_plain_line(y, out, flow);
    while (!y->st && !flow && ends_line(y) && !at_end(y)) {
        const yaml before = *y;
        str more = {0};
        const uint32_t line = y->line;
        skip_lines(y);
        if (y->st || document_ends(y) || column(y) <= parent) {
            const pgy_status st = y->st;
            *y = before;
            y->st = st;
            return;
        }
        read_plain_line(y, &more, false);
        if (!y->st && peek(y, 0) == ':') fail(y, "a key inside a text of several lines");
        str_append(out, y->line > line + 1 ? "\n" : " ");
        str_append(out, str_text(&more));
        str_deinit(&more);
    }
}

/* ---- Values ---- */

static json_value *keep_text(yaml *y, json_value *v, str *text, bool plain)
{
    char *kept =
        text->failed || y->st || !v ? NULL : arena_strndup(y->memory, str_text(text), text->size);
    if (!kept) {
        str_deinit(text);
        return no_memory(y);
    }
    v->raw = (span){kept, text->size};
    str_deinit(text);
    if (plain) yaml_resolve(v, kept);
    return v;
}

static json_value *read_scalar(yaml *y, long parent, bool flow)
{
    str text = {0};
    json_value *v = make(y, JSON_STRING);
    const bool plain = peek(y, 0) != '"' && peek(y, 0) != '\'';
    if (plain)
        read_plain(y, &text, parent, flow);
    else
        read_quoted(y, &text);
    return keep_text(y, v, &text, plain);
}

static void append(json_value *container, json_value *item, json_value **last)
{
    if (*last)
        (*last)->next = item;
    else
        container->first = item;
    *last = item;
    container->count++;
}

static bool read_key(yaml *y, span *out, bool flow)
{
    json_value *key = peek(y, 0) == '"' || peek(y, 0) == '\'' ? read_scalar(y, 0, true) : NULL;
    str text = {0};
    if (!key && !y->st) {
        check_plain_start(y);
        read_plain_line(y, &text, flow);
        key = keep_text(y, make(y, JSON_STRING), &text, false);
    }
    str_deinit(&text);
    if (!key) return false;
    skip_spaces(y);
    if (peek(y, 0) != ':' || at_end(y)) {
        fail(y, "a ':' is missing behind a key");
        return false;
    }
    y->p++;
    *out = key->raw;
    return true;
}

static void add_member(yaml *y, json_value *object, span key, json_value *v, json_value **last)
{
    if (y->st || !v) return;
    for (const json_value *i = object->first; i; i = i->next)
        if (span_equal(i->key, key)) {
            fail(y, "a key stands twice in one mapping");
            return;
        }
    v->key = key;
    append(object, v, last);
}

static json_value *read_flow(yaml *y);

/* "[a, b]" and "{a: b}"; the cursor is at the bracket. */
static json_value *read_flow_items(yaml *y)
{
    const bool object = *y->p == '{';
    json_value *v = make(y, object ? JSON_OBJECT : JSON_ARRAY), *last = NULL;
    const char close = object ? '}' : ']';
    y->p++;
    while (!y->st) {
        skip_lines(y);
        if (peek(y, 0) == close && !at_end(y)) {
            y->p++;
            return v;
        }
        span key = {0};
        if (object && !read_key(y, &key, true)) break;
        skip_lines(y);
        json_value *item = read_flow(y);
        if (object)
            add_member(y, v, key, item, &last);
        else if (item)
            append(v, item, &last);
        skip_lines(y);
        if (peek(y, 0) == ',' && !at_end(y))
            y->p++;
        else if (peek(y, 0) != close || at_end(y))
            fail(y, "a list or mapping in brackets without end");
    }
    return NULL;
}

static json_value *read_flow(yaml *y)
{
    if (y->st) return NULL;
    if (peek(y, 0) != '[' && peek(y, 0) != '{') return read_scalar(y, 0, true);
    if (++y->depth > MAX_DEPTH) return fail(y, "too many levels");
    json_value *v = read_flow_items(y);
    y->depth--;
    return v;
}

static bool at_dash(const yaml *y)
{
    return !at_end(y) && *y->p == '-' && is_space(peek(y, 1));
}

/* Does "key:" stand here? Looks at this line only. */
static bool at_key(const yaml *y)
{
    yaml look = *y;
    const char quote = peek(y, 0);
    if (quote == '"' || quote == '\'') {
        for (look.p++; look.p < look.end && *look.p != '\n'; look.p++) {
            if (*look.p == '\\' && quote == '"') {
                look.p++;
                continue;
            }
            if (*look.p != quote) continue;
            if (quote == '\'' && peek(&look, 1) == '\'') {
                look.p++;
                continue;
            }
            break;
        }
        if (look.p >= look.end || *look.p != quote) return false;
        look.p++;
        while (peek(&look, 0) == ' ') look.p++;
        return look.p < look.end && *look.p == ':';
    }
    if (quote == '[' || quote == '{') return false;
    while (!plain_ends(&look, false)) look.p++;
    return look.p < look.end && *look.p == ':';
}

static json_value *read_block(yaml *y, long parent);

/* ---- Anchors ---- */

static span read_name(yaml *y)
{
    const char *begin = ++y->p;
    while (!at_end(y) && !is_space(*y->p) && !strchr(",[]{}", *y->p)) y->p++;
    if (y->p == begin) fail(y, "a name is missing");
    return (span){begin, (size_t)(y->p - begin)};
}

static anchor *add_anchor(yaml *y)
{
    const span name = read_name(y);
    anchor *a = y->st ? NULL : arena_alloc(y->memory, sizeof *a);
    if (!a) {
        no_memory(y);
        return NULL;
    }
    *a = (anchor){.name = name, .next = y->anchors};
    y->anchors = a;
    return a;
}

/* A copy that shares what is in the value. */
static json_value *read_alias(yaml *y)
{
    const span name = read_name(y);
    const anchor *a = y->anchors;
    while (a && !span_equal(a->name, name)) a = a->next;
    if (y->st) return NULL;
    if (!a || !a->value) return fail(y, "an alias of something that is not there");
    y->repeated += a->size;
    if (y->repeated > MAX_REPEATED) return fail(y, "aliases repeat too much");
    json_value *v = make(y, JSON_NULL);
    if (!v) return NULL;
    *v = *a->value;
    v->next = NULL;
    return ends_line(y) ? v : fail(y, "something stands behind a value");
}

/* Tuples are lists. */
static void skip_tag(yaml *y)
{
    static const char TUPLE[] = "!!python/tuple";
    const size_t size = sizeof TUPLE - 1;
    if ((size_t)(y->end - y->p) < size || memcmp(y->p, TUPLE, size) != 0 ||
        !is_space(peek(y, size)))
        fail(y, "a tag that is not understood");
    else
        y->p += size;
}

/* What stands behind "key:" or "-". */
static json_value *read_unmarked(yaml *y, long own, bool behind_dash)
{
    if (!ends_line(y)) {
        if (behind_dash && (at_dash(y) || at_key(y))) return read_block(y, own);
        if (!behind_dash && at_dash(y)) return fail(y, "a list begins on a line of its own");
        json_value *v =
            peek(y, 0) == '[' || peek(y, 0) == '{' ? read_flow(y) : read_scalar(y, own, false);
        if (!y->st && !ends_line(y)) return fail(y, "something stands behind a value");
        return v;
    }
    skip_lines(y);
    const bool below = column(y) > own || (!behind_dash && column(y) == own && at_dash(y));
    if (y->st) return NULL;
    return document_ends(y) || !below ? make(y, JSON_NULL) : read_block(y, own);
}

static json_value *read_item(yaml *y, long own, bool behind_dash)
{
    anchor *a = NULL;
    skip_spaces(y);
    if (peek(y, 0) == '*') return read_alias(y);
    const size_t made = y->made, repeated = y->repeated;
    if (peek(y, 0) == '&') {
        a = add_anchor(y);
        skip_spaces(y);
    }
    if (!y->st && peek(y, 0) == '!') skip_tag(y);
    json_value *v = y->st ? NULL : read_unmarked(y, own, behind_dash);
    if (v && a) {
        a->value = v;
        a->size = y->made - made + y->repeated - repeated;
    }
    return v;
}

static json_value *read_list(yaml *y)
{
    const long own = column(y);
    json_value *v = make(y, JSON_ARRAY), *last = NULL;
    while (!y->st && !document_ends(y) && column(y) == own && at_dash(y)) {
        y->p++;
        json_value *item = read_item(y, own, true);
        if (item) append(v, item, &last);
        if (!y->st) skip_lines(y);
    }
    return v;
}

static json_value *read_mapping(yaml *y)
{
    const long own = column(y);
    json_value *v = make(y, JSON_OBJECT), *last = NULL;
    while (!y->st && !document_ends(y) && column(y) == own && !at_dash(y)) {
        span key;
        if (!read_key(y, &key, false)) break;
        add_member(y, v, key, read_item(y, own, false), &last);
        if (!y->st) skip_lines(y);
    }
    return v;
}

static json_value *read_block(yaml *y, long parent)
{
    json_value *v;
    if (++y->depth > MAX_DEPTH) return fail(y, "too many levels");
    if (at_dash(y)) {
        v = read_list(y);
    } else if (at_key(y)) {
        v = read_mapping(y);
    } else {
        v = peek(y, 0) == '[' || peek(y, 0) == '{' ? read_flow(y) : read_scalar(y, parent, false);
        if (!y->st && !ends_line(y)) return fail(y, "something stands behind a value");
    }
    y->depth--;
    if (!y->st) skip_lines(y);
    if (!y->st && !document_ends(y) && column(y) > parent) return fail(y, "wrong indentation");
    return y->st ? NULL : v;
}

static json_value *read_document(yaml *y)
{
    if (!at_end(y) && *y->p == '%') return fail(y, "directives are not understood here");
    if (at_marker(y, "---")) {
        y->p += 3;
        skip_lines(y);
    }
    return document_ends(y) || y->st ? make(y, JSON_NULL) : read_block(y, -1);
}

/* Texts go into models and scripts, which are UTF-8. */
static void check_encoding(yaml y, yaml *told)
{
    uint32_t code;
    for (size_t size; !at_end(&y); y.p += size) {
        size = utf8_read(y.p, y.end, &code);
        if (!size) {
            fail(&y, "bytes that are not UTF-8");
            told->st = y.st;
            return;
        }
        if (code != '\n') continue;
        y.line++;
        y.line_start = y.p + 1;
    }
}

pgy_status yaml_parse(json_value **out, const char *text, size_t size_bytes, arena *a,
                      pgy_error *err)
{
    yaml y = {.p = text, .end = text + size_bytes, .line_start = text, .line = 1};
    y.memory = a;
    y.err = err;
    check_encoding(y, &y);
    json_value *documents = make(&y, JSON_ARRAY), *last = NULL;
    skip_lines(&y);
    while (!y.st && !at_end(&y)) {
        json_value *v = read_document(&y);
        if (v) append(documents, v, &last);
        if (!y.st && at_marker(&y, "...")) {
            y.p += 3;
            skip_lines(&y);
        }
    }
    if (!y.st) *out = documents;
    return y.st;
}

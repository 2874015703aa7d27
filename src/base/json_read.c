/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader: recursive descent with a depth limit. Strings stay views into the text, checked
 * here once (quotes, controls, escapes, UTF-8), so that later decoding can fail only for lack of
 * memory. A duplicate key takes over the place of the first one, as in a Python dict. */
#include "base/cancel.h"
#include "base/json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json_scan.h"
#include "base/pytext.h"
#include "base/utf8.h"

enum { DEPTH_LIMIT = 512, HASHED_MIN = 16 };

typedef struct parser {
    const char *p, *end;
    const char *line_start;
    uint32_t line;
    int depth;
    arena *memory;
    pgy_error *err;
} parser;

static pgy_status parse_value(parser *s, json_value **out);

/* ---- messages ------------------------------------------------------------------------------- */

static pgy_status fail_at(const parser *s, const char *at, const char *what)
{
    return pgy_error_set(s->err, PGY_E_FORMAT, "JSON line %u column %zu: %s", s->line,
                         (size_t)(at - s->line_start) + 1, what);
}

static pgy_status fail_char(const parser *s, const char *wanted)
{
    const size_t column = (size_t)(s->p - s->line_start) + 1;
    if (s->p == s->end)
        return pgy_error_set(s->err, PGY_E_FORMAT,
                             "JSON line %u column %zu: expected %s, found the end of the text",
                             s->line, column, wanted);
    const unsigned char c = (unsigned char)*s->p;
    const bool visible = c > 0x20 && c < 0x7F;
    return pgy_error_set(s->err, PGY_E_FORMAT,
                         visible ? "JSON line %u column %zu: expected %s, found '%c'"
                                 : "JSON line %u column %zu: expected %s, found byte 0x%02x",
                         s->line, column, wanted, c);
}

static pgy_status no_memory(const parser *s)
{
    return pgy_error_set(s->err, PGY_E_MEMORY, "JSON line %u: out of memory", s->line);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void skip_space(parser *s)
{
    for (; s->p < s->end; s->p++) {
        if (*s->p == '\n') {
            s->line++;
            s->line_start = s->p + 1;
        } else if (*s->p != ' ' && *s->p != '\t' && *s->p != '\r') {
            return;
        }
    }
}

static bool hex4(const char *p, const char *end, uint32_t *out)
{
    uint32_t v = 0;
    if (end - p < 4) return false;
    for (int i = 0; i < 4; i++) {
        const char c = p[i];
        const int low = c | 0x20;
        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (uint32_t)(low - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

/* The escape at p (after the backslash). Returns the byte after it, or NULL if the escape is
 * invalid. */
static const char *read_escape(const char *p, const char *end, uint32_t *c)
{
    static const char LETTERS[] = "\"\\/bfnrt", MEANING[] = "\"\\/\b\f\n\r\t";
    uint32_t low;
    if (p == end) return NULL;
    if (*p != 'u') {
        const char *known = *p ? strchr(LETTERS, *p) : NULL;
        if (!known) return NULL;
        *c = (unsigned char)MEANING[known - LETTERS];
        return p + 1;
    }
    if (!hex4(p + 1, end, c)) return NULL;
    p += 5;
    if (*c < 0xD800 || *c > 0xDFFF) return p;
    if (*c > 0xDBFF || end - p < 6 || p[0] != '\\' || p[1] != 'u' || !hex4(p + 2, end, &low))
        return NULL;
    if (low < 0xDC00 || low > 0xDFFF) return NULL;
    *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
    return p + 6;
}

static bool is_utf8(const char *p, const char *end)
{
    while (p < end) {
        uint32_t c;
        const size_t n = utf8_read(p, end, &c);
        if (!n) return false;
        p += n;
    }
    return true;
}

/* Finds the end of a string; s->p is after the opening quote. */
static pgy_status scan_string(parser *s, span *raw, bool *escaped)
{
    const char *const begin = s->p;
    bool high = false, has_escapes = false;
    for (;;) {
        s->p = json_scan_string(s->p, s->end, &high);
        if (s->p == s->end)
            return fail_at(s, begin - 1, "the string that starts here has no closing quote");
        if (*s->p == '"') break;
        if (*s->p != '\\')
            return fail_at(s, s->p, "a string holds a control character; write it as an escape");
        uint32_t c;
        const char *after = read_escape(s->p + 1, s->end, &c);
        if (!after) return fail_at(s, s->p, "a string holds an invalid escape");
        has_escapes = true;
        s->p = after;
    }
    if (high && !is_utf8(begin, s->p))
        return fail_at(s, begin - 1, "the string that starts here is not UTF-8");
    *raw = (span){begin, (size_t)(s->p - begin)};
    *escaped = has_escapes;
    s->p++;
    return PGY_OK;
}

/* The decoded text is never longer than `raw`, because every escape shrinks. */
static char *decode(span raw, arena *a, size_t *size)
{
    char *out = arena_alloc(a, raw.size + 1);
    if (!out) return NULL;
    const char *p = raw.data, *const end = raw.data + raw.size;
    size_t n = 0;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        const size_t plain = (size_t)((slash ? slash : end) - p);
        memcpy(out + n, p, plain);
        n += plain;
        if (!slash) break;
        uint32_t c = 0;
        p = read_escape(slash + 1, end, &c);
        if (!p) break;
        n += utf8_write(out + n, c);
    }
    out[n] = '\0';
    *size = n;
    return out;
}

/* ---- numbers and literals ------------------------------------------------------------------- */

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p;
}

/* Copies the digits, because strtod needs a terminated text. */
static pgy_status convert_real(parser *s, json_value *v)
{
    char local[64];
    char *text = local;
    if (v->raw.size >= sizeof local) text = mem_alloc(v->raw.size + 1);
    if (!text) return no_memory(s);
    memcpy(text, v->raw.data, v->raw.size);
    text[v->raw.size] = '\0';
    v->real = text_to_double(text, NULL);
    if (text != local) mem_free(text);
    return PGY_OK;
}

/* False: the integer does not fit int64. */
static bool convert_integer(json_value *v)
{
    const bool negative = v->raw.data[0] == '-';
    int64_t sum = 0;
    for (size_t i = negative; i < v->raw.size; i++) {
        const int64_t digit = v->raw.data[i] - '0';
        if (!i64_mul(&sum, sum, 10) || !i64_add(&sum, sum, negative ? -digit : digit)) return false;
    }
    v->integer = sum;
    v->real = (double)sum;
    return true;
}

static bool take_literal(parser *s, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0) return false;
    s->p += n;
    return true;
}

static pgy_status parse_number(parser *s, json_value *v)
{
    const char *const begin = s->p;
    const char *p = begin + (*begin == '-');
    const char *digits = p;
    p = p < s->end && *p == '0' ? p + 1 : skip_digits(p, s->end);
    if (p == digits) {
        s->p = p;
        return fail_char(s, "a digit");
    }
    bool real = false;
    if (s->end - p >= 2 && p[0] == '.' && p[1] >= '0' && p[1] <= '9') {
        p = skip_digits(p + 1, s->end);
        real = true;
    }
    if (p < s->end && (*p | 0x20) == 'e') {
        const char *exponent = p + 1;
        if (exponent < s->end && (*exponent == '+' || *exponent == '-')) exponent++;
        const char *after = skip_digits(exponent, s->end);
        if (after > exponent) {
            p = after;
            real = true;
        }
    }
    s->p = p;
    v->raw = (span){begin, (size_t)(p - begin)};
    v->type = JSON_INT;
    if (!real && convert_integer(v)) return PGY_OK;
    v->type = JSON_REAL;
    return convert_real(s, v);
}

static pgy_status parse_literal(parser *s, json_value *v)
{
    static const struct {
        const char *word;
        json_type type;
        bool boolean;
        double real;
    } LITERALS[] = {
        {"null", JSON_NULL, false, 0},
        {"true", JSON_BOOL, true, 0},
        {"false", JSON_BOOL, false, 0},
        {"NaN", JSON_REAL, false, __builtin_nan("")},
        {"Infinity", JSON_REAL, false, __builtin_inf()},
        {"-Infinity", JSON_REAL, false, -__builtin_inf()},
    };
    const char *const begin = s->p;
    for (size_t i = 0; i < sizeof LITERALS / sizeof LITERALS[0]; i++) {
        if (!take_literal(s, LITERALS[i].word)) continue;
        v->type = LITERALS[i].type;
        v->boolean = LITERALS[i].boolean;
        v->real = LITERALS[i].real;
        v->raw = (span){begin, (size_t)(s->p - begin)};
        return PGY_OK;
    }
    if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9')) return parse_number(s, v);
    return fail_char(s, "a value");
}

/* ---- containers ----------------------------------------------------------------------------- */

static pgy_status parse_array(parser *s, json_value *v)
{
    json_value **link = &v->first;
    v->type = JSON_ARRAY;
    skip_space(s);
    if (s->p < s->end && *s->p == ']') {
        s->p++;
        return PGY_OK;
    }
    for (;;) {
        pgy_status st = parse_value(s, link);
        if (st) return st;
        link = &(*link)->next;
        v->count++;
        skip_space(s);
        if (s->p == s->end || (*s->p != ',' && *s->p != ']')) return fail_char(s, "',' or ']'");
        if (*s->p++ == ']') return PGY_OK;
    }
}

static pgy_status parse_key(parser *s, span *key)
{
    bool escaped = false;
    skip_space(s);
    if (s->p == s->end || *s->p != '"') return fail_char(s, "a key in double quotes");
    s->p++;
    pgy_status st = scan_string(s, key, &escaped);
    if (st) return st;
    if (escaped) {
        key->data = decode(*key, s->memory, &key->size);
        if (!key->data) return no_memory(s);
    }
    skip_space(s);
    if (s->p == s->end || *s->p != ':') return fail_char(s, "':'");
    s->p++;
    return PGY_OK;
}

/* Moves the value of `later` into `earlier` and unlinks `later`, which follows `previous`. */
static void replace(json_value *object, json_value *earlier, json_value *later,
                    json_value *previous)
{
    json_value *after_earlier = earlier->next;
    previous->next = later->next;
    if (previous == earlier) after_earlier = later->next;
    *earlier = *later;
    earlier->next = after_earlier;
    object->count--;
}

static void merge_few(json_value *object)
{
    json_value *previous = NULL;
    for (json_value *v = object->first; v; v = previous->next) {
        json_value *same = object->first;
        while (same != v && !span_equal(same->key, v->key)) same = same->next;
        if (same == v)
            previous = v;
        else
            replace(object, same, v, previous);
    }
}

static bool merge_many(json_value *object)
{
    size_t slots = 64;
    while (slots < object->count * 2) slots *= 2;
    json_value **table = mem_calloc(slots, sizeof *table);
    if (!table) return false;
    json_value *previous = NULL;
    for (json_value *v = object->first; v; v = previous->next) {
        size_t at = span_hash(v->key) & (slots - 1);
        while (table[at] && !span_equal(table[at]->key, v->key)) at = (at + 1) & (slots - 1);
        if (table[at]) {
            replace(object, table[at], v, previous);
        } else {
            table[at] = v;
            previous = v;
        }
    }
    mem_free(table);
    return true;
}

static pgy_status merge_duplicates(parser *s, json_value *object)
{
    if (object->count > HASHED_MIN) return merge_many(object) ? PGY_OK : no_memory(s);
    merge_few(object);
    return PGY_OK;
}

static pgy_status parse_object(parser *s, json_value *v)
{
    json_value **link = &v->first;
    v->type = JSON_OBJECT;
    skip_space(s);
    if (s->p < s->end && *s->p == '}') {
        s->p++;
        return PGY_OK;
    }
    for (;;) {
        span key;
        pgy_status st = parse_key(s, &key);
        if (!st) st = parse_value(s, link);
        if (st) return st;
        (*link)->key = key;
        link = &(*link)->next;
        v->count++;
        skip_space(s);
        if (s->p == s->end || (*s->p != ',' && *s->p != '}')) return fail_char(s, "',' or '}'");
        if (*s->p++ == '}') return merge_duplicates(s, v);
    }
}

static pgy_status parse_container(parser *s, json_value *v)
{
    if (s->depth == DEPTH_LIMIT)
        return fail_at(s, s->p, "values are nested more than 512 levels deep");
    s->depth++;
    const pgy_status st = *s->p++ == '[' ? parse_array(s, v) : parse_object(s, v);
    s->depth--;
    return st;
}

static pgy_status parse_value(parser *s, json_value **out)
{
    const pgy_status stop = cancel_check(s->err);
    if (stop) return stop;
    skip_space(s);
    if (s->p == s->end) return fail_char(s, "a value");
    json_value *v = arena_alloc(s->memory, sizeof *v);
    if (!v) return no_memory(s);
    v->line = s->line;
    v->column = (uint32_t)(s->p - s->line_start) + 1;
    pgy_status st;
    if (*s->p == '"') {
        v->type = JSON_STRING;
        s->p++;
        st = scan_string(s, &v->raw, &v->escaped);
    } else if (*s->p == '[' || *s->p == '{') {
        st = parse_container(s, v);
    } else {
        st = parse_literal(s, v);
    }
    if (!st) *out = v;
    return st;
}

json_cursor json_cursor_at(span text)
{
    return (json_cursor){text.data, text.data + text.size, text.data, 1};
}

static parser parser_at(const json_cursor *c, arena *a, pgy_error *err)
{
    return (parser){.p = c->p,
                    .end = c->end,
                    .line_start = c->line_start,
                    .line = c->line,
                    .memory = a,
                    .err = err};
}

static void move_to(json_cursor *c, const parser *s)
{
    c->p = s->p;
    c->line_start = s->line_start;
    c->line = s->line;
}

int json_peek(json_cursor *c)
{
    parser s = parser_at(c, NULL, NULL);
    skip_space(&s);
    move_to(c, &s);
    return c->p < c->end ? (unsigned char)*c->p : -1;
}

pgy_status json_expect(json_cursor *c, char byte, const char *what, pgy_error *err)
{
    const bool found = json_peek(c) == (unsigned char)byte;
    const parser s = parser_at(c, NULL, err);
    if (!found) return fail_char(&s, what);
    c->p++;
    return PGY_OK;
}

pgy_status json_next(json_value **out, json_cursor *c, arena *a, pgy_error *err)
{
    parser s = parser_at(c, a, err);
    const pgy_status st = parse_value(&s, out);
    if (!st) move_to(c, &s);
    return st;
}

pgy_status json_parse(json_value **out, const char *text, size_t size_bytes, arena *a,
                      pgy_error *err)
{
    const json_cursor start = json_cursor_at((span){text, size_bytes});
    parser s = parser_at(&start, a, err);
    json_value *root = NULL;
    pgy_status st = parse_value(&s, &root);
    if (st) return st;
    skip_space(&s);
    if (s.p < s.end) return fail_char(&s, "the end of the text");
    *out = root;
    return PGY_OK;
}

/* ---- tree ----------------------------------------------------------------------------------- */

json_value *json_get(const json_value *object, const char *key)
{
    if (!object || object->type != JSON_OBJECT) return NULL;
    const span wanted = span_of(key);
    json_value *v = object->first;
    while (v && !span_equal(v->key, wanted)) v = v->next;
    return v;
}

json_value *json_at(const json_value *array, size_t index)
{
    if (!array || array->type != JSON_ARRAY || index >= array->count) return NULL;
    json_value *v = array->first;
    while (index--) v = v->next;
    return v;
}

const char *json_string(const json_value *v, arena *a, size_t *size)
{
    size_t n = v->raw.size;
    const char *text = v->escaped ? decode(v->raw, a, &n) : arena_strndup(a, v->raw.data, n);
    if (text && size) *size = n;
    return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads YAML by recursive descent. Columns give the structure: the value of a key or a dash is
 * indented further, except the dashes of a list, which may be in the column of their key.
 * yaml_scan.c reads texts and the blanks between them; yaml_scalar.c decides the type of a plain
 * scalar. */
#include "base/yaml.h"

#include "base/yaml_scalar.h"
#include "base/yaml_scan.h"

enum { MAX_DEPTH = 64, MAX_REPEATED = 1 << 20 };

/* "&name" before a value, which "*name" repeats later. */
typedef struct anchor {
    span name;
    const json_value *value; /* NULL while the anchored value is still being read */
    size_t size;             /* number of values in the anchored tree */
    struct anchor *next;
} anchor;

typedef struct yaml {
    yaml_scan at;
    int depth;
    size_t made, repeated; /* number of values that the text has, and that aliases added */
    anchor *anchors;
    arena *memory;
} yaml;

static json_value *fail(yaml *y, const char *what)
{
    yaml_fail(&y->at, what);
    return NULL;
}

static json_value *no_memory(yaml *y)
{
    if (!y->at.st) y->at.st = pgy_error_set(y->at.err, PGY_E_MEMORY, "out of memory");
    return NULL;
}

static json_value *make(yaml *y, json_type type)
{
    json_value *v = y->at.st ? NULL : arena_alloc(y->memory, sizeof *v);
    if (!v) return no_memory(y);
    y->made++;
    v->type = type;
    v->line = y->at.line;
    v->column = (uint32_t)(yaml_column(&y->at) + 1);
    return v;
}

static json_value *keep_text(yaml *y, json_value *v, str *text, bool plain)
{
    char *kept = text->failed || y->at.st || !v
                     ? NULL
                     : arena_strndup(y->memory, str_text(text), text->size);
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
    const bool plain = yaml_peek(&y->at, 0) != '"' && yaml_peek(&y->at, 0) != '\'';
    if (plain)
        yaml_read_plain(&y->at, &text, parent, flow);
    else
        yaml_read_quoted(&y->at, &text);
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
    json_value *key = yaml_peek(&y->at, 0) == '"' || yaml_peek(&y->at, 0) == '\''
                          ? read_scalar(y, 0, true)
                          : NULL;
    str text = {0};
    if (!key && !y->at.st) {
        yaml_check_plain_start(&y->at);
        yaml_read_plain_line(&y->at, &text, flow);
        key = keep_text(y, make(y, JSON_STRING), &text, false);
    }
    str_deinit(&text);
    if (!key) return false;
    yaml_skip_spaces(&y->at);
    if (yaml_peek(&y->at, 0) != ':' || yaml_at_end(&y->at)) {
        fail(y, "expected ':' after the key");
        return false;
    }
    y->at.p++;
    *out = key->raw;
    return true;
}

static void add_member(yaml *y, json_value *object, span key, json_value *v, json_value **last)
{
    if (y->at.st || !v) return;
    for (const json_value *i = object->first; i; i = i->next)
        if (span_equal(i->key, key)) {
            fail(y, "the key appears twice in one mapping");
            return;
        }
    v->key = key;
    append(object, v, last);
}

static json_value *read_flow(yaml *y);

/* "[a, b]" and "{a: b}"; the cursor is at the opening bracket. */
static json_value *read_flow_items(yaml *y)
{
    const bool object = *y->at.p == '{';
    json_value *v = make(y, object ? JSON_OBJECT : JSON_ARRAY), *last = NULL;
    const char close = object ? '}' : ']';
    y->at.p++;
    while (!y->at.st) {
        yaml_skip_lines(&y->at);
        if (yaml_peek(&y->at, 0) == close && !yaml_at_end(&y->at)) {
            y->at.p++;
            return v;
        }
        span key = {0};
        if (object && !read_key(y, &key, true)) break;
        yaml_skip_lines(&y->at);
        json_value *item = read_flow(y);
        if (object)
            add_member(y, v, key, item, &last);
        else if (item)
            append(v, item, &last);
        yaml_skip_lines(&y->at);
        if (yaml_peek(&y->at, 0) == ',' && !yaml_at_end(&y->at))
            y->at.p++;
        else if (yaml_peek(&y->at, 0) != close || yaml_at_end(&y->at))
            fail(y, "a list or mapping in brackets is not closed");
    }
    return NULL;
}

static json_value *read_flow(yaml *y)
{
    if (y->at.st) return NULL;
    if (yaml_peek(&y->at, 0) != '[' && yaml_peek(&y->at, 0) != '{') return read_scalar(y, 0, true);
    if (++y->depth > MAX_DEPTH) return fail(y, "lists and mappings are nested too deep");
    json_value *v = read_flow_items(y);
    y->depth--;
    return v;
}

static json_value *read_block(yaml *y, long parent);

/* ---- Anchors --------------------------------------------------------------------------------- */

static anchor *add_anchor(yaml *y)
{
    const span name = yaml_read_name(&y->at);
    anchor *a = y->at.st ? NULL : arena_alloc(y->memory, sizeof *a);
    if (!a) {
        no_memory(y);
        return NULL;
    }
    *a = (anchor){.name = name, .next = y->anchors};
    y->anchors = a;
    return a;
}

/* A copy that shares the value's items. */
static json_value *read_alias(yaml *y)
{
    const span name = yaml_read_name(&y->at);
    const anchor *a = y->anchors;
    while (a && !span_equal(a->name, name)) a = a->next;
    if (y->at.st) return NULL;
    if (!a || !a->value) return fail(y, "the alias refers to an anchor that is not defined");
    y->repeated += a->size;
    if (y->repeated > MAX_REPEATED) return fail(y, "aliases expand to too many values");
    json_value *v = make(y, JSON_NULL);
    if (!v) return NULL;
    *v = *a->value;
    v->next = NULL;
    return yaml_ends_line(&y->at) ? v : fail(y, "unexpected text after a value");
}

/* The value after "key:" or "-". */
static json_value *read_unmarked(yaml *y, long own, bool behind_dash)
{
    if (!yaml_ends_line(&y->at)) {
        if (behind_dash && (yaml_at_dash(&y->at) || yaml_at_key(&y->at))) return read_block(y, own);
        if (!behind_dash && yaml_at_dash(&y->at)) return fail(y, "a list must begin on a new line");
        json_value *v = yaml_peek(&y->at, 0) == '[' || yaml_peek(&y->at, 0) == '{'
                            ? read_flow(y)
                            : read_scalar(y, own, false);
        if (!y->at.st && !yaml_ends_line(&y->at)) return fail(y, "unexpected text after a value");
        return v;
    }
    yaml_skip_lines(&y->at);
    const bool below = yaml_column(&y->at) > own ||
                       (!behind_dash && yaml_column(&y->at) == own && yaml_at_dash(&y->at));
    if (y->at.st) return NULL;
    return yaml_document_ends(&y->at) || !below ? make(y, JSON_NULL) : read_block(y, own);
}

static json_value *read_item(yaml *y, long own, bool behind_dash)
{
    anchor *a = NULL;
    yaml_skip_spaces(&y->at);
    if (yaml_peek(&y->at, 0) == '*') return read_alias(y);
    const size_t made = y->made, repeated = y->repeated;
    if (yaml_peek(&y->at, 0) == '&') {
        a = add_anchor(y);
        yaml_skip_spaces(&y->at);
    }
    if (!y->at.st && yaml_peek(&y->at, 0) == '!') yaml_skip_tag(&y->at);
    json_value *v = y->at.st ? NULL : read_unmarked(y, own, behind_dash);
    if (v && a) {
        a->value = v;
        a->size = y->made - made + y->repeated - repeated;
    }
    return v;
}

static json_value *read_list(yaml *y)
{
    const long own = yaml_column(&y->at);
    json_value *v = make(y, JSON_ARRAY), *last = NULL;
    while (!y->at.st && !yaml_document_ends(&y->at) && yaml_column(&y->at) == own &&
           yaml_at_dash(&y->at)) {
        y->at.p++;
        json_value *item = read_item(y, own, true);
        if (item) append(v, item, &last);
        if (!y->at.st) yaml_skip_lines(&y->at);
    }
    return v;
}

static json_value *read_mapping(yaml *y)
{
    const long own = yaml_column(&y->at);
    json_value *v = make(y, JSON_OBJECT), *last = NULL;
    while (!y->at.st && !yaml_document_ends(&y->at) && yaml_column(&y->at) == own &&
           !yaml_at_dash(&y->at)) {
        span key;
        if (!read_key(y, &key, false)) break;
        add_member(y, v, key, read_item(y, own, false), &last);
        if (!y->at.st) yaml_skip_lines(&y->at);
    }
    return v;
}

static json_value *read_block(yaml *y, long parent)
{
    json_value *v;
    if (++y->depth > MAX_DEPTH) return fail(y, "lists and mappings are nested too deep");
    if (yaml_at_dash(&y->at)) {
        v = read_list(y);
    } else if (yaml_at_key(&y->at)) {
        v = read_mapping(y);
    } else {
        v = yaml_peek(&y->at, 0) == '[' || yaml_peek(&y->at, 0) == '{'
                ? read_flow(y)
                : read_scalar(y, parent, false);
        if (!y->at.st && !yaml_ends_line(&y->at)) return fail(y, "unexpected text after a value");
    }
    y->depth--;
    if (!y->at.st) yaml_skip_lines(&y->at);
    if (!y->at.st && !yaml_document_ends(&y->at) && yaml_column(&y->at) > parent)
        return fail(y, "wrong indentation: the line is indented too far");
    return y->at.st ? NULL : v;
}

static json_value *read_document(yaml *y)
{
    if (!yaml_at_end(&y->at) && *y->at.p == '%')
        return fail(y, "YAML directives (%) are not supported");
    if (yaml_at_marker(&y->at, "---")) {
        y->at.p += 3;
        yaml_skip_lines(&y->at);
    }
    return yaml_document_ends(&y->at) || y->at.st ? make(y, JSON_NULL) : read_block(y, -1);
}

pgy_status yaml_parse(json_value **out, const char *text, size_t size_bytes, arena *a,
                      pgy_error *err)
{
    yaml y = {.at = {.p = text, .end = text + size_bytes, .line_start = text, .line = 1}};
    y.memory = a;
    y.at.err = err;
    yaml_check_encoding(&y.at);
    json_value *documents = make(&y, JSON_ARRAY), *last = NULL;
    yaml_skip_lines(&y.at);
    while (!y.at.st && !yaml_at_end(&y.at)) {
        json_value *v = read_document(&y);
        if (v) append(documents, v, &last);
        if (!y.at.st && yaml_at_marker(&y.at, "...")) {
            y.at.p += 3;
            yaml_skip_lines(&y.at);
        }
    }
    if (!y.at.st) *out = documents;
    return y.at.st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Python's text of values and calls. User's texts appear as quoted literals only, so nothing that a
 * user types becomes code. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pytext.h"
#include "cli/args/values.h"
#include "cli/script/script.h"

/* The size of the UTF-8 character at `p`; 0: it is not UTF-8. */
static size_t character_size(const unsigned char *p)
{
    static const struct {
        unsigned char mask, lead;
        size_t size;
        uint32_t least;
    } FORMS[] = {
        {0x80, 0, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};
    for (size_t i = 0; i < 4; i++) {
        if ((p[0] & FORMS[i].mask) != FORMS[i].lead) continue;
        uint32_t code = p[0] & (unsigned char)~FORMS[i].mask;
        for (size_t k = 1; k < FORMS[i].size; k++) {
            if ((p[k] & 0xC0) != 0x80) return 0;
            code = code << 6 | (p[k] & 0x3F);
        }
        const bool surrogate = code >= 0xD800 && code < 0xE000;
        return code >= FORMS[i].least && code <= 0x10FFFF && !surrogate ? FORMS[i].size : 0;
    }
    return 0;
}

static bool is_utf8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t n; *p; p += n)
        if (!(n = character_size(p))) return false;
    return true;
}

void py_text(str *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    if (is_utf8(text)) {
        str_append_py_repr(out, text);
        return;
    }
    str_append_char(out, '\'');
    for (; *p; p++) {
        const size_t n = character_size(p);
        if (!n) {
            str_printf(out, "\\udc%02x", *p);
        } else if (n > 1) {
            str_append_n(out, (const char *)p, n);
            p += n - 1;
        } else if (*p < 0x20 || *p == 0x7F || *p == '\'' || *p == '\\') {
            str_printf(out, "\\x%02x", *p);
        } else {
            str_append_char(out, (char)*p);
        }
    }
    str_append_char(out, '\'');
}

void py_texts(str *out, const char *const *items, size_t count)
{
    bool any = false;
    str_append_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (!items[i]) continue; /* ends the words of one use of an option */
        if (any) str_append(out, ", ");
        any = true;
        py_text(out, items[i]);
    }
    str_append_char(out, ']');
}

void py_number(str *out, double v)
{
    char text[32];
    py_double_repr(text, v);
    str_printf(out, isfinite(v) ? "%s" : "float('%s')", text);
}

static void put_cast(str *out, const cast_value *v)
{
    switch (v->kind) {
    case CAST_INT: str_printf(out, "%lld", (long long)v->number.integer); break;
    case CAST_REAL: py_number(out, v->number.real); break;
    case CAST_TEXT: py_text(out, v->text); break;
    case CAST_LIST:
        str_append_char(out, '(');
        for (size_t i = 0; i < v->count; i++) {
            if (i) str_append(out, ", ");
            put_cast(out, &v->items[i]);
        }
        str_append(out, v->count == 1 ? ",)" : ")");
    }
}

pgy_status py_cast(str *out, const char *text, arena *a, pgy_error *err)
{
    cast_value v;
    const pgy_status st = value_cast(&v, text, a, err);
    if (!st) put_cast(out, &v);
    return st;
}

pgy_status py_map(str *out, const pgy_text_list *words, arena *a, pgy_error *err)
{
    const key_value *pairs = NULL;
    size_t count = 0;
    pgy_status st = values_split(&pairs, &count, words, a, err);
    str_append_char(out, '{');
    for (size_t i = 0; !st && i < count; i++) {
        if (i) str_append(out, ", ");
        py_text(out, pairs[i].key);
        str_append(out, ": ");
        st = py_cast(out, pairs[i].value, a, err);
    }
    str_append_char(out, '}');
    return st;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

py_call py_call_of(const char *function)
{
    py_call c = {0};
    str_printf(&c.text, "%s(", function);
    return c;
}

str *py_argument(py_call *c, const char *key)
{
    if (c->any) str_append(&c->text, ", ");
    c->any = true;
    if (key) str_printf(&c->text, "%s=", key);
    return &c->text;
}

void py_raw(py_call *c, const char *key, const char *expression)
{
    str_append(py_argument(c, key), expression);
}

void py_value(py_call *c, const char *key, const char *text)
{
    py_text(py_argument(c, key), text);
}

void py_flag(py_call *c, const char *key, bool given)
{
    if (given) py_raw(c, key, "True");
}

const char *py_call_end(py_script *s, py_call *c)
{
    str_append_char(&c->text, ')');
    const char *kept = c->text.failed ? NULL : arena_strdup(s->memory, str_text(&c->text));
    str_deinit(&c->text);
    if (!kept) s->failed = true;
    return kept ? kept : "";
}

static void put_upper(str *out, const char *text)
{
    for (; *text; text++)
        str_append_char(out, *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text);
}

static void put_names(str *out, const pgy_text_list *list, const char *prefix)
{
    str_append_char(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        str_printf(out, "%s%s.", i ? ", " : "", prefix);
        put_upper(out, list->items[i]);
    }
    str_append_char(out, ']');
}

static pgy_status put_row(py_script *s, py_call *c, const py_row *row, const void *at,
                          pgy_error *err)
{
    const pgy_text_list *list = at;
    const char *text = NULL;
    if (row->kind == PY_TEXT || row->kind == PY_REAL || row->kind == PY_NAME)
        text = *(const char *const *)at;
    switch (row->kind) {
    case PY_FLAG: py_flag(c, row->key, *(const bool *)at); break;
    case PY_TEXT:
        if (text) py_value(c, row->key, text);
        break;
    case PY_REAL:
        if (text) py_number(py_argument(c, row->key), text_to_double(text, NULL));
        break;
    case PY_INT:
        if (*(const int64_t *)at >= 0)
            str_printf(py_argument(c, row->key), "%lld", (long long)*(const int64_t *)at);
        break;
    case PY_NAME:
        if (text) str_printf(py_argument(c, row->key), "%s.%s", row->prefix, text);
        break;
    case PY_NAMES:
        if (list->given) put_names(py_argument(c, row->key), list, row->prefix);
        break;
    case PY_MAP:
        return list->given ? py_map(py_argument(c, row->key), list, s->memory, err) : PGY_OK;
    case PY_OTHER: return row->write(s, c, row->key, err);
    }
    return PGY_OK;
}

pgy_status py_rows(py_script *s, py_call *c, const py_row *rows, size_t count, const void *settings,
                   pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++)
        st = put_row(s, c, &rows[i], (const char *)settings + rows[i].offset, err);
    return st;
}

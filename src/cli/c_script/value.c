/* SPDX-License-Identifier: Apache-2.0 */
/* C's text of values. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/printable.h"
#include "base/pytext.h"
#include "cli/c_script/c_script.h"

/* Octal escapes have three digits at most, so a digit may follow. Bytes beyond ASCII are escaped,
 * too: compilers warn of some, and editors may show them as something else. A second question mark
 * could begin a trigraph. */
void c_text(str *out, const char *text)
{
    if (!text) {
        str_append(out, "NULL");
        return;
    }
    str_append_char(out, '"');
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\' ||
            (*p == '?' && p > (const unsigned char *)text && p[-1] == '?'))
            str_printf(out, "\\%c", *p);
        else if (*p == '\n')
            str_append(out, "\\n");
        else if (*p < 0x20 || *p > 0x7E)
            str_printf(out, "\\%03o", *p);
        else
            str_append_char(out, (char)*p);
    }
    str_append_char(out, '"');
}

/* Compilers warn of "/" and "*" together inside a comment, and of trigraphs. */
void c_comment(str *out, const char *text)
{
    str clean = {0};
    str_append_printable(&clean, text, strlen(text), "");
    if (clean.failed) out->failed = true;
    char last = ' ';
    for (const char *p = str_text(&clean); *p; last = *p++) {
        const bool ends = (last == '*' && *p == '/') || (last == '/' && *p == '*');
        if (ends || (last == '?' && *p == '?'))
            str_printf(out, "\\x%02x", *p);
        else
            str_append_char(out, *p);
    }
    str_deinit(&clean);
}

void c_real(str *out, double v)
{
    char text[32];
    py_double_repr(text, v);
    if (isfinite(v))
        str_append(out, text);
    else
        str_append(out, isnan(v) ? "NAN" : v < 0 ? "-INFINITY" : "INFINITY");
}

void c_texts(str *out, const char *const *items, size_t count)
{
    if (!count) {
        str_append(out, "NULL");
        return;
    }
    str_append(out, "(const char *const[]){");
    for (size_t i = 0; i < count; i++) {
        if (i) str_append(out, ", ");
        c_text(out, items[i]);
    }
    str_append_char(out, '}');
}

void c_integer(str *out, int64_t v)
{
    if (v == INT64_MIN)
        str_append(out, "INT64_MIN"); /* its digits without the sign are too large */
    else
        str_printf(out, "%" PRId64, v);
}

void c_integers(str *out, const int64_t *items, size_t count)
{
    if (!count) {
        str_append(out, "NULL");
        return;
    }
    str_append(out, "(const int64_t[]){");
    for (size_t i = 0; i < count; i++) {
        if (i) str_append(out, ", ");
        c_integer(out, items[i]);
    }
    str_append_char(out, '}');
}

void c_identifier(str *out, const char *text)
{
    for (; *text; text++) {
        const bool good = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                          (*text >= '0' && *text <= '9');
        str_append_char(out, good ? *text : '_');
    }
}

const char *c_dtype(pgy_dtype dtype)
{
#define TYPE(name)  \
    {               \
        name, #name \
    }
    static const struct {
        pgy_dtype dtype;
        const char *name;
    } TYPES[] = {TYPE(PGY_BOOL),   TYPE(PGY_I2),         TYPE(PGY_I4),         TYPE(PGY_I8),
                 TYPE(PGY_I16),    TYPE(PGY_I32),        TYPE(PGY_I64),        TYPE(PGY_U2),
                 TYPE(PGY_U4),     TYPE(PGY_U8),         TYPE(PGY_U16),        TYPE(PGY_U32),
                 TYPE(PGY_U64),    TYPE(PGY_F16),        TYPE(PGY_F32),        TYPE(PGY_F64),
                 TYPE(PGY_BF16),   TYPE(PGY_C64),        TYPE(PGY_C128),       TYPE(PGY_F8E4M3FN),
                 TYPE(PGY_F8E5M2), TYPE(PGY_F8E4M3FNUZ), TYPE(PGY_F8E5M2FNUZ), TYPE(PGY_F8E8M0),
                 TYPE(PGY_F6E2M3), TYPE(PGY_F6E3M2),     TYPE(PGY_F4E2M1),     TYPE(PGY_STRING)};
#undef TYPE
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].dtype == dtype) return TYPES[i].name;
    return "PGY_DTYPE_NONE";
}

/* ---- Members -------------------------------------------------------------------------------- */

static void begin(const c_struct *s, const char *name)
{
    str_printf(s->out, "%s%s = ", s->before, name);
}

void c_member(const c_struct *s, const char *name, const char *format, ...)
{
    va_list list;
    begin(s, name);
    va_start(list, format);
    str_vprintf(s->out, format, list);
    va_end(list);
    str_append(s->out, s->after);
}

void c_flag(const c_struct *s, const char *name, bool value)
{
    if (value) c_member(s, name, "true");
}

void c_number(const c_struct *s, const char *name, uint64_t value)
{
    if (value) c_member(s, name, "%" PRIu64 "%s", value, value > INT64_MAX ? "u" : "");
}

void c_real_member(const c_struct *s, const char *name, double value)
{
    if (value == 0) return;
    begin(s, name);
    c_real(s->out, value);
    str_append(s->out, s->after);
}

void c_text_member(const c_struct *s, const char *name, const char *text)
{
    if (!text) return;
    begin(s, name);
    c_text(s->out, text);
    str_append(s->out, s->after);
}

void c_texts_member(const c_struct *s, const char *name, const char *count_name,
                    const char *const *items, size_t count)
{
    if (!count) return;
    begin(s, name);
    c_texts(s->out, items, count);
    str_append(s->out, s->after);
    c_number(s, count_name, count);
}

void c_enum_member(const c_struct *s, const char *name, const char *const *names, int value)
{
    if (value) c_member(s, name, "%s", names[value]);
}

void c_release(c_script *s, const char *format, ...)
{
    str line = {0};
    va_list list;
    str_append(&line, "    ");
    va_start(list, format);
    str_vprintf(&line, format, list);
    va_end(list);
    str_append_char(&line, '\n');
    str_append(&line, str_text(&s->release));
    line.failed |= s->release.failed;
    str_deinit(&s->release);
    s->release = line;
}

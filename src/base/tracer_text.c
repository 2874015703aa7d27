/* SPDX-License-Identifier: Apache-2.0 */
/* JSON on one line. Characters beyond ASCII stay as UTF-8. */
#include "base/tracer_text.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

enum { LONGEST = 120 };

static void put_character(str *out, const char *p, size_t size, uint32_t c)
{
    if (c == '"' || c == '\\') {
        str_append_char(out, '\\');
        str_append_char(out, (char)c);
    } else if (c < 0x20 || c == 0x7f) {
        str_printf(out, "\\u%04x", c);
    } else {
        str_append_n(out, p, size);
    }
}

/* Appends at most `most` characters. */
static void put_text(str *out, const char *text, size_t most)
{
    const char *end = text + strlen(text);
    str_append_char(out, '"');
    for (size_t n = 0; text < end && n < most; n++) {
        uint32_t c = 0;
        const size_t size = utf8_read(text, end, &c);
        if (size)
            put_character(out, text, size, c);
        else
            str_append(out, "\xef\xbf\xbd");
        text += size ? size : 1;
    }
    str_append_char(out, '"');
}

static size_t count_characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void trace_text(str *out, const char *text)
{
    put_text(out, text, SIZE_MAX);
}

void trace_text_short(str *out, const char *text)
{
    if (count_characters(text) <= LONGEST) {
        put_text(out, text, SIZE_MAX);
        return;
    }
    put_text(out, text, LONGEST - 1);
    if (out->failed) return;
    out->size--; /* the quote */
    str_append(out, "\xe2\x80\xa6\"");
}

void trace_milli(str *out, int64_t thousandths)
{
    char text[32], *at = text + sizeof text;
    uint64_t left = thousandths < 0 ? 0 - (uint64_t)thousandths : (uint64_t)thousandths;
    for (int digits = 0; digits < 3 || left || digits < 5; digits++) {
        if (digits == 3) {
            *--at = '.';
            continue;
        }
        *--at = (char)('0' + left % 10);
        left /= 10;
    }
    if (thousandths < 0) *--at = '-';
    str_append_n(out, at, (size_t)(text + sizeof text - at));
}

void trace_put_key(str *out, const char *name)
{
    if (out->size) str_append_char(out, ',');
    trace_text(out, name);
    str_append_char(out, ':');
}

void trace_put_text(str *out, const char *name, const char *text)
{
    trace_put_key(out, name);
    trace_text(out, text);
}

void trace_put_number(str *out, const char *name, double value)
{
    trace_put_key(out, name);
    if (isfinite(value))
        str_printf(out, "%.10g", value);
    else
        str_append(out, isnan(value) ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
}

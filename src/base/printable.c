/* SPDX-License-Identifier: Apache-2.0 */
/* Nearly all text is printable ASCII, so runs of it are copied whole. */
#include "base/printable.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

typedef struct char_range {
    uint32_t first, last;
} char_range;

/* The ranges above ASCII that are escaped. Python's repr escapes more, such as spaces and private
 * characters, which do no harm. */
static const char_range OBEYED[] = {
    {0x80, 0x9F},       /* C1 controls: U+009B begins a terminal's sequence like ESC [ */
    {0xAD, 0xAD},       /* soft hyphen */
    {0x61C, 0x61C},     /* Arabic letter mark */
    {0x180E, 0x180E},   /* Mongolian vowel separator */
    {0x200B, 0x200F},   /* zero width, directions */
    {0x2028, 0x202E},   /* line separators, embedding and overriding of directions */
    {0x2060, 0x206F},   /* word joiner, invisible operators, isolates */
    {0xFEFF, 0xFEFF},   /* byte order mark */
    {0xFFF9, 0xFFFB},   /* interlinear annotation */
    {0xFFFE, 0xFFFF},   /* noncharacters, which XML forbids */
    {0xE0000, 0xE007F}, /* tags */
};

static bool is_obeyed(uint32_t c)
{
    if (c < 0x80) return c < 0x20 || c == 0x7F;
    for (size_t i = 0; i < sizeof OBEYED / sizeof OBEYED[0]; i++)
        if (c >= OBEYED[i].first && c <= OBEYED[i].last) return true;
    return false;
}

/* The size of the run at p that needs no escape; 0 if the first character needs one. */
static size_t printable_run(const char *p, const char *end, const char *kept)
{
    const char *const begin = p;
    while (p < end) {
        uint32_t c;
        const size_t n = utf8_read(p, end, &c);
        if (!n || (is_obeyed(c) && !(c && c < 0x80 && strchr(kept, (int)c)))) break;
        p += n;
    }
    return (size_t)(p - begin);
}

/* Escapes one character, or one byte that is not part of a valid character. */
static size_t append_escape(str *out, const char *p, const char *end)
{
    uint32_t c = 0;
    const size_t n = utf8_read(p, end, &c);
    if (!n) c = (unsigned char)*p;
    if (c == '\n' || c == '\r' || c == '\t')
        str_append(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    else
        str_printf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
    return n ? n : 1;
}

void str_append_printable(str *out, const char *text, size_t size, const char *kept)
{
    const char *const end = text + size;
    while (text < end) {
        const size_t n = printable_run(text, end, kept);
        str_append_n(out, text, n);
        text += n;
        if (text < end) text += append_escape(out, text, end);
    }
}

bool is_printable(const char *text, size_t size, const char *kept)
{
    return printable_run(text, text + size, kept) == size;
}

const char *printable_name(const char *name)
{
    enum { COUNT = 8, SIZE = 2048, KEPT = 2000 };
    static _Thread_local char ring[COUNT][SIZE];
    static _Thread_local size_t next;
    const size_t size = strlen(name);
    if (is_printable(name, size, "")) return name;
    char *const to = ring[next++ % COUNT];
    str text = {0};
    str_append_printable(&text, name, size, "");
    snprintf(to, SIZE, "%.*s%s", KEPT, str_text(&text),
             text.failed || text.size > KEPT ? "..." : "");
    str_deinit(&text);
    return to;
}

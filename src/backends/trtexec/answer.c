/* SPDX-License-Identifier: Apache-2.0 */
/* Lines begin with "[11/23/2026-19:00:00] [I] "; newer releases have further fields there. So a
 * line's text is what follows the first field of one letter. */
#include "backends/trtexec/answer.h"

#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "base/pytext.h"

/* ---- Lines ---------------------------------------------------------------------------------- */

typedef struct line {
    char letter; /* V, I, W, E or F; 0: the line has no such field */
    span text;
} line;

static bool is_letter(const char *at, size_t left)
{
    return left >= 3 && at[0] == '[' && strchr("VIWEF", at[1]) && at[1] && at[2] == ']';
}

static line line_of(span raw)
{
    line l = {.text = raw};
    for (size_t i = 0; i < raw.size && raw.data[i] == '[';) {
        if (is_letter(raw.data + i, raw.size - i)) {
            l.letter = raw.data[i + 1];
            i += 3;
            i += i < raw.size && raw.data[i] == ' ';
            l.text = (span){raw.data + i, raw.size - i};
            break;
        }
        while (i < raw.size && raw.data[i] != ']') i++;
        i += i < raw.size;
        i += i < raw.size && raw.data[i] == ' ';
    }
    while (l.text.size && strchr(" \t\r", l.text.data[l.text.size - 1])) l.text.size--;
    return l;
}

/* Gives the next line and moves *at behind it; false at the end. */
static bool next_line(line *out, const str *text, size_t *at)
{
    if (*at >= text->size) return false;
    const char *begin = text->data + *at;
    const char *end = memchr(begin, '\n', text->size - *at);
    const size_t size = end ? (size_t)(end - begin) : text->size - *at;
    *at += size + (end != NULL);
    *out = line_of((span){begin, size});
    return true;
}

static bool begins_with(span text, const char *prefix)
{
    const size_t n = strlen(prefix);
    return text.size >= n && !memcmp(text.data, prefix, n);
}

/* ---- Failure -------------------------------------------------------------------------------- */

enum { LAST_LINES = 4, LINE_BYTES = 300 };

typedef struct last_lines {
    span items[LAST_LINES];
    size_t count; /* of all that were added */
} last_lines;

static void add_line(last_lines *l, span text)
{
    l->items[l->count++ % LAST_LINES] = text;
}

/* Collects error lines, or with `any` all lines but the banners. */
static void collect(last_lines *out, const str *text, bool any)
{
    line l;
    for (size_t at = 0; next_line(&l, text, &at);) {
        const bool is_error = l.letter == 'E' || l.letter == 'F';
        if (any ? l.text.size && !begins_with(l.text, "&&&&") : is_error) add_line(out, l.text);
    }
}

/* The last lines of errors, or if there are none the last lines at all. */
static void append_last(str *out, const command_result *r)
{
    const str *const texts[] = {&r->err, &r->out};
    last_lines l = {.count = 0};
    for (int any = 0; any < 2; any++)
        for (size_t i = 0; i < 2 && !l.count; i++) collect(&l, texts[i], any);
    const size_t first = l.count > LAST_LINES ? l.count - LAST_LINES : 0;
    for (size_t i = first; i < l.count; i++) {
        const span text = l.items[i % LAST_LINES];
        str_append(out, i > first ? " | " : ": ");
        str_append_printable(out, text.data, text.size < LINE_BYTES ? text.size : LINE_BYTES, "");
    }
    if (!l.count) str_append(out, "; it printed nothing");
}

static bool says_failed(const str *text)
{
    line l;
    bool failed = false;
    for (size_t at = 0; next_line(&l, text, &at);) failed |= begins_with(l.text, "&&&& FAILED");
    return failed;
}

pgy_status answer_check(const command_result *r, pgy_error *err)
{
    str text = {0};
    if (!r->code && !says_failed(&r->out) && !says_failed(&r->err)) return PGY_OK;
    if (r->code < 0)
        str_printf(&text, "trtexec was ended by signal %d (%s)", -r->code, strsignal(-r->code));
    else if (r->code)
        str_printf(&text, "trtexec failed with exit code %d", r->code);
    else
        str_append(&text, "trtexec says FAILED, though its exit code is 0");
    append_last(&text, r);
    const pgy_status st = text.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                      : pgy_error_set(err, PGY_E_BACKEND, "%s", str_text(&text));
    str_deinit(&text);
    return st;
}

/* ---- Latency -------------------------------------------------------------------------------- */

/* Reads "Latency: min = 1 ms, max = 2 ms, mean = 1.5 ms, median = 1.5 ms, ..." */
static bool read_median(double *out, span text)
{
    static const char KEY[] = "median = ";
    char number[64];
    char *end = NULL;
    for (size_t i = 0; i + strlen(KEY) < text.size; i++) {
        if (memcmp(text.data + i, KEY, strlen(KEY)) != 0) continue;
        i += strlen(KEY);
        const size_t left = text.size - i, size = left < sizeof number ? left : sizeof number - 1;
        memcpy(number, text.data + i, size);
        number[size] = '\0';
        *out = text_to_double(number, &end);
        return end != number && isfinite(*out) && *out >= 0 && *out < 1e12;
    }
    return false;
}

static bool find_median(double *out, const str *text)
{
    line l;
    for (size_t at = 0; next_line(&l, text, &at);)
        if (begins_with(l.text, "Latency: ") && read_median(out, l.text)) return true;
    return false;
}

pgy_status answer_latency(double *median_ms, const command_result *r, pgy_error *err)
{
    if (find_median(median_ms, &r->out) || find_median(median_ms, &r->err)) return PGY_OK;
    str text = {0};
    append_last(&text, r);
    const pgy_status st = pgy_error_set(err, PGY_E_BACKEND,
                                        "trtexec printed no line 'Latency: ... median = N ms', so "
                                        "it measured no run%s",
                                        str_text(&text));
    str_deinit(&text);
    return st;
}

bool answer_is_host(const command_result *r)
{
    line l;
    bool host = false;
    for (size_t at = 0; next_line(&l, &r->out, &at);)
        host |= begins_with(l.text, "Selected Device: host");
    return host;
}

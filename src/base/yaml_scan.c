/* SPDX-License-Identifier: Apache-2.0 */
/* The lower half of the YAML reader: a cursor with line and column, the blanks between values, and
 * the texts of scalars, quoted or plain, with folded lines. It knows neither trees nor memory. The
 * first error is kept and stops the cursor. */
#include "base/yaml_scan.h"

#include <string.h>

#include "base/utf8.h"

long yaml_column(const yaml_scan *s)
{
    return (long)(s->p - s->line_start);
}

void yaml_fail(yaml_scan *s, const char *what)
{
    if (!s->st)
        s->st = pgy_error_set(s->err, PGY_E_FORMAT, "line %u column %ld: %s", s->line,
                              yaml_column(s) + 1, what);
}

char yaml_peek(const yaml_scan *s, size_t ahead)
{
    return (size_t)(s->end - s->p) > ahead ? s->p[ahead] : '\n';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool yaml_at_end(const yaml_scan *s)
{
    return s->p >= s->end;
}

void yaml_skip_spaces(yaml_scan *s)
{
    while (!yaml_at_end(s) && (*s->p == ' ' || *s->p == '\t')) s->p++;
    if (!yaml_at_end(s) && *s->p == '#' && (s->p == s->line_start || is_space(s->p[-1])))
        while (!yaml_at_end(s) && *s->p != '\n') s->p++;
    if (!yaml_at_end(s) && *s->p == '\r') s->p++;
}

/* Moves to the next token, over line ends and comments. */
void yaml_skip_lines(yaml_scan *s)
{
    for (;;) {
        yaml_skip_spaces(s);
        if (yaml_at_end(s) || *s->p != '\n') break;
        s->p++;
        s->line++;
        s->line_start = s->p;
    }
    if (!yaml_at_end(s) && memchr(s->line_start, '\t', (size_t)(s->p - s->line_start)) &&
        s->p[-1] == '\t')
        yaml_fail(s, "a tab stands before a value; indent with blanks");
}

bool yaml_ends_line(yaml_scan *s)
{
    yaml_skip_spaces(s);
    return yaml_at_end(s) || *s->p == '\n';
}

bool yaml_at_marker(const yaml_scan *s, const char *marker)
{
    return s->p == s->line_start && s->end - s->p >= 3 && !memcmp(s->p, marker, 3) &&
           is_space(yaml_peek(s, 3));
}

bool yaml_document_ends(const yaml_scan *s)
{
    return yaml_at_end(s) || yaml_at_marker(s, "---") || yaml_at_marker(s, "...");
}

/* ---- Quoted scalars -------------------------------------------------------------------------- */

static int hex(yaml_scan *s, int digits, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++) {
        const char c = yaml_peek(s, 0);
        const int v = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
        if (v < 0) return -1;
        *out = *out << 4 | (uint32_t)v;
        s->p++;
    }
    return 0;
}

static void append_utf8(str *out, uint32_t c)
{
    char bytes[4];
    str_append_n(out, bytes, utf8_write(bytes, c));
}

/* Folds line ends inside a scalar: a single one becomes a blank, n become n - 1. `escaped`: the
 * first becomes nothing. */
static void fold(yaml_scan *s, str *out, bool escaped)
{
    size_t lines = 0;
    while (!escaped && out->size && (str_text(out)[out->size - 1] == ' '))
        out->data[--out->size] = 0;
    while (!yaml_at_end(s) && is_space(*s->p)) {
        if (*s->p == '\n') {
            lines++;
            s->line++;
            s->line_start = s->p + 1;
        }
        s->p++;
    }
    if (lines > 1)
        str_append_fill(out, '\n', lines - 1);
    else if (!escaped)
        str_append_char(out, ' ');
}

static void escape(yaml_scan *s, str *out)
{
    static const char NAMES[] = "0abtnvfre \"/\\", VALUES[] = "\0\a\b\t\n\v\f\r\x1b \"/\\";
    /* The escapes that PyYAML writes for line ends and the blank outside ASCII. */
    static const char WIDE[] = "N_LP";
    static const uint32_t WIDE_CODES[] = {0x85, 0xA0, 0x2028, 0x2029};
    uint32_t code;
    const char c = yaml_peek(s, 0);
    const char *known = c ? strchr(NAMES, c) : NULL, *wide = c ? strchr(WIDE, c) : NULL;
    if (c == '\n' || c == '\r') {
        fold(s, out, true);
        return;
    }
    s->p++;
    if (known && VALUES[known - NAMES]) {
        str_append_char(out, VALUES[known - NAMES]);
        return;
    }
    if (wide) {
        append_utf8(out, WIDE_CODES[wide - WIDE]);
        return;
    }
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (!digits || hex(s, digits, &code) || !code || code > 0x10FFFF ||
        (code >= 0xD800 && code < 0xE000))
        yaml_fail(s, "the escape is invalid or stands for a zero byte");
    else
        append_utf8(out, code);
}

void yaml_read_quoted(yaml_scan *s, str *out)
{
    const char quote = *s->p++;
    while (!s->st) {
        if (yaml_at_end(s)) {
            yaml_fail(s, "a quoted string is not closed");
        } else if (*s->p == quote) {
            s->p++;
            if (quote != '\'' || yaml_at_end(s) || *s->p != '\'') return;
            str_append_char(out, *s->p++);
        } else if (*s->p == '\\' && quote == '"') {
            s->p++;
            escape(s, out);
        } else if (*s->p == '\n' || *s->p == '\r') {
            fold(s, out, false);
        } else if (*s->p == 0) {
            yaml_fail(s, "the text holds a zero byte");
        } else {
            str_append_char(out, *s->p++);
        }
    }
}

/* ---- Plain scalars --------------------------------------------------------------------------- */

static bool plain_ends(const yaml_scan *s, bool flow)
{
    const char c = yaml_peek(s, 0), next = yaml_peek(s, 1);
    if (yaml_at_end(s) || c == '\n' || c == '\r') return true;
    if (c == '#' && s->p > s->line_start && is_space(s->p[-1])) return true;
    if (c == ':' && (is_space(next) || (flow && strchr(",[]{}", next)))) return true;
    return flow && strchr(",[]{}", c);
}

void yaml_read_plain_line(yaml_scan *s, str *out, bool flow)
{
    while (!s->st && !plain_ends(s, flow)) {
        const unsigned char c = (unsigned char)*s->p;
        if (c == 0 || (c < 0x20 && c != '\t'))
            yaml_fail(s, "the text holds a control character");
        else
            str_append_char(out, *s->p++);
    }
    while (out->size && (out->data[out->size - 1] == ' ' || out->data[out->size - 1] == '\t'))
        out->data[--out->size] = 0;
}

void yaml_check_plain_start(yaml_scan *s)
{
    const char c = yaml_peek(s, 0);
    if (c && strchr("&*!|>%@`", c))
        yaml_fail(s, "anchors, tags, block scalars and directives are not supported here");
    else if (c && strchr(",]}", c))
        yaml_fail(s, "expected a value");
    else if ((c == '?' || c == '-' || c == ':') && is_space(yaml_peek(s, 1)))
        yaml_fail(s, c == '?' ? "complex keys ('?') are not supported" : "expected a value");
}

/* Lines indented further than the parent continue the text. */
void yaml_read_plain(yaml_scan *s, str *out, long parent, bool flow)
{
    yaml_check_plain_start(s);
    yaml_read_plain_line(s, out, flow);
    while (!s->st && !flow && yaml_ends_line(s) && !yaml_at_end(s)) {
        const yaml_scan before = *s;
        str more = {0};
        const uint32_t line = s->line;
        yaml_skip_lines(s);
        if (s->st || yaml_document_ends(s) || yaml_column(s) <= parent) {
            const pgy_status st = s->st;
            *s = before;
            s->st = st;
            return;
        }
        yaml_read_plain_line(s, &more, false);
        if (!s->st && yaml_peek(s, 0) == ':')
            yaml_fail(s, "a multi-line string contains a key: quote the string or indent the key");
        str_append(out, s->line > line + 1 ? "\n" : " ");
        str_append(out, str_text(&more));
        str_deinit(&more);
    }
}

/* ---- Names and tags -------------------------------------------------------------------------- */

span yaml_read_name(yaml_scan *s)
{
    const char *begin = ++s->p;
    while (!yaml_at_end(s) && !is_space(*s->p) && !strchr(",[]{}", *s->p)) s->p++;
    if (s->p == begin) yaml_fail(s, "expected a name after '&' or '*'");
    return (span){begin, (size_t)(s->p - begin)};
}

void yaml_skip_tag(yaml_scan *s)
{
    static const char TUPLE[] = "!!python/tuple";
    const size_t size = sizeof TUPLE - 1;
    if ((size_t)(s->end - s->p) < size || memcmp(s->p, TUPLE, size) != 0 ||
        !is_space(yaml_peek(s, size)))
        yaml_fail(s, "the tag is not supported");
    else
        s->p += size;
}

/* ---- Looking ahead --------------------------------------------------------------------------- */

bool yaml_at_dash(const yaml_scan *s)
{
    return !yaml_at_end(s) && *s->p == '-' && is_space(yaml_peek(s, 1));
}

/* True at "key:"; looks at this line only. */
bool yaml_at_key(const yaml_scan *s)
{
    yaml_scan look = *s;
    const char quote = yaml_peek(s, 0);
    if (quote == '"' || quote == '\'') {
        for (look.p++; look.p < look.end && *look.p != '\n'; look.p++) {
            if (*look.p == '\\' && quote == '"') {
                look.p++;
                continue;
            }
            if (*look.p != quote) continue;
            if (quote == '\'' && yaml_peek(&look, 1) == '\'') {
                look.p++;
                continue;
            }
            break;
        }
        if (look.p >= look.end || *look.p != quote) return false;
        look.p++;
        while (yaml_peek(&look, 0) == ' ') look.p++;
        return look.p < look.end && *look.p == ':';
    }
    if (quote == '[' || quote == '{') return false;
    while (!plain_ends(&look, false)) look.p++;
    return look.p < look.end && *look.p == ':';
}

/* ---- Encoding -------------------------------------------------------------------------------- */

/* Only valid UTF-8 is accepted, because models and scripts that receive the texts use UTF-8. */
void yaml_check_encoding(yaml_scan *s)
{
    yaml_scan look = *s;
    uint32_t code;
    for (size_t size; !yaml_at_end(&look); look.p += size) {
        size = utf8_read(look.p, look.end, &code);
        if (!size) {
            yaml_fail(&look, "the text holds bytes that are not UTF-8");
            s->st = look.st;
            return;
        }
        if (code != '\n') continue;
        look.line++;
        look.line_start = look.p + 1;
    }
}

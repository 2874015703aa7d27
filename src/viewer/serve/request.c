/* SPDX-License-Identifier: Apache-2.0 */
/* The request parser. It reads lines that end in CRLF, and holds each character beside the grammar
 * of RFC 9112: what is not allowed there is refused, never skipped. */
#include "viewer/serve/request.h"

#include <string.h>

/* ---- Characters ----------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_token_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (!is_token_char(s.data[i])) return false;
    return s.size > 0;
}

static bool all_in_range(span s, unsigned char low, unsigned char high)
{
    for (size_t i = 0; i < s.size; i++)
        if ((unsigned char)s.data[i] < low || (unsigned char)s.data[i] > high) return false;
    return true;
}

static bool equal_nocase(span a, const char *b)
{
    const size_t size = strlen(b);
    if (a.size != size) return false;
    for (size_t i = 0; i < size; i++) {
        const char c = a.data[i] >= 'A' && a.data[i] <= 'Z' ? (char)(a.data[i] + 32) : a.data[i];
        if (c != b[i]) return false;
    }
    return true;
}

static span trimmed(span s)
{
    while (s.size && (*s.data == ' ' || *s.data == '\t')) s.data++, s.size--;
    while (s.size && (s.data[s.size - 1] == ' ' || s.data[s.size - 1] == '\t')) s.size--;
    return s;
}

/* Takes a line off `rest`. False: it has no end yet, or an end that is not CRLF (*bad). */
static bool take_line(span *line, span *rest, bool *bad)
{
    const char *end = memchr(rest->data, '\n', rest->size);
    *bad = end && (end == rest->data || end[-1] != '\r');
    if (!end || *bad) return false;
    *line = (span){rest->data, (size_t)(end - rest->data) - 1};
    rest->size -= line->size + 2;
    rest->data = end + 1;
    return true;
}

/* Takes what comes before `c` off the line. */
static bool take_until(span *out, span *line, char c)
{
    const char *at = memchr(line->data, c, line->size);
    if (!at) return false;
    *out = (span){line->data, (size_t)(at - line->data)};
    line->size -= out->size + 1;
    line->data = at + 1;
    return true;
}

/* ---- The request line ----------------------------------------------------------------------- */

static int read_version(http_request *r, span version)
{
    static const char NAME[] = "HTTP/";
    const size_t n = sizeof NAME - 1;
    if (version.size != n + 3 || memcmp(version.data, NAME, n) || !is_digit(version.data[n]) ||
        version.data[n + 1] != '.' || !is_digit(version.data[n + 2]))
        return HTTP_BAD_REQUEST;
    if (version.data[n] != '1') return HTTP_BAD_VERSION;
    r->keep_alive = version.data[n + 2] != '0';
    return HTTP_OK;
}

static int read_request_line(http_request *r, span line)
{
    span method, target;
    if (!take_until(&method, &line, ' ') || !take_until(&target, &line, ' ') || !is_token(method))
        return HTTP_BAD_REQUEST;
    const int st = read_version(r, line);
    if (st != HTTP_OK) return st;
    r->is_head = span_equals(method, "HEAD");
    if (!r->is_head && !span_equals(method, "GET")) return HTTP_BAD_METHOD;
    /* A proxy's absolute target and "*" are not for this server. */
    if (!target.size || *target.data != '/' || !all_in_range(target, 0x21, 0x7e) ||
        memchr(target.data, '#', target.size))
        return HTTP_BAD_REQUEST;
    r->path = target;
    const char *mark = memchr(target.data, '?', target.size);
    if (mark) {
        r->path.size = (size_t)(mark - target.data);
        r->query = (span){mark + 1, target.size - r->path.size - 1};
    }
    return HTTP_OK;
}

/* ---- Headers -------------------------------------------------------------------------------- */

/* A list such as "keep-alive, Upgrade": does it have this word? */
static bool has_word(span list, const char *word)
{
    span item;
    while (take_until(&item, &list, ','))
        if (equal_nocase(trimmed(item), word)) return true;
    return equal_nocase(trimmed(list), word);
}

static int read_header(http_request *r, span line)
{
    span name, value = line;
    if (!take_until(&name, &value, ':') || !is_token(name)) return HTTP_BAD_REQUEST;
    value = trimmed(value);
    for (size_t i = 0; i < value.size; i++) {
        const unsigned char c = (unsigned char)value.data[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) return HTTP_BAD_REQUEST;
    }
    if (equal_nocase(name, "host")) {
        if (r->host.data || !value.size) return HTTP_BAD_REQUEST;
        r->host = value;
    } else if (equal_nocase(name, "connection")) {
        if (has_word(value, "close")) r->keep_alive = false;
    } else if (equal_nocase(name, "transfer-encoding") ||
               (equal_nocase(name, "content-length") && !span_equals(value, "0"))) {
        return HTTP_TOO_LARGE; /* GET and HEAD have no bodies */
    }
    return HTTP_OK;
}

static int read_headers(http_request *r, span *rest, bool needs_host)
{
    span line;
    bool bad;
    for (int count = 0;; count++) {
        if (!take_line(&line, rest, &bad)) return bad ? HTTP_BAD_REQUEST : 0;
        if (!line.size) break;
        if (count == HTTP_HEADER_LIMIT) return HTTP_LONG_HEADER;
        const int st = read_header(r, line);
        if (st != HTTP_OK) return st;
    }
    return needs_host && !r->host.data ? HTTP_BAD_REQUEST : HTTP_OK;
}

int http_request_read(http_request *out, const char *bytes, size_t size)
{
    http_request r = {0};
    const size_t read = size < HTTP_REQUEST_LIMIT ? size : HTTP_REQUEST_LIMIT;
    span rest = {bytes, read}, line;
    bool bad;
    int st = 0;
    if (take_line(&line, &rest, &bad)) {
        st = read_request_line(&r, line);
        if (st == HTTP_OK) st = read_headers(&r, &rest, r.keep_alive);
    } else if (bad) {
        st = HTTP_BAD_REQUEST;
    }
    if (!st && read == HTTP_REQUEST_LIMIT) st = HTTP_LONG_HEADER;
    if (st != HTTP_OK) return st;
    r.size = read - rest.size;
    *out = r;
    return HTTP_OK;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool decode(str *out, span s)
{
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i] == '+' ? ' ' : s.data[i];
        if (c == '%') {
            const int high = i + 1 < s.size ? hex_digit(s.data[i + 1]) : -1;
            const int low = i + 2 < s.size ? hex_digit(s.data[i + 2]) : -1;
            if (high < 0 || low < 0) return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (!c) return false;
        str_append_char(out, c);
    }
    return !out->failed;
}

bool http_parameter(str *out, span query, const char *name, size_t nth)
{
    size_t seen = 0;
    while (query.size) {
        span item = query, key;
        if (!take_until(&item, &query, '&')) query.size = 0;
        if (!take_until(&key, &item, '=') || !span_equals(key, name)) continue;
        if (seen++ == nth) return decode(out, item);
    }
    return false;
}

bool http_number(uint64_t *out, span query, const char *name, uint64_t fallback, uint64_t most)
{
    str text = {0};
    uint64_t number = 0;
    bool good = true;
    const bool given = http_parameter(&text, query, name, 0);
    const char *p = str_text(&text);
    if (!given) number = fallback;
    if (given && !*p) good = false;
    for (; given && *p && good; p++) {
        const uint64_t digit = (uint64_t)(*p - '0');
        good = is_digit(*p) && digit <= most && number <= (most - digit) / 10;
        number = number * 10 + digit;
    }
    str_deinit(&text);
    if (good) *out = number;
    return good;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The growable string, spans, string lists and the small text functions (prefixes, wildcards, edit
 * distance). The map is in strmap.c. */
#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/alloc.h"

/* ---- str ------------------------------------------------------------------------------------ */

void str_deinit(str *s)
{
    mem_free(s->data);
    *s = (str){0};
}

void str_clear(str *s)
{
    s->size = 0;
    s->failed = false;
    if (s->data) s->data[0] = '\0';
}

const char *str_text(const str *s)
{
    return s->data ? s->data : "";
}

char *str_take(str *s)
{
    char *text = NULL;
    if (!s->failed) text = s->data ? s->data : mem_strdup("");
    if (text == s->data) s->data = NULL;
    str_deinit(s);
    return text;
}

/* Makes room for `size` more bytes and the terminator. */
static bool reserve(str *s, size_t size)
{
    size_t wanted;
    if (s->failed) return false;
    if (size < s->capacity - s->size && s->data) return true;
    s->failed = !size_add(&wanted, s->size, size) || !size_add(&wanted, wanted, 1) ||
                !mem_grow((void **)&s->data, &s->capacity, wanted < 32 ? 32 : wanted, 1);
    return !s->failed;
}

void str_append(str *s, const char *text)
{
    str_append_n(s, text, strlen(text));
}

void str_append_n(str *s, const char *text, size_t size)
{
    if (!reserve(s, size)) return;
    if (size) memcpy(s->data + s->size, text, size);
    s->size += size;
    s->data[s->size] = '\0';
}

void str_append_char(str *s, char c)
{
    str_append_n(s, &c, 1);
}

void str_append_fill(str *s, char c, size_t count)
{
    if (!reserve(s, count)) return;
    memset(s->data + s->size, c, count);
    s->size += count;
    s->data[s->size] = '\0';
}

void str_append_word(str *s, const char *word)
{
    static const char PLAIN[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%[]";
    if (*word && word[strspn(word, PLAIN)] == 0) {
        str_append(s, word);
        return;
    }
    str_append_char(s, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            str_append(s, "'\\''");
        else
            str_append_char(s, *word);
    }
    str_append_char(s, '\'');
}

void str_printf(str *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_vprintf(s, format, args);
    va_end(args);
}

void str_append_bytes(str *s, uint64_t bytes)
{
    static const char *const UNITS[] = {"KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        str_printf(s, "%llu byte%s", (unsigned long long)bytes, bytes == 1 ? "" : "s");
        return;
    }
    while (v >= 1024 && unit + 1 < sizeof UNITS / sizeof *UNITS) v /= 1024, unit++;
    str_printf(s, "%.2f %s", v, UNITS[unit]);
}

void str_vprintf(str *s, const char *format, va_list args)
{
    if (!reserve(s, 64)) return;
    va_list again;
    va_copy(again, args);
    const size_t room = s->capacity - s->size;
    const int wanted = vsnprintf(s->data + s->size, room, format, args);
    if (wanted < 0) {
        s->data[s->size] = '\0';
        s->failed = true;
    } else if ((size_t)wanted < room) {
        s->size += (size_t)wanted;
    } else if (reserve(s, (size_t)wanted)) {
        vsnprintf(s->data + s->size, (size_t)wanted + 1, format, again);
        s->size += (size_t)wanted;
    } else {
        s->data[s->size] = '\0';
    }
    va_end(again);
}

/* ---- span ----------------------------------------------------------------------------------- */

span span_of(const char *text)
{
    return (span){text, strlen(text)};
}

bool span_equal(span a, span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool span_equals(span a, const char *text)
{
    return span_equal(a, span_of(text));
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The seed is random per process, so that a hostile file cannot choose names that collide. */
static void hash_seed(uint64_t seed[2])
{
    static const uint64_t FIXED[2] = {0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u};
    const void *random = (const void *)getauxval(AT_RANDOM);
    memcpy(seed, random ? random : FIXED, sizeof FIXED);
}

uint64_t span_hash(span s)
{
    uint64_t seed[2];
    hash_seed(seed);
    uint64_t h = seed[0] ^ s.size;
    const uint64_t key = seed[1] | 1;
    const char *p = s.data;
    size_t left = s.size;
    for (; left >= 8; p += 8, left -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = mix(h ^ word, key);
    }
    uint64_t tail = 0;
    if (left) memcpy(&tail, p, left);
    return mix(mix(h ^ tail, key), 0x9E3779B97F4A7C15u);
}

/* ---- small text functions ------------------------------------------------------------------- */

bool str_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends_with(const char *s, const char *suffix)
{
    const size_t n = strlen(s), m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : (unsigned char)c;
}

bool str_equal_nocase(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) a++, b++;
    return *a == *b;
}

static bool starts_nocase(const char *s, const char *prefix)
{
    while (*prefix && lower(*s) == lower(*prefix)) s++, prefix++;
    return !*prefix;
}

bool str_contains_nocase(const char *haystack, const char *needle)
{
    for (;; haystack++) {
        if (starts_nocase(haystack, needle)) return true;
        if (!*haystack) return false;
    }
}

/* Reads one UTF-8 character; a byte that cannot begin one stands for itself. */
static uint32_t next_char(const char **p)
{
    const unsigned char *s = (const unsigned char *)*p;
    const int more = s[0] >= 0xF0 ? 3 : s[0] >= 0xE0 ? 2 : s[0] >= 0xC0 ? 1 : 0;
    uint32_t c = more ? s[0] & (0x3Fu >> more) : s[0];
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            *p += 1;
            return s[0] | 0x80000000u;
        }
        c = c << 6 | (s[i] & 0x3F);
    }
    *p += 1 + more;
    return c;
}

/* `pattern` is just after '['. Returns the end of the set after ']', or NULL when it is not closed.
 */
static const char *match_set(const char *pattern, uint32_t c, bool *matches)
{
    const bool negated = *pattern == '!';
    const char *p = pattern + negated;
    const char *end = strchr(*p == ']' ? p + 1 : p, ']');
    bool found = false;
    if (!end) return NULL;
    while (p < end) {
        const uint32_t low = next_char(&p);
        uint32_t high = low;
        if (*p == '-' && p + 1 < end) {
            p++;
            high = next_char(&p);
        }
        found |= low <= c && c <= high;
    }
    *matches = found != negated;
    return end + 1;
}

/* Matches one pattern element that is not '*' against one character. NULL: differs. */
static const char *match_one(const char *pattern, uint32_t c)
{
    bool matches = false;
    if (*pattern == '?') return pattern + 1;
    if (*pattern == '[') {
        const char *end = match_set(pattern + 1, c, &matches);
        if (end) return matches ? end : NULL;
    }
    if (!*pattern) return NULL;
    return next_char(&pattern) == c ? pattern : NULL;
}

bool str_match_wildcard(const char *pattern, const char *text)
{
    const char *star = NULL,
               *retry = NULL; /* where to go on after a mismatch: the pattern after its last '*',
                                 and the text after what that '*' matches so far */
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
            continue;
        }
        const char *next = text;
        const uint32_t c = next_char(&next);
        const char *after = match_one(pattern, c);
        if (after) {
            pattern = after;
            text = next;
        } else if (star) {
            next_char(&retry);
            pattern = star;
            text = retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

size_t str_distance(const char *a, const char *b)
{
    enum { LONGEST = 255 }; /* bytes beyond this are not compared and count as different */
    size_t row[LONGEST + 1];
    size_t n = strlen(a), m = strlen(b), rest = 0;
    if (n > LONGEST) rest += n - LONGEST, n = LONGEST;
    if (m > LONGEST) rest += m - LONGEST, m = LONGEST;
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m] + rest;
}

/* ---- strvec --------------------------------------------------------------------------------- */

void strvec_deinit(strvec *v)
{
    for (size_t i = 0; i < v->count; i++) mem_free(v->items[i]);
    mem_free(v->items);
    *v = (strvec){0};
}

bool strvec_push(strvec *v, const char *text)
{
    return strvec_push_n(v, text, strlen(text));
}

bool strvec_push_n(strvec *v, const char *text, size_t size)
{
    char *copy = mem_strndup(text, size);
    if (!copy || !mem_grow((void **)&v->items, &v->capacity, v->count + 2, sizeof *v->items)) {
        mem_free(copy);
        return false;
    }
    v->items[v->count++] = copy;
    v->items[v->count] = NULL;
    return true;
}

bool strvec_contains(const strvec *v, const char *text)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->items[i], text) == 0) return true;
    return false;
}

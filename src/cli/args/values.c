/* SPDX-License-Identifier: Apache-2.0 */
/* The grammars of values. Parsing follows the original, except where it misreads a value silently
 * (shapes without brackets, a bare number as range): there the error shows the syntax that works.
 */
#include "cli/args/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pytext.h"
#include "cli/args/parser.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while reading option values");
}

/* ---- cast ----------------------------------------------------------------------------------- */

/* Reads an integer like Python's int(): digits with single underscores between them, a sign, blanks
 * around. */
static bool read_int(int64_t *out, const char *s, size_t size)
{
    char digits[64];
    size_t n = 0;
    bool last_digit = false;
    for (size_t i = 0; i < size; i++) {
        if (s[i] == '_' && last_digit && i + 1 < size && isdigit((unsigned char)s[i + 1])) {
            last_digit = false;
            continue;
        }
        bool sign = i == 0 && (s[i] == '-' || s[i] == '+');
        if ((!sign && !isdigit((unsigned char)s[i])) || n + 1 >= sizeof digits) return false;
        digits[n++] = s[i];
        last_digit = !sign;
    }
    digits[n] = 0;
    errno = 0;
    *out = strtoll(digits, NULL, 10);
    return last_digit && errno == 0;
}

static bool read_real(double *out, const char *s, size_t size)
{
    static const char *const WORDS[] = {"inf", "infinity", "nan"};
    char text[128];
    if (size == 0 || size >= sizeof text) return false;
    memcpy(text, s, size);
    text[size] = 0;
    const char *body = text + (text[0] == '-' || text[0] == '+');
    bool word = false;
    for (size_t i = 0; i < 3; i++) word = word || str_equal_nocase(body, WORDS[i]);
    if (!word && strspn(body, "0123456789.eE+-") != strlen(body)) return false;
    char *end = NULL;
    *out = strtod(text, &end);
    return end == text + size;
}

static span trim(span s)
{
    while (s.size && isspace((unsigned char)s.data[0])) s.data++, s.size--;
    while (s.size && isspace((unsigned char)s.data[s.size - 1])) s.size--;
    return s;
}

static bool is_bracket(char c)
{
    return c == '[' || c == ']';
}

static pgy_status cast_span(cast_value *out, span s, arena *a, pgy_error *err);

static pgy_status cast_list(cast_value *out, span s, arena *a, pgy_error *err)
{
    while (s.size && is_bracket(s.data[0])) s.data++, s.size--;
    while (s.size && is_bracket(s.data[s.size - 1])) s.size--;
    size_t count = 1;
    for (size_t i = 0; i < s.size; i++) count += s.data[i] == ',';
    cast_value *items = arena_alloc_array(a, count, sizeof *items);
    if (!items) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *comma = memchr(s.data, ',', s.size);
        size_t size = comma ? (size_t)(comma - s.data) : s.size;
        pgy_status st = cast_span(&items[i], (span){s.data, size}, a, err);
        if (st) return st;
        s.data += size + (comma != NULL);
        s.size -= size + (comma != NULL);
    }
    *out = (cast_value){.kind = CAST_LIST, .items = items, .count = count};
    return PGY_OK;
}

static pgy_status cast_span(cast_value *out, span s, arena *a, pgy_error *err)
{
    s = trim(s);
    if (s.size && (is_bracket(s.data[0]) || is_bracket(s.data[s.size - 1])))
        return cast_list(out, s, a, err);
    cast_value v = {.kind = CAST_TEXT};
    if (read_int(&v.number.integer, s.data, s.size)) {
        v.kind = CAST_INT;
        v.number.is_integer = true;
        v.number.real = (double)v.number.integer;
    } else if (read_real(&v.number.real, s.data, s.size)) {
        v.kind = CAST_REAL;
    } else {
        while (s.size && (s.data[0] == '\'' || s.data[0] == '"')) s.data++, s.size--;
        while (s.size && (s.data[s.size - 1] == '\'' || s.data[s.size - 1] == '"')) s.size--;
    }
    v.text = arena_strndup(a, s.data, s.size);
    if (!v.text) return no_memory(err);
    *out = v;
    return PGY_OK;
}

pgy_status value_cast(cast_value *out, const char *text, arena *a, pgy_error *err)
{
    return cast_span(out, span_of(text), a, err);
}

/* ---- key:value ------------------------------------------------------------------------------ */

pgy_status values_split(const key_value **out, size_t *count, const pgy_text_list *list, arena *a,
                        pgy_error *err)
{
    key_value *items = arena_alloc_array(a, list->count + 1, sizeof *items);
    if (!items) return no_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i], *colon = strrchr(text, ':');
        const char *key = colon ? arena_strndup(a, text, (size_t)(colon - text)) : "";
        if (!key) return no_memory(err);
        size_t k = 0;
        while (k < n && strcmp(items[k].key, key)) k++;
        items[k] = (key_value){key, colon ? colon + 1 : text};
        if (k == n) n++;
    }
    *out = items;
    *count = n;
    return PGY_OK;
}

pgy_status values_numbers(pgy_number_map *out, const pgy_text_list *list, const char *option,
                          arena *a, pgy_error *err)
{
    const key_value *pairs;
    size_t count;
    pgy_status st = values_split(&pairs, &count, list, a, err);
    if (st) return st;
    pgy_number_entry *entries = arena_alloc_array(a, count + 1, sizeof *entries);
    if (!entries) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        cast_value v;
        st = value_cast(&v, pairs[i].value, a, err);
        if (st) return st;
        /* NaN is refused as a threshold, because no difference is greater. */
        if ((v.kind != CAST_INT && v.kind != CAST_REAL) || isnan(v.number.real))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "%s: '%s' is not a number; expected NUMBER or OUTPUT:NUMBER",
                                 option, pairs[i].value);
        entries[i] = (pgy_number_entry){pairs[i].key, v.number};
    }
    *out = (pgy_number_map){entries, count};
    return PGY_OK;
}

pgy_status values_stats(const pgy_stat_entry **out, size_t *out_count, const pgy_text_list *list,
                        arena *a, pgy_error *err)
{
    const key_value *pairs;
    size_t count;
    pgy_status st = values_split(&pairs, &count, list, a, err);
    if (st) return st;
    pgy_stat_entry *entries = arena_alloc_array(a, count + 1, sizeof *entries);
    if (!entries) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        entries[i].name = pairs[i].key;
        st = pgy_error_stat_from_name(&entries[i].value, pairs[i].value, err);
        if (st) return st;
    }
    *out = entries;
    *out_count = count;
    return PGY_OK;
}

pgy_status values_ranges(const pgy_value_range **out, size_t *out_count, const pgy_text_list *list,
                         arena *a, pgy_error *err)
{
    const key_value *pairs;
    size_t count;
    pgy_status st = values_split(&pairs, &count, list, a, err);
    if (st) return st;
    pgy_value_range *ranges = arena_alloc_array(a, count + 1, sizeof *ranges);
    if (!ranges) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        cast_value v;
        st = value_cast(&v, pairs[i].value, a, err);
        if (st) return st;
        bool good = v.kind == CAST_LIST && v.count == 2;
        for (size_t k = 0; good && k < 2; k++)
            good = v.items[k].kind == CAST_INT || v.items[k].kind == CAST_REAL;
        if (!good)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--val-range: '%s' is not a range; expected exactly two numbers "
                                 "in brackets, as in '[0,1]' or 'NAME:[0,1]'",
                                 pairs[i].value);
        const pgy_number *low = &v.items[0].number, *high = &v.items[1].number;
        ranges[i] = (pgy_value_range){.name = pairs[i].key,
                                      .low = low->real,
                                      .high = high->real,
                                      .is_integer = low->is_integer && high->is_integer,
                                      .low_int = low->integer,
                                      .high_int = high->integer};
    }
    *out = ranges;
    *out_count = count;
    return PGY_OK;
}

/* ---- The rest ------------------------------------------------------------------------------- */

/* Reads "top-K" or "top-K,axis=A". */
static bool read_top_k(pgy_top_k *out, const char *text)
{
    if (strncmp(text, "top-", 4)) return false;
    const char *k = text + 4, *comma = strchr(k, ',');
    size_t size = comma ? (size_t)(comma - k) : strlen(k);
    if (!read_int(&out->k, k, size) || out->k < 0) return false;
    if (!comma) return true;
    if (strncmp(comma, ",axis=", 6)) return false;
    out->has_axis = true;
    return read_int(&out->axis, comma + 6, strlen(comma + 6));
}

pgy_status values_top_k(const pgy_top_k **out, size_t *out_count, const pgy_text_list *list,
                        arena *a, pgy_error *err)
{
    const key_value *pairs;
    size_t count;
    pgy_status st = values_split(&pairs, &count, list, a, err);
    if (st) return st;
    pgy_top_k *items = arena_alloc_array(a, count + 1, sizeof *items);
    if (!items) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        items[i].output = pairs[i].key;
        if (!read_top_k(&items[i], pairs[i].value))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--postprocess: '%s' is not valid; expected top-K or "
                                 "top-K,axis=A, as in 'top-5' or 'logits:top-5,axis=1'",
                                 pairs[i].value);
    }
    *out = items;
    *out_count = count;
    return PGY_OK;
}

pgy_status value_bytes(uint64_t *out, const char *text, const char *option, pgy_error *err)
{
    static const char SUFFIXES[] = "kmg";
    size_t size = strlen(text);
    double scale = 1, v;
    const char *suffix = size ? strchr(SUFFIXES, tolower((unsigned char)text[size - 1])) : NULL;
    if (suffix && *suffix) {
        scale = ldexp(1, 10 * (int)(suffix - SUFFIXES + 1));
        size--;
    }
    int64_t exact;
    if (scale == 1 && read_int(&exact, text, size) && exact >= 0) {
        *out = (uint64_t)exact;
        return PGY_OK;
    }
    if (!read_real(&v, text, size) || !(v >= 0) || v * scale >= 18446744073709551616.0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%s: '%s' is not a number of bytes; expected digits with an optional "
                             "K, M or G, as in '512M'",
                             option, text);
    *out = (uint64_t)(v * scale);
    return PGY_OK;
}

pgy_status value_script(const char **path, const char **function, const char *text, arena *a,
                        pgy_error *err)
{
    const char *colon = strrchr(text, ':');
    *function = colon ? colon + 1 : NULL;
    *path = colon ? arena_strndup(a, text, (size_t)(colon - text)) : text;
    return *path ? PGY_OK : no_memory(err);
}

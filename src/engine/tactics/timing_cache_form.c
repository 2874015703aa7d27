/* SPDX-License-Identifier: Apache-2.0 */
/* The two formats of a timing cache.
 *
 * Binary: a header, the name of the processor, the entries by ascending key, all under one
 * checksum. Text, for editing: a first line that names the format, the processor, then a line for
 * each entry, in any order; blank lines and text after a '#' are ignored. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/pytext.h"
#include "engine/tactics/timing_cache.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");

#define MAGIC "\x89PGYTIME"
static const char TEXT_START[] = "polygraphy timing cache, version ";
static const char DEVICE_START[] = "device: ";

enum {
    VERSION = 1,
    MAGIC_BYTES = 8,
    MOST_DEVICE = 1024,
    DIGITS_OF_KEY = 32,
    DIGITS_OF_TACTIC = 16
};

typedef struct header {
    char magic[MAGIC_BYTES];
    uint32_t version, device_bytes;
    uint64_t count;
    uint64_t hash; /* hash of the whole file, with this field as 0 */
} header;

typedef struct record {
    pgy_timing_key key;
    uint64_t tactic;
    float milliseconds;
    uint32_t zero;
} record;

_Static_assert(sizeof(header) == 32 && sizeof(record) == 32, "written as they are");

pgy_timing_form timing_form_of(const void *data, size_t size_bytes)
{
    const size_t size = sizeof TEXT_START - 1;
    return size_bytes >= size && memcmp(data, TEXT_START, size) == 0 ? PGY_TIMING_TEXT
                                                                     : PGY_TIMING_BINARY;
}

static pgy_status newer(uint64_t version, pgy_error *err)
{
    return pgy_error_set(
        err, PGY_E_UNSUPPORTED,
        "the timing cache has version %llu, but this library reads versions up to %d",
        (unsigned long long)version, VERSION);
}

/* Can the processor's name be stored in one line and read back unchanged? */
static bool is_device(const char *text, size_t size)
{
    if (!size || size > MOST_DEVICE || text[0] == ' ' || text[size - 1] == ' ') return false;
    for (size_t i = 0; i < size; i++)
        if (text[i] < ' ' || text[i] > '~' || text[i] == '#') return false;
    return true;
}

/* ---- Binary --------------------------------------------------------------------------------- */

static uint64_t hash_of(const header *h, const char *rest, size_t size_bytes)
{
    header plain = *h;
    plain.hash = 0;
    return hash_xxh64(rest, size_bytes, hash_xxh64(&plain, sizeof plain, 0));
}

static pgy_status check_header(const header *h, size_t size_bytes, pgy_error *err)
{
    if (h->version > VERSION) return newer(h->version, err);
    const size_t rest = size_bytes - sizeof *h;
    if (!h->version || h->device_bytes > MOST_DEVICE || h->device_bytes > rest ||
        (rest - h->device_bytes) / sizeof(record) != h->count ||
        (rest - h->device_bytes) % sizeof(record))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the timing cache is damaged: its %zu bytes do not match its header, "
                             "which has %llu entries",
                             size_bytes, (unsigned long long)h->count);
    return PGY_OK;
}

static pgy_status read_records(pgy_timing_cache *c, const char *data, uint64_t count,
                               pgy_error *err)
{
    for (uint64_t i = 0; i < count; i++) {
        record r;
        memcpy(&r, data + i * sizeof r, sizeof r);
        const timing_row row = {.key = r.key,
                                .entry = {.tactic = r.tactic, .milliseconds = r.milliseconds}};
        if (!timing_cache_append(c, &row))
            return pgy_error_set(
                err, PGY_E_FORMAT,
                "the timing cache is damaged: entry %llu is out of order or has an invalid time",
                (unsigned long long)i);
    }
    return PGY_OK;
}

static pgy_status parse_binary(pgy_timing_cache **out, const char *data, size_t size_bytes,
                               pgy_error *err)
{
    header h;
    pgy_timing_cache *c = NULL;
    if (size_bytes < MAGIC_BYTES || memcmp(data, MAGIC, MAGIC_BYTES) != 0)
        return pgy_error_set(err, PGY_E_FORMAT, "the file is not a timing cache of this engine");
    if (size_bytes < sizeof h)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the timing cache is damaged: it ends in its "
                             "header");
    memcpy(&h, data, sizeof h);
    pgy_status st = check_header(&h, size_bytes, err);
    if (st) return st;
    if (hash_of(&h, data + sizeof h, size_bytes - sizeof h) != h.hash)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the timing cache is damaged: its checksum is wrong");
    if (!is_device(data + sizeof h, h.device_bytes))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the timing cache is damaged: its processor name is invalid");
    st = timing_cache_make(&c, data + sizeof h, h.device_bytes, err);
    if (!st) st = read_records(c, data + sizeof h + h.device_bytes, h.count, err);
    if (st)
        pgy_timing_cache_destroy(c);
    else
        *out = c;
    return st;
}

static void write_binary(str *out, const pgy_timing_cache *c)
{
    header h = {.version = VERSION, .device_bytes = (uint32_t)strlen(c->device), .count = c->count};
    memcpy(h.magic, MAGIC, MAGIC_BYTES);
    str_append_n(out, (const char *)&h, sizeof h);
    str_append_n(out, c->device, h.device_bytes);
    for (size_t i = 0; i < c->count; i++) {
        const timing_row *row = &c->rows[i];
        const record r = {
            .key = row->key, .tactic = row->entry.tactic, .milliseconds = row->entry.milliseconds};
        str_append_n(out, (const char *)&r, sizeof r);
    }
    if (out->failed) return;
    h.hash = hash_of(&h, out->data + sizeof h, out->size - sizeof h);
    memcpy(out->data, &h, sizeof h);
}

/* ---- Text ----------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads `count` hex digits; false: fewer follow. */
static bool take_hex(uint8_t *out, const char **at, const char *end, size_t count)
{
    if ((size_t)(end - *at) < count) return false;
    for (size_t i = 0; i < count; i++) {
        const int digit = digit_of((*at)[i]);
        if (digit < 0) return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | digit : digit << 4);
    }
    *at += count;
    return true;
}

static bool take_blanks(const char **at, const char *end)
{
    const char *start = *at;
    while (*at < end && **at == ' ') ++*at;
    return *at > start;
}

static bool parse_row(timing_row *row, const char *at, const char *end)
{
    uint8_t tactic[DIGITS_OF_TACTIC / 2];
    char number[40], *rest;
    if (!take_hex(row->key.bytes, &at, end, DIGITS_OF_KEY) || !take_blanks(&at, end) ||
        !take_hex(tactic, &at, end, DIGITS_OF_TACTIC) || !take_blanks(&at, end))
        return false;
    row->entry.tactic = 0;
    for (size_t i = 0; i < sizeof tactic; i++)
        row->entry.tactic = row->entry.tactic << 8 | tactic[i];
    const size_t size = (size_t)(end - at);
    if (!size || size >= sizeof number) return false;
    memcpy(number, at, size);
    number[size] = '\0';
    row->entry.milliseconds = (float)text_to_double(number, &rest);
    return rest > number && rest[strspn(rest, " ")] == '\0';
}

static pgy_status read_row(pgy_timing_cache *c, const char *line, const char *end, size_t number,
                           pgy_error *err)
{
    timing_row row;
    pgy_timing_entry there;
    if (!parse_row(&row, line, end))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "line %zu: expected a key of %d digits, a tactic of %d digits and "
                             "milliseconds; found '%.*s'",
                             number, DIGITS_OF_KEY, DIGITS_OF_TACTIC,
                             (int)(end - line < 100 ? end - line : 100), line);
    if (pgy_timing_cache_query(&there, c, &row.key))
        return pgy_error_set(err, PGY_E_FORMAT, "line %zu: the key occurs twice", number);
    const pgy_status st = pgy_timing_cache_update(c, &row.key, &row.entry, err);
    return st ? pgy_error_prefix(err, st, "line %zu: ", number) : PGY_OK;
}

/* End of the line without its comment and trailing blanks. */
static const char *end_of(const char *line, const char *end)
{
    const char *comment = memchr(line, '#', (size_t)(end - line));
    if (comment) end = comment;
    while (end > line && (end[-1] == ' ' || end[-1] == '\r')) end--;
    return end;
}

static pgy_status read_rows(pgy_timing_cache *c, const char *at, const char *end, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t number = 3; !st && at < end; number++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        if (!next) next = end;
        const char *last = end_of(at, next);
        if (last > at) st = read_row(c, at, last, number, err);
        at = next < end ? next + 1 : end;
    }
    return st;
}

static pgy_status parse_text(pgy_timing_cache **out, const char *data, size_t size_bytes,
                             pgy_error *err)
{
    const char *end = data + size_bytes, *at = data + sizeof TEXT_START - 1;
    const size_t start = sizeof DEVICE_START - 1;
    pgy_timing_cache *c = NULL;
    uint64_t version = 0;
    for (; at < end && *at >= '0' && *at <= '9' && version < 1000000; at++)
        version = version * 10 + (uint64_t)(*at - '0');
    if (version > VERSION) return newer(version, err);
    const char *first = memchr(at, '\n', (size_t)(end - at));
    const char *named = first ? first + 1 : end;
    const char *second = memchr(named, '\n', (size_t)(end - named));
    const char *last = second ? end_of(named, second) : named;
    if (!version || (size_t)(last - named) <= start || memcmp(named, DEVICE_START, start) != 0 ||
        !is_device(named + start, (size_t)(last - named) - start))
        return pgy_error_set(err, PGY_E_FORMAT, "line 2: expected '%s' and the name of a processor",
                             DEVICE_START);
    pgy_status st = timing_cache_make(&c, named + start, (size_t)(last - named) - start, err);
    if (!st) st = read_rows(c, second + 1, end, err);
    if (st)
        pgy_timing_cache_destroy(c);
    else
        *out = c;
    return st;
}

static void write_text(str *out, const pgy_timing_cache *c)
{
    str_printf(out, "%s%d\n%s%s\n", TEXT_START, VERSION, DEVICE_START, c->device);
    for (size_t i = 0; i < c->count; i++) {
        const timing_row *row = &c->rows[i];
        const char *name = pgy_timing_tactic_name(row->entry.tactic);
        for (size_t k = 0; k < sizeof row->key.bytes; k++)
            str_printf(out, "%02x", row->key.bytes[k]);
        str_printf(out, " %016llx ", (unsigned long long)row->entry.tactic);
        str_append_g(out, 9, (double)row->entry.milliseconds);
        str_printf(out, name ? " # %s\n" : "\n", name);
    }
}

/* ---- Either format -------------------------------------------------------------------------- */

pgy_status pgy_timing_cache_parse(pgy_timing_cache **out, const void *data, size_t size_bytes,
                                  pgy_error *err)
{
    return timing_form_of(data, size_bytes) == PGY_TIMING_TEXT
               ? parse_text(out, data, size_bytes, err)
               : parse_binary(out, data, size_bytes, err);
}

pgy_status pgy_timing_cache_serialize(void **out, size_t *size_bytes, const pgy_timing_cache *c,
                                      pgy_timing_form form, pgy_error *err)
{
    str text = {0};
    pthread_mutex_lock((pthread_mutex_t *)&c->lock);
    if (form == PGY_TIMING_TEXT)
        write_text(&text, c);
    else
        write_binary(&text, c);
    pthread_mutex_unlock((pthread_mutex_t *)&c->lock);
    if (text.failed) {
        str_deinit(&text);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a timing cache");
    }
    *size_bytes = text.size;
    *out = str_take(&text);
    return PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A state is the set of instructions that may come next, and the kind of the character before,
 * which assertions (^, \b) ask for. Which of them hold is only known with the next character, so
 * whether the text up to here matches is a bit of the transition, not of the state. A search tries
 * each place in turn; tries that fail late would make it quadratic, so they are limited. */
#include "ops/class_regex_dfa.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"

enum {
    ASCII = 128,
    MAX_CLASSES = 255,
    MAX_RANGES = 4096,
    MAX_ENTRIES = 1 << 17, /* of the table */
    MAX_SEEDS = 1 << 18,   /* of all states */
    BUCKETS = 256,
    CHUNK = 1 << 16,   /* characters between checks for a request to stop */
    MAX_FAILED = 4096, /* characters read in vain, and a multiple of those passed */
    FAILED_PER_PASSED = 4
};

/* An entry of the table: twice the place of the next state's row, plus 1 if the text matches up to
 * this character. Row 0 is the state that nothing leaves. */
static const uint32_t UNKNOWN = UINT32_MAX;
enum { MATCHES = 1 };

/* Of the character before a state, as far as assertions tell characters apart. */
typedef enum kind { AT_START, AT_LINE, AT_WORD, AT_OTHER, KINDS } kind;
static const int64_t BEFORE[KINDS] = {-1, '\n', 'a', ' '};

typedef struct dfa_state {
    uint32_t first, count; /* place of its instructions in the list of all states */
    uint32_t hash, next;   /* next state of the bucket, or 0 */
    kind before;
} dfa_state;

struct regex_dfa {
    const regex_program *r;
    nfa *room;
    bool asserts, full;
    size_t classes, stride;     /* a row has an entry for each class and one for the end */
    uint32_t cuts[MAX_CLASSES]; /* lowest character of each class, ascending */
    uint8_t ascii[ASCII];       /* class of a character */
    uint32_t *table;
    dfa_state *states;
    size_t count, capacity;
    uint32_t *seeds;
    size_t seed_count, seed_capacity;
    uint32_t buckets[BUCKETS]; /* first state, or 0 */
    uint32_t starts[KINDS];    /* row of the state before a match, or UNKNOWN */
};

/* ---- Classes of characters ------------------------------------------------------------------ */

static size_t class_of(const regex_dfa *d, uint32_t c)
{
    size_t low = 0, high = d->classes;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        *(d->cuts[middle] <= c ? &low : &high) = middle;
    }
    return low;
}

/* Starts a class at `c`. False: there are too many. */
static bool add_cut(regex_dfa *d, uint32_t c)
{
    const size_t at = class_of(d, c);
    if (d->cuts[at] == c || c > 0x10FFFF) return true;
    if (d->classes == MAX_CLASSES) return false;
    memmove(&d->cuts[at + 2], &d->cuts[at + 1], (d->classes - at - 1) * sizeof *d->cuts);
    d->cuts[at + 1] = c;
    d->classes++;
    return true;
}

static bool add_range(regex_dfa *d, uint32_t low, uint32_t high)
{
    return add_cut(d, low) && add_cut(d, high + 1);
}

/* The letters of the other case of those in a range. */
static bool add_other_case(regex_dfa *d, range r, uint32_t first)
{
    const uint32_t low = r.low > first ? r.low : first;
    const uint32_t high = r.high < first + 25 ? r.high : first + 25;
    return low > high || add_range(d, low ^ 32, high ^ 32);
}

static bool find_classes(regex_dfa *d)
{
    const regex_program *r = d->r;
    bool nocase = false, fits = r->range_count <= MAX_RANGES;
    d->classes = 1;
    for (size_t i = 0; i < r->count; i++) {
        nocase |= r->code[i].op == OP_SET && r->code[i].nocase;
        d->asserts |=
            r->code[i].op == OP_BEGIN || r->code[i].op == OP_END || r->code[i].op == OP_BOUNDARY;
    }
    for (size_t i = 0; fits && i < r->range_count; i++)
        fits = add_range(d, r->ranges[i].low, r->ranges[i].high) &&
               (!nocase ||
                (add_other_case(d, r->ranges[i], 'A') && add_other_case(d, r->ranges[i], 'a')));
    if (fits && d->asserts)
        fits = add_range(d, '\n', '\n') && add_range(d, '0', '9') && add_range(d, 'A', 'Z') &&
               add_range(d, '_', '_') && add_range(d, 'a', 'z');
    for (size_t c = 0; fits && c < ASCII; c++) d->ascii[c] = (uint8_t)class_of(d, (uint32_t)c);
    d->stride = d->classes + 1;
    return fits;
}

static kind kind_of(const regex_dfa *d, int64_t c)
{
    if (!d->asserts) return AT_OTHER;
    return c < 0 ? AT_START : c == '\n' ? AT_LINE : regex_is_word(c) ? AT_WORD : AT_OTHER;
}

/* ---- States --------------------------------------------------------------------------------- */

static bool grow(void **items, size_t *capacity, size_t needed, size_t size)
{
    size_t room = *capacity ? *capacity : 16;
    if (needed <= *capacity) return true;
    while (room < needed) room *= 2;
    void *more = mem_realloc(*items, room * size);
    if (!more) return false;
    *items = more;
    *capacity = room;
    return true;
}

/* False: the limit is reached. */
static bool add_state(regex_dfa *d, const uint32_t *seeds, size_t count, uint32_t hash, kind before)
{
    const size_t old = d->capacity;
    size_t rows = old;
    if (d->full || (d->count + 1) * d->stride > MAX_ENTRIES || d->seed_count + count > MAX_SEEDS ||
        !grow((void **)&d->table, &rows, d->count + 1, d->stride * sizeof *d->table) ||
        !grow((void **)&d->states, &d->capacity, d->count + 1, sizeof *d->states) ||
        !grow((void **)&d->seeds, &d->seed_capacity, d->seed_count + count, sizeof *d->seeds)) {
        d->full = true;
        return false;
    }
    memset(d->table + d->count * d->stride, 0xFF, d->stride * sizeof *d->table);
    if (count) memcpy(d->seeds + d->seed_count, seeds, count * sizeof *seeds);
    uint32_t *bucket = &d->buckets[hash % BUCKETS];
    d->states[d->count] = (dfa_state){.first = (uint32_t)d->seed_count,
                                      .count = (uint32_t)count,
                                      .hash = hash,
                                      .next = *bucket,
                                      .before = before};
    d->seed_count += count;
    *bucket = (uint32_t)d->count++;
    return true;
}

static int compare_seeds(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The row of the state with these instructions, which are sorted, or UNKNOWN. */
static uint32_t state_of(regex_dfa *d, uint32_t *seeds, size_t count, kind before)
{
    uint32_t hash = (uint32_t)before;
    if (!count) return 0;
    if (count > 1) qsort(seeds, count, sizeof *seeds, compare_seeds);
    for (size_t i = 0; i < count; i++) hash = (hash ^ seeds[i]) * 0x9E3779B1u;
    hash ^= hash >> 15;
    for (uint32_t i = d->buckets[hash % BUCKETS]; i; i = d->states[i].next) {
        const dfa_state *s = &d->states[i];
        if (s->hash == hash && s->count == count && s->before == before &&
            memcmp(d->seeds + s->first, seeds, count * sizeof *seeds) == 0)
            return (uint32_t)(i * d->stride);
    }
    const uint32_t row = (uint32_t)(d->count * d->stride);
    return add_state(d, seeds, count, hash, before) ? row : UNKNOWN;
}

static uint32_t start_of(regex_dfa *d, kind before)
{
    uint32_t first = 0;
    if (d->starts[before] == UNKNOWN) d->starts[before] = state_of(d, &first, 1, before);
    return d->starts[before];
}

/* Computes the entry of the table for a class in the state of this row. */
static uint32_t find_next(regex_dfa *d, uint32_t row, size_t class)
{
    const dfa_state s = d->states[row / d->stride];
    const bool ends = class == d->classes;
    const int64_t c = ends ? -1 : (int64_t)d->cuts[class];
    nfa_states *now = &d->room->now;
    uint32_t *then = d->room->then.list, match = 0, next = 0;
    size_t count = 0;
    now->count = 0;
    for (size_t i = 0; i < s.count; i++)
        nfa_follow(now, d->r, d->seeds[s.first + i], 0, BEFORE[s.before], c);
    for (size_t i = 0; i < now->count; i++) {
        const instruction *code = &d->r->code[now->list[i]];
        if (code->op == OP_MATCH) match = MATCHES;
        if (!ends && code->op == OP_SET && nfa_accepts(d->r, code, (uint32_t)c))
            then[count++] = now->list[i] + 1;
    }
    next = state_of(d, then, count, kind_of(d, c));
    if (next == UNKNOWN) return UNKNOWN;
    return d->table[row + class] = next << 1 | match;
}

void regex_dfa_destroy(regex_dfa *d)
{
    if (!d) return;
    mem_free(d->table);
    mem_free(d->states);
    mem_free(d->seeds);
    mem_free(d);
}

regex_dfa *regex_dfa_create(const regex_program *r, nfa *room)
{
    regex_dfa *d = mem_calloc(1, sizeof *d);
    if (!d) return NULL;
    d->r = r;
    d->room = room;
    for (size_t i = 0; i < KINDS; i++) d->starts[i] = UNKNOWN;
    if (find_classes(d) && add_state(d, NULL, 0, 0, AT_OTHER)) return d;
    regex_dfa_destroy(d);
    return NULL;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Reads from *at, in the state of a row, up to the last character that may be part of a match.
 * *last is the end of the longest one, or NULL. False: no answer. */
static bool walk(const char **last, const char **at, regex_dfa *d, uint32_t row, const char *end)
{
    const char *p = *at, *found = NULL;
    while (row) {
        const char *stop = end - p > CHUNK ? p + CHUNK : end;
        while (row && p < stop) {
            const char *here = p;
            const size_t class = *p & '\x80' ? class_of(d, (uint32_t)nfa_next_char(&p, end))
                                             : d->ascii[(unsigned char)*p++];
            uint32_t entry = d->table[row + class];
            if (entry == UNKNOWN && (entry = find_next(d, row, class)) == UNKNOWN) return false;
            if (entry & MATCHES) found = here;
            row = entry >> 1;
        }
        if (!row) break;
        if (p == end) {
            uint32_t entry = d->table[row + d->classes];
            if (entry == UNKNOWN) entry = find_next(d, row, d->classes);
            if (entry & MATCHES) found = p;
            break;
        }
        if (cancel_requested()) return false;
    }
    *last = found;
    *at = p;
    return true;
}

bool regex_dfa_matches(bool *matches, regex_dfa *d, span text)
{
    const char *end = text.data + text.size, *at = text.data, *last;
    const uint32_t start = start_of(d, kind_of(d, -1));
    if (start == UNKNOWN || !walk(&last, &at, d, start, end)) return false;
    *matches = last == end;
    return true;
}

/* Passes characters with which no match can begin. */
static const char *skip(regex_dfa *d, uint32_t start, const char *at, const char *end)
{
    const uint32_t *row = d->table + start;
    const char *stop = end - at > CHUNK ? at + CHUNK : end;
    while (at < stop && !(*at & '\x80') && !row[d->ascii[(unsigned char)*at]]) at++;
    return at;
}

bool regex_dfa_search(bool *found, size_t *begin, size_t *end, regex_dfa *d, span text,
                      size_t *from)
{
    const char *const stop = text.data + text.size, *const first = text.data + *from;
    const char *at = first, *last = NULL;
    kind before = d->asserts ? kind_of(d, nfa_char_before(text, *from)) : AT_OTHER;
    size_t failed = 0;
    for (;;) {
        const uint32_t start = start_of(d, before);
        if (!d->asserts && start != UNKNOWN) at = skip(d, start, at, stop);
        const char *p = at;
        *from = (size_t)(at - text.data);
        if (start == UNKNOWN || cancel_requested() || !walk(&last, &p, d, start, stop))
            return false;
        if (last || at == stop) break;
        failed += (size_t)(p - at);
        if (failed > MAX_FAILED + FAILED_PER_PASSED * (size_t)(at - first)) return false;
        before = kind_of(d, nfa_next_char(&at, stop));
    }
    *found = last != NULL;
    *begin = *from;
    *end = last ? (size_t)(last - text.data) : 0;
    return true;
}

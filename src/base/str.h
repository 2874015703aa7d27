/* SPDX-License-Identifier: Apache-2.0 */
/* Text: a growable string whose data is always terminated, a borrowed span, string lists, and an
 * ordered map from strings to pointers. All are valid when zeroed. A failed allocation sets
 * `failed`, and later appends do nothing, so callers test once at the end. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <polygraphy/base.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct str {
    char *data; /* NULL until the first append; use str_text() */
    size_t size, capacity;
    bool failed;
} str;

void str_deinit(str *s);
void str_clear(str *s);
const char *str_text(const str *s); /* never NULL */
char *str_take(str *s); /* passes ownership to the caller (mem_free); NULL if an append failed */
/* Like str_take, for functions that return a status: PGY_E_MEMORY if an append failed. */
pgy_status str_give(char **out, str *s, pgy_error *err) PGY_MUST_CHECK;
void str_append(str *s, const char *text);
void str_append_n(str *s, const char *text, size_t size);
void str_append_char(str *s, char c);
void str_append_fill(str *s, char c, size_t count);
void str_append_bytes(str *s, uint64_t bytes); /* "1 byte", "12.50 MiB" */
/* Appends a word quoted for the shell, so that a printed line can be pasted back. */
void str_append_word(str *s, const char *word);
void str_printf(str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(str *s, const char *format, va_list args);

/* A borrowed piece of text, not terminated. */
typedef struct span {
    const char *data;
    size_t size;
} span;
span span_of(const char *text);
bool span_equal(span a, span b);
bool span_equals(span a, const char *text);
uint64_t span_hash(span s);

/* The functions with `nocase` ignore the case of ASCII letters only. */
bool str_starts_with(const char *s, const char *prefix);
bool str_ends_with(const char *s, const char *suffix);
bool str_equal_nocase(const char *a, const char *b);
bool str_contains_nocase(const char *haystack, const char *needle);
/* Matches like Python's fnmatchcase: * ? [seq] [!seq]; a backslash is literal. */
bool str_match_wildcard(const char *pattern, const char *text);
/* The edit distance of two texts, for "did you mean" hints. */
size_t str_distance(const char *a, const char *b);

/* Owned list of owned strings; items[count] is NULL. */
typedef struct strvec {
    char **items;
    size_t count, capacity;
} strvec;
void strvec_deinit(strvec *v);
bool strvec_push(strvec *v,
                 const char *text); /* appends a copy of the text; false: out of memory */
bool strvec_push_n(strvec *v, const char *text, size_t size);
bool strvec_contains(const strvec *v, const char *text);

/* A hash map that keeps the order of insertion. It copies keys, into `names` if that is set; the
 * caller owns the values. */
typedef struct strmap_entry {
    char *key;
    void *value;
    uint64_t hash;
} strmap_entry;
typedef struct strmap {
    strmap_entry *entries; /* in insertion order */
    size_t count, capacity;
    uint32_t *slots;
    size_t slot_count;
    struct arena *names; /* the caller's; NULL: each key is an allocation of its own */
} strmap;
void strmap_deinit(strmap *m);
bool strmap_put(strmap *m, const char *key,
                void *value); /* adds or replaces an entry; false: out of memory */
bool strmap_put_n(strmap *m, const char *key, size_t key_size, void *value);
void *strmap_get(const strmap *m, const char *key); /* NULL if absent */
void *strmap_get_n(const strmap *m, const char *key, size_t key_size);
bool strmap_has(const strmap *m, const char *key);
strmap_entry *strmap_find(const strmap *m, const char *key); /* NULL if absent */
/* Renames a key; the entry keeps its place. False: `from` is absent, `to` is taken, or out of
 * memory. */
bool strmap_rename(strmap *m, const char *from, const char *to);

#endif

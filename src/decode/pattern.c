/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of names with wildcards: "past_key_values.*=present.*" maps past_key_values.3.key to
 * present.3.key. */
#include <string.h>

#include "decode/decode.h"

enum { MAX_STARS = 8 };

/* The texts that the `*` of a pattern stand for. */
typedef struct captures {
    span items[MAX_STARS];
    size_t count;
} captures;

/* Finds a span of `size` bytes at or after `from`; NULL: none. */
static const char *find_literal(const char *from, const char *literal, size_t size)
{
    const size_t rest = strlen(from);
    for (size_t i = 0; i + size <= rest; i++)
        if (!memcmp(from + i, literal, size)) return from + i;
    return NULL;
}

/* Each `*` takes as little as possible. The text behind the last one is the end of the name, so no
 * choice has to be taken back. */
static bool match(captures *c, const char *name, const char *pattern)
{
    size_t literal = strcspn(pattern, "*");
    if (strncmp(name, pattern, literal)) return false;
    name += literal;
    pattern += literal;
    if (!*pattern) return !*name;
    while (*pattern) {
        literal = strcspn(++pattern, "*");
        const bool last = !pattern[literal];
        const size_t rest = strlen(name);
        const char *found = last ? (rest < literal ? NULL : name + rest - literal)
                                 : find_literal(name, pattern, literal);
        if (!found || c->count == MAX_STARS || memcmp(found, pattern, literal)) return false;
        c->items[c->count++] = (span){name, (size_t)(found - name)};
        name = found + literal;
        pattern += literal;
    }
    return true;
}

bool pattern_map(str *out, const char *name, const char *from, const char *to)
{
    captures c = {0};
    size_t star = 0;
    str_clear(out);
    if (!match(&c, name, from)) return false;
    for (; *to; to++)
        if (*to != '*')
            str_append_char(out, *to);
        else if (star < c.count)
            str_append_n(out, c.items[star].data, c.items[star].size), star++;
    return true;
}

static size_t count_stars(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += *text == '*';
    return n;
}

pgy_status pattern_split(const char **from, const char **to, const char *text, arena *a,
                         pgy_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1] || strchr(equals + 1, '='))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "decode.caches: '%s' is no pair of names; expected input=output such "
                             "as past_key_values.*=present.*",
                             text);
    *from = arena_strndup(a, text, (size_t)(equals - text));
    *to = arena_strdup(a, equals + 1);
    if (!*from || !*to) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (count_stars(*from) != count_stars(*to) || count_stars(*from) > MAX_STARS)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "decode.caches: '%s' has %zu '*' in the input's name and %zu in the "
                             "output's; expected the same number, at most %d",
                             text, count_stars(*from), count_stars(*to), MAX_STARS);
    return PGY_OK;
}

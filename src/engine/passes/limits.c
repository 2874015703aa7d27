/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which passes to leave out: "-fuse_gelu,until=fuse_quantized#2:3". */
#include "engine/passes/limits.h"

#include <string.h>

#include "base/str.h"

static const char UNTIL[] = "until=";

static pgy_status unknown(span name, pgy_error *err)
{
    str names = {0};
    for (size_t i = 0; pass_at(i); i++)
        if (pass_occurrence(i) == 1) str_printf(&names, "%s%s", i ? ", " : "", pass_at(i)->name);
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "'%.*s' is not a pass; the passes are: %s",
                      (int)name.size, name.data, str_text(&names));
    str_deinit(&names);
    return st;
}

/* Reads a number of 1 to 9 digits that ends the word. */
static bool read_number(size_t *out, span digits)
{
    *out = 0;
    if (!digits.size || digits.size > 9) return false;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9') return false;
        *out = *out * 10 + (size_t)(digits.data[i] - '0');
    }
    return true;
}

/* Splits the number behind the last `mark` off; *out stays as it is if there is none. */
static bool take_number(size_t *out, span *word, char mark)
{
    for (size_t i = word->size; i-- > 0;) {
        if (word->data[i] != mark) continue;
        const span digits = {word->data + i + 1, word->size - i - 1};
        word->size = i;
        return read_number(out, digits);
    }
    return true;
}

static bool is_pass(size_t i, span name, size_t occurrence)
{
    return span_equals(name, pass_at(i)->name) && (!occurrence || pass_occurrence(i) == occurrence);
}

static bool is_known(span name, size_t occurrence)
{
    for (size_t i = 0; pass_at(i); i++)
        if (is_pass(i, name, occurrence)) return true;
    return false;
}

/* "until=NAME#2:3": passes after this run of NAME are off, and it may rewrite three times. */
static pgy_status read_until(pass_limits *out, span word, pgy_error *err)
{
    size_t occurrence = 1, most = SIZE_MAX;
    span name = {word.data + strlen(UNTIL), word.size - strlen(UNTIL)};
    bool after = false;
    if (!take_number(&most, &name, ':') || !take_number(&occurrence, &name, '#'))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%.*s' is not valid; expected until=NAME, until=NAME:REWRITES or "
                             "until=NAME#RUN:REWRITES",
                             (int)word.size, word.data);
    if (!occurrence || !is_known(name, occurrence)) return unknown(name, err);
    for (size_t i = 0; pass_at(i); i++) {
        const bool last = is_pass(i, name, occurrence);
        if (after || (last && out->most[i] > most)) out->most[i] = after ? 0 : most;
        after = after || last;
    }
    return PGY_OK;
}

static pgy_status read_word(pass_limits *out, span word, pgy_error *err)
{
    if (!word.size) return PGY_OK;
    if (span_equals(word, "none")) {
        memset(out->most, 0, sizeof out->most);
        return PGY_OK;
    }
    if (word.size > strlen(UNTIL) && !memcmp(word.data, UNTIL, strlen(UNTIL)))
        return read_until(out, word, err);
    size_t occurrence = 0;
    span name = {word.data + 1, word.size - 1};
    if (word.data[0] != '-' || !take_number(&occurrence, &name, '#'))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%.*s' is not valid; expected -NAME, until=NAME or none",
                             (int)word.size, word.data);
    if (!is_known(name, occurrence)) return unknown(name, err);
    for (size_t i = 0; pass_at(i); i++)
        if (is_pass(i, name, occurrence)) out->most[i] = 0;
    return PGY_OK;
}

pgy_status pass_limits_read(pass_limits *out, const char *text, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < MAX_PASSES; i++) out->most[i] = SIZE_MAX;
    for (const char *word = text; *word;) {
        const size_t size = strcspn(word, ",");
        const pgy_status read = read_word(out, (span){word, size}, st ? NULL : err);
        if (!st) st = read;
        word += size + (word[size] == ',');
    }
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pytext.h"
#include "base/suggest.h"

/* Accepts the same texts as Python's int(): blanks around the number, a sign, underscores between
 * digits. */
static bool parse_int(int64_t *out, const char *s)
{
    while (isspace((unsigned char)*s)) s++;
    char digits[64];
    size_t n = 0;
    if (*s == '+' || *s == '-') digits[n++] = *s++;
    bool previous_digit = false;
    for (; *s && !isspace((unsigned char)*s); s++) {
        if (*s == '_' && previous_digit && isdigit((unsigned char)s[1])) {
            previous_digit = false;
            continue;
        }
        if (!isdigit((unsigned char)*s) || n + 1 >= sizeof digits) return false;
        digits[n++] = *s;
        previous_digit = true;
    }
    while (isspace((unsigned char)*s)) s++;
    if (*s || !previous_digit) return false;
    digits[n] = 0;
    errno = 0;
    const int64_t value = strtoll(digits, NULL, 10);
    if (errno) return false;
    *out = value;
    return true;
}

bool option_takes(const pgy_option *row, const char *value)
{
    for (size_t i = 0; row->choices && row->choices[i]; i++)
        if (!strcmp(row->choices[i], value)) return true;
    return !row->choices;
}

/* The error names the nearest choice first, then all choices. */
static pgy_status no_choice(const pgy_option *row, const char *value, pgy_error *err)
{
    str list = {0}, near = {0};
    suggestions offered = {.wanted = value};
    for (size_t i = 0; row->choices[i]; i++) {
        suggest_offer(&offered, row->choices[i]);
        if (i) str_append(&list, ", ");
        str_append_py_repr(&list, row->choices[i]);
    }
    str_append_py_repr(&near, value);
    suggest_append(&near, &offered);
    const pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT, "invalid choice: %s (choose from %s)",
                                        str_text(&near), str_text(&list));
    str_deinit(&near);
    str_deinit(&list);
    return st;
}

static pgy_status check(const pgy_option *row, const char *value, pgy_error *err)
{
    if (!option_takes(row, value)) return no_choice(row, value, err);
    if (!row->opens || access(value, R_OK) == 0) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "can't open '%s': %s", value, strerror(errno));
}

/* Appends words to a list, or with `keep` false replaces its words; `mark_end` adds a NULL item
 * after them. */
static pgy_status store_list(pgy_text_list *list, const char *const *values, size_t count,
                             bool keep, bool mark_end, arena *memory, pgy_error *err)
{
    const size_t old = keep ? list->count : 0;
    const char **items = arena_alloc_array(memory, old + count + 2, sizeof *items);
    if (!items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (old) memcpy(items, list->items, old * sizeof *items);
    for (size_t i = 0; i < count; i++) items[old + i] = values[i];
    *list = (pgy_text_list){items, old + count + (mark_end ? 1 : 0), true};
    return PGY_OK;
}

static pgy_status store_positional(const pgy_option *row, void *at, const char *const *values,
                                   size_t count, arena *memory, pgy_error *err)
{
    if (row->nargs != PGY_ONE && row->nargs != PGY_OPTIONAL)
        return store_list(at, values, count, false, false, memory, err);
    if (count) *(const char **)at = values[0];
    return PGY_OK;
}

pgy_status option_store(const pgy_option *row, void *settings, const char *const *values,
                        size_t count, arena *memory, pgy_error *err)
{
    void *at = (char *)settings + row->offset;
    const char *first = count ? values[0] : "";
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) st = check(row, values[i], err);
    if (st) return st;
    switch (row->kind) {
    case PGY_OPTION_FLAG: *(bool *)at = true; break;
    case PGY_OPTION_COUNT: ++*(int *)at; break;
    case PGY_OPTION_INT:
        if (!parse_int(at, first))
            st = pgy_error_set(err, PGY_E_ARGUMENT, "invalid int value: '%s'", first);
        break;
    case PGY_OPTION_TEXT: *(const char **)at = count ? first : row->constant; break;
    case PGY_OPTION_LIST: return store_list(at, values, count, false, false, memory, err);
    case PGY_OPTION_APPEND: return store_list(at, values, count, true, true, memory, err);
    case PGY_OPTION_RUNNER: return store_list(at, &row->constant, 1, true, false, memory, err);
    case PGY_OPTION_POSITIONAL: return store_positional(row, at, values, count, memory, err);
    case PGY_OPTION_END: break;
    }
    return st;
}

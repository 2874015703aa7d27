/* SPDX-License-Identifier: Apache-2.0 */
/* argparse's algorithm: words are classified as options ('O'), arguments ('A') or the first "--"
 * ('-'), then consumed from left to right. Options take as many A's as their nargs allow, and
 * positionals take the others. Oddities of argparse ("--x=v" gives exactly one word) are kept,
 * because scripts depend on them. names.c finds the option of a word. */
#include "cli/args/parse.h"

#include <string.h>

#include "base/alloc.h"
#include "base/option.h"

/* ---- Words ---------------------------------------------------------------------------------- */

static void fail_ambiguous(parse *p, const char *typed, str *names)
{
    str advice = {0};
    if (args_advise(&advice, p->a, typed)) str_printf(names, "; %s", str_text(&advice));
    parse_fail(p, "ambiguous option: %s could match %s", typed, str_text(names));
    str_deinit(&advice);
}

static bool classify_all(parse *p, int argc, const char *const *argv)
{
    p->words = mem_calloc((size_t)argc + 1, sizeof *p->words);
    if (!p->words) return false;
    bool after_dashes = false;
    for (int i = 0; i < argc && !p->stop; i++) {
        word *w = &p->words[p->word_count++];
        *w = (word){.text = argv[i], .kind = 'A'};
        if (after_dashes) continue;
        if (strcmp(argv[i], "--") == 0) {
            w->kind = '-';
            after_dashes = true;
            continue;
        }
        str names = {0};
        parse_classify(p, w, &names);
        if (w->ambiguous) fail_ambiguous(p, w->text, &names);
        str_deinit(&names);
    }
    return true;
}

/* ---- Storing -------------------------------------------------------------------------------- */

/* Reports a value that only the original accepts, before the check of choices would refuse it. */
static bool is_missing(parse *p, const pgy_option *row, const char *value)
{
    const missing_option *missing =
        row->choices && option_takes(row, value) ? NULL : parse_missing_value(p, row, value);
    if (missing) parse_fail_missing(p, span_of(missing->names), missing, value);
    return missing != NULL;
}

/* The end of the first value in a word with several values. A separator inside quotes is part of a
 * name. One inside brackets comes from another program's syntax; the error message should show that
 * value whole. */
static const char *value_end(const char *text, char separator)
{
    bool quoted = false;
    int depth = 0;
    for (; *text && (quoted || depth > 0 || *text != separator); text++) {
        quoted ^= *text == '\'';
        depth += (*text == '[') - (*text == ']');
    }
    return text;
}

/* Splits words into values for programs that write a list as one word. False: out of memory. */
static bool split_words(parse *p, const char *const **values, size_t *count)
{
    const char separator = p->a->dialect->values->separator;
    size_t most = 0, n = 0;
    for (size_t i = 0; i < *count; i++) most += strlen((*values)[i]) + 1;
    const char **items = arena_alloc_array(&p->a->memory, most + 1, sizeof *items);
    for (size_t i = 0; items && i < *count; i++) {
        const char *at = (*values)[i];
        for (;;) {
            const char *end = value_end(at, separator);
            items[n] = arena_strndup(&p->a->memory, at, (size_t)(end - at));
            if (!items[n++]) return false;
            if (!*end) break;
            at = end + 1;
        }
    }
    *values = items;
    *count = n;
    return items != NULL;
}

static bool is_list(const pgy_option *row)
{
    return (row->kind == PGY_OPTION_LIST || row->kind == PGY_OPTION_APPEND) &&
           (row->nargs == PGY_ONE_OR_MORE || row->nargs == PGY_ZERO_OR_MORE);
}

static void store_value(parse *p, const pgy_option *row, void *settings, const char *const *values,
                        size_t count)
{
    if (p->a->dialect->values->separator && is_list(row) && !split_words(p, &values, &count)) {
        p->out_of_memory = p->stop = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (is_missing(p, row, values[i])) return;
    pgy_error err = {0};
    const pgy_status st = option_store(row, settings, values, count, &p->a->memory, &err);
    if (st == PGY_E_MEMORY)
        p->out_of_memory = p->stop = true;
    else if (st)
        parse_fail(p, "argument %s: %s", parse_row_title(p, row), err.text);
}

/* ---- Options -------------------------------------------------------------------------------- */

static void note_use(parse *p, const spelling *s)
{
    for (size_t i = 0; i < p->used_count; i++) {
        const pgy_option *other = p->used[i]->row;
        if (s->row->exclusive && other->exclusive && other != s->row &&
            !strcmp(other->exclusive, s->row->exclusive))
            parse_fail(p, "argument %s: not allowed with argument %s", parse_row_title(p, s->row),
                       parse_row_title(p, other));
    }
    if (!mem_grow((void **)&p->used, &p->used_capacity, p->used_count + 1, sizeof *p->used)) {
        p->out_of_memory = p->stop = true;
        return;
    }
    p->used[p->used_count++] = s;
    if (s->row->deprecated) {
        str line = {0};
        str_printf(&line, "%.*s: %s", (int)s->text.size, s->text.data, s->row->deprecated);
        if (!strvec_contains(&p->a->deprecations, str_text(&line)) &&
            !strvec_push(&p->a->deprecations, str_text(&line)))
            p->out_of_memory = p->stop = true;
        str_deinit(&line);
    }
}

static void take_option(parse *p, const spelling *s, const char *const *values, size_t count)
{
    if (s->row == &PARSE_HELP_ROW) {
        p->stop = p->help = true;
        return;
    }
    note_use(p, s);
    if (!p->stop) store_value(p, s->row, s->settings, values, count);
}

/* A flag with text stuck to it: "-vvq" is "-v -v -q"; "--flag=x" is refused. */
static void take_cluster(parse *p, const word *w)
{
    const spelling *s = w->option;
    const char *rest = w->value;
    bool is_short = s->text.size == 2 && s->text.data[1] != '-' && w->text[1] != '-';
    while (!p->stop) {
        take_option(p, s, NULL, 0);
        if (p->stop || !*rest) return;
        char name[3] = {'-', *rest, 0};
        const spelling *next = is_short ? parse_find(p, span_of(name)) : NULL;
        if (!next) {
            parse_fail(p, "argument %s: ignored explicit argument '%s'", parse_row_title(p, s->row),
                       rest);
            return;
        }
        s = next;
        rest++;
        if (s->row->nargs != PGY_NONE) {
            if (!*rest) {
                parse_fail(p, "argument %s: expected one argument", parse_row_title(p, s->row));
                return;
            }
            take_option(p, s, &rest, 1);
            return;
        }
    }
}

/* Number of words that an option takes as values if `available` words follow. -1: too few; *why
 * says what it needs. */
static long option_arity(pgy_option_nargs nargs, size_t available, const char **why)
{
    switch (nargs) {
    case PGY_NONE: return 0;
    case PGY_OPTIONAL: return available ? 1 : 0;
    case PGY_ZERO_OR_MORE: return (long)available;
    case PGY_ONE_OR_MORE:
        *why = "expected at least one argument";
        return available ? (long)available : -1;
    case PGY_REST: return (long)available;
    default: *why = "expected one argument"; return available ? 1 : -1;
    }
}

/* Is the command that begins at words[i] a quoted line, with options of this program behind it?
 * Then these are not part of the command. */
static bool is_quoted_line(const parse *p, size_t i)
{
    return i + 1 < p->word_count && strpbrk(p->words[i].text, " \t\n") &&
           p->words[i + 1].kind == 'O' && p->words[i + 1].option;
}

/* Consumes words[i], an option, and its arguments; returns the index after them. */
static size_t consume_option(parse *p, size_t i)
{
    const word *w = &p->words[i++];
    if (w->missing) {
        parse_fail_missing(p, w->missing->text, w->missing->option, NULL);
        return i;
    }
    if (!w->option) {
        if (!strvec_push(&p->a->unknown, w->text)) p->out_of_memory = p->stop = true;
        return i;
    }
    const pgy_option *row = w->option->row;
    if (w->value) {
        if (row->nargs == PGY_NONE)
            take_cluster(p, w);
        else
            take_option(p, w->option, &w->value, 1);
        return i;
    }
    size_t available = 0;
    while (i + available < p->word_count &&
           (p->words[i + available].kind == 'A' ||
            (row->nargs == PGY_REST && p->words[i + available].kind == 'O')))
        available++;
    if (row->nargs == PGY_REST && is_quoted_line(p, i)) available = 1;
    const char *why = "";
    long count = option_arity(row->nargs, available, &why);
    if (count < 0) {
        parse_fail(p, "argument %s: %s", parse_row_title(p, row), why);
        return i;
    }
    const char **values = arena_alloc_array(&p->a->memory, (size_t)count + 1, sizeof *values);
    if (!values) {
        p->out_of_memory = p->stop = true;
        return i;
    }
    for (long k = 0; k < count; k++) values[k] = p->words[i + (size_t)k].text;
    take_option(p, w->option, values, (size_t)count);
    return i + (size_t)count;
}

/* ---- Positionals ---------------------------------------------------------------------------- */

/* Consumes the arguments from words[i] on for one positional; false if it needs more than there
 * are. */
static bool consume_positional(parse *p, positional *target, size_t *i)
{
    pgy_option_nargs nargs = target->row->nargs;
    bool many = nargs == PGY_ZERO_OR_MORE || nargs == PGY_ONE_OR_MORE;
    const char **values = arena_alloc_array(&p->a->memory, p->word_count + 1, sizeof *values);
    if (!values) {
        p->out_of_memory = p->stop = true;
        return false;
    }
    size_t k = *i, count = 0;
    for (; k < p->word_count && p->words[k].kind != 'O'; k++) {
        if (p->words[k].kind == '-') continue;
        if (count == 1 && !many) break;
        values[count++] = p->words[k].text;
    }
    if (count == 0 && (nargs == PGY_ONE || nargs == PGY_ONE_OR_MORE)) return false;
    target->done = true;
    *i = k;
    if (count) store_value(p, target->row, target->settings, values, count);
    return true;
}

static size_t consume_positionals(parse *p, size_t i)
{
    for (size_t k = 0; k < p->positional_count && !p->stop; k++) {
        if (p->positionals[k].done) continue;
        if (!consume_positional(p, &p->positionals[k], &i)) break;
    }
    return i;
}

static void consume_all(parse *p)
{
    size_t i = 0;
    while (i < p->word_count && !p->stop) {
        if (p->words[i].kind == 'O') {
            i = consume_option(p, i);
            continue;
        }
        size_t after = consume_positionals(p, i);
        if (after > i) {
            i = after;
            continue;
        }
        if (!strvec_push(&p->a->unknown, p->words[i].text)) p->out_of_memory = p->stop = true;
        i++;
    }
    if (!p->stop) consume_positionals(p, i);
}

/* ---- The whole ------------------------------------------------------------------------------ */

pgy_status args_parse(args *a, args_outcome *outcome, int argc, const char *const *argv,
                      pgy_error *err)
{
    parse p = {.a = a};
    pgy_status st = PGY_OK;
    if (!parse_collect(&p) || !classify_all(&p, argc, argv)) p.out_of_memory = true;
    if (!p.out_of_memory && !p.stop) consume_all(&p);
    if (!p.out_of_memory && !p.stop) parse_check_required(&p);
    if (p.out_of_memory || a->message.failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while parsing options");
    *outcome = p.help             ? ARGS_HELP
               : p.lacks          ? ARGS_MISSING
               : p.stop           ? ARGS_USAGE
               : a->unknown.count ? ARGS_UNKNOWN
                                  : ARGS_OK;
    parse_release(&p);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the option that a word names. As in argparse, a word may be a prefix of a name. Unlike
 * argparse, two spellings of one option are not ambiguous, older (hidden) spellings need their
 * whole name, and this program's own options never make a prefix of the original's options
 * ambiguous. Missing options of the original take part, so that a word for one never finds another
 * option. */
#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "cli/args/parse.h"

/* ---- Rows ----------------------------------------------------------------------------------- */

const pgy_option PARSE_HELP_ROW = {.names = "-h --help",
                                   .kind = PGY_OPTION_FLAG,
                                   .nargs = PGY_NONE,
                                   .help = "show this help message and exit"};

static bool add_row(parse *p, const pgy_option *row, void *settings)
{
    if (row->kind == PGY_OPTION_POSITIONAL) {
        if (!mem_grow((void **)&p->positionals, &p->positional_capacity, p->positional_count + 1,
                      sizeof *p->positionals))
            return false;
        p->positionals[p->positional_count++] = (positional){row, settings, false};
        return true;
    }
    span text;
    for (size_t i = 0; option_spelling(&text, row, i); i++) {
        if (!mem_grow((void **)&p->spellings, &p->spelling_capacity, p->spelling_count + 1,
                      sizeof *p->spellings))
            return false;
        p->spellings[p->spelling_count++] = (spelling){text, row, settings};
    }
    return true;
}

static const char *command_name(const args *a)
{
    const char *blank = strchr(a->name, ' ');
    return blank ? blank + 1 : a->name;
}

static bool collect_missing(parse *p)
{
    const original *o = p->a->dialect->original;
    for (size_t i = 0; o && i < o->option_count; i++) {
        const missing_option *option = &o->options[i];
        if (option->values || !option_is_listed(option->commands, command_name(p->a))) continue;
        span text;
        for (size_t k = 0; option_word(&text, option->names, k); k++) {
            if (!mem_grow((void **)&p->missing, &p->missing_capacity, p->missing_count + 1,
                          sizeof *p->missing))
                return false;
            p->missing[p->missing_count++] = (missing_spelling){text, option};
        }
    }
    return true;
}

bool parse_collect(parse *p)
{
    if (!add_row(p, &PARSE_HELP_ROW, NULL)) return false;
    for (size_t g = 0; p->a->groups[g]; g++)
        for (const pgy_option *row = p->a->groups[g]->options; row && row->kind != PGY_OPTION_END;
             row++)
            if (!add_row(p, row, p->a->settings[g])) return false;
    return collect_missing(p);
}

void parse_release(parse *p)
{
    mem_free(p->spellings);
    mem_free(p->missing);
    mem_free(p->positionals);
    mem_free(p->words);
    mem_free(p->used);
}

/* ---- Whole names ---------------------------------------------------------------------------- */

const spelling *parse_find(const parse *p, span text)
{
    for (size_t i = 0; i < p->spelling_count; i++)
        if (span_equal(p->spellings[i].text, text)) return &p->spellings[i];
    return NULL;
}

/* Matches a word that is an option's whole name, or a whole name followed by "=value". */
static bool match_whole(const parse *p, word *w)
{
    const char *equals = strchr(w->text, '=');
    const span texts[] = {span_of(w->text),
                          {w->text, equals ? (size_t)(equals - w->text) : strlen(w->text)}};
    for (size_t t = 0; t < 2; t++) {
        w->value = t && equals ? equals + 1 : NULL;
        w->option = parse_find(p, texts[t]);
        if (w->option) return true;
        for (size_t i = 0; i < p->missing_count; i++) {
            if (!span_equal(p->missing[i].text, texts[t])) continue;
            w->missing = &p->missing[i];
            return true;
        }
    }
    w->value = NULL;
    return false;
}

/* ---- Beginnings ----------------------------------------------------------------------------- */

/* Candidates for a prefix: options of the original come before this program's own. */
typedef enum rank { RANK_ORIGINAL, RANK_OWN, RANK_COUNT } rank;

typedef struct search {
    word *w;
    span prefix;
    rank rank;
    str *names;
    size_t found;
} search;

static bool begins(const search *s, span text)
{
    return text.size >= s->prefix.size && memcmp(text.data, s->prefix.data, s->prefix.size) == 0;
}

static void note_found(search *s, span text)
{
    if (s->found++) str_append(s->names, ", ");
    str_append_n(s->names, text.data, text.size);
}

static void search_options(search *s, const parse *p)
{
    for (size_t i = 0; i < p->spelling_count; i++) {
        const spelling *one = &p->spellings[i];
        if (one->row->hidden || !begins(s, one->text)) continue;
        const bool in_original =
            original_has(p->a->dialect->original, one->text, command_name(p->a));
        if (s->rank != (in_original ? RANK_ORIGINAL : RANK_OWN)) continue;
        if (s->w->option && s->w->option->row == one->row) continue;
        s->w->option = one;
        note_found(s, one->text);
    }
}

static void search_missing(search *s, const parse *p)
{
    for (size_t i = 0; s->rank == RANK_ORIGINAL && i < p->missing_count; i++) {
        const missing_spelling *one = &p->missing[i];
        if (one->option->older || !begins(s, one->text)) continue;
        if (s->w->missing && s->w->missing->option == one->option) continue;
        s->w->missing = one;
        note_found(s, one->text);
    }
}

/* Matches a word that is a prefix of a long option name. */
static bool match_prefix(const parse *p, word *w, str *names)
{
    const char *equals = strchr(w->text, '=');
    search s = {.w = w, .names = names};
    s.prefix = (span){w->text, equals ? (size_t)(equals - w->text) : strlen(w->text)};
    for (s.rank = RANK_ORIGINAL; !s.found && s.rank < RANK_COUNT; s.rank++) {
        search_options(&s, p);
        search_missing(&s, p);
    }
    w->value = s.found && equals ? equals + 1 : NULL;
    w->ambiguous = s.found > 1;
    return s.found > 0;
}

/* Matches a short option whose value follows without a blank, such as "-oPATH". */
static bool match_stuck(const parse *p, word *w)
{
    for (size_t i = 0; i < p->spelling_count; i++) {
        const span text = p->spellings[i].text;
        if (text.size != 2 || memcmp(text.data, w->text, 2) != 0) continue;
        w->option = &p->spellings[i];
        w->value = w->text + 2;
        return true;
    }
    return false;
}

/* ---- Words ---------------------------------------------------------------------------------- */

static bool looks_negative(const char *s)
{
    if (*s++ != '-') return false;
    const char *digits = s;
    while (isdigit((unsigned char)*s)) s++;
    if (!*s) return s > digits;
    if (*s++ != '.') return false;
    digits = s;
    while (isdigit((unsigned char)*s)) s++;
    return !*s && s > digits;
}

void parse_classify(const parse *p, word *w, str *names)
{
    const char *s = w->text;
    const bool is_long = s[0] == '-' && s[1] == '-';
    w->kind = 'A';
    if (s[0] != '-' || !s[1]) return;
    if (match_whole(p, w) || (!is_long && match_stuck(p, w)) ||
        (is_long && !p->a->no_abbreviation && match_prefix(p, w, names))) {
        w->kind = 'O';
        return;
    }
    if (!looks_negative(s) && !strchr(s, ' ')) w->kind = 'O';
}

pgy_status args_match_word(args_match *out, args *a, const char *text, pgy_error *err)
{
    parse p = {.a = a};
    word w = {.text = text};
    str names = {0};
    *out = (args_match){0};
    const bool ok = parse_collect(&p);
    if (ok) parse_classify(&p, &w, &names);
    if (w.ambiguous)
        out->ambiguous = true;
    else if (w.option)
        *out = (args_match){.row = w.option->row, .name = w.option->text};
    else if (w.missing)
        *out = (args_match){.missing = w.missing->option, .name = w.missing->text};
    const bool failed = !ok || names.failed;
    str_deinit(&names);
    parse_release(&p);
    return failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory while parsing options")
                  : PGY_OK;
}

/* ---- What is missing, and what was meant ---------------------------------------------------- */

const missing_option *parse_missing_value(const parse *p, const pgy_option *row, const char *value)
{
    span name, one;
    const original *o = p->a->dialect->original;
    for (size_t i = 0; o && i < o->option_count; i++) {
        const missing_option *option = &o->options[i];
        if (!option->values || !option_is_listed(option->commands, command_name(p->a))) continue;
        for (size_t k = 0; option_spelling(&name, row, k); k++)
            for (size_t v = 0;
                 span_equals(name, option->names) && option_word(&one, option->values, v); v++)
                if (span_equals(one, value)) return option;
    }
    return NULL;
}

bool args_advise(str *out, const args *a, const char *typed)
{
    str advice = {0};
    const bool known = a->dialect->advise && a->dialect->advise(&advice, typed);
    if (known) args_expand(out, a->dialect, str_text(&advice));
    str_deinit(&advice);
    return known;
}

void args_suggest(str *out, const args *a, const char *typed)
{
    /* Suggestions need copies of the names: an option table has all spellings in one text.
     */
    strvec names = {0};
    suggestions near = {0};
    span name;
    bool ok = strvec_push_n(&names, typed, strcspn(typed, "="));
    for (size_t g = 0; a->groups[g]; g++)
        for (const pgy_option *row = a->groups[g]->options; row && row->kind != PGY_OPTION_END;
             row++)
            for (size_t i = 0; !row->hidden && row->kind != PGY_OPTION_POSITIONAL &&
                               option_spelling(&name, row, i);
                 i++)
                ok = ok && strvec_push_n(&names, name.data, name.size);
    if (ok) near.wanted = names.items[0];
    for (size_t i = 1; ok && i < names.count; i++) suggest_offer(&near, names.items[i]);
    /* All short names are similar to each other, so drop names that are clearly less similar than
     * the nearest one. */
    while (near.count > 1 && near.distances[near.count - 1] > near.distances[0] + 1) near.count--;
    if (ok) suggest_append(out, &near);
    strvec_deinit(&names);
}

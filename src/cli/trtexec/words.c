/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line. It is not argparse's: the order of some options counts, a value follows
 * "=", and a word that is no option is an error. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/option.h"
#include "cli/trtexec/options.h"

static const char LOG_PATH[] = "cli/trtexec/words.c";

static pgy_status unknown_word(bool *unknown, args *line, const char *word, const char *next,
                               pgy_error *err)
{
    str near = {0};
    *unknown = true;
    if (!strcmp(word, "--warmup") || !strncmp(word, "--warmup=", 9))
        str_append(&near, "; did you mean '--warmUp'?");
    else
        args_suggest(&near, line, word);
    const size_t blank = strspn(word, " \t");
    if (word[0] != '-' && !word[blank])
        str_append(&near, ": a backslash with blanks behind it does not continue a line; remove "
                          "the blanks");
    (void)next;
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "Unknown option: %s%s", word, str_text(&near));
    str_deinit(&near);
    return st;
}

/* Refuses, notes or stores one option. */
static pgy_status take(trtexec_args *a, args *line, const trtexec_word *w, pgy_error *err)
{
    const pgy_option *row = w->row;
    switch (trtexec_verdict_of(row)) {
    case TRTEXEC_REFUSED:
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "%s is refused: %s", w->name, row->help);
    case TRTEXEC_NOTED: LOG(INFO, "%s has no effect: %s", w->name, row->help); return PGY_OK;
    case TRTEXEC_KEPT: break;
    }
    if (row->deprecated) LOG(WARNING, "%s is an older option: %s", w->name, row->deprecated);
    const pgy_status st =
        option_store(row, a, w->value ? &w->value : NULL, w->value ? 1 : 0, &line->memory, err);
    return st ? pgy_error_prefix(err, st, "%s: ", w->name) : PGY_OK;
}

static pgy_status read_word(trtexec_args *a, bool *unknown, bool *blank, args *line,
                            const char *const *argv, int argc, int *i, pgy_error *err)
{
    const char *text = argv[*i];
    const char *equals = strchr(text, '=');
    args_match match = {0};
    pgy_status st = args_match_word(&match, line, text, err);
    if (st) return st;
    if (!match.row || text[0] != '-')
        return unknown_word(unknown, line, text, *i + 1 < argc ? argv[*i + 1] : NULL, err);
    trtexec_word *w = &a->words[a->word_count];
    *w = (trtexec_word){.row = match.row, .value = equals ? equals + 1 : NULL};
    w->name = arena_strndup(&line->memory, match.name.data, match.name.size);
    if (!w->name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (match.row->nargs == PGY_NONE && equals)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s takes no value, but '%s' follows", w->name,
                             equals + 1);
    if (match.row->nargs == PGY_ONE && !equals) {
        if (*i + 1 >= argc || !strncmp(argv[*i + 1], "--", 2))
            return pgy_error_set(err, PGY_E_ARGUMENT, "%s: a value is missing; write %s=%s",
                                 w->name, w->name, match.row->meta);
        w->value = argv[++*i];
        *blank = true;
    }
    a->word_count++;
    return take(a, line, w, err);
}

pgy_status trtexec_read(trtexec_args *out, bool *help, bool *unknown, args *line, int argc,
                        const char *const *argv, pgy_error *err)
{
    bool blank = false;
    pgy_status st = PGY_OK;
    out->words = arena_alloc_array(&line->memory, (size_t)argc + 1, sizeof *out->words);
    if (!out->words) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) *help = true;
    for (int i = 0; !st && !*help && i < argc; i++)
        st = read_word(out, unknown, &blank, line, argv, argc, &i, err);
    if (blank && !st)
        LOG(WARNING, "A value follows its option after a blank; trtexec itself accepts only "
                     "--option=value");
    return st;
}

bool trtexec_given(const trtexec_args *a, const char *name)
{
    for (size_t i = 0; i < a->word_count; i++)
        if (!strcmp(a->words[i].name, name)) return true;
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the required options and positionals that a command line lacks. */
#include <string.h>

#include "cli/args/parse.h"

static bool was_used(const parse *p, const pgy_option *row)
{
    for (size_t i = 0; i < p->used_count; i++)
        if (p->used[i]->row == row) return true;
    return false;
}

/* A positional is missing: an option that takes a variable number of words probably took it.
 */
static void hint_swallowed(parse *p, str *out)
{
    for (size_t i = p->used_count; i-- > 0;) {
        pgy_option_nargs nargs = p->used[i]->row->nargs;
        if (nargs != PGY_ONE_OR_MORE && nargs != PGY_ZERO_OR_MORE && nargs != PGY_OPTIONAL)
            continue;
        str_printf(out,
                   "\nNote: %.*s takes the words that follow it; put the positional arguments "
                   "before it, or after '--'.",
                   (int)p->used[i]->text.size, p->used[i]->text.data);
        return;
    }
}

static bool same_choice(const pgy_option *a, const pgy_option *b)
{
    return a->exclusive && b->exclusive && !strcmp(a->exclusive, b->exclusive);
}

/* Checks a set of required options that exclude each other: one of them is enough. */
static void check_alternatives(parse *p, const pgy_option *row)
{
    str names = {0};
    const pgy_option *last = NULL;
    for (size_t i = 0; i < p->used_count; i++)
        if (same_choice(row, p->used[i]->row)) return;
    for (size_t i = 0; i < p->spelling_count; i++) {
        const pgy_option *other = p->spellings[i].row;
        if (other != last && same_choice(row, other))
            str_printf(&names, " %s", parse_row_title(p, other));
        last = other;
    }
    parse_fail(p, "one of the arguments%s is required", str_text(&names));
    str_deinit(&names);
}

static bool stands_alone(const parse *p)
{
    for (size_t i = 0; i < p->used_count; i++)
        if (p->used[i]->row->alone) return true;
    return false;
}

void parse_check_required(parse *p)
{
    str missing = {0};
    bool positional_missing = false;
    if (stands_alone(p)) return;
    for (size_t k = 0; k < p->positional_count; k++) {
        pgy_option_nargs nargs = p->positionals[k].row->nargs;
        if (p->positionals[k].done || (nargs != PGY_ONE && nargs != PGY_ONE_OR_MORE)) continue;
        str_printf(&missing, "%s%s", missing.size ? ", " : "", p->positionals[k].row->names);
        positional_missing = true;
    }
    for (size_t i = 0; i < p->spelling_count; i++) {
        const pgy_option *row = p->spellings[i].row;
        if (!row->required || was_used(p, row) || (i && p->spellings[i - 1].row == row)) continue;
        if (row->exclusive) continue;
        str_printf(&missing, "%s%s", missing.size ? ", " : "", parse_row_title(p, row));
    }
    if (missing.size) {
        if (positional_missing) {
            str hint = {0};
            hint_swallowed(p, &hint);
            parse_fail(p, "the following arguments are required: %s%s", str_text(&missing),
                       str_text(&hint));
            str_deinit(&hint);
        } else {
            parse_fail(p, "the following arguments are required: %s", str_text(&missing));
        }
    }
    for (size_t i = 0; i < p->spelling_count && !p->stop; i++)
        if (p->spellings[i].row->required && p->spellings[i].row->exclusive)
            check_alternatives(p, p->spellings[i].row);
    str_deinit(&missing);
}

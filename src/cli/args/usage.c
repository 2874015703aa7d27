/* SPDX-License-Identifier: Apache-2.0 */
/* Usage and help text, made from the option tables alone: the same rows that parse. The layout is
 * argparse's: a usage block, the description, positional arguments, the command's own options, then
 * one block per group. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/args/parser.h"

enum { HELP_COLUMN = 24, MIN_WIDTH = 40 };

size_t args_help_width(void)
{
    const char *columns = getenv("COLUMNS");
    if (columns && atol(columns) > 0) return (size_t)atol(columns);
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

/* ---- One row -------------------------------------------------------------------------------- */

static void print_choices(str *out, const pgy_option *row)
{
    str_append_char(out, '{');
    for (size_t i = 0; row->choices[i]; i++) str_printf(out, "%s%s", i ? "," : "", row->choices[i]);
    str_append_char(out, '}');
}

static void print_meta(str *out, const pgy_option *row)
{
    if (row->meta) {
        str_append(out, row->meta);
    } else if (row->choices) {
        print_choices(out, row);
    } else if (row->kind == PGY_OPTION_POSITIONAL) {
        str_append(out, row->names);
    } else {
        span name;
        size_t i = 0;
        while (option_spelling(&name, row, i) && name.size == 2) i++;
        option_spelling(&name, row, i);
        for (size_t k = 2; k < name.size; k++) {
            char c = name.data[k];
            str_append_char(out, c == '-' ? '_' : (char)(c >= 'a' && c <= 'z' ? c - 32 : c));
        }
    }
}

/* Appends the values that an option takes: "N", "[N]", "N [N ...]". */
static void print_values(str *out, const pgy_option *row)
{
    str meta = {0};
    print_meta(&meta, row);
    const char *m = str_text(&meta);
    switch (row->nargs) {
    case PGY_NONE: break;
    case PGY_OPTIONAL: str_printf(out, "[%s]", m); break;
    case PGY_ZERO_OR_MORE: str_printf(out, "[%s ...]", m); break;
    case PGY_ONE_OR_MORE: str_printf(out, "%s [%s ...]", m, m); break;
    case PGY_REST: str_append(out, "..."); break;
    default: str_append(out, m); break;
    }
    str_deinit(&meta);
}

/* Appends all spellings with their values: "-o PATH, --output PATH". */
static void print_invocation(str *out, const pgy_option *row)
{
    if (row->kind == PGY_OPTION_POSITIONAL) {
        print_meta(out, row);
        return;
    }
    span name;
    for (size_t i = 0; option_spelling(&name, row, i); i++) {
        if (i) str_append(out, ", ");
        str_append_n(out, name.data, name.size);
        if (row->nargs == PGY_NONE) continue;
        str_append_char(out, ' ');
        print_values(out, row);
    }
}

/* Appends words of `text`, wrapped to width, lines after the first indented; `at` is the current
 * column. */
static void print_wrapped(str *out, const char *text, size_t at, size_t indent, size_t width)
{
    bool first = true;
    while (*text) {
        if (*text == '\n') {
            str_append_char(out, '\n');
            str_append_fill(out, ' ', indent);
            at = indent;
            first = true;
            text++;
            continue;
        }
        if (*text == ' ') {
            text++;
            continue;
        }
        size_t size = strcspn(text, " \n");
        if (!first && at + 1 + size > width) {
            str_append_char(out, '\n');
            str_append_fill(out, ' ', indent);
            at = indent;
            first = true;
        }
        if (!first) {
            str_append_char(out, ' ');
            at++;
        }
        str_append_n(out, text, size);
        at += size;
        text += size;
        first = false;
    }
}

static void print_row(str *out, const args *a, const pgy_option *row, size_t width)
{
    str head = {0}, help = {0};
    str_append(&head, "  ");
    print_invocation(&head, row);
    str_append_n(out, str_text(&head), head.size);
    if (row->help) {
        if (head.size + 2 > HELP_COLUMN) {
            str_append_char(out, '\n');
            str_append_fill(out, ' ', HELP_COLUMN);
        } else {
            str_append_fill(out, ' ', HELP_COLUMN - head.size);
        }
        args_expand(&help, a->dialect, row->help);
        print_wrapped(out, str_text(&help), HELP_COLUMN, HELP_COLUMN, width);
    }
    str_append_char(out, '\n');
    out->failed = out->failed || head.failed || help.failed;
    str_deinit(&head);
    str_deinit(&help);
}

/* ---- The whole ------------------------------------------------------------------------------ */

/* Is it one of several options of which exactly one is required? The usage shows them as "(-a A |
 * --b)". */
static bool is_choice(const pgy_option *row)
{
    return row->required && row->exclusive;
}

static void print_usage_item(str *out, const pgy_option *row, const pgy_option *before, size_t *at,
                             size_t indent, size_t width)
{
    str item = {0};
    const bool first = is_choice(row) && !(before && is_choice(before));
    bool optional =
        row->kind == PGY_OPTION_POSITIONAL ? row->nargs == PGY_OPTIONAL : !row->required;
    if (first) str_append_char(&item, '(');
    if (optional) str_append_char(&item, '[');
    if (row->kind == PGY_OPTION_POSITIONAL) {
        if (row->nargs == PGY_OPTIONAL)
            print_meta(&item, row);
        else
            print_values(&item, row);
    } else {
        span name;
        option_spelling(&name, row, 0);
        str_append_n(&item, name.data, name.size);
        if (row->nargs != PGY_NONE) str_append_char(&item, ' ');
        print_values(&item, row);
    }
    if (optional) str_append_char(&item, ']');
    if (is_choice(row)) str_append(&item, is_choice(row + 1) ? " |" : ")");
    if (*at + 1 + item.size > width) {
        str_append_char(out, '\n');
        str_append_fill(out, ' ', indent);
        *at = indent;
    } else {
        str_append_char(out, ' ');
        ++*at;
    }
    str_append_n(out, str_text(&item), item.size);
    *at += item.size;
    str_deinit(&item);
}

/* Appends either all positional arguments or all required options. */
static void usage_rows(str *out, const args *a, bool positionals, size_t *at, size_t indent,
                       size_t width)
{
    for (size_t g = 0; a->groups[g]; g++)
        for (const pgy_option *row = a->groups[g]->options; row && row->kind != PGY_OPTION_END;
             row++)
            if (!row->hidden && (row->kind == PGY_OPTION_POSITIONAL) == positionals &&
                (positionals || row->required))
                print_usage_item(out, row, row == a->groups[g]->options ? NULL : row - 1, at,
                                 indent, width);
}

static bool group_has(const option_group *group, bool positionals)
{
    for (const pgy_option *row = group->options; row && row->kind != PGY_OPTION_END; row++)
        if (!row->hidden && (row->kind == PGY_OPTION_POSITIONAL) == positionals) return true;
    return false;
}

void args_print_usage(str *out, const args *a, size_t width)
{
    size_t limit = width < MIN_WIDTH ? MIN_WIDTH : width - 2;
    size_t start = out->size;
    str_printf(out, "usage: %s [-h]", a->name);
    size_t indent = strlen("usage: ") + strlen(a->name) + 1, at = out->size - start;
    /* Positional arguments come first, because an option that takes all following words would take
     * them. */
    usage_rows(out, a, true, &at, indent, limit);
    usage_rows(out, a, false, &at, indent, limit);
    str_append(out, " [options]\n");
}

/* ---- What is shown first -------------------------------------------------------------------- */

static bool has_spelling(const pgy_option *row, span wanted)
{
    span name;
    for (size_t i = 0; option_spelling(&name, row, i); i++)
        if (span_equal(name, wanted)) return true;
    return false;
}

static void print_common(str *out, const args *a, size_t width)
{
    span wanted;
    str_append(out, "\ncommon options (all are listed below, in groups):\n");
    for (size_t i = 0; option_word(&wanted, a->common, i); i++)
        for (size_t g = 0; a->groups[g]; g++)
            for (const pgy_option *row = a->groups[g]->options; row && row->kind != PGY_OPTION_END;
                 row++)
                if (row->kind != PGY_OPTION_POSITIONAL && has_spelling(row, wanted))
                    print_row(out, a, row, width);
}

/* ---- Help ----------------------------------------------------------------------------------- */

static void print_block(str *out, const args *a, const option_group *group, bool positionals,
                        size_t width)
{
    for (const pgy_option *row = group->options; row && row->kind != PGY_OPTION_END; row++)
        if (!row->hidden && (row->kind == PGY_OPTION_POSITIONAL) == positionals)
            print_row(out, a, row, width);
}

/* Lines that begin with a blank are examples and stay as they are. */
static void print_description(str *out, const char *text, size_t width)
{
    while (*text) {
        size_t size = strcspn(text, "\n");
        str line = {0};
        str_append_n(&line, text, size);
        if (text[0] == ' ')
            str_append(out, str_text(&line));
        else
            print_wrapped(out, str_text(&line), 0, 0, width);
        str_append_char(out, '\n');
        out->failed = out->failed || line.failed;
        str_deinit(&line);
        text += size + (text[size] == '\n');
    }
}

void args_print_help(str *out, const args *a, size_t width)
{
    size_t limit = width < MIN_WIDTH ? MIN_WIDTH : width - 2;
    str description = {0};
    args_print_usage(out, a, width);
    str_append_char(out, '\n');
    args_expand(&description, a->dialect, a->description);
    print_description(out, str_text(&description), limit);
    out->failed = out->failed || description.failed;
    str_deinit(&description);
    if (a->common) print_common(out, a, limit);
    if (a->examples) str_append(out, "\nexamples:\n");
    if (a->examples) args_expand(out, a->dialect, a->examples);
    bool headed = false;
    for (size_t g = 0; a->groups[g]; g++) {
        if (!group_has(a->groups[g], true)) continue;
        if (!headed) str_append(out, "\npositional arguments:\n");
        headed = true;
        print_block(out, a, a->groups[g], true, limit);
    }
    str_append(out, "\noptions:\n  -h, --help            show this help message and exit\n");
    for (size_t g = 0; a->groups[g]; g++)
        if (!a->groups[g]->title) print_block(out, a, a->groups[g], false, limit);
    for (size_t g = 0; a->groups[g]; g++) {
        if (!a->groups[g]->title || !group_has(a->groups[g], false)) continue;
        str_printf(out, "\n%s:\n", a->groups[g]->title);
        if (a->groups[g]->description) {
            str_append(out, "  ");
            print_wrapped(out, a->groups[g]->description, 2, 2, limit);
            str_append(out, "\n\n");
        }
        print_block(out, a, a->groups[g], false, limit);
    }
}

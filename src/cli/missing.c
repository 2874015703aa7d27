/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the table of missing features, and makes the page from it. */
#include "cli/missing.h"

#include <string.h>

const missing_tool *missing_tool_find(const original *o, const char *tool, const char *subtool)
{
    const size_t size = strlen(tool);
    for (size_t i = 0; o && i < o->tool_count; i++) {
        const char *name = o->tools[i].name;
        if (strncmp(name, tool, size) != 0 || (name[size] && name[size] != ' ')) continue;
        if (!name[size] || !subtool || strcmp(name + size + 1, subtool) == 0) return &o->tools[i];
    }
    return NULL;
}

/* ---- The page ------------------------------------------------------------------------------- */

/* Appends a cell of a table. */
static void print_cell(str *out, const char *text)
{
    str_append(out, " | ");
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '|' || *p == '*') str_append_char(out, '\\');
        str_append_char(out, *p);
    }
}

static void print_names(str *out, const char *names)
{
    span name;
    for (size_t i = 0; option_word(&name, names, i); i++)
        str_printf(out, "%s`%.*s`", i ? ", " : "", (int)name.size, name.data);
}

static void print_row(str *out, const char *where, const char *what, const char *instead)
{
    print_cell(out, where);
    print_cell(out, what);
    print_cell(out, instead);
    str_append(out, " |\n");
}

static void print_table(str *out, const original *from, bool older)
{
    str_append(out, "| name | commands | function in the original | alternative in this program "
                    "|\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < from->tool_count; i++) {
        const missing_tool *t = &from->tools[i];
        if (t->older != older) continue;
        str_printf(out, "| `%s`", t->name);
        print_row(out, "a tool", t->what, t->instead);
    }
    for (size_t i = 0; i < from->option_count; i++) {
        const missing_option *o = &from->options[i];
        if (o->older != older) continue;
        str_append(out, "| ");
        print_names(out, o->names);
        if (o->values) str_append(out, " with ");
        if (o->values) print_names(out, o->values);
        print_row(out, o->commands, o->what, o->instead);
    }
}

void missing_print_page(str *out, const original *o)
{
    str_printf(
        out,
        "# What is missing\n\nThis page lists the tools and options of %s %s that this program "
        "lacks. If you use one of them, the\nprogram says so in one line and ends with exit status "
        "1; it never takes the name for another option.\n\n[trt_options.md](trt_options.md) lists "
        "the options that are accepted but have no effect without a GPU,\nand "
        "[compare.md](compare.md) the verdicts that differ on purpose. `tools/gen_docs` makes this "
        "page from\n`src/cli/missing.def`; a test fails if an option or a tool of the original is "
        "neither on this page nor\nin the program.\n\n",
        o->name, o->release);
    print_table(out, o, false);
    str_append(out, "\n## Older releases\n\nThe program accepts other "
                    "spellings of older releases and names the newer spelling in a warning.\n\n");
    print_table(out, o, true);
}

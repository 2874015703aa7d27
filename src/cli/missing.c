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
    str_append(out, "| what | where | what it does there | what to do here |\n"
                    "| --- | --- | --- | --- |\n");
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
        "# What is missing\n\n"
        "What %s %s has on its command line and this program does not have, made from\n"
        "`src/cli/missing.def` by `tools/gen_docs`; a test fails when an option or a tool of the "
        "original is\n"
        "neither here nor in the program. Each of them is known by its name: it ends in one line "
        "that says so,\n"
        "with exit status 1, and is never taken for another option.\n\n"
        "Options that are accepted and have no effect without a GPU are told in\n"
        "[trt_options.md](trt_options.md), verdicts that differ on purpose in "
        "[compare.md](compare.md).\n\n",
        o->name, o->release);
    print_table(out, o, false);
    str_append(out, "\n## Of older releases and of the trtexec extension\n\n"
                    "Other spellings of older releases are accepted, with a line that tells the "
                    "newer one.\n\n");
    print_table(out, o, true);
}

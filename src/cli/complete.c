/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts ask the program itself ("polygraphy --complete WORDS"), so they never go
 * stale; the manual page and the option reference are printed from the same tables. */
#include "cli/complete.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"

static const char BASH[] =
    "_polygraphy() {\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=( $(polygraphy --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null) )\n"
    "}\n"
    "complete -o default -F _polygraphy polygraphy\n";
static const char ZSH[] =
    "_polygraphy() {\n"
    "    local -a found\n"
    "    found=(\"${(@f)$(polygraphy --complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    if (( ${#found} )) && [[ -n ${found[1]} ]]; then compadd -- $found; else _files; fi\n"
    "}\n"
    "compdef _polygraphy polygraphy\n";

/* ---- Completion ----------------------------------------------------------------------------- */

static void offer(const char *text, size_t size, const char *typed)
{
    if (size >= strlen(typed) && strncmp(text, typed, strlen(typed)) == 0)
        printf("%.*s\n", (int)size, text);
}

typedef struct wanted_words {
    const char *typed, *previous;
    bool values; /* offer the choices of `previous` instead of options */
} wanted_words;

static void offer_row(const option_group *group, const pgy_option *row, void *user)
{
    (void)group;
    wanted_words *w = user;
    span name;
    if (row->hidden || row->kind == PGY_OPTION_POSITIONAL) return;
    for (size_t i = 0; option_spelling(&name, row, i); i++) {
        if (!w->values)
            offer(name.data, name.size, w->typed);
        else if (row->choices && span_equals(name, w->previous))
            for (size_t k = 0; row->choices[k]; k++)
                offer(row->choices[k], strlen(row->choices[k]), w->typed);
    }
}

static void offer_tools(const char *tool, const char *typed)
{
    size_t count;
    const tool_info *tools = command_tools(&count);
    for (size_t i = 0; !tool && i < count; i++) offer(tools[i].name, strlen(tools[i].name), typed);
    for (size_t i = 0; tool && i < command_count(); i++)
        if (!strcmp(command_at(i)->tool, tool) && command_at(i)->subtool)
            offer(command_at(i)->subtool, strlen(command_at(i)->subtool), typed);
}

int complete_words(int argc, const char *const *words)
{
    const char *typed = argc > 0 ? words[argc - 1] : "";
    if (argc <= 1) {
        offer_tools(NULL, typed);
        return EXIT_GOOD;
    }
    const command *c = command_find(words[0], NULL);
    if (!c && argc == 2) {
        offer_tools(words[0], typed);
        return EXIT_GOOD;
    }
    if (!c) c = command_find(words[0], words[1]);
    if (!c) return EXIT_GOOD;
    wanted_words w = {typed, words[argc - 2], typed[0] != '-'};
    args_visit(command_groups(c), offer_row, &w);
    return EXIT_GOOD;
}

/* ---- Manual page and reference -------------------------------------------------------------- */

/* Text of one command's help, without the options of which the reader needs no column layout. */
static void print_command_help(const command *c, const char *heading, size_t width)
{
    pgy_error err = {0};
    args line = {0};
    str name = {0}, help = {0};
    str_printf(&name, "polygraphy %s%s%s", c->tool, c->subtool ? " " : "",
               c->subtool ? c->subtool : "");
    if (args_init(&line, str_text(&name), c->description, command_groups(c), &err) == PGY_OK) {
        args_print_help(&help, &line, width);
        printf("%s%s\n", heading, str_text(&name));
        args_deinit(&line);
    }
    str_deinit(&name);
    fputs(strcmp(heading, "## ") == 0 ? "\n```text\n" : ".nf\n", stdout);
    for (const char *p = str_text(&help); *p; p++) {
        bool man_special =
            heading[0] == '.' &&
            (*p == '\\' || ((*p == '.' || *p == '\'') && (p == str_text(&help) || p[-1] == '\n')));
        if (man_special) fputs(*p == '\\' ? "\\" : "\\&", stdout);
        putchar(*p);
    }
    fputs(heading[0] == '.' ? ".fi\n" : "```\n\n", stdout);
    str_deinit(&help);
}

static int print_manual(void)
{
    printf(".TH POLYGRAPHY 1 \"\" \"libpolygraphy %s\" \"User Commands\"\n.SH NAME\npolygraphy \\- "
           "find out where and why a neural "
           "network behaves differently\n.SH SYNOPSIS\n.B polygraphy\nTOOL [SUBTOOL] "
           "[OPTIONS]\n.SH EXIT STATUS\n0 success; 1 a "
           "verdict was no, or an error; 2 misuse of options\n",
           pgy_version());
    for (size_t i = 0; i < command_count(); i++) print_command_help(command_at(i), ".SH ", 90);
    return EXIT_GOOD;
}

static int print_markdown(void)
{
    printf("# Options of the polygraphy program\n\nMade by `polygraphy --completion markdown`; a "
           "test fails when this page is stale.\n\n");
    for (size_t i = 0; i < command_count(); i++) print_command_help(command_at(i), "## ", 100);
    return EXIT_GOOD;
}

int complete_print(const char *what)
{
    if (strcmp(what, "bash") == 0) return fputs(BASH, stdout) < 0;
    if (strcmp(what, "zsh") == 0) return fputs(ZSH, stdout) < 0;
    if (strcmp(what, "man") == 0) return print_manual();
    if (strcmp(what, "markdown") == 0) return print_markdown();
    fprintf(stderr, "polygraphy: error: --completion: '%s' is not bash, zsh, man or markdown\n",
            what);
    return EXIT_USAGE;
}

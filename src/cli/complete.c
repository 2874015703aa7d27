/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts ask the program itself ("PROGRAM --complete WORDS"), so they never go stale.
 */
#include "cli/complete.h"

#include <stdio.h>
#include <string.h>

static const char BASH[] =
    "_{program}() {\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=( $({program} --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null) )\n"
    "}\n"
    "complete -o default -F _{program} {program}\n";
/* zsh runs an autoloaded file once as the function of the same name. */
static const char ZSH[] =
    "#compdef {program}\n"
    "_{program}() {\n"
    "    local -a found\n"
    "    found=(\"${(@f)$({program} --complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    if (( ${#found} )) && [[ -n ${found[1]} ]]; then compadd -- $found; else _files; fi\n"
    "}\n"
    "if [[ ${funcstack[1]} == _{program} ]]; then\n"
    "    _{program} \"$@\"\n"
    "else\n"
    "    compdef _{program} {program}\n"
    "fi\n";
static const char FISH[] = "function __{program}_complete\n"
                           "    set -l words (commandline -opc) (commandline -ct)\n"
                           "    {program} --complete $words[2..-1] 2>/dev/null\n"
                           "end\n"
                           "complete -c {program} -a '(__{program}_complete)'\n";

/* ---- Completion ----------------------------------------------------------------------------- */

static void offer(const char *text, size_t size, const char *typed)
{
    if (size >= strlen(typed) && strncmp(text, typed, strlen(typed)) == 0)
        printf("%.*s\n", (int)size, text);
}

typedef struct wanted_words {
    const char *typed, *previous;
    bool values; /* offer the values that the option `previous` accepts, not options */
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

static void offer_tools(const program *p, const char *typed)
{
    for (const tool_info *t = p->tools; t->name; t++) offer(t->name, strlen(t->name), typed);
}

static void offer_subtools(const program *p, const char *tool, const char *typed)
{
    for (const command *const *c = p->commands; *c; c++)
        if (!strcmp((*c)->tool, tool) && (*c)->subtool)
            offer((*c)->subtool, strlen((*c)->subtool), typed);
}

/* The command that the words before the last one name; NULL: no complete name yet. */
static const command *named_command(const program *p, int argc, const char *const *words)
{
    if (!p->tools) return command_find(p, NULL, NULL);
    const command *whole = argc > 1 ? command_find(p, words[0], NULL) : NULL;
    return whole || argc < 3 ? whole : command_find(p, words[0], words[1]);
}

int complete_words(const program *p, int argc, const char *const *words)
{
    const char *typed = argc > 0 ? words[argc - 1] : "";
    const command *c = named_command(p, argc, words);
    wanted_words w = {typed, argc > 1 ? words[argc - 2] : "", typed[0] != '-'};
    if (c)
        args_visit(command_groups(c), offer_row, &w);
    else if (argc <= 1)
        offer_tools(p, typed);
    else if (argc == 2)
        offer_subtools(p, words[0], typed);
    return EXIT_GOOD;
}

bool complete_script(const program *p, const char *shell)
{
    static const struct {
        const char *shell, *text;
    } SCRIPTS[] = {{"bash", BASH}, {"zsh", ZSH}, {"fish", FISH}};
    for (size_t i = 0; i < sizeof SCRIPTS / sizeof SCRIPTS[0]; i++) {
        if (strcmp(shell, SCRIPTS[i].shell)) continue;
        str script = {0};
        args_expand(&script, &p->dialect, SCRIPTS[i].text);
        fputs(str_text(&script), stdout);
        str_deinit(&script);
        return true;
    }
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts ask the program itself ("polygraphy --complete WORDS"), so they never go
 * stale. */
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
/* zsh runs an autoloaded file once as the function that it is named after. */
static const char ZSH[] =
    "#compdef polygraphy\n"
    "_polygraphy() {\n"
    "    local -a found\n"
    "    found=(\"${(@f)$(polygraphy --complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    if (( ${#found} )) && [[ -n ${found[1]} ]]; then compadd -- $found; else _files; fi\n"
    "}\n"
    "if [[ ${funcstack[1]} == _polygraphy ]]; then\n"
    "    _polygraphy \"$@\"\n"
    "else\n"
    "    compdef _polygraphy polygraphy\n"
    "fi\n";
static const char FISH[] = "function __polygraphy_complete\n"
                           "    set -l words (commandline -opc) (commandline -ct)\n"
                           "    polygraphy --complete $words[2..-1] 2>/dev/null\n"
                           "end\n"
                           "complete -c polygraphy -a '(__polygraphy_complete)'\n";

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

bool complete_script(const char *shell)
{
    static const struct {
        const char *shell, *text;
    } SCRIPTS[] = {{"bash", BASH}, {"zsh", ZSH}, {"fish", FISH}};
    for (size_t i = 0; i < sizeof SCRIPTS / sizeof SCRIPTS[0]; i++) {
        if (strcmp(shell, SCRIPTS[i].shell)) continue;
        fputs(SCRIPTS[i].text, stdout);
        return true;
    }
    return false;
}

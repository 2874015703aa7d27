/* SPDX-License-Identifier: Apache-2.0 */
/* Answers, for each line "TOOL [SUBTOOL]<tab>WORD" of stdin, which option the word is taken for:
 * "option NAME", "missing NAME", "ambiguous", "none" or "no command", with a tab before the name.
 */
#include <stdio.h>
#include <string.h>

#include "cli/program_polygraphy.h"

static const option_group *const PARENT[] = {&GROUP_LOGGING, NULL};

static bool has_subtools(const char *tool)
{
    for (const command *const *c = PROGRAM_POLYGRAPHY.commands; *c; c++)
        if (!strcmp((*c)->tool, tool) && (*c)->subtool) return true;
    return false;
}

/* A tool with subtools has logging options of its own. */
static pgy_status open_command(args *line, char *name)
{
    char *blank = strchr(name, ' ');
    if (blank) *blank = 0;
    const command *c = command_find(&PROGRAM_POLYGRAPHY, name, blank ? blank + 1 : NULL);
    if (c) return command_open(line, &PROGRAM_POLYGRAPHY, c, NULL);
    if (blank || !has_subtools(name)) return PGY_E_NOT_FOUND;
    return args_init(line, "polygraphy", "", PARENT, NULL);
}

int main(void)
{
    char text[512];
    while (fgets(text, sizeof text, stdin)) {
        args line = {0};
        args_match match = {0};
        char *word = strchr(text, '\t');
        if (!word) return 2;
        *word++ = 0;
        word[strcspn(word, "\n")] = 0;
        if (open_command(&line, text)) {
            puts("no command");
            continue;
        }
        if (args_match_word(&match, &line, word, NULL)) return 2;
        if (match.row || match.missing)
            printf("%s\t%.*s\n", match.row ? "option" : "missing", (int)match.name.size,
                   match.name.data);
        else
            puts(match.ambiguous ? "ambiguous" : "none");
        args_deinit(&line);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A command (subtool) is one file cmd_<tool>_<subtool>.c ending in a const descriptor, and one line
 * in commands.def. It lists the option groups it takes (its own first) and runs on their settings.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/args/parser.h"

/* Exit statuses. */
enum { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

typedef struct command {
    const char *tool;                  /* "inspect" */
    const char *subtool;               /* "model"; NULL: the tool itself */
    const char *summary;               /* one line for the list of tools */
    const char *description;           /* for its help */
    const char *common;                /* options that its help shows first, or NULL */
    const char *examples;              /* command lines for its help, or NULL */
    const option_group *const *groups; /* NULL-ended */
    const option_group *const *(*make_groups)(
        void);   /* instead of groups, for a command whose groups depend on the backends */
    bool frames; /* prints RUNNING and PASSED/FAILED lines */
    bool no_abbreviation;
    const char *alias; /* older "tool subtool" spelling, or NULL */
    /* *passed false = exit 1 with a FAILED line; an error is logged at CRITICAL, exit 1. */
    pgy_status (*run)(args *line, bool *passed, pgy_error *err);
} command;

const option_group *const *command_groups(const command *c);
/* Makes the line that a command's words are parsed into; args_deinit when it succeeded. */
pgy_status command_open(args *line, const command *c, pgy_error *err) PGY_MUST_CHECK;
size_t command_count(void);
const command *command_at(size_t i);
/* NULL if there is none. subtool may be NULL. */
const command *command_find(const char *tool, const char *subtool);
/* All tools in help order: name and summary. */
typedef struct tool_info {
    const char *name, *summary;
} tool_info;
const tool_info *command_tools(size_t *count);

/* The whole program; what main() calls. argv without the program's name. */
int program_run(int argc, const char *const *argv);

/* Groups that stand in several commands; each is one file under groups/. */
extern const option_group GROUP_LOGGING;

#endif

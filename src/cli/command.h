/* SPDX-License-Identifier: Apache-2.0 */
/* A command (subtool) is one file cmd_<tool>_<subtool>.c, which ends in a const descriptor, and one
 * line in commands.def. The descriptor lists the command's option groups (its own first); the
 * command runs on their settings. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/args/parser.h"

/* Exit statuses. */
enum { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

typedef struct program program; /* program.h */

/* A command of an older release. */
typedef struct command_alias {
    const char *name;  /* "flaky diff-tactics" */
    const char *words; /* options that give its defaults, separated by blanks; NULL: none */
} command_alias;

typedef struct command {
    const char *tool;                  /* "inspect"; NULL: the program itself */
    const char *subtool;               /* "model"; NULL: the tool itself */
    const char *summary;               /* one line for the list of tools */
    const char *description;           /* for its help */
    const char *common;                /* options that its help shows first, or NULL */
    const char *examples;              /* command lines for its help, or NULL */
    const option_group *const *groups; /* NULL-ended */
    const option_group *const *(*make_groups)(
        void);   /* used instead of `groups` when the groups depend on the registered backends */
    bool frames; /* prints RUNNING and PASSED/FAILED lines */
    bool no_abbreviation;
    const command_alias *aliases; /* ends with a row without name; NULL: none */
    /* *passed == false: exit 1 with a FAILED line. An error is logged at CRITICAL; exit 1. */
    pgy_status (*run)(args *line, bool *passed, pgy_error *err);
} command;

const option_group *const *command_groups(const command *c);
/* Prepares `line` for parsing a command's words. On success the caller calls args_deinit. */
pgy_status command_open(args *line, const program *p, const command *c,
                        pgy_error *err) PGY_MUST_CHECK;
/* Finds a command; NULL if the program lacks it. tool and subtool may be NULL. */
const command *command_find(const program *p, const char *tool, const char *subtool);
/* Finds a command by an older "tool subtool". `*alias` tells which. */
const command *command_find_older(const command_alias **alias, const program *p, const char *tool,
                                  const char *subtool);

/* Groups that several commands share; each is one file in groups/. */
extern const option_group GROUP_LOGGING;

#endif

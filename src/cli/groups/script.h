/* SPDX-License-Identifier: Apache-2.0 */
/* Options of commands that write scripts. */
#ifndef CLI_GROUPS_SCRIPT_H
#define CLI_GROUPS_SCRIPT_H

#include "cli/command.h"

typedef struct script_args {
    const char *path; /* NULL: run; "-": the standard output */
} script_args;
extern const option_group GROUP_SCRIPT;

/* The output of the commands that only write a script. */
typedef struct template_args {
    const char *output;
} template_args;
extern const option_group GROUP_TEMPLATE;

/* Is it the path of a C program for this library, and not of a Python script? */
bool script_is_c(const char *path);
/* Does the line ask for a script instead of a run? */
bool script_is_asked_for(const args *line);

#endif

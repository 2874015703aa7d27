/* SPDX-License-Identifier: Apache-2.0 */
/* A program with commands: its name, tools, texts, and its syntax of values. Help, usage, errors,
 * manual page and completion are made from this, so that another program only needs a definition
 * and a main() that calls program_run. args_expand expands the texts. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "cli/command.h"

typedef struct tool_info {
    const char *name, *summary; /* a NULL name ends a list */
} tool_info;

typedef struct manual_entry {
    const char *name, *text; /* a NULL name ends a list */
} manual_entry;

struct program {
    args_dialect dialect;
    const char *title;       /* the program's name in a sentence */
    const char *summary;     /* its purpose: one line without a full stop */
    const char *about;       /* the paragraph of the manual page */
    const char *library;     /* the library that it belongs to */
    const char *environment; /* prefix of that library's environment variables */
    void (*print_version)(str *out, const char *folder);
    /* Tools in the order of the help. NULL: the program has one command, whose tool is NULL, and
     * its options follow the program's name. */
    const tool_info *tools;
    const command *const *commands;       /* NULL-ended */
    const manual_entry *examples, *files; /* of the manual page, or NULL */
};

/* Runs the program; main() calls it. argv is without the program's name. */
int program_run(const program *p, int argc, const char *const *argv);

#endif

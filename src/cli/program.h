/* SPDX-License-Identifier: Apache-2.0 */
/* A program of commands: its name, its tools and texts, how it writes values. Help, usage, errors,
 * manual page and completion are made from this, so that another program is one more definition and
 * a main() that calls program_run. Texts are those of args_expand. */
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
    const char *title;       /* how the program is called in a sentence */
    const char *summary;     /* what it is for: a line without a full stop */
    const char *about;       /* the paragraph of the manual page */
    const char *library;     /* what it is a part of */
    const char *environment; /* how the names of that library's variables begin */
    void (*print_version)(str *out, const char *folder);
    /* In the order of the help. NULL: the program has one command, whose tool is NULL, and its
     * options follow the program's name. */
    const tool_info *tools;
    const command *const *commands;       /* NULL-ended */
    const manual_entry *examples, *files; /* of the manual page, or NULL */
};

/* The whole program; what main() calls. argv without the program's name. */
int program_run(const program *p, int argc, const char *const *argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The original: the program whose command line this program follows. The tables list the original's
 * options, and those tools and options that this program does not have. */
#ifndef CLI_ARGS_ORIGINAL_H
#define CLI_ARGS_ORIGINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

typedef struct missing_option {
    const char *commands; /* "run, inspect model": the commands that have it */
    const char *names;    /* all its spellings, separated by blanks */
    const char *values;   /* NULL: the whole option is missing; else only these values of it */
    bool older;           /* only older releases have it: must be written in full */
    const char *what;     /* what the option does in the original */
    const char *instead;  /* what to use here in its place, or NULL */
} missing_option;

typedef struct missing_tool {
    const char *name; /* "debug build" */
    bool older;       /* not in the release that this program follows */
    const char *what, *instead;
} missing_tool;

/* The options of one command of the original. */
typedef struct original_command {
    const char *command, *names;
} original_command;

typedef struct original {
    const char *name, *release;
    const char *package; /* its Python package */
    const char *page; /* "docs/parity.md": the page that lists what is missing */
    const original_command *commands;
    size_t command_count;
    const missing_option *options;
    size_t option_count;
    const missing_tool *tools;
    size_t tool_count;
} original;

/* Has the original an option of this spelling in this command? False without an original. */
bool original_has(const original *o, span name, const char *command);

#endif

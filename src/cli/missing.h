/* SPDX-License-Identifier: Apache-2.0 */
/* What the original has and this program has not: the table of missing.def. */
#ifndef CLI_MISSING_H
#define CLI_MISSING_H

#include "cli/args/parser.h"

typedef struct missing_tool {
    const char *name; /* "debug build" */
    bool older;       /* not in 0.53.6 any more */
    const char *what, *instead;
} missing_tool;

const missing_option *missing_options(size_t *count);
const missing_tool *missing_tools(size_t *count);
/* NULL: not known. Without a subtool, any row of the tool. */
const missing_tool *missing_tool_find(const char *tool, const char *subtool);
/* docs/parity.md */
void missing_print_page(str *out);

#endif

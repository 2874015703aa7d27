/* SPDX-License-Identifier: Apache-2.0 */
/* Tools and options that the original of a program has and the program lacks. */
#ifndef CLI_MISSING_H
#define CLI_MISSING_H

#include "cli/args/parser.h"

/* Finds a tool that only the original has; without a subtool, any subtool of it. NULL: not in the
 * table, or `o` is NULL. */
const missing_tool *missing_tool_find(const original *o, const char *tool, const char *subtool);
/* Appends the page that lists the missing tools and options. */
void missing_print_page(str *out, const original *o);

#endif

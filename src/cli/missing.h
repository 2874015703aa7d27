/* SPDX-License-Identifier: Apache-2.0 */
/* Tools and options that the original of a program has and the program lacks. */
#ifndef CLI_MISSING_H
#define CLI_MISSING_H

#include "cli/args/parser.h"

/* Finds a missing tool; without a subtool, any row of the tool. NULL: not in the table, or there is
 * no original. */
const missing_tool *missing_tool_find(const original *o, const char *tool, const char *subtool);
/* Appends the page of all that is missing. */
void missing_print_page(str *out, const original *o);

#endif

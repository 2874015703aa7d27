/* SPDX-License-Identifier: Apache-2.0 */
/* What the original of a program has and the program has not. */
#ifndef CLI_MISSING_H
#define CLI_MISSING_H

#include "cli/args/parser.h"

/* NULL: not known, or the program follows no other. Without a subtool, any row of the tool. */
const missing_tool *missing_tool_find(const original *o, const char *tool, const char *subtool);
/* The page of the original. */
void missing_print_page(str *out, const original *o);

#endif

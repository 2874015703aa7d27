/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that make pages share. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "cli/args/parser.h"

/* The command line without folders, for the page: pages are sent to others. NULL: unknown. */
const char *page_command(args *line);

#endif

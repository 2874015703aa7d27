/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that make pages share: view, inspect model --visual, run --report. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include <polygraphy/page.h>

#include "cli/args/parser.h"

/* The command line without folders, for the page: pages are sent to others. NULL: unknown. */
const char *page_command(args *line);
/* Logs the page's warnings. */
void page_warn(const pgy_page *p);
/* Shows a file or an address in the user's browser: the program in BROWSER, or the desktop's. Logs
 * what to open instead if there is none. */
void page_open(const char *address);
/* Serves the page until the user ends the program. @param port  0: any that is free */
pgy_status page_serve(pgy_page *p, uint16_t port, bool opens_browser,
                      pgy_error *err) PGY_MUST_CHECK;
/* Converts a port of the command line. */
pgy_status page_port(uint16_t *out, int64_t port, const char *option,
                     pgy_error *err) PGY_MUST_CHECK;

#endif

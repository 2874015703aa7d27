/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page and the option reference, made from the option tables. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "cli/program.h"

/* Runs `PROGRAM --completion WHAT`. WHAT is "bash", "zsh" or "fish" for a completion script, "man"
 * for the manual page, "markdown" for the option reference, or "parity" for the page of missing
 * features, if the program follows another one. Returns the exit status. */
int manual_print(const program *p, const char *what);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page and the option reference, made from the option tables. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "cli/program.h"

/* What `PROGRAM --completion WHAT` prints: a completion script for "bash", "zsh" or "fish", the
 * manual page for "man", the page of all options for "markdown", that of what is missing for
 * "parity", if the program follows another one. Returns the exit status. */
int manual_print(const program *p, const char *what);

#endif

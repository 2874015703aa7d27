/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page and the option reference, made from the option tables. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

/* What `polygraphy --completion WHAT` prints: a completion script for "bash", "zsh" or "fish", the
 * manual page for "man", docs/cli.md for "markdown", docs/parity.md for "parity". Returns the exit
 * status. */
int manual_print(const char *what);

#endif

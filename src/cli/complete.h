/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completion and reference pages, made from the option tables. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

/* Prints the completion script for "bash" or "zsh", "man" for the manual page, "markdown" for
 * docs/cli. Returns the exit status. */
int complete_print(const char *what);
/* Prints what may follow these words, the last one being typed; one a line. */
int complete_words(int argc, const char *const *words);

#endif

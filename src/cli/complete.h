/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completion, made from the option tables. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli/program.h"

/* Prints the completion script for "bash", "zsh" or "fish"; false: another shell. */
bool complete_script(const program *p, const char *shell);
/* Prints what may follow these words, the last one being typed; one a line. Returns the exit
 * status. */
int complete_words(const program *p, int argc, const char *const *words);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completion, made from the option tables. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli/program.h"

/* Prints the completion script for "bash", "zsh" or "fish". False for other shells. */
bool complete_script(const program *p, const char *shell);
/* Prints the completions of the last word, one per line. The words before it are complete. Returns
 * the exit status. */
int complete_words(const program *p, int argc, const char *const *words);

#endif

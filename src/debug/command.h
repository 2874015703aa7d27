/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command to its end and collects its output. */
#ifndef DEBUG_COMMAND_H
#define DEBUG_COMMAND_H

#include <polygraphy/base.h>

#include "base/str.h"

typedef struct command_result {
    str out, err; /* stdout and stderr */
    int code;     /* exit code; the negated number of the signal that ended it */
} command_result;

void command_result_deinit(command_result *r);
/* `words` is the command, of `count` words; it inherits stdin and the current folder. timeout_s 0:
 * no limit. The command and the programs that it started are ended when the limit passes or
 * pgy_cancel is called. */
pgy_status command_run(command_result *out, const char *const *words, size_t count,
                       double timeout_s, pgy_error *err) PGY_MUST_CHECK;

#endif

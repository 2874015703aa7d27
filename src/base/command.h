/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command to its end and collects its output. */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

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

typedef struct command_options {
    double timeout_s; /* 0: no limit */
    /* The command has no terminal: its stdin is empty, it leads a process group of its own, and it
     * ends with this process, however that ends. */
    bool apart;
    size_t keep_bytes; /* of longer output only the end is kept; 0: all of it */
} command_options;

/* Like command_run, with options. */
pgy_status command_run_with(command_result *out, const char *const *words, size_t count,
                            const command_options *o, pgy_error *err) PGY_MUST_CHECK;

#endif

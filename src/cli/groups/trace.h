/* SPDX-License-Identifier: Apache-2.0 */
/* Options that record a timeline, and the recording around a command. */
#ifndef CLI_GROUPS_TRACE_H
#define CLI_GROUPS_TRACE_H

#include <polygraphy/trace.h>

#include "cli/command.h"

typedef struct trace_args {
    const char *path; /* NULL: nothing is recorded */
    const char *runs_text;
    bool keeps_clock;
    pgy_trace_options options;
} trace_args;
extern const option_group GROUP_TRACE;
extern const option_group GROUP_TRACE_BUILD; /* for commands that do not run models */

/* Reads "all" or a number of runs; `option` is named in errors. NULL text: the default stays. */
pgy_status trace_runs_read(int64_t *out, const char *text, const char *option,
                           pgy_error *err) PGY_MUST_CHECK;

/* A recording around a command. Without --export-trace the functions do nothing. */
typedef struct trace_session {
    pgy_trace_file *file;
    const char *path;
    struct {
        const char *name;
        double value;
    } facts[4]; /* further facts; without name: none */
} trace_session;
/* Opens the file and starts recording. */
pgy_status trace_begin(trace_session *s, const char *path, const pgy_trace_options *o,
                       pgy_error *err) PGY_MUST_CHECK;
/* Ends the recording and, if the command did not fail, writes the file. `tool` is what ran, `line`
 * the command line, `model` its model's file; each may be NULL. Returns `st`, or the failure of
 * writing. */
pgy_status trace_end(trace_session *s, pgy_status st, const char *tool, const char *line,
                     const char *model, pgy_error *err) PGY_MUST_CHECK;

#endif

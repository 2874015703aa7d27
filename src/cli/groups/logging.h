/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_GROUPS_LOGGING_H
#define CLI_GROUPS_LOGGING_H

#include "cli/command.h"

typedef struct logging_args {
    int verbose, quiet;
    pgy_text_list verbosity, format;
    bool silent;
    bool old_timestamp, old_line_info, old_no_color, old_no_letter; /* older spellings */
    const char *file;
} logging_args;

pgy_log_format logging_format(const logging_args *s);
/* Calls `visit` for each severity that the line sets, in order; path NULL or "": the default. */
typedef pgy_status (*logging_visitor)(const char *path, int severity, void *user, pgy_error *err);
pgy_status logging_visit(args *line, logging_visitor visit, void *user,
                         pgy_error *err) PGY_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_GROUPS_LOGGING_H
#define CLI_GROUPS_LOGGING_H

#include "cli/command.h"

typedef struct logging_args {
    int verbose, quiet;
    pgy_text_list verbosity, format;
    bool silent;
    bool old_timestamp, old_line_info, old_no_color; /* older spellings */
    const char *file;
} logging_args;

#endif

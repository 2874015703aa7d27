/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_GROUPS_OPERATORS_H
#define CLI_GROUPS_OPERATORS_H

#include "cli/command.h"

typedef struct operator_args {
    pgy_text_list libraries; /* a NULL item ends the words of one use */
    const char *max_memory;
} operator_args;
/* Applied when the options are checked. */
extern const option_group GROUP_OPERATORS;
/* Without --max-memory, for commands that have a limit of their own. */
extern const option_group GROUP_OPERATOR_LIBRARIES;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_GROUPS_OPERATORS_H
#define CLI_GROUPS_OPERATORS_H

#include "cli/command.h"

/* Applied when the options are checked: no command reads its settings. */
extern const option_group GROUP_OPERATORS;

#endif

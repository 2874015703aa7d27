/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_GROUPS_OPERATORS_H
#define CLI_GROUPS_OPERATORS_H

#include "cli/command.h"

extern const option_group GROUP_OPERATORS; /* its settings take effect by themselves */

#endif

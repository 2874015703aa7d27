/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PROGRAM_POLYGRAPHY_H
#define CLI_PROGRAM_POLYGRAPHY_H

#include "cli/program.h"

extern const program PROGRAM_POLYGRAPHY;

#endif

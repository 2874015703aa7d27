/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PROGRAM_TRTEXEC_H
#define CLI_PROGRAM_TRTEXEC_H

#include "cli/program.h"

extern const program PROGRAM_TRTEXEC;
/* Runs the program; main() calls it. argv is without the program's name. */
int trtexec_main(int argc, const char *const *argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The polygraphy program. */
#include "cli/command.h"

int main(int argc, char **argv)
{
    return program_run(argc - 1, (const char *const *)argv + 1);
}

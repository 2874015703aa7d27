/* SPDX-License-Identifier: Apache-2.0 */
/* The polygraphy program. */
#include "cli/program_polygraphy.h"

int main(int argc, char **argv)
{
    return program_run(&PROGRAM_POLYGRAPHY, argc - 1, (const char *const *)argv + 1);
}

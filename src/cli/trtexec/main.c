/* SPDX-License-Identifier: Apache-2.0 */
/* The trtexec program. */
#include "cli/program_trtexec.h"

int main(int argc, char **argv)
{
    return trtexec_main(argc - 1, (const char *const *)argv + 1);
}

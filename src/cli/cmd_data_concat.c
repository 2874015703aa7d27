/* SPDX-License-Identifier: Apache-2.0 */
/* data concat: joins the iterations of several files, one after the other, into one file. */
#include <polygraphy/saved.h>

#include "cli/command.h"

typedef struct concat_args {
    pgy_text_list paths;
    const char *output;
} concat_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("paths", concat_args, paths, .nargs = PGY_ONE_OR_MORE,
                       .help = "files of saved inputs, or files of saved outputs"),
    PGY_OPT_TEXT("-o --output", concat_args, output, .required = true, .meta = "PATH",
                 .help = "file for the result"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(concat_args)};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const concat_args *s = args_get(line, &OWN);
    return pgy_saved_concat(s->output, s->paths.items, s->paths.count, err);
}

const command COMMAND_data_concat = {
    .tool = "data",
    .subtool = "concat",
    .summary = "Append the iterations of several files.",
    .description = "Append the iterations of several files of saved inputs, or of several files of "
                   "saved outputs, where iterations of runners with equal names are joined.",
    .groups = GROUPS,
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* data merge (until 0.49: data to-input): merges several files of inputs and outputs into one input
 * file, iteration by iteration. */
#include <polygraphy/saved.h>

#include "cli/command.h"

typedef struct merge_args {
    pgy_text_list paths;
    const char *output;
} merge_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("paths", merge_args, paths, .nargs = PGY_ONE_OR_MORE,
                       .help = "files of saved inputs or outputs"),
    PGY_OPT_TEXT("-o --output", merge_args, output, .required = true, .meta = "PATH",
                 .help = "file for the merged inputs"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(merge_args)};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const merge_args *s = args_get(line, &OWN);
    const char *advice = arena_printf(&line->memory, "%s data concat", line->dialect->program);
    return pgy_saved_merge(s->output, s->paths.items, s->paths.count, advice, err);
}

static const command_alias ALIASES[] = {{"data to-input", NULL}, {NULL, NULL}};

const command COMMAND_data_merge = {
    .tool = "data",
    .subtool = "merge",
    .aliases = ALIASES,
    .summary = "Merge inputs and outputs of several files into one input file.",
    .description = "Merge saved inputs and outputs into one input file, iteration by iteration. "
                   "Use it when outputs of one model are inputs of another. 'data to-input' is an "
                   "older name of this command.",
    .groups = GROUPS,
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* inspect data: shows a file of saved inputs, outputs or accuracy results. */
#include <polygraphy/saved.h>

#include "base/log.h"
#include "cli/command.h"

static const char LOG_PATH[] = "tools/inspect/subtool/data.py";

typedef struct inspect_data_args {
    const char *path;
    bool all, show_values, histogram;
    int64_t num_items, line_width;
} inspect_data_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("path", inspect_data_args, path,
                       .help = "file of saved inputs, outputs or accuracy results, or a folder of "
                               "per-iteration files"),
    PGY_OPT_FLAG("-a --all", inspect_data_args, all,
                 .help = "show every iteration instead of the first"),
    PGY_OPT_FLAG("-s --show-values", inspect_data_args, show_values,
                 .help = "show the values of the arrays"),
    PGY_OPT_FLAG("--histogram", inspect_data_args, histogram,
                 .help = "show a histogram of each array"),
    PGY_OPT_INT("-n --num-items", inspect_data_args, num_items, .meta = "NUM",
                .help = "number of values shown at each end of a dimension of a large array; -1 "
                        "shows all values; default 3"),
    PGY_OPT_INT("--line-width", inspect_data_args, line_width, .meta = "NUM",
                .help = "longest line of values, in characters; -1 breaks lines at the ends of "
                        "rows only; default 75"),
    PGY_OPT_END,
};

static void defaults(void *settings)
{
    inspect_data_args *s = settings;
    s->num_items = 3;
    s->line_width = 75;
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(inspect_data_args), .defaults = defaults};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const inspect_data_args *s = args_get(line, &OWN);
    const pgy_saved_text_options o = {.size = sizeof o,
                                      .all = s->all,
                                      .values = s->show_values,
                                      .histogram = s->histogram,
                                      .edge_items = s->num_items,
                                      .line_width = s->line_width};
    char *text = NULL;
    const pgy_status st = pgy_saved_text(&text, s->path, &o, err);
    if (!st) LOG(INFO, "%s", text);
    pgy_text_free(text);
    return st;
}

static const command_alias ALIASES[] = {{"inspect results", NULL}, {NULL, NULL}};

const command COMMAND_inspect_data = {
    .tool = "inspect",
    .subtool = "data",
    .aliases = ALIASES,
    .summary = "Show saved inputs, outputs or accuracy results.",
    .description = "Show the contents of a file of saved inputs, outputs or accuracy results: "
                   "names, types, shapes, statistics and, with --show-values, values.",
    .groups = GROUPS,
    .run = run,
};

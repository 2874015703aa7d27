/* SPDX-License-Identifier: Apache-2.0 */
/* inspect tactics: what a tactic replay file says, layer by layer. */
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/groups/logging.h"
#include "cli/tactic_file.h"

static const char LOG_PATH[] = "tools/inspect/subtool/tactics.py";

typedef struct inspect_tactics_args {
    const char *path;
} inspect_tactics_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("tactic_replay", inspect_tactics_args, path,
                       .help = "tactic replay file, as --save-tactics writes it"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(inspect_tactics_args)};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const inspect_tactics_args *s = args_get(line, &OWN);
    tactic_file f = {0};
    str text = {0};
    (void)passed;
    LOG(INFO, "Loading tactic replay file from %s", s->path);
    pgy_status st = tactic_file_load(&f, s->path, err);
    for (size_t i = 0; i < f.count; i++)
        str_printf(&text, "%sLayer: %s\n    Algorithm: %s", i ? "\n" : "", f.layers[i].name,
                   f.layers[i].algorithm);
    if (!st && text.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) LOG(INFO, "%s", str_text(&text));
    str_deinit(&text);
    tactic_file_deinit(&f);
    return st;
}

const command COMMAND_inspect_tactics = {
    .tool = "inspect",
    .subtool = "tactics",
    .summary = "Show which kernels a tactic replay file names.",
    .description =
        "Show the algorithm of every layer in a tactic replay file, as --save-tactics "
        "of 'run' and 'convert' writes it: with the built-in engine an implementation is "
        "the hash of a kernel's name, and the tactic its version.",
    .groups = GROUPS,
    .run = run,
};

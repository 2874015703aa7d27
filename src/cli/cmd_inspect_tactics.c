/* SPDX-License-Identifier: Apache-2.0 */
/* inspect tactics: shows a tactic replay file, layer by layer. */
#include <polygraphy/tactics.h>
#include <polygraphy/tensor.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/groups/logging.h"

static const char LOG_PATH[] = "tools/inspect/subtool/tactics.py";

typedef struct inspect_tactics_args {
    const char *path;
} inspect_tactics_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("tactic_replay", inspect_tactics_args, path,
                       .help = "tactic replay file that --save-tactics wrote"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(inspect_tactics_args)};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const inspect_tactics_args *s = args_get(line, &OWN);
    pgy_tactic_replay *replay = NULL;
    char *text = NULL;
    (void)passed;
    LOG(INFO, "Loading tactic replay file from %s", s->path);
    pgy_status st = pgy_tactic_replay_load(&replay, s->path, err);
    if (!st) st = pgy_tactic_replay_text(&text, replay, err);
    if (!st) LOG(INFO, "%s", text);
    pgy_text_free(text);
    pgy_tactic_replay_destroy(replay);
    return st;
}

const command COMMAND_inspect_tactics = {
    .tool = "inspect",
    .subtool = "tactics",
    .summary = "Show which kernels a tactic replay file names.",
    .description =
        "Show the algorithm of every layer in a tactic replay file, which --save-tactics of 'run' "
        "and 'convert' writes. For the built-in engine the implementation is the hash of the "
        "kernel's name, and the tactic is the kernel's version.",
    .groups = GROUPS,
    .run = run,
};

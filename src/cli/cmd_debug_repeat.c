/* SPDX-License-Identifier: Apache-2.0 */
/* debug repeat: runs a check repeatedly and sorts the files that each run leaves: good or bad.
 */
#include "cli/groups/debug.h"

static const option_group *const GROUPS[] = {&GROUP_DEBUG_REPEAT, &GROUP_LOGGING, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const debug_args *s = args_get(line, &GROUP_DEBUG_REPEAT);
    pgy_debug_session *session = NULL;
    pgy_debug_summary summary;
    (void)passed;
    pgy_status st = pgy_debug_session_create(&session, &s->options, err);
    if (!st) st = pgy_debug_repeat(&summary, session, s->end, s->count, NULL, NULL, err);
    pgy_debug_session_destroy(session);
    return st;
}

const command COMMAND_debug_repeat = {
    .tool = "debug",
    .subtool = "repeat",
    .summary = "Run a command again and again, and sort what it leaves behind.",
    .description = "Run a command repeatedly, and move the files it leaves behind into the folders "
                   "good and bad: for failures that do not come every time.",
    .common = "--until --artifacts --check",
    .examples = "  Sort the tactic replays of ten runs:\n      {program} debug repeat --until 10 "
                "--artifacts replay.json --check {program} run "
                "model.onnx --trt --onnxrt --save-tactics replay.json",
    .groups = GROUPS,
    .frames = true,
    .no_abbreviation = true,
    .run = run,
};

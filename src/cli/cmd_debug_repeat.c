/* SPDX-License-Identifier: Apache-2.0 */
/* debug repeat: runs a check repeatedly and sorts the files that each run leaves: good or bad. The
 * check is a command, or a runner that starts anew each time and is compared with another. */
#include "cli/groups/data.h"
#include "cli/groups/debug.h"
#include "cli/groups/debug_trial.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"

enum { MAX_GROUPS = 64 };

static const option_group *const *groups(void)
{
    static const option_group *all[MAX_GROUPS];
    if (all[0]) return all;
    const option_group *const fixed[] = {
        &GROUP_DEBUG_REPEAT,  &GROUP_LOGGING,
        &GROUP_MODEL_RUN,     &GROUP_DATA,
        &GROUP_OPERATORS,     &GROUP_DEBUG_JUDGE_REPEAT,
        &GROUP_COMPARE_SAVED, &GROUP_FUNCTIONS,
        &GROUP_TRT_CONFIG,    NULL,
    };
    size_t n = 0;
    while (fixed[n]) all[n] = fixed[n], n++;
    for (size_t i = 0; i < group_backend_count() && n + 1 < MAX_GROUPS; i++)
        all[n++] = group_backend_at(i);
    return all;
}

static pgy_status check_line(const args *line, pgy_error *err)
{
    const model_args *m = ARGS_OF(line, model_args);
    if (!trial_judge_is_given(line) && m->path)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s': a model needs --check-with, which says what its outputs are "
                             "compared with; the command of --check names its own model",
                             m->path);
    if (trial_judge_is_given(line) && !m->path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--check-with needs a model file");
    return PGY_OK;
}

/* A plan has no model for the reference, which must be a file then. */
static pgy_status load_model(pgy_model **out, const trial_judge *judge, const args *line,
                             pgy_error *err)
{
    pgy_loader *loader = NULL;
    if (!judge->reference) return PGY_OK;
    if (model_is_engine(ARGS_OF(line, model_args)))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--check-with: %s cannot run the plan '%s'; give a file of "
                             "--save-outputs",
                             judge->reference, judge->path);
    pgy_status st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(out, loader, err);
    pgy_loader_destroy(loader);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const debug_args *s = args_get(line, &GROUP_DEBUG_REPEAT);
    const bool judges = trial_judge_is_given(line);
    trial_judge judge = {0};
    pgy_model *model = NULL;
    pgy_debug_session *session = NULL;
    pgy_debug_summary summary;
    (void)passed;
    pgy_status st = check_line(line, err);
    if (!st && judges) st = trial_judge_init(&judge, line, true, err);
    if (!st && judges) st = load_model(&model, &judge, line, err);
    judge.model = model;
    if (!st) st = pgy_debug_session_create(&session, &s->options, err);
    if (!st) st = pgy_debug_repeat(&summary, session, s->end, s->count, NULL, NULL, err);
    pgy_debug_session_destroy(session);
    trial_judge_deinit(&judge);
    pgy_model_destroy(model);
    return st;
}

const command COMMAND_debug_repeat = {
    .tool = "debug",
    .subtool = "repeat",
    .summary = "Run a command again and again, and sort what it leaves behind.",
    .description = "Run a command repeatedly, and move the files it leaves behind into the folders "
                   "good and bad: for failures that do not come every time. With --check-with, a "
                   "model runs again and again instead of a command.",
    .common = "--until --artifacts --check --check-with",
    .examples = "  Sort the tactic replays of ten runs:\n      {program} debug repeat --until 10 "
                "--artifacts replay.json --check {program} run "
                "model.onnx --trt --onnxrt --save-tactics replay.json\n  The same without a "
                "command:\n      {program} debug repeat model.onnx --until 10 --check-with onnxrt "
                "--save-tactics replay.json --artifacts replay.json",
    .make_groups = groups,
    .frames = true,
    .no_abbreviation = true,
    .run = run,
};

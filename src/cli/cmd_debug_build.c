/* SPDX-License-Identifier: Apache-2.0 */
/* debug build: builds a plan repeatedly, checks each build, and sorts the files it leaves into good
 * and bad. */
#include "base/cancel.h"
#include "base/log.h"
#include "cli/groups/data.h"
#include "cli/groups/debug.h"
#include "cli/groups/debug_trial.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/trt.h"
#include "cli/groups/trt_plan.h"

static const char LOG_PATH[] = "cli/cmd_debug_build.c";

static const option_group *const GROUPS[] = {&GROUP_DEBUG_BUILD,        &GROUP_LOGGING,
                                             &GROUP_MODEL_TYPE,         &GROUP_ONNX_SHAPE,
                                             &GROUP_ONNX_READ,          &GROUP_DATA,
                                             &GROUP_TRT_CONFIG,         &GROUP_TRT_NETWORK,
                                             &GROUP_TRT_ENGINE_CONVERT, &GROUP_OPERATORS,
                                             &GROUP_DEBUG_JUDGE_PLAN,   &GROUP_COMPARE_SAVED,
                                             &GROUP_FUNCTIONS,          NULL};

typedef struct builder {
    args *line;
    pgy_model *model;
    const char *plan;
} builder;

/* A build that fails counts as a failed trial, so that the session goes on, unless the plan could
 * not be written. */
static pgy_status build(bool *made, pgy_debug_trial *trial, void *user, pgy_error *err)
{
    const builder *b = user;
    pgy_loader *loader = NULL;
    pgy_error why = {0};
    (void)trial;
    pgy_status st = pgy_loader_from_model(&loader, b->model, err);
    if (st) return st;
    st = trt_save_plan(loader, b->line, b->plan, &why);
    *made = st == PGY_OK;
    if (status_ends_all(st) || st == PGY_E_IO) return pgy_error_set(err, st, "%s", why.text);
    if (st) LOG(WARNING, "The build failed, so this iteration counts as failed: %s", why.text);
    return PGY_OK;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const debug_args *s = args_get(line, &GROUP_DEBUG_BUILD);
    builder b = {.line = line, .plan = s->candidate};
    trial_judge judge = {0};
    pgy_debug_session *session = NULL;
    pgy_debug_summary summary;
    pgy_loader *loader = NULL;
    (void)passed;
    pgy_status st =
        trial_judge_is_given(line) ? trial_judge_init(&judge, line, false, err) : PGY_OK;
    if (!st) st = pgy_debug_session_create(&session, &s->options, err);
    if (!st) st = trt_model_loader(&loader, line, false, err);
    if (!st) st = pgy_loader_call(&b.model, loader, err);
    judge.model = b.model;
    if (!st) st = pgy_debug_repeat(&summary, session, s->end, s->count, build, &b, err);
    pgy_model_destroy(b.model);
    pgy_loader_destroy(loader);
    pgy_debug_session_destroy(session);
    trial_judge_deinit(&judge);
    return st;
}

static const command_alias ALIASES[] = {{"flaky repeat", NULL}, {NULL, NULL}};

const command COMMAND_debug_build = {
    .tool = "debug",
    .subtool = "build",
    .summary = "Build a plan again and again, and sort what each build leaves behind.",
    .description = "Build a plan for --trt repeatedly and check each one, and move the files that "
                   "each build leaves behind, such as tactic replays, into the folders good and "
                   "bad.",
    .common = "--until --artifacts --save-tactics --check --check-with",
    .examples = "  Sort the tactic replays of ten builds:\n      {program} debug build model.onnx "
                "--until 10 --save-tactics replay.json "
                "--artifacts replay.json --check {program} run {program}_debug.engine --trt "
                "--load-inputs inputs.json --load-outputs golden.json\n"
                "  Check each build without a command:\n      {program} debug build model.onnx "
                "--until bad --fp16 --check-with onnxrt --atol 0.01",
    .groups = GROUPS,
    .frames = true,
    .no_abbreviation = true,
    .aliases = ALIASES,
    .run = run,
};

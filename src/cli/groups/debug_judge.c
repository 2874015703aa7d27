/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the options of the built-in check into a judge. */
#include "cli/groups/debug_judge.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/groups/data.h"
#include "cli/groups/debug.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"

static const char *const FAILURES[] = {"build-fail", "run-fail", "mismatch", "nan", "crash", NULL};

#define PLAN_OPTION                                                                                \
    PGY_OPT_TEXT("--check-with", judge_args, with, .meta = "RUNNER|FILE",                          \
                 .help = "check each iteration without a command: compare its outputs with those " \
                         "of this runner (onnxrt, opref), or with a file of --save-outputs. The "  \
                         "data options give the inputs, the comparison options the tolerances")
#define RUNNER_OPTION                                              \
    PGY_OPT_TEXT("--runner", judge_args, runner, .meta = "RUNNER", \
                 .help = "the runner that is judged; default trt")

static const pgy_option PLAN_OPTIONS[] = {PLAN_OPTION, PGY_OPT_END};
static const pgy_option REPEAT_OPTIONS[] = {PLAN_OPTION, RUNNER_OPTION, PGY_OPT_END};
static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--on", judge_args, on, .choices = FAILURES, .meta = "FAILURE",
                 .help = "search by delta debugging for a smallest part that fails in this way, "
                         "without a check command: build-fail, run-fail, mismatch, nan, crash "
                         "(each iteration runs in a process of its own)"),
    PGY_OPT_TEXT("--check-with", judge_args, with, .meta = "RUNNER|FILE",
                 .help = "compare with this runner (onnxrt, opref), or with a file of "
                         "--save-outputs, for the same data; implies --on mismatch. Default with "
                         "--on mismatch: onnxrt"),
    RUNNER_OPTION,
    PGY_OPT_TEXT("--repro", judge_args, repro, .meta = "DIR",
                 .help = "write the reduced model, its inputs and expected outputs, a script that "
                         "shows the failure and a text for a bug report into this new folder"),
    PGY_OPT_FLAG("--capsule", judge_args, capsule,
                 .help = "replace float weights by random ones of equal mean, deviation and range, "
                         "where the model still fails"),
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    judge_args *s = settings;
    const debug_args *debug = ARGS_OF(line, debug_args);
    s->given = s->on || s->with;
    if (!s->given && (s->repro || s->capsule || s->runner))
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s needs --on or --check-with",
                             s->repro     ? "--repro"
                             : s->capsule ? "--capsule"
                                          : "--runner");
    if (s->given && debug->check.given)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s and --check exclude each other",
                             s->on ? "--on" : "--check-with");
    s->outcome = PGY_DEBUG_MISMATCH;
    if (s->on) pgy_debug_outcome_from_name(&s->outcome, s->on);
    if (!s->runner) s->runner = "trt";
    if (s->given && !pgy_backend_find(s->runner))
        return pgy_error_set(err, PGY_E_ARGUMENT, "--runner: there is no runner '%s'", s->runner);
    if (!s->given) return cli_judge_unused(line, err);
    ARGS_OF(line, data_args)->needed = true;
    return PGY_OK;
}

#define JUDGE_GROUP(table)                                                               \
    {                                                                                    \
        .title = "Built-in Check", .description = "Options of checks without a command", \
        .options = table, ARGS_TYPE(judge_args), .finish = finish                        \
    }
const option_group GROUP_DEBUG_JUDGE = JUDGE_GROUP(OPTIONS);
const option_group GROUP_DEBUG_JUDGE_PLAN = JUDGE_GROUP(PLAN_OPTIONS);
const option_group GROUP_DEBUG_JUDGE_REPEAT = JUDGE_GROUP(REPEAT_OPTIONS);

/* ---- The judge ------------------------------------------------------------------------------ */

pgy_status cli_judge_reference(const char **reference, pgy_results **golden, const judge_args *s,
                               pgy_error *err)
{
    const char *with = s->with ? s->with : s->outcome == PGY_DEBUG_MISMATCH ? "onnxrt" : NULL;
    *reference = NULL;
    if (!with) return PGY_OK;
    if (pgy_backend_find(with)) {
        *reference = with;
        return PGY_OK;
    }
    if (!file_exists(with))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "--check-with: '%s' is neither a runner nor a file", with);
    return pgy_error_prefix(err, pgy_results_load(golden, with, err), "--check-with: ");
}

static pgy_status make_options(cli_judge *j, const pgy_build_config **config, args *line,
                               pgy_error *err)
{
    const pgy_backend *b = pgy_backend_find(j->runner);
    pgy_status st = runners_options(&j->options, line, b, err);
    if (st || !runner_has(j->runner, PGY_BACKEND_BUILDS_PLANS)) return st;
    st = trt_config_make(config, line, err);
    return st ? st : pgy_engine_runner_configure(j->options, *config, err);
}

pgy_status cli_judge_init(cli_judge *j, args *line, pgy_error *err)
{
    static char self[4096];
    static const char *const isolate[] = {self, "run"};
    const judge_args *s = ARGS_OF(line, judge_args);
    const pgy_build_config *config = NULL;
    pgy_debug_judge_options o = {.size = sizeof o, .runner = s->runner};
    *j = (cli_judge){.runner = s->runner, .rules = ARGS_OF(line, compare_args)->judge};
    pgy_status st = cli_judge_reference(&o.reference, &j->golden, s, err);
    if (!st) st = compare_list_create(&j->functions, line, err);
    if (!st) st = make_options(j, &config, line, err);
    if (!st) st = cli_judge_words(j, o.reference || j->golden, line, err);
    if (!st && s->outcome == PGY_DEBUG_CRASH) {
        const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        if (n <= 0)
            st = pgy_error_set(err, PGY_E_IO, "the path of the program is not known");
        else
            self[n] = '\0';
        o.isolate = isolate;
        o.isolate_count = 2;
        o.isolate_options = j->words ? j->words + j->compare_word_count : NULL;
        o.isolate_option_count = j->word_count - j->compare_word_count;
        o.timeout_s = ARGS_OF(line, debug_args)->criterion.timeout_s;
    }
    j->rules.comparisons = (const pgy_compare *const *)j->functions.items;
    j->rules.comparison_count = j->functions.count;
    o.runner_options = j->options;
    o.golden = j->golden;
    o.judge = &j->rules;
    if (!st) st = pgy_debug_judge_create(&j->judge, &o, err);
    if (st) cli_judge_deinit(j, line);
    return st;
}

void cli_judge_deinit(cli_judge *j, args *line)
{
    pgy_debug_judge_destroy(j->judge);
    pgy_backend_options_destroy(j->options);
    pgy_results_destroy(j->golden);
    compare_list_destroy(&j->functions);
    trt_config_release(line);
    *j = (cli_judge){0};
}

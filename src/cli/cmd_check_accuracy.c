/* SPDX-License-Identifier: Apache-2.0 */
/* check accuracy: judges saved metrics again with other thresholds, without inference. */
#include "base/log.h"
#include "cli/groups/compare.h"

static const char LOG_PATH[] = "tools/check/subtool/accuracy.py";

typedef struct accuracy_args {
    const char *path;
} accuracy_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("path", accuracy_args, path,
                       .help = "file that '{program} run --save-accuracy-results' wrote"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(accuracy_args)};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, &GROUP_COMPARE_SAVED,
                                             &GROUP_FUNCTIONS, NULL};

static pgy_status judge_again(pgy_accuracy_results **out, const pgy_accuracy_results *saved,
                              args *line, pgy_error *err)
{
    const compare_args *c = ARGS_OF(line, compare_args);
    compare_list functions = {0};
    pgy_status st = compare_list_create(&functions, line, err);
    if (!st)
        st = pgy_accuracy_reevaluate(out, saved, (const pgy_compare *const *)functions.items,
                                     functions.count, c->judge.check_average, err);
    compare_list_destroy(&functions);
    return st;
}

/* Does the command line give any threshold? If not, the saved verdicts stay as they are. */
static bool thresholds_given(const args *line)
{
    const compare_args *c = ARGS_OF(line, compare_args);
    const function_args *f = ARGS_OF(line, function_args);
    return c->functions.given || c->script || c->judge.check_average || f->rtol.given ||
           f->atol.given || f->stat.given || f->quantile.given || f->index_tolerance.given ||
           f->l2.given || f->cosine_similarity.given || f->psnr.given || f->snr.given ||
           f->lpips.given;
}

/* Reports failures that no threshold can change. @return whether the results pass */
static bool judge_result(const pgy_accuracy_results *result, bool compat)
{
    bool passed =
        compat ? pgy_accuracy_results_verdicts_passed(result) : pgy_accuracy_results_passed(result);
    for (size_t i = 0; i < pgy_accuracy_results_failure_count(result); i++) {
        const char *text = pgy_accuracy_results_failure(result, i);
        if (compat)
            LOG(WARNING,
                "%s This does not count as a failure, because --compat requests the original's "
                "verdict.",
                text);
        else
            LOG(ERROR, "%s", text);
    }
    return passed;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const accuracy_args *s = args_get(line, &OWN);
    const compare_args *c = ARGS_OF(line, compare_args);
    pgy_accuracy_results *saved = NULL, *judged = NULL;
    pgy_status st = pgy_accuracy_results_load(&saved, s->path, err);
    if (st) return st;
    bool again = thresholds_given(line);
    if (again) st = judge_again(&judged, saved, line, err);
    const pgy_accuracy_results *result = again ? judged : saved;
    if (!st && pgy_accuracy_results_count(result) == 0)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "'%s' contains no comparison", s->path);
    if (!st) {
        pgy_accuracy_log_summary(result);
        *passed = judge_result(result, c->judge.compat);
        if (*passed)
            LOG(FINISH, "PASSED | Accuracy results passed the requested thresholds.");
        else
            LOG(ERROR, "FAILED | Accuracy results did not pass the requested thresholds.");
    }
    if (!st && c->save_accuracy) st = pgy_accuracy_results_save(result, c->save_accuracy, err);
    pgy_accuracy_results_destroy(judged);
    pgy_accuracy_results_destroy(saved);
    return st;
}

const command COMMAND_check_accuracy = {
    .tool = "check",
    .subtool = "accuracy",
    .summary = "Judge saved accuracy results again with other thresholds.",
    .description = "Judge the accuracy results that 'run --save-accuracy-results' saved again, "
                   "without inference. Given functions and thresholds replace those in the file; "
                   "without them the saved verdicts are reported.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};

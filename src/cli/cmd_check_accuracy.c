/* SPDX-License-Identifier: Apache-2.0 */
/* check accuracy: saved metrics judged again by other thresholds, without inference. */
#include "base/log.h"
#include "cli/groups/compare.h"

static const char LOG_PATH[] = "tools/check/subtool/accuracy.py";

typedef struct accuracy_args {
    const char *path;
} accuracy_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("path", accuracy_args, path,
                       .help = "file written by '{program} run --save-accuracy-results'"),
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

/* Does the line give any threshold? If not, the saved verdicts stay as they are. */
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
                "%s This is not counted as a failure, because the original's verdict was asked "
                "for.",
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
        st = pgy_error_set(err, PGY_E_ARGUMENT, "%s: holds no comparison to judge", s->path);
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
    .summary = "Judge saved accuracy results again, by other thresholds.",
    .description = "Judge a file written by 'run --save-accuracy-results' again, without "
                   "inference. Functions and thresholds that are named replace those in the "
                   "file; with none named, the saved verdicts are reported as they are.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts over the means of all iterations, and the summary lines that end a comparison. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "compare/compare.h"
#include "compare/judge.h"

static const char LOG_PATH[] = "comparator/comparator.py";

#define METRICS 9

/* Lists all numbers of a verdict in a fixed order. */
static void list_metrics(double *to[METRICS], pgy_verdict *v)
{
    double *all[METRICS] = {&v->max_absdiff,      &v->max_reldiff,      &v->mean_absdiff,
                            &v->mean_reldiff,     &v->median_absdiff,   &v->median_reldiff,
                            &v->quantile_absdiff, &v->quantile_reldiff, &v->metric};
    memcpy(to, all, sizeof all);
}

static const pgy_verdict *find(const pgy_verdicts *list, const char *output)
{
    for (size_t i = 0; i < pgy_verdicts_count(list); i++)
        if (!strcmp(pgy_verdicts_at(list, i)->output, output)) return pgy_verdicts_at(list, i);
    return NULL;
}

static pgy_status average_output(pgy_verdict *mean, const pgy_accuracy *a, size_t pair,
                                 const char *output, pgy_error *err)
{
    double *to[METRICS], *from[METRICS], sums[METRICS] = {0};
    size_t count = 0;
    for (size_t i = 0; i < pgy_accuracy_iteration_count(a, pair); i++) {
        const pgy_verdict *v = find(pgy_accuracy_at(a, pair, i), output);
        if (!v) continue;
        pgy_verdict copy = *v;
        if (!v->has_metrics)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "Output: %s | Cannot compute an averaged comparison because at least one iteration "
                "produced no comparable metrics (e.g. a shape mismatch). Re-run without "
                "check_average "
                "to see the per-iteration results.",
                output);
        if (v->kind == PGY_COMPARE_SIMPLE && v->stat == PGY_STAT_ELEMWISE)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "Output: %s | Cannot average an 'elemwise' comparison: it is a "
                                 "per-element check with "
                                 "no scalar statistic. Choose max, mean, median, or quantile.",
                                 output);
        list_metrics(from, &copy);
        for (size_t m = 0; m < METRICS; m++) sums[m] += *from[m];
        if (!count++) *mean = *v;
        mean->verified &= v->verified;
        mean->passed &= v->passed;
    }
    list_metrics(to, mean);
    for (size_t m = 0; m < METRICS; m++) *to[m] = sums[m] / (double)count;
    verdict_judge(mean);
    return PGY_OK;
}

pgy_status accuracy_average(pgy_verdicts *out, const pgy_accuracy *a, size_t pair, pgy_error *err)
{
    for (size_t i = 0; i < pgy_accuracy_iteration_count(a, pair); i++) {
        const pgy_verdicts *list = pgy_accuracy_at(a, pair, i);
        for (size_t k = 0; k < pgy_verdicts_count(list); k++) {
            const char *output = pgy_verdicts_at(list, k)->output;
            pgy_verdict mean;
            if (find(out, output)) continue;
            pgy_status st = average_output(&mean, a, pair, output, err);
            if (!st) st = verdicts_put(out, &mean, err);
            if (st) return st;
        }
    }
    return PGY_OK;
}

/* ---- Summary lines
 * ----------------------------------------------------------------------------------- */

static void log_count(const pgy_accuracy *a, size_t pair, size_t passed, size_t total, bool average)
{
    const char *first, *second;
    pgy_accuracy_pair(a, pair, &first, &second);
    pgy_severity severity = passed == total ? PGY_LOG_FINISH : PGY_LOG_ERROR;
    if (average)
        pgy_log_write(severity, LOG_PATH, __LINE__,
                      "Accuracy Summary | %s vs. %s | Passed: %zu/%zu outputs", first, second,
                      passed, total);
    else
        pgy_log_write(
            severity, LOG_PATH, __LINE__,
            "Accuracy Summary | %s vs. %s | Passed: %zu/%zu iterations | Pass Rate: %.2f%%", first,
            second, passed, total, total ? 100.0 * ((double)passed / (double)total) : 100.0);
}

static void log_metric(const pgy_verdict *v, const char *prefix)
{
    str line = {0};
    if (!compare_kind_find(v->kind)->has_metric) return;
    str_append(&line, prefix);
    metric_line(&line, v);
    pgy_log_write(v->passed ? PGY_LOG_FINISH : PGY_LOG_ERROR, LOG_PATH, __LINE__, "%s",
                  str_text(&line));
    str_deinit(&line);
}

/* "<output> | L2 Norm: ... | PASSED" */
static void log_function_average(const pgy_accuracy *a, size_t pair)
{
    pgy_verdicts *means = NULL;
    if (verdicts_create(&means, NULL)) return;
    size_t passed, total;
    pgy_accuracy_stats(a, pair, &passed, &total);
    log_count(a, pair, passed, total, true);
    pgy_log_indent(1);
    if (!accuracy_average(means, a, pair, NULL))
        for (size_t i = 0; i < pgy_verdicts_count(means); i++) {
            const pgy_verdict *v = pgy_verdicts_at(means, i);
            str prefix = {0};
            str_printf(&prefix, "%s | ", v->output);
            log_metric(v, str_text(&prefix));
            str_deinit(&prefix);
        }
    pgy_log_indent(-1);
    verdicts_destroy(means);
}

void accuracy_log_summary_pair(const pgy_accuracy *a, size_t pair)
{
    size_t passed, total;
    if (pgy_accuracy_is_average(a)) {
        log_function_average(a, pair);
        return;
    }
    pgy_accuracy_stats(a, pair, &passed, &total);
    log_count(a, pair, passed, total, false);
}

void pgy_accuracy_log_summary(const pgy_accuracy_results *r)
{
    for (size_t i = 0; i < pgy_accuracy_results_count(r); i++) {
        const pgy_accuracy *a = pgy_accuracy_results_at(r, i);
        for (size_t pair = 0; pair < pgy_accuracy_pair_count(a); pair++)
            accuracy_log_summary_pair(a, pair);
    }
}

/* ---- Over all functions
 * ------------------------------------------------------------------------------- */

static void log_joint_iterations(const pgy_accuracy_results *r, size_t pair)
{
    size_t passed, total;
    accuracy_joint_stats(r, pair, &passed, &total);
    log_count(pgy_accuracy_results_at(r, 0), pair, passed, total, false);
}

/* The output's verdict in every function that has one; true if all passed. */
static bool passed_everywhere(pgy_verdicts *const *means, size_t functions, const char *output)
{
    for (size_t f = 0; f < functions; f++) {
        const pgy_verdict *v = find(means[f], output);
        if (v && !v->passed) return false;
    }
    return true;
}

/* Was the output listed by an earlier function? */
static bool is_repeated(pgy_verdicts *const *means, size_t f, const char *output)
{
    for (size_t i = 0; i < f; i++)
        if (find(means[i], output)) return true;
    return false;
}

static void log_joint_outputs(pgy_verdicts *const *means, size_t functions)
{
    for (size_t f = 0; f < functions; f++)
        for (size_t i = 0; i < pgy_verdicts_count(means[f]); i++) {
            const char *output = pgy_verdicts_at(means[f], i)->output;
            if (is_repeated(means, f, output)) continue;
            bool passed = passed_everywhere(means, functions, output);
            pgy_log_write(passed ? PGY_LOG_FINISH : PGY_LOG_ERROR, LOG_PATH, __LINE__,
                          "%s | %s:", output, passed ? "PASSED" : "FAILED");
            pgy_log_indent(1);
            for (size_t k = 0; k < functions; k++) {
                const pgy_verdict *v = find(means[k], output);
                if (v) log_metric(v, "");
            }
            pgy_log_indent(-1);
        }
}

static pgy_status log_joint_average(const pgy_accuracy_results *r, size_t pair, pgy_error *err)
{
    size_t functions = pgy_accuracy_results_count(r), passed = 0, total = 0;
    pgy_verdicts **means = mem_calloc(functions, sizeof *means);
    if (!means) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a summary");
    pgy_status st = PGY_OK;
    for (size_t f = 0; f < functions && !st; f++) {
        st = verdicts_create(&means[f], err);
        if (!st) st = accuracy_average(means[f], pgy_accuracy_results_at(r, f), pair, err);
    }
    if (st) goto done;
    for (size_t f = 0; f < functions; f++)
        for (size_t i = 0; i < pgy_verdicts_count(means[f]); i++) {
            const char *output = pgy_verdicts_at(means[f], i)->output;
            if (is_repeated(means, f, output)) continue;
            total++;
            passed += passed_everywhere(means, functions, output);
        }
    log_count(pgy_accuracy_results_at(r, 0), pair, passed, total, true);
    pgy_log_indent(1);
    log_joint_outputs(means, functions);
    pgy_log_indent(-1);
done:
    for (size_t f = 0; f < functions; f++) verdicts_destroy(means[f]);
    mem_free(means);
    return st;
}

pgy_status accuracy_log_joint_summary(const pgy_accuracy_results *r, size_t pair, pgy_error *err)
{
    if (!pgy_accuracy_results_count(r)) return PGY_OK;
    if (pgy_accuracy_is_average(pgy_accuracy_results_at(r, 0)))
        return log_joint_average(r, pair, err);
    log_joint_iterations(r, pair);
    return PGY_OK;
}

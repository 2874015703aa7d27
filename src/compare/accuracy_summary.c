/* SPDX-License-Identifier: Apache-2.0 */
/* The summary lines that end a comparison. */
#include "base/alloc.h"
#include "base/log.h"
#include "compare/compare.h"
#include "compare/judge.h"

static const char LOG_PATH[] = "comparator/comparator.py";

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

/* "<output> | L2 Norm: ... | PASSED", or why there are no averages */
static void log_averages(const pgy_accuracy *a, size_t pair)
{
    pgy_verdicts *means = NULL;
    pgy_error why = {0};
    pgy_status st = verdicts_create(&means, &why);
    if (!st) st = accuracy_average(means, a, pair, &why);
    if (st) LOG(ERROR, "%s", why.text);
    for (size_t i = 0; !st && i < pgy_verdicts_count(means); i++) {
        const pgy_verdict *v = pgy_verdicts_at(means, i);
        str prefix = {0};
        str_printf(&prefix, "%s | ", v->output);
        log_metric(v, str_text(&prefix));
        str_deinit(&prefix);
    }
    verdicts_destroy(means);
}

static void log_function_average(const pgy_accuracy *a, size_t pair)
{
    size_t passed, total;
    pgy_accuracy_stats(a, pair, &passed, &total);
    log_count(a, pair, passed, total, true);
    pgy_log_indent(1);
    log_averages(a, pair);
    pgy_log_indent(-1);
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
        const pgy_verdict *v = verdicts_find(means[f], output);
        if (v && !v->passed) return false;
    }
    return true;
}

/* Was the output listed by an earlier function? */
static bool is_repeated(pgy_verdicts *const *means, size_t f, const char *output)
{
    for (size_t i = 0; i < f; i++)
        if (verdicts_find(means[i], output)) return true;
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
                const pgy_verdict *v = verdicts_find(means[k], output);
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

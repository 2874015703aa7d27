/* SPDX-License-Identifier: Apache-2.0 */
/* Judges results that exist already: compares all runners of several results, iteration by
 * iteration, and validates one of the results. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/sized.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/comparator.py";

pgy_judge_options pgy_judge_options_default(void)
{
    return (pgy_judge_options){.size = sizeof(pgy_judge_options)};
}

static size_t longest(const pgy_results *r)
{
    size_t most = 0;
    for (size_t i = 0; i < pgy_results_runner_count(r); i++)
        if (pgy_results_iteration_count(r, i) > most) most = pgy_results_iteration_count(r, i);
    return most;
}

static size_t shortest(const pgy_results *const *results, size_t count)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (longest(results[i]) < least) least = longest(results[i]);
    return count ? least : 0;
}

/* Lists the runners of all results at one iteration. A runner that ended early is left out and
 * reported to the tally. *all: no runner was left out. */
static size_t line_up(const pgy_iteration **its, bool *all, tally *t,
                      const pgy_results *const *results, size_t count, size_t iteration)
{
    size_t n = 0;
    *all = true;
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < pgy_results_runner_count(results[i]); r++) {
            if (iteration < pgy_results_iteration_count(results[i], r)) {
                its[n++] = pgy_results_at(results[i], r, iteration);
                continue;
            }
            tally_absent(t, pgy_results_runner_name(results[i], r));
            *all = false;
        }
    return n;
}

static pgy_status note_uneven(tally *t, const pgy_results *const *results, size_t count,
                              size_t shared, pgy_error *err)
{
    bool uneven = false;
    bool *ran_out = mem_calloc(count, sizeof *ran_out);
    if (!ran_out) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        ran_out[i] = longest(results[i]) == shared;
        if (!ran_out[i]) uneven = true;
    }
    if (uneven) tally_uneven(t, ran_out, count, shared);
    mem_free(ran_out);
    return PGY_OK;
}

pgy_status tally_results(tally *t, const pgy_results *const *results, size_t count, pgy_error *err)
{
    size_t runners = 0, shared = shortest(results, count);
    bool all = true;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count; i++) runners += pgy_results_runner_count(results[i]);
    const pgy_iteration **its = mem_calloc(runners + 1, sizeof *its);
    if (!its) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && !t->stopped && i < shared; i++) {
        size_t n = line_up(its, &all, t, results, count, i);
        if (!all && !t->options.compat) break;
        st = tally_iteration(t, its, n, err);
    }
    if (!st && all && !t->stopped && count) st = note_uneven(t, results, count, shared, err);
    mem_free((void *)its);
    return st;
}

pgy_status pgy_compare_accuracy(pgy_accuracy_results **accuracy, bool *passed,
                                const pgy_results *const *results, size_t count,
                                const pgy_judge_options *options, pgy_error *err)
{
    tally t;
    pgy_judge_options o = pgy_judge_options_default();
    size_t runners = 0;
    pgy_status st = SIZED_TAKE(pgy_judge_options, &o, options, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++) runners += pgy_results_runner_count(results[i]);
    st = tally_init(&t, &o, accuracy ? KEEP_VERDICTS : KEEP_COUNTS, err);
    if (st) return st;
    st = tally_results(&t, results, count, err);
    if (!st) st = tally_validate(&t, results, count, err);
    if (!st && runners < 2)
        tally_fail_unless_compat(&t, "Only %zu runner(s) have results, so nothing was compared.",
                                 runners);
    else if (!st && !t.iteration_count)
        tally_fail_unless_compat(&t, "There are no iterations, so nothing was compared.");
    if (!st) st = tally_finish(&t, err);
    if (!st) {
        *passed = !t.failed;
        if (accuracy) {
            *accuracy = t.accuracy;
            t.accuracy = NULL;
        }
    }
    tally_deinit(&t);
    return st;
}

/* ---- Validation ----------------------------------------------------------------------------- */

static size_t element_count(const pgy_results *r)
{
    size_t n = 0;
    for (size_t i = 0; i < pgy_results_runner_count(r); i++)
        for (size_t k = 0; k < pgy_results_iteration_count(r, i); k++)
            n += iteration_element_count(pgy_results_at(r, i, k));
    return n;
}

static void log_validation_start(const pgy_results *r)
{
    size_t count = pgy_results_runner_count(r);
    const char **names = mem_calloc(count + 1, sizeof *names);
    str list = {0};
    for (size_t i = 0; names && i < count; i++) names[i] = pgy_results_runner_name(r, i);
    if (names) str_append_py_list(&list, names, count);
    LOG(START, "Output Validation | Runners: %s", str_text(&list));
    str_deinit(&list);
    mem_free((void *)names);
}

static pgy_status validate_all(bool *valid, const pgy_results *r, bool check_nan, bool check_inf,
                               bool fail_fast, pgy_error *err)
{
    bool all = true;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < pgy_results_runner_count(r); i++)
        for (size_t k = 0; !st && k < pgy_results_iteration_count(r, i) && (all || !fail_fast);
             k++) {
            bool one = true;
            st = validate_iteration(&one, pgy_results_at(r, i, k), "", check_nan, check_inf,
                                    fail_fast, err);
            if (!one) all = false;
        }
    *valid = all;
    return st;
}

/* Sets *valid to false if an output has NaN or infinity, as far as the options check these. True if
 * there is no output. */
static pgy_status validate_results(bool *valid, const pgy_results *r, bool check_nan,
                                   bool check_inf, bool fail_fast, pgy_error *err)
{
    log_validation_start(r);
    pgy_log_indent(1);
    pgy_status st = validate_all(valid, r, check_nan, check_inf, fail_fast, err);
    if (!st && *valid && element_count(r))
        LOG(FINISH, "PASSED | Output Validation");
    else if (!st && !*valid && !fail_fast)
        LOG(ERROR, "FAILED | Output Validation");
    pgy_log_indent(-1);
    return st;
}

pgy_status tally_validate(tally *t, const pgy_results *const *results, size_t count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; t->options.validate && !st && i < count; i++) {
        bool valid = true;
        st = validate_results(&valid, results[i], true, true, false, err);
        t->validated += element_count(results[i]);
        if (!st && !valid)
            tally_fail_for_good(t,
                                "Output validation failed: there are invalid values (NaNs/Infs).");
    }
    return st;
}

pgy_status pgy_validate(bool *valid, const pgy_results *r, bool check_nan, bool check_inf,
                        bool fail_fast, pgy_error *err)
{
    bool all = true;
    pgy_status st = validate_results(&all, r, check_nan, check_inf, fail_fast, err);
    if (st) return st;
    if (!element_count(r)) {
        LOG(ERROR, "FAILED | Output Validation | There are no outputs with elements: nothing was "
                   "validated.");
        all = false;
    }
    *valid = all;
    return PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of a run. Iterations of all runners arrive one by one, every function compares
 * consecutive runners, and summaries are logged at the end. A run that could pass by accident
 * (nothing compared, outputs or iterations without a partner) fails with a reason, unless `compat`
 * requests the original's verdict. */
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/comparator.py";

/* ---- Reasons -------------------------------------------------------------------------------- */

static void keep_reason(tally *t, const char *text)
{
    t->failed = true;
    if (!t->reason.size) str_append(&t->reason, text);
}

static void keep_for_good(tally *t, const char *text)
{
    if (!t->accuracy || !accuracy_add_failure(t->accuracy, text)) t->out_of_memory = true;
}

#define FORMAT_INTO(text, format)           \
    do {                                    \
        va_list args;                       \
        va_start(args, format);             \
        str_vprintf(&(text), format, args); \
        va_end(args);                       \
    } while (0)

void tally_fail(tally *t, const char *format, ...)
{
    str text = {0};
    FORMAT_INTO(text, format);
    keep_reason(t, str_text(&text));
    str_deinit(&text);
}

void tally_fail_for_good(tally *t, const char *format, ...)
{
    str text = {0};
    FORMAT_INTO(text, format);
    keep_for_good(t, str_text(&text));
    keep_reason(t, str_text(&text));
    str_deinit(&text);
}

void tally_fail_unless_compat(tally *t, const char *format, ...)
{
    str text = {0};
    FORMAT_INTO(text, format);
    if (t->options.compat) {
        LOG(WARNING,
            "%s This does not count as a failure, because judge.compat requests the original's "
            "verdict.",
            str_text(&text));
    } else {
        LOG(ERROR, "%s", str_text(&text));
        keep_for_good(t, str_text(&text));
        keep_reason(t, str_text(&text));
    }
    str_deinit(&text);
}

void tally_absent(tally *t, const char *runner)
{
    for (size_t i = 0; i < t->absent.count; i++)
        if (!strcmp(t->absent.items[i], runner)) return;
    if (!strvec_push(&t->absent, runner)) t->out_of_memory = true;
    tally_fail_unless_compat(t,
                             "The results of runner '%s' lack iteration %zu, which other runners "
                             "have; only the earlier iteration(s) can be compared.",
                             runner, t->iteration_count);
}

void tally_uneven(tally *t, const bool *ran_out, size_t stream_count, size_t shared)
{
    str which = {0};
    for (size_t i = 0; i < stream_count; i++)
        if (ran_out[i]) str_printf(&which, "%s%zu", which.size ? ", " : "", i);
    tally_fail_unless_compat(
        t,
        "The provided streams have different numbers of iterations. Only the first %zu "
        "iteration(s) -- "
        "present in all %zu streams -- were compared; stream(s) at index [%s] ran out first.",
        shared, stream_count, str_text(&which));
    str_deinit(&which);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pgy_status check_average_options(const tally *t, pgy_error *err)
{
    const char *why = "";
    if (!t->options.check_average) return PGY_OK;
    if (t->options.fail_fast)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "judge.check_average cannot be combined with judge.fail_fast.");
    for (size_t i = 0; i < t->function_count; i++)
        if (!compare_can_average(t->functions[i], &why))
            return pgy_error_set(err, PGY_E_ARGUMENT, "%s", why);
    return PGY_OK;
}

static pgy_status make_entries(tally *t, pgy_error *err)
{
    t->entries = mem_calloc(t->function_count, sizeof *t->entries);
    t->seen = mem_calloc(t->function_count, sizeof *t->seen);
    if (!t->entries || !t->seen) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = accuracy_results_create(&t->accuracy, err);
    for (size_t i = 0; !st && i < t->function_count; i++)
        st = accuracy_add(&t->entries[i], t->accuracy, compare_kind(t->functions[i]),
                          t->options.check_average, err);
    return st;
}

pgy_status tally_init(tally *t, const pgy_judge_options *options, verdict_keeping keeping,
                      pgy_error *err)
{
    *t = (tally){.options = *options,
                 .keeping = options->check_average ? KEEP_VERDICTS : keeping,
                 .functions = options->comparisons,
                 .function_count = options->comparison_count};
    pgy_status st = PGY_OK;
    if (!t->function_count) {
        pgy_compare_options simple = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
        st = pgy_compare_create(&t->fallback, &simple, err);
        t->functions = (const pgy_compare *const *)&t->fallback;
        t->function_count = 1;
    }
    if (!st) st = check_average_options(t, err);
    if (!st) st = make_entries(t, err);
    if (st) tally_deinit(t);
    return st;
}

void tally_deinit(tally *t)
{
    pgy_accuracy_results_destroy(t->accuracy);
    pgy_compare_destroy(t->fallback);
    mem_free(t->entries);
    mem_free((void *)t->seen);
    mem_free(t->pairs);
    mem_free(t->elements);
    compare_gaps_deinit(&t->gaps);
    strvec_deinit(&t->absent);
    strvec_deinit(&t->runners);
    str_deinit(&t->reason);
    *t = (tally){0};
}

/* ---- One iteration -------------------------------------------------------------------------- */

static size_t pair_count(const tally *t)
{
    return t->runners.count > 1 ? t->runners.count - 1 : 0;
}

static bool same_pair(const tally *t, size_t i, size_t j)
{
    char *const *r = t->runners.items;
    return !strcmp(r[i], r[j]) && !strcmp(r[i + 1], r[j + 1]);
}

static void warn_equal_names(const tally *t)
{
    for (size_t i = 1; i < pair_count(t); i++)
        for (size_t j = 0; j < i; j++)
            if (same_pair(t, i, j)) {
                LOG(WARNING,
                    "Comparisons %zu and %zu have the same names (%s vs. %s); their results are "
                    "kept apart.",
                    j, i, t->runners.items[i], t->runners.items[i + 1]);
                break;
            }
}

static pgy_status begin(tally *t, const pgy_iteration *const *its, size_t count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count; i++)
        if (!strvec_push(&t->runners, its[i]->runner_name))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    t->pairs = mem_calloc(pair_count(t) + 1, sizeof *t->pairs);
    t->elements = mem_calloc(pair_count(t) + 1, sizeof *t->elements);
    if (!t->pairs || !t->elements) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t p = 0; p < pair_count(t); p++) {
        const char *first = t->runners.items[p], *second = t->runners.items[p + 1];
        LOG(START, "Accuracy Comparison | %s vs. %s", first, second);
        for (size_t f = 0; !st && f < t->function_count; f++)
            st = accuracy_add_pair(&t->pairs[p], t->entries[f], first, second, err);
    }
    warn_equal_names(t);
    t->begun = true;
    return st;
}

static pgy_status check_same_runners(const tally *t, const pgy_iteration *const *its, size_t count,
                                     pgy_error *err)
{
    bool same = count == t->runners.count;
    for (size_t i = 0; same && i < count; i++)
        same = !strcmp(its[i]->runner_name, t->runners.items[i]);
    if (same) return PGY_OK;
    return pgy_error_set(
        err, PGY_E_ARGUMENT,
        "Iteration %zu has different runners (%zu, the first one '%s') than the iterations before "
        "it; every iteration must have the same runners in the same order.",
        t->iteration_count, count, count ? its[0]->runner_name : "");
}

size_t iteration_element_count(const pgy_iteration *it)
{
    size_t n = 0;
    for (size_t i = 0; i < pgy_tensor_map_count(it->outputs); i++)
        n += pgy_tensor_count(pgy_tensor_map_at(it->outputs, i));
    return n;
}

/* All comparison functions except callbacks pair outputs by the same rule, so only the first one
 * reports outputs without a partner. */
static bool repeats_gaps(const tally *t, size_t f)
{
    return f > 0 && compare_kind(t->functions[f]) != PGY_COMPARE_CALLBACK &&
           compare_kind(t->functions[0]) != PGY_COMPARE_CALLBACK;
}

/* Compares pair p of consecutive runners with comparison function f. */
static pgy_status judge_by(tally *t, size_t f, size_t p, const pgy_iteration *a,
                           const pgy_iteration *b, pgy_error *err)
{
    compare_gaps gaps = {0};
    pgy_verdicts *v = NULL;
    pgy_status st = accuracy_add_iteration(&v, t->entries[f], t->pairs[p], err);
    if (!st)
        st = compare_iteration(v, repeats_gaps(t, f) ? &gaps : &t->gaps, t->functions[f], a, b,
                               t->options.compat, err);
    compare_gaps_deinit(&gaps);
    t->seen[f] = v;
    return st;
}

static pgy_status judge_pair(bool *passed, tally *t, size_t p, const pgy_iteration *a,
                             const pgy_iteration *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t ours = iteration_element_count(a), theirs = iteration_element_count(b);
    for (size_t f = 0; !st && f < t->function_count; f++) {
        st = judge_by(t, f, p, a, b, err);
        if (!st && !verdicts_all_passed(t->seen[f])) *passed = false;
    }
    if (!pgy_tensor_map_count(a->outputs) && !pgy_tensor_map_count(b->outputs)) t->empty++;
    t->elements[p] += ours < theirs ? ours : theirs;
    if (!st) st = compare_log_outputs(a, b, t->seen, t->function_count, t->options.compat, err);
    if (!st && t->keeping == KEEP_COUNTS) accuracy_forget_iteration(t->accuracy, t->pairs[p]);
    return st;
}

pgy_status tally_iteration(tally *t, const pgy_iteration *const *its, size_t count, pgy_error *err)
{
    bool passed = true;
    pgy_status st = t->begun ? check_same_runners(t, its, count, err) : begin(t, its, count, err);
    if (st) return st;
    LOG(INFO, "Iteration: %zu", t->iteration_count);
    pgy_log_indent(1);
    for (size_t p = 0; !st && p < pair_count(t); p++)
        st = judge_pair(&passed, t, p, its[p], its[p + 1], err);
    pgy_log_indent(-1);
    if (st) return st;
    t->iteration_count++;
    if (!passed) t->failed_iterations++;
    if (!passed && t->options.fail_fast) t->stopped = true;
    return PGY_OK;
}

/* ---- The end -------------------------------------------------------------------------------- */

static pgy_status finish_average(tally *t, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t f = 0; !st && f < t->function_count; f++)
        for (size_t p = 0; !st && p < pair_count(t); p++) {
            pgy_verdicts *v = NULL;
            st = verdicts_create(&v, err);
            if (!st) st = accuracy_average(v, t->entries[f], t->pairs[p], err);
            if (!st && !verdicts_all_passed(v))
                tally_fail(t, "The averages of %s vs. %s exceed the tolerances.",
                           t->runners.items[p], t->runners.items[p + 1]);
            verdicts_destroy(v);
        }
    return st;
}

static void finish_iterations(tally *t)
{
    if (t->failed_iterations)
        tally_fail(t, "The outputs differ by more than the tolerances in %zu of %zu iteration(s).",
                   t->failed_iterations, t->iteration_count);
}

/* Fails the run for outputs that were not compared, and for comparisons without outputs or
 * elements. */
static void finish_gaps(tally *t)
{
    if (t->gaps.unmatched)
        tally_fail_unless_compat(t,
                                 "%zu output(s) were not compared, because the other runner has no "
                                 "matching output or there was no verdict: %s.",
                                 t->gaps.unmatched, str_text(&t->gaps.unmatched_names));
    if (t->gaps.foreign)
        tally_fail_unless_compat(t,
                                 "The comparison function returned %zu verdict(s) on names that "
                                 "are not outputs of the compared runners: %s.",
                                 t->gaps.foreign, str_text(&t->gaps.foreign_names));
    if (t->empty)
        tally_fail_unless_compat(t, "%zu comparison(s) had no outputs, so nothing was compared.",
                                 t->empty);
    for (size_t p = 0; t->iteration_count && !t->empty && p < pair_count(t); p++)
        if (!t->elements[p])
            tally_fail_unless_compat(
                t, "The outputs of %s and %s have no elements, so nothing was compared.",
                t->runners.items[p], t->runners.items[p + 1]);
    if (t->options.validate && t->iteration_count && !t->validated)
        tally_fail_unless_compat(
            t, "There are no outputs with elements to validate: nothing was validated.");
}

pgy_status tally_finish(tally *t, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (t->options.check_average)
        st = finish_average(t, err);
    else
        finish_iterations(t);
    finish_gaps(t);
    if (t->out_of_memory) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while judging");
    for (size_t p = 0; !st && !t->stopped && p < pair_count(t); p++)
        st = accuracy_log_joint_summary(t->accuracy, t->pairs[p], err);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "runners.h"

#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

#define SCRATCH TEST_BINARY_DIR "/test-run-"

static void pause_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Runs a (and b, if any) over `iterations` and gives the report; NULL after an error, in *err. */
static pgy_run_report *run(act *a, act *b, size_t iterations, pgy_run_options o, pgy_error *err)
{
    pgy_runner *runners[2] = {NULL};
    pgy_run_report *report = NULL;
    size_t count = 0;
    if (a) runners[count++] = runner_of("first", a);
    if (b) runners[count++] = runner_of("second", b);
    o.loader = loader_of(iterations);
    log_begin();
    pgy_status st = pgy_run(&report, runners, count, &o, err);
    pgy_log_set_sink(NULL, NULL);
    assert_true((st == PGY_OK) == (report != NULL));
    for (size_t i = 0; i < count; i++) {
        assert_false(pgy_runner_is_active(runners[i]));
        pgy_runner_destroy(runners[i]);
    }
    pgy_data_loader_destroy(o.loader);
    return report;
}

static bool passes(act *a, act *b, size_t iterations, pgy_run_options o)
{
    pgy_error err = {0};
    pgy_run_report *r = run(a, b, iterations, o, &err);
    if (!r) fail_msg("%s", err.text);
    bool passed = pgy_run_report_passed(r);
    assert_int_equal(passed, !pgy_run_report_reason(r)[0]);
    pgy_run_report_destroy(r);
    return passed;
}

static pgy_judge_options form_judge; /* of the last form() */

static pgy_run_options form(bool sequential)
{
    pgy_run_options o = pgy_run_options_default();
    o.sequential = sequential;
    form_judge = pgy_judge_options_default();
    o.judge = &form_judge;
    return o;
}

/* ---- Verdicts, in both forms ---------------------------------------------------------------- */

static void test_run__one_runner_is_plain_inference(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) assert_true(passes(ACT(.add = 0), NULL, 2, form(s)));
}

static void test_run__agreement_and_difference(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        assert_true(passes(ACT(.add = 0), ACT(.add = 0), 3, form(s)));
        assert_int_equal(log_count("Accuracy Comparison | first vs. second"), 1);
        assert_int_equal(log_count("Accuracy Summary | first vs. second | Passed: 3/3 iterations | "
                                   "Pass Rate: 100.00%"),
                         1);
        assert_false(passes(ACT(.add = 0), ACT(.add = 1), 3, form(s)));
        assert_int_equal(
            log_count(
                "Accuracy Summary | first vs. second | Passed: 0/3 iterations | Pass Rate: 0.00%"),
            1);
    }
}

static void test_run__report_of_a_difference(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_run_report *r = run(ACT(.add = 0), ACT(.add = 1), 2, form(false), &err);
    assert_non_null(r);
    assert_int_equal(pgy_run_report_iteration_count(r), 2);
    const pgy_accuracy_results *a = pgy_run_report_accuracy(r);
    assert_int_equal(pgy_accuracy_results_count(a), 1);
    assert_int_equal(pgy_accuracy_iteration_count(pgy_accuracy_results_at(a, 0), 0), 2);
    assert_false(pgy_accuracy_results_passed(a));
    assert_string_equal(pgy_run_report_reason(r),
                        "The outputs differ by more than the tolerances in 2 of 2 iteration(s).");
    pgy_run_report_destroy(r);
    r = run(ACT(.add = 0), NULL, 2, form(false), &err);
    assert_null(pgy_run_report_accuracy(r));
    pgy_run_report_destroy(r);
}

/* Without keep_verdicts the verdict and the counts are the same, the verdicts themselves are gone,
 * and what would need them refuses. */
static void test_run__counts_instead_of_verdicts(void **state)
{
    (void)state;
    pgy_error err = {0};
    for (int s = 0; s < 2; s++) {
        size_t passed = 0, total = 0;
        pgy_run_options o = form(s);
        o.keep_verdicts = false;
        pgy_run_report *r = run(ACT(.nan = true, .nan_at = 1), ACT(.add = 0), 3, o, &err);
        if (!r) fail_msg("%s", err.text);
        assert_int_equal(log_count("Passed: 2/3 iterations | Pass Rate: 66.67%"), 1);
        assert_string_equal(
            pgy_run_report_reason(r),
            "The outputs differ by more than the tolerances in 1 of 3 iteration(s).");
        const pgy_accuracy_results *all = pgy_run_report_accuracy(r);
        const pgy_accuracy *a = pgy_accuracy_results_at(all, 0);
        assert_int_equal(pgy_accuracy_iteration_count(a, 0), 0);
        pgy_accuracy_stats(a, 0, &passed, &total);
        assert_true(passed == 2 && total == 3);
        assert_false(pgy_accuracy_results_passed(all));
        assert_int_equal(pgy_accuracy_results_save(all, SCRATCH "none.json", &err), PGY_E_ARGUMENT);
        assert_null(read_text(SCRATCH "none.json"));
        pgy_accuracy_results *again = NULL;
        assert_int_equal(pgy_accuracy_reevaluate(&again, all, NULL, 0, false, &err),
                         PGY_E_ARGUMENT);
        assert_non_null(strstr(err.text, "3 iteration(s) of first vs. second"));
        pgy_run_report_destroy(r);
        r = run(ACT(.add = 0), ACT(.add = 0), 2, o, &err);
        if (!r) fail_msg("%s", err.text);
        assert_true(pgy_accuracy_results_passed(pgy_run_report_accuracy(r)));
        pgy_run_report_destroy(r);
    }
}

static pgy_status starts_below_one(pgy_verdicts *out, const pgy_iteration *a,
                                   const pgy_iteration *b, void *user, pgy_error *err)
{
    (void)b, (void)user;
    const float *y = pgy_tensor_data(pgy_tensor_map_find(a->outputs, "y"));
    return pgy_verdicts_set(out, "y", y[0] < 1, err);
}

/* Two functions of which each fails another iteration: none passes in both. */
static void test_run__counts_over_all_functions(void **state)
{
    (void)state;
    pgy_number_entry least = {.name = "", .value = {.real = 0.9}};
    pgy_compare_options cosine = pgy_compare_options_default(PGY_COMPARE_COSINE_SIMILARITY),
                        own = pgy_compare_options_default(PGY_COMPARE_CALLBACK);
    cosine.threshold = (pgy_number_map){&least, 1};
    own.callback = starts_below_one;
    pgy_compare *functions[2] = {NULL};
    pgy_error err = {0};
    assert_int_equal(pgy_compare_create(&functions[0], &cosine, &err), PGY_OK);
    assert_int_equal(pgy_compare_create(&functions[1], &own, &err), PGY_OK);
    for (int keep = 0; keep < 2; keep++) {
        size_t passed, total;
        pgy_run_options o = form(false);
        o.keep_verdicts = keep;
        form_judge.comparisons = (const pgy_compare *const *)functions;
        form_judge.comparison_count = 2;
        /* similarity of x and x + 1: 0.866, then 0.9995 */
        pgy_run_report *r = run(ACT(.add = 0), ACT(.add = 1), 2, o, &err);
        if (!r) fail_msg("%s", err.text);
        assert_int_equal(log_count("Passed: 0/2 iterations"), 1);
        for (size_t f = 0; f < 2; f++) {
            pgy_accuracy_stats(pgy_accuracy_results_at(pgy_run_report_accuracy(r), f), 0, &passed,
                               &total);
            assert_true(passed == 1 && total == 2);
        }
        pgy_run_report_destroy(r);
    }
    for (size_t i = 0; i < 2; i++) pgy_compare_destroy(functions[i]);
}

static void test_run__zero_iterations_fail(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pgy_run_options o = form(s);
        assert_false(passes(ACT(.add = 0), ACT(.add = 0), 0, o));
        assert_int_equal(log_count("There were no iterations"), 1);
        form_judge.compat = true;
        assert_true(passes(ACT(.add = 0), ACT(.add = 0), 0, o));
        assert_int_equal(log_count("[W] There were no iterations"), 1);
    }
}

static void test_run__nothing_to_run_fails(void **state)
{
    (void)state;
    pgy_run_options o = form(false);
    assert_false(passes(NULL, NULL, 1, o));
    form_judge.compat = true;
    assert_true(passes(NULL, NULL, 1, o));
}

static void test_run__stored_results(void **state)
{
    (void)state;
    const char *stored[] = {SCRATCH "stored.json"};
    for (int s = 0; s < 2; s++) {
        pgy_run_options o = form(s), save = form(s);
        save.save_outputs = stored[0];
        assert_true(passes(ACT(.add = 0), NULL, 2, save));
        o.load_outputs = stored;
        o.load_output_count = 1;
        assert_true(passes(ACT(.add = 0), NULL, 2, o));
        assert_int_equal(log_count("Passed: 2/2 iterations"), 1);
        assert_false(passes(ACT(.add = 1), NULL, 2, o));
        /* alone: compared with nothing */
        assert_false(passes(NULL, NULL, 0, o));
        assert_int_equal(log_count("Nothing was compared"), 1);
        form_judge.validate = true;
        assert_true(passes(NULL, NULL, 0, o));
        form_judge = pgy_judge_options_default();
        form_judge.compat = true;
        assert_true(passes(NULL, NULL, 0, o));
        unlink(stored[0]);
    }
}

static void test_run__different_iteration_counts_fail(void **state)
{
    (void)state;
    const char *stored[] = {SCRATCH "uneven.json"};
    for (int s = 0; s < 2; s++) {
        for (size_t kept = 1; kept <= 3; kept += 2) {
            pgy_run_options o = form(s), save = form(s);
            save.save_outputs = stored[0];
            assert_true(passes(ACT(.add = 0), NULL, kept, save));
            o.load_outputs = stored;
            o.load_output_count = 1;
            assert_false(passes(ACT(.add = 0), NULL, 2, o));
            char text[256];
            snprintf(
                text, sizeof text,
                "[E] The provided streams have different numbers of iterations. Only the first %d "
                "iteration(s) -- "
                "present in all 2 streams -- were compared; stream(s) at index [%d] ran out first.",
                kept == 1 ? 1 : 2, kept == 1 ? 1 : 0);
            assert_int_equal(log_count(text), 1);
            form_judge.compat = true;
            assert_true(passes(ACT(.add = 0), NULL, 2, o));
        }
        unlink(stored[0]);
    }
}

static void test_run__missing_stored_results_stop_before_anything_runs(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_run_options o = form(false);
    const char *stored[] = {SCRATCH "absent.json"};
    act *a = ACT(.add = 0);
    o.load_outputs = stored;
    o.load_output_count = 1;
    assert_null(run(a, NULL, 1, o, &err));
    assert_non_null(strstr(err.text, "absent.json"));
    assert_int_equal(a->calls, 0);
}

static void test_run__unmatched_outputs_fail(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pgy_run_options o = form(s);
        assert_false(passes(ACT(.second = "aux"), ACT(.add = 0), 1, o));
        form_judge.compat = true;
        assert_true(passes(ACT(.second = "aux"), ACT(.add = 0), 1, o));
        assert_true(log_count("[W]") > 0);
    }
}

static void test_run__no_outputs_at_all_fail(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pgy_run_options o = form(s);
        assert_false(passes(ACT(.silent = true), ACT(.silent = true), 1, o));
        form_judge.compat = true;
        assert_true(passes(ACT(.silent = true), ACT(.silent = true), 1, o));
    }
}

/* Results with `counts[i]` iterations of a runner "r<i>", each of `elements` ones. */
static pgy_results *results_of(const size_t *counts, size_t runners, int64_t elements)
{
    static const char *const NAMES[] = {"r0", "r1", "r2"};
    pgy_results *r = NULL;
    assert_int_equal(pgy_results_create(&r, NULL), PGY_OK);
    for (size_t i = 0; i < runners; i++) {
        assert_int_equal(pgy_results_add_runner(r, NAMES[i], NULL, NULL), PGY_OK);
        for (size_t k = 0; k < counts[i]; k++) {
            pgy_tensor_map *m = NULL;
            pgy_tensor *t = NULL;
            assert_int_equal(pgy_tensor_map_create(&m, NULL), PGY_OK);
            if (elements >= 0) {
                assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, &elements, NULL), PGY_OK);
                for (int64_t e = 0; e < elements; e++) ((float *)pgy_tensor_data(t))[e] = 1;
                assert_int_equal(pgy_tensor_map_adopt(m, "y", t, NULL), PGY_OK);
            }
            assert_int_equal(pgy_results_add(r, i, m, 1, NULL), PGY_OK);
            pgy_tensor_map_destroy(m);
        }
    }
    return r;
}

#define COUNTS(...) \
    ((const size_t[]){__VA_ARGS__}), sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)

/* The verdict on stored results, in the form `sequential` or by pgy_compare_accuracy (-1); -1: an
 * error. The accuracy file is checked to have the same verdict. */
static int judge_stored(int sequential, pgy_judge_options judge, pgy_results *r)
{
    const char *stored[] = {SCRATCH "judged.json"}, *saved = SCRATCH "accuracy.json";
    pgy_error err = {0};
    bool passed = false;
    if (sequential < 0) {
        pgy_status st =
            pgy_compare_accuracy(NULL, &passed, (const pgy_results *const *)&r, 1, &judge, &err);
        return st ? -1 : passed;
    }
    pgy_run_options o = form(sequential);
    pgy_accuracy_results *again = NULL;
    assert_int_equal(pgy_results_save(r, stored[0], &err), PGY_OK);
    o.judge = &judge;
    o.load_outputs = stored;
    o.load_output_count = 1;
    o.save_accuracy = saved;
    pgy_run_report *report = run(NULL, NULL, 0, o, &err);
    if (!report) return -1;
    passed = pgy_run_report_passed(report);
    pgy_run_report_destroy(report);
    if (pgy_accuracy_results_load(&again, saved, &err)) fail_msg("%s", err.text);
    if (!judge.compat && pgy_results_runner_count(r) > 1)
        assert_int_equal(pgy_accuracy_results_passed(again), passed);
    if (judge.compat) assert_true(pgy_accuracy_results_verdicts_passed(again));
    pgy_accuracy_results_destroy(again);
    unlink(stored[0]);
    unlink(saved);
    return passed;
}

/* Each runner must have each iteration. */
static void test_run__a_runner_without_iterations_fails(void **state)
{
    (void)state;
    pgy_judge_options strict = pgy_judge_options_default(), compat = strict;
    compat.compat = true;
    for (int s = -1; s < 2; s++) {
        pgy_results *good = results_of(COUNTS(2, 2, 2), 1),
                    *middle = results_of(COUNTS(1, 0, 1), 1),
                    *first = results_of(COUNTS(0, 1, 1), 1),
                    *short_one = results_of(COUNTS(2, 1), 1), *none = results_of(COUNTS(0, 0), 1);
        assert_int_equal(judge_stored(s, strict, good), 1);
        assert_int_equal(judge_stored(s, strict, middle), 0);
        assert_int_equal(judge_stored(s, strict, first), 0);
        assert_int_equal(judge_stored(s, strict, short_one), 0);
        assert_int_equal(judge_stored(s, strict, none), 0);
        assert_int_equal(judge_stored(s, compat, middle), 1);     /* the first with the third */
        assert_int_equal(judge_stored(s, compat, short_one), -1); /* critical in the original */
        pgy_results_destroy(good);
        pgy_results_destroy(middle);
        pgy_results_destroy(first);
        pgy_results_destroy(short_one);
        pgy_results_destroy(none);
    }
}

/* Whatever the function, a comparison without elements is none; neither is a validation. */
static void test_run__nothing_compared_fails(void **state)
{
    (void)state;
    static const pgy_compare_kind KINDS[] = {PGY_COMPARE_SIMPLE, PGY_COMPARE_INDICES,
                                             PGY_COMPARE_L2, PGY_COMPARE_COSINE_SIMILARITY};
    for (int64_t elements = -1; elements < 2; elements++)
        for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++)
            for (int s = -1; s < 2; s++) {
                pgy_compare_options options = pgy_compare_options_default(KINDS[k]);
                pgy_compare *c = NULL;
                pgy_judge_options o = pgy_judge_options_default();
                pgy_results *r = results_of(COUNTS(2, 2), elements),
                            *one = results_of(COUNTS(2), elements);
                assert_int_equal(pgy_compare_create(&c, &options, NULL), PGY_OK);
                o.comparisons = (const pgy_compare *const *)&c;
                o.comparison_count = 1;
                assert_int_equal(judge_stored(s, o, r), elements > 0);
                o.validate = true;
                if (s >= 0) assert_int_equal(judge_stored(s, o, one), elements > 0);
                o.compat = true;
                assert_int_equal(judge_stored(s, o, r), 1);
                bool valid = elements <= 0;
                assert_int_equal(pgy_validate(&valid, one, true, true, false, NULL), PGY_OK);
                assert_int_equal(valid, elements > 0);
                pgy_compare_destroy(c);
                pgy_results_destroy(r);
                pgy_results_destroy(one);
            }
}

static void test_run__fail_fast(void **state)
{
    (void)state;
    pgy_run_options o = form(false);
    form_judge.fail_fast = true;
    act *a = ACT(.add = 0), *b = ACT(.add = 1);
    assert_false(passes(a, b, 5, o));
    assert_int_equal(a->calls, 1);
    assert_int_equal(log_count("Accuracy Summary"), 0);
}

static void test_run__validation(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pgy_run_options o = form(s);
        form_judge.validate = true;
        assert_true(passes(ACT(.add = 0), NULL, 3, o));
        act *a = ACT(.nan = true, .nan_at = 1);
        assert_false(passes(a, NULL, 3, o));
        assert_int_equal(a->calls, s ? 3 : 2); /* a stream ends at the first bad iteration */
        assert_int_equal(log_count("NaN Detected"), 1);
    }
}

static void test_run__check_average(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_compare_options c = pgy_compare_options_default(PGY_COMPARE_L2);
    const pgy_number_entry limit = {"", {.real = 2}};
    pgy_compare *l2 = NULL;
    c.threshold = (pgy_number_map){&limit, 1};
    assert_int_equal(pgy_compare_create(&l2, &c, &err), PGY_OK);
    pgy_run_options o = form(false);
    form_judge.comparisons = (const pgy_compare *const *)&l2;
    form_judge.comparison_count = 1;
    form_judge.check_average = true;
    assert_true(passes(ACT(.add = 0), ACT(.add = 1), 2, o)); /* sqrt(3) < 2 */
    assert_false(passes(ACT(.add = 0), ACT(.add = 2), 2, o));
    assert_int_equal(log_count("Passed: 0/1 outputs"), 1);
    form_judge.fail_fast = true;
    assert_null(run(ACT(.add = 0), ACT(.add = 0), 1, o, &err));
    assert_non_null(
        strstr(err.text, "judge.check_average cannot be combined with judge.fail_fast"));
    pgy_compare_destroy(l2);
    o = form(false);
    form_judge.check_average = true; /* the default function judges elements */
    assert_null(run(ACT(.add = 0), ACT(.add = 0), 1, o, &err));
    assert_non_null(strstr(err.text, "elemwise"));
}

static void test_run__equal_names_are_kept_apart(void **state)
{
    (void)state;
    pgy_error err = {0};
    act *acts[] = {ACT(.add = 0), ACT(.add = 1), ACT(.add = 1)};
    pgy_runner *runners[3];
    pgy_run_report *report = NULL;
    pgy_run_options o = form(false);
    o.loader = loader_of(1);
    for (int i = 0; i < 3; i++) runners[i] = runner_of("same", acts[i]);
    log_begin();
    assert_int_equal(pgy_run(&report, runners, 3, &o, &err), PGY_OK);
    pgy_log_set_sink(NULL, NULL);
    assert_false(pgy_run_report_passed(report));
    assert_int_equal(log_count("kept apart"), 1);
    const pgy_accuracy *a = pgy_accuracy_results_at(pgy_run_report_accuracy(report), 0);
    assert_int_equal(pgy_accuracy_pair_count(a), 2);
    assert_int_equal(pgy_accuracy_iteration_count(a, 0), 1);
    pgy_run_report_destroy(report);
    for (int i = 0; i < 3; i++) pgy_runner_destroy(runners[i]);
    pgy_data_loader_destroy(o.loader);
}

/* ---- Errors --------------------------------------------------------------------------------- */

static void test_run__failing_runner_is_an_error_that_names_it(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pgy_error err = {0};
        assert_null(run(ACT(.add = 0), ACT(.error = "out of luck"), 1, form(s), &err));
        assert_string_equal(err.text, "second, iteration 0: out of luck");
    }
}

static bool yes(void *user)
{
    return ++*(int *)user > 2;
}

static void test_run__cancelled(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pgy_error err = {0};
        int asked = 0;
        pgy_run_options o = form(s);
        o.cancelled = yes;
        o.user = &asked;
        o.save_outputs = SCRATCH "cancelled.json";
        assert_null(run(ACT(.add = 0), NULL, 9, o, &err));
        assert_int_equal(access(o.save_outputs, F_OK), -1);
    }
}

static void test_run__contradicting_options(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_run_options o = form(false);
    o.warm_up = 1;
    assert_null(run(ACT(.add = 0), NULL, 1, o, &err));
    assert_string_equal(err.text, "run.warm_up requires run.sequential.");
    o = form(false);
    o.use_subprocess = true;
    assert_null(run(ACT(.add = 0), NULL, 1, o, &err));
    assert_string_equal(err.text, "run.use_subprocess requires run.sequential.");
    o = form(false);
    o.save_inputs = o.save_outputs = "same.json";
    assert_null(run(ACT(.add = 0), NULL, 1, o, &err));
    assert_non_null(strstr(err.text, "resolve to the same path ('same.json')"));
    o = form(false);
    const char *bad[] = {"report.pdf"};
    o.reports = bad;
    o.report_count = 1;
    assert_null(run(ACT(.add = 0), NULL, 1, o, &err));
    assert_non_null(strstr(err.text, "report.pdf"));
}

/* ---- Sequential form ------------------------------------------------------------------------ */

static void test_run__warm_up_runs_the_first_input(void **state)
{
    (void)state;
    pgy_run_options o = form(true);
    act *a = ACT(.add = 0);
    o.warm_up = 3;
    assert_true(passes(a, NULL, 2, o));
    assert_int_equal(a->calls, 5);
    assert_int_equal(log_count("Running 3 warm-up run(s)"), 1);
    assert_int_equal(log_count("Completed 2 iteration(s)"), 1);
}

static pgy_status echo(const pgy_tensor_map *feed, pgy_tensor_map *out, void *user, pgy_error *err)
{
    (void)user;
    return pgy_tensor_map_set(out, "y", pgy_tensor_map_find(feed, "x"), err);
}

static pgy_runner *echo_of(const char *name, int64_t count)
{
    pgy_runner *r = NULL;
    pgy_metadata *inputs = NULL;
    const pgy_tensor_info x = {.name = "x", .dtype = PGY_F32, .rank = 1, .shape = &count};
    assert_int_equal(pgy_metadata_create(&inputs, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_set(inputs, &x, NULL), PGY_OK);
    assert_int_equal(pgy_runner_create_callback(&r, name, inputs, echo, NULL, NULL), PGY_OK);
    pgy_metadata_destroy(inputs);
    return r;
}

/* Data of two elements serves no runner that wants four: generated data are made again for it. */
static void test_run__data_is_made_again_for_other_inputs(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_results *results = NULL;
    pgy_random_options random = pgy_random_options_default();
    pgy_run_options o = form(true);
    random.iterations = 3;
    assert_int_equal(pgy_random_loader_create(&o.loader, &random, &err), PGY_OK);
    pgy_runner *runners[] = {echo_of("two", 2), echo_of("four", 4)};
    log_begin();
    if (pgy_infer_all(&results, runners, 2, &o, &err)) fail_msg("%s", err.text);
    pgy_log_set_sink(NULL, NULL);
    assert_true(log_count("Will load data for four from the data loader again") >= 1);
    assert_int_equal(pgy_results_iteration_count(results, 1), 3);
    for (size_t i = 0; i < 3; i++) {
        const pgy_tensor *a = pgy_tensor_map_at(pgy_results_at(results, 0, i)->outputs, 0);
        const pgy_tensor *b = pgy_tensor_map_at(pgy_results_at(results, 1, i)->outputs, 0);
        assert_int_equal(pgy_tensor_count(a), 2);
        assert_int_equal(pgy_tensor_count(b), 4);
        assert_memory_equal(pgy_tensor_data(a), pgy_tensor_data(b),
                            2 * sizeof(float)); /* same seed */
    }
    pgy_results_destroy(results);
    for (int i = 0; i < 2; i++) pgy_runner_destroy(runners[i]);
    pgy_data_loader_destroy(o.loader);
}

static void test_run__subprocess(void **state)
{
    (void)state;
    pgy_run_options o = form(true);
    o.use_subprocess = true;
    act *a = ACT(.add = 0);
    assert_true(passes(a, ACT(.add = 0), 3, o));
    assert_int_equal(a->calls, 0); /* it ran elsewhere */
    assert_int_equal(log_count("Passed: 3/3 iterations"), 1);
    assert_false(passes(ACT(.add = 0), ACT(.add = 1), 3, o));
}

static void test_run__subprocess_failures_are_reported(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_run_options o = form(true);
    o.use_subprocess = true;
    assert_null(run(ACT(.add = 0), ACT(.abort = true), 1, o, &err));
    assert_non_null(strstr(err.text, "second | Terminated prematurely (signal 6"));
    assert_null(run(ACT(.exit = true), NULL, 1, o, &err));
    assert_string_equal(err.text, "first | Terminated prematurely (exit code 3)");
    assert_null(run(ACT(.error = "out of luck"), NULL, 1, o, &err));
    assert_string_equal(err.text,
                        "first | Terminated prematurely: first, iteration 0: out of luck");
    o.subprocess_timeout_s = 0.2;
    assert_null(run(ACT(.sleep_ms = 5000), NULL, 1, o, &err));
    assert_non_null(strstr(err.text, "Terminated prematurely (no result within 0.2 s"));
}

/* A runtime that hangs does not keep the user from stopping. */
static void test_run__cancelled_while_a_child_hangs(void **state)
{
    (void)state;
    pgy_error err = {0};
    int asked = 0;
    pgy_run_options o = form(true);
    o.use_subprocess = true;
    o.cancelled = yes;
    o.user = &asked;
    time_t begin = time(NULL);
    assert_null(run(ACT(.sleep_ms = 60000), NULL, 1, o, &err));
    assert_string_equal(err.text, "cancelled");
    assert_true(time(NULL) - begin < 30); /* not the child's minute */
}

/* ---- Saving --------------------------------------------------------------------------------- */

static void test_run__saves_inputs_and_accuracy(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pgy_run_options o = form(s);
        pgy_tensor_map **maps = NULL;
        pgy_accuracy_results *accuracy = NULL;
        size_t count = 0;
        o.save_inputs = SCRATCH "inputs.json";
        o.save_accuracy = SCRATCH "accuracy.json";
        assert_false(passes(ACT(.add = 0), ACT(.add = 1), 2, o));
        assert_int_equal(pgy_feeds_load(&maps, &count, o.save_inputs, NULL), PGY_OK);
        assert_int_equal(count, 2);
        const float *x = pgy_tensor_data(pgy_tensor_map_find(maps[1], "x"));
        assert_float_equal(x[2], 1.5, 0);
        pgy_feeds_free(maps, count);
        assert_int_equal(pgy_accuracy_results_load(&accuracy, o.save_accuracy, NULL), PGY_OK);
        assert_false(pgy_accuracy_results_passed(accuracy));
        pgy_accuracy_results_destroy(accuracy);
        unlink(o.save_inputs);
        unlink(o.save_accuracy);
    }
}

static void test_run__keeps_what_was_inferred_before_an_error(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_run_options o = form(false);
    pgy_results *r = NULL;
    o.save_outputs = SCRATCH "partial.json";
    form_judge.validate = true;
    pgy_run_report *report = run(ACT(.nan = true, .nan_at = 2), NULL, 5, o, &err);
    assert_non_null(report);
    assert_false(pgy_run_report_passed(report));
    pgy_run_report_destroy(report);
    assert_int_equal(pgy_results_load(&r, o.save_outputs, &err), PGY_OK);
    assert_int_equal(pgy_results_iteration_count(r, 0), 3);
    pgy_results_destroy(r);
    unlink(o.save_outputs);
}

static pgy_status negate(pgy_iteration *it, void *user, pgy_error *err)
{
    pgy_tensor *t = pgy_tensor_map_find(it->outputs, "y"), *copy = NULL;
    (void)user;
    pgy_status st = pgy_tensor_copy(&copy, pgy_tensor_view(t), err);
    if (st) return st;
    float *v = pgy_tensor_data(copy);
    for (size_t i = 0; i < pgy_tensor_count(copy); i++) v[i] = fabsf(v[i]);
    return pgy_tensor_map_adopt(it->outputs, "y", copy, err);
}

static void test_run__postprocessing_is_judged_but_not_saved(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pgy_run_options o = form(s);
        pgy_results *r = NULL;
        const pgy_postprocess post = {.size = sizeof post, .callback = negate};
        o.postprocess = &post;
        o.save_outputs = SCRATCH "raw.json";
        /* x - 1 and |x - 1| differ before and agree after */
        assert_true(passes(ACT(.add = -1), ACT(.add = -1), 1, o));
        assert_int_equal(pgy_results_load(&r, o.save_outputs, NULL), PGY_OK);
        pgy_tensor *t = pgy_tensor_map_find(pgy_results_at(r, 0, 0)->outputs, "y");
        assert_float_equal(((float *)pgy_tensor_data(t))[0], -1, 0);
        pgy_results_destroy(r);
        unlink(o.save_outputs);
    }
}

/* Whatever allocation fails, a difference never becomes a pass, and nothing leaks or crashes. */
static void test_run__out_of_memory_is_never_a_pass(void **state)
{
    (void)state;
    const char *reports[] = {SCRATCH "memory.json", SCRATCH "memory.xml"};
    for (int s = 0; s < 2; s++)
        for (uint64_t n = 1; n < 4000; n += 1 + n / 32) {
            pgy_error err = {0};
            pgy_run_report *report = NULL;
            pgy_run_options o = form(s);
            pgy_runner *runners[] = {runner_of("a", ACT(.add = 0)), runner_of("b", ACT(.add = 1))};
            o.loader = loader_of(2);
            o.save_outputs = SCRATCH "memory-out.json";
            o.reports = reports;
            o.report_count = 2;
            if (!mem_fail_nth(n)) n = 4000; /* this build cannot: one plain run */
            pgy_status st = pgy_run(&report, runners, 2, &o, &err);
            mem_fail_nth(0);
            assert_true(st || !pgy_run_report_passed(report));
            assert_true(!st == (report != NULL));
            pgy_run_report_destroy(report);
            for (int i = 0; i < 2; i++) pgy_runner_destroy(runners[i]);
            pgy_data_loader_destroy(o.loader);
        }
    unlink(reports[0]);
    unlink(reports[1]);
    unlink(SCRATCH "memory-out.json");
}

/* ---- Without the driver --------------------------------------------------------------------- */

static void test_run__infer_all_and_compare(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_results *results = NULL;
    pgy_accuracy_results *accuracy = NULL;
    bool passed = true;
    pgy_run_options o = pgy_run_options_default();
    pgy_runner *runners[] = {runner_of("a", ACT(.add = 0)), runner_of("b", ACT(.add = 1))};
    o.loader = loader_of(2);
    assert_int_equal(pgy_infer_all(&results, runners, 2, &o, &err), PGY_OK);
    assert_int_equal(pgy_results_runner_count(results), 2);
    assert_int_equal(pgy_results_iteration_count(results, 1), 2);
    assert_true(pgy_results_at(results, 1, 1)->runtime_s >= 0);
    const pgy_results *all[] = {results};
    assert_int_equal(pgy_compare_accuracy(&accuracy, &passed, all, 1, NULL, &err), PGY_OK);
    assert_false(passed);
    assert_int_equal(pgy_accuracy_results_count(accuracy), 1);
    pgy_accuracy_results_destroy(accuracy);
    assert_int_equal(pgy_validate(&passed, results, true, true, false, &err), PGY_OK);
    assert_true(passed);
    pgy_results_destroy(results);
    for (int i = 0; i < 2; i++) pgy_runner_destroy(runners[i]);
    pgy_data_loader_destroy(o.loader);
}

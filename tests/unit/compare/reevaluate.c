/* SPDX-License-Identifier: Apache-2.0 */
/* Judging saved metrics again. The file: eight functions over two iterations, one of which has
 * outputs of different shapes; and one of averages. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <polygraphy/compare.h>

#include "compare/judge.h"

#define GOLDEN TEST_SOURCE_DIR "/tests/data/golden/"

static char logged[8192];

static void keep_log(pgy_severity severity, const char *text, size_t size, void *user)
{
    (void)severity, (void)user;
    size_t used = strlen(logged), room = sizeof logged - 1 - used;
    memcpy(logged + used, text, size < room ? size : room);
    logged[used + (size < room ? size : room)] = 0;
}

static pgy_accuracy_results *load(const char *path)
{
    pgy_error err = {0};
    pgy_accuracy_results *r = NULL;
    if (pgy_accuracy_results_load(&r, path, &err)) fail_msg("%s", err.text);
    return r;
}

static pgy_compare *function(pgy_compare_kind kind, const char *stat, double threshold)
{
    pgy_compare *c = NULL;
    pgy_error err = {0};
    pgy_number_entry number = {"", {.real = threshold}};
    pgy_stat_entry entry = {"", PGY_STAT_ELEMWISE};
    pgy_compare_options o = pgy_compare_options_default(kind);
    if (kind != PGY_COMPARE_INDICES) o.threshold = o.atol = (pgy_number_map){&number, 1};
    if (stat) {
        assert_int_equal(pgy_error_stat_from_name(&entry.value, stat, &err), PGY_OK);
        o.stats = &entry;
        o.stat_count = 1;
    }
    if (pgy_compare_create(&c, &o, &err)) fail_msg("%s", err.text);
    return c;
}

static pgy_status judge(pgy_accuracy_results **out, const char *file, pgy_compare *c, bool average,
                        pgy_error *err)
{
    pgy_accuracy_results *saved = load(file);
    pgy_status st = pgy_accuracy_reevaluate(out, saved, (const pgy_compare *const *)&c, c != NULL,
                                            average, err);
    pgy_accuracy_results_destroy(saved);
    pgy_compare_destroy(c);
    return st;
}

static bool judged(const char *file, pgy_compare *c, bool average)
{
    pgy_error err = {0};
    pgy_accuracy_results *r = NULL;
    if (judge(&r, file, c, average, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_accuracy_results_count(r), 1);
    assert_int_equal(pgy_accuracy_is_average(pgy_accuracy_results_at(r, 0)), average);
    bool passed = pgy_accuracy_results_passed(r);
    pgy_accuracy_results_destroy(r);
    return passed;
}

static void assert_refused(const char *file, pgy_compare *c, bool average, const char *expected)
{
    pgy_error err = {0};
    pgy_accuracy_results *r = NULL;
    assert_int_equal(judge(&r, file, c, average, &err), PGY_E_ARGUMENT);
    assert_null(r);
    if (!strstr(err.text, expected)) fail_msg("'%s' lacks '%s'", err.text, expected);
}

static void test_reevaluate__thresholds_decide_anew(void **state)
{
    (void)state;
    /* L2 norms 0.5 and 0, mean 0.25; PSNR finite and infinite */
    assert_false(
        judged(GOLDEN "accuracy_average.json", function(PGY_COMPARE_L2, NULL, 0.25), false));
    assert_true(judged(GOLDEN "accuracy_average.json", function(PGY_COMPARE_L2, NULL, 0.5), false));
    assert_true(judged(GOLDEN "accuracy_average.json", function(PGY_COMPARE_L2, NULL, 0.25), true));
    assert_false(judged(GOLDEN "accuracy_average.json", function(PGY_COMPARE_L2, NULL, 0.2), true));
    assert_true(judged(GOLDEN "accuracy_average.json", function(PGY_COMPARE_PSNR, NULL, 1), false));
    assert_false(
        judged(GOLDEN "accuracy_average.json", function(PGY_COMPARE_PSNR, NULL, 1000), false));
}

static void test_reevaluate__saved_thresholds_do_not_matter(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_accuracy_results *r = NULL;
    assert_int_equal(
        judge(&r, GOLDEN "accuracy_average.json", function(PGY_COMPARE_L2, NULL, 7), false, &err),
        PGY_OK);
    const pgy_verdict *v = pgy_verdicts_at(pgy_accuracy_at(pgy_accuracy_results_at(r, 0), 0, 0), 0);
    assert_true(v->threshold.real == 7);
    assert_true(v->metric == 0.5);
    pgy_accuracy_results_destroy(r);
}

static void test_reevaluate__unpicked_comparisons_are_announced(void **state)
{
    (void)state;
    logged[0] = 0;
    pgy_log_set_sink(keep_log, NULL);
    assert_true(judged(GOLDEN "accuracy_average.json", function(PGY_COMPARE_L2, NULL, 1), false));
    pgy_log_set_sink(NULL, NULL);
    assert_non_null(strstr(logged, "Ignoring saved comparison with metric fields ['psnr']: no "
                                   "matching threshold was requested."));
}

static void test_reevaluate__dropping_everything_is_refused(void **state)
{
    (void)state;
    assert_refused(GOLDEN "accuracy_average.json", NULL, false,
                   "no saved comparison would be judged");
    assert_refused(GOLDEN "accuracy_average.json", function(PGY_COMPARE_INDICES, NULL, 0), false,
                   "no saved comparison would be judged");
}

static void test_reevaluate__what_is_not_saved_is_refused(void **state)
{
    (void)state;
    assert_refused(GOLDEN "accuracy_average.json", function(PGY_COMPARE_SNR, NULL, 1), false,
                   "['snr']");
    assert_refused(GOLDEN "accuracy.json", function(PGY_COMPARE_SIMPLE, NULL, 1), false,
                   "'elemwise'");
    assert_refused(GOLDEN "accuracy.json", function(PGY_COMPARE_SIMPLE, "quantile", 1), false,
                   "the quantile of the errors was not saved");
    assert_refused(GOLDEN "accuracy.json", function(PGY_COMPARE_SIMPLE, "max", 1), false,
                   "has no saved metrics"); /* shapes differed */
    assert_refused(GOLDEN "accuracy.json", function(PGY_COMPARE_L2, NULL, 1), true,
                   "has no saved metrics");
}

/* A function twice picks two saved ones. */
static void test_reevaluate__each_function_picks_its_own(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_accuracy_results *saved = NULL, *r = NULL;
    assert_int_equal(accuracy_results_create(&saved, &err), PGY_OK);
    for (int i = 0; i < 2; i++) {
        pgy_accuracy *a;
        size_t pair;
        pgy_verdicts *v;
        pgy_verdict verdict = {.output = "x",
                               .kind = PGY_COMPARE_L2,
                               .has_metrics = true,
                               .verified = true,
                               .metric = i};
        assert_int_equal(accuracy_add(&a, saved, PGY_COMPARE_L2, false, &err), PGY_OK);
        assert_int_equal(accuracy_add_pair(&pair, a, "a", "b", &err), PGY_OK);
        assert_int_equal(accuracy_add_iteration(&v, a, pair, &err), PGY_OK);
        assert_int_equal(verdicts_put(v, &verdict, &err), PGY_OK);
    }
    pgy_compare *functions[] = {function(PGY_COMPARE_L2, NULL, 0.5),
                                function(PGY_COMPARE_L2, NULL, 0.5),
                                function(PGY_COMPARE_L2, NULL, 0.5)};
    assert_int_equal(
        pgy_accuracy_reevaluate(&r, saved, (const pgy_compare *const *)functions, 2, false, &err),
        PGY_OK);
    assert_true(pgy_accuracy_passed(pgy_accuracy_results_at(r, 0)));
    assert_false(pgy_accuracy_passed(pgy_accuracy_results_at(r, 1)));
    pgy_accuracy_results_destroy(r);
    r = NULL;
    assert_int_equal(
        pgy_accuracy_reevaluate(&r, saved, (const pgy_compare *const *)functions, 3, false, &err),
        PGY_E_ARGUMENT);
    for (int i = 0; i < 3; i++) pgy_compare_destroy(functions[i]);
    pgy_accuracy_results_destroy(saved);
}

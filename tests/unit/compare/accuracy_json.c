/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy results in files: the original's bytes and verdicts, and what is refused. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

#include <polygraphy/compare.h>

#include "base/alloc.h"
#include "base/file.h"
#include "compare/judge.h"

#define GOLDEN TEST_SOURCE_DIR "/tests/data/golden/"
#define WRITTEN TEST_BINARY_DIR "/pgy_accuracy_written.json"

static pgy_accuracy_results *load(const char *path)
{
    pgy_error err = {0};
    pgy_accuracy_results *r = NULL;
    if (pgy_accuracy_results_load(&r, path, &err)) fail_msg("%s", err.text);
    return r;
}

static void assert_same_after_saving(const char *path)
{
    pgy_error err = {0};
    str x = {0}, y = {0};
    pgy_accuracy_results *r = load(path);
    if (pgy_accuracy_results_save(r, WRITTEN, &err)) fail_msg("%s", err.text);
    pgy_accuracy_results_destroy(r);
    assert_int_equal(file_read(&x, WRITTEN, NULL), PGY_OK);
    assert_int_equal(file_read(&y, path, NULL), PGY_OK);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    str_deinit(&x);
    str_deinit(&y);
    unlink(WRITTEN);
}

static void test_accuracy_json__same_bytes_as_the_original(void **state)
{
    (void)state;
    assert_same_after_saving(GOLDEN "accuracy.json");
    assert_same_after_saving(GOLDEN "accuracy_average.json");
}

static const pgy_verdict *verdict(const pgy_accuracy_results *r, size_t function, size_t iteration,
                                  size_t output)
{
    return pgy_verdicts_at(pgy_accuracy_at(pgy_accuracy_results_at(r, function), 0, iteration),
                           output);
}

static void test_accuracy_json__contents_of_the_original(void **state)
{
    (void)state;
    static const pgy_compare_kind KINDS[] = {PGY_COMPARE_SIMPLE,
                                             PGY_COMPARE_SIMPLE,
                                             PGY_COMPARE_CALLBACK,
                                             PGY_COMPARE_L2,
                                             PGY_COMPARE_COSINE_SIMILARITY,
                                             PGY_COMPARE_PSNR,
                                             PGY_COMPARE_SNR,
                                             PGY_COMPARE_CALLBACK};
    const char *first, *second;
    pgy_accuracy_results *r = load(GOLDEN "accuracy.json");
    assert_int_equal(pgy_accuracy_results_count(r), 8);
    for (size_t i = 0; i < 8; i++) {
        const pgy_accuracy *a = pgy_accuracy_results_at(r, i);
        assert_int_equal(pgy_accuracy_kind(a), KINDS[i]);
        assert_false(pgy_accuracy_is_average(a));
        pgy_accuracy_pair(a, 0, &first, &second);
        assert_string_equal(first, "r0");
        assert_string_equal(second, "r1");
        assert_int_equal(pgy_accuracy_iteration_count(a, 0), 2);
    }
    const pgy_verdict *x = verdict(r, 0, 0, 0);
    assert_string_equal(x->output, "x");
    assert_true(x->has_quantile && x->stat == PGY_STAT_QUANTILE && x->passed);
    assert_true(x->atol.is_integer && x->atol.integer == 1);
    assert_true(!x->rtol.is_integer && x->rtol.real == 1e-5);
    assert_true(x->max_absdiff == 0.5);
    const pgy_verdict *mismatch = verdict(r, 0, 1, 1);
    assert_string_equal(mismatch->output, "y");
    assert_false(mismatch->passed || mismatch->has_metrics);
    assert_false(verdict(r, 3, 0, 0)->passed); /* L2 norm 0.5 */
    assert_true(verdict(r, 3, 0, 0)->metric == 0.5);
    assert_true(verdict(r, 7, 0, 0)->passed);
    assert_false(verdict(r, 7, 0, 1)->passed);
    assert_false(pgy_accuracy_results_passed(r));
    pgy_accuracy_results_destroy(r);
}

static void test_accuracy_json__averages(void **state)
{
    (void)state;
    pgy_accuracy_results *r = load(GOLDEN "accuracy_average.json");
    assert_true(pgy_accuracy_is_average(pgy_accuracy_results_at(r, 0)));
    /* L2 norms 0.5 and 0 against 0.25; their mean passes, as the original says. */
    assert_true(pgy_accuracy_results_passed(r));
    pgy_accuracy_results_destroy(r);
}

static void test_accuracy_json__equal_pairs_are_written_as_one(void **state)
{
    (void)state;
    pgy_accuracy_results *r = NULL;
    pgy_accuracy *a;
    pgy_error err = {0};
    assert_int_equal(accuracy_results_create(&r, &err), PGY_OK);
    assert_int_equal(accuracy_add(&a, r, PGY_COMPARE_CALLBACK, false, &err), PGY_OK);
    for (size_t i = 0; i < 2; i++) {
        size_t pair;
        pgy_verdicts *v;
        assert_int_equal(accuracy_add_pair(&pair, a, "same", "same", &err), PGY_OK);
        assert_int_equal(accuracy_add_iteration(&v, a, pair, &err), PGY_OK);
        assert_int_equal(pgy_verdicts_set(v, "x", i == 1, &err), PGY_OK);
    }
    assert_int_equal(pgy_accuracy_results_save(r, WRITTEN, &err), PGY_OK);
    pgy_accuracy_results_destroy(r);
    r = load(WRITTEN);
    assert_int_equal(pgy_accuracy_pair_count(pgy_accuracy_results_at(r, 0)), 1);
    assert_int_equal(pgy_accuracy_iteration_count(pgy_accuracy_results_at(r, 0), 0), 2);
    assert_false(pgy_accuracy_results_passed(r)); /* the first one's failure is still there */
    pgy_accuracy_results_destroy(r);
    unlink(WRITTEN);
}

static pgy_status load_text(pgy_accuracy_results **out, const char *text, pgy_error *err)
{
    assert_int_equal(file_write_all(WRITTEN, text, strlen(text), NULL), PGY_OK);
    pgy_status st = pgy_accuracy_results_load(out, WRITTEN, err);
    unlink(WRITTEN);
    return st;
}

#define RESULTS(lst) "{\"lst\": " lst ", \"polygraphy_class\": \"AccuracyResults\"}"
#define FUNCTION(lst)         \
    RESULTS("[{\"lst\": " lst \
            ", \"aggregation\": \"per_sample\", \"polygraphy_class\": \"AccuracyResult\"}]")
#define VERDICT(v) FUNCTION("[[[\"a\", \"b\"], [{\"x\": " v "}]]]")
#define SIMPLE(stat, passed)                                                                      \
    VERDICT("{\"max_absdiff\": 1, \"max_reldiff\": 1, \"mean_absdiff\": 1, \"mean_reldiff\": 1, " \
            "\"median_absdiff\": 1, \"median_reldiff\": 1, "                                      \
            "\"quantile_absdiff\": null, \"quantile_reldiff\": null, \"thresholds\": "            \
            "{\"check_error_stat\": \"" stat                                                      \
            "\", \"atol\": 2, \"rtol\": 2, \"polygraphy_class\": \"SimpleThreshold\"}, "          \
            "\"passed\": " passed ", \"polygraphy_class\": \"OutputCompareResult\"}")

static void test_accuracy_json__nothing_compared_is_no_pass(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {RESULTS("[]"), FUNCTION("[]"),
                                        FUNCTION("[[[\"a\", \"b\"], []]]"),
                                        FUNCTION("[[[\"a\", \"b\"], [{}]]]")};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        pgy_accuracy_results *r = NULL;
        pgy_error err = {0};
        if (load_text(&r, TEXTS[i], &err)) fail_msg("%s", err.text);
        assert_false(pgy_accuracy_results_passed(r));
        pgy_accuracy_results_destroy(r);
    }
}

static void test_accuracy_json__verdicts_are_formed_again(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool passed;
    } CASES[] = {
        {VERDICT("true"), true},
        {VERDICT("false"), false},
        {SIMPLE("max", "false"), true}, /* what is stored counts for elemwise only */
        {SIMPLE("elemwise", "false"), false},
        {SIMPLE("elemwise", "true"), true},
        {SIMPLE("quantile", "null"), false}, /* without a quantile */
        {VERDICT("{\"l2_norm\": NaN, \"thresholds\": {\"threshold\": 1, \"polygraphy_class\": "
                 "\"L2Threshold\"}, \"polygraphy_class\": \"L2Result\"}"),
         false},
        {VERDICT("{\"psnr\": Infinity, \"thresholds\": {\"threshold\": 1, \"polygraphy_class\": "
                 "\"PsnrThreshold\"}, \"polygraphy_class\": \"PsnrResult\"}"),
         true},
        {VERDICT("{\"lpips\": null, \"thresholds\": {\"threshold\": 1, \"polygraphy_class\": "
                 "\"LpipsThreshold\"}, \"polygraphy_class\": \"PerceptualMetricsResult\"}"),
         false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pgy_accuracy_results *r = NULL;
        pgy_error err = {0};
        if (load_text(&r, CASES[i].text, &err)) fail_msg("%s", err.text);
        if (pgy_accuracy_results_passed(r) != CASES[i].passed)
            fail_msg("wrong verdict for %s", CASES[i].text);
        pgy_accuracy_results_destroy(r);
    }
}

static void assert_refused(const char *text, const char *expected)
{
    pgy_error err = {0};
    pgy_accuracy_results *r = NULL;
    assert_int_equal(load_text(&r, text, &err), PGY_E_FORMAT);
    assert_null(r);
    if (!strstr(err.text, expected))
        fail_msg("'%s' lacks '%s' for %.80s", err.text, expected, text);
    if (!strstr(err.text, WRITTEN)) fail_msg("'%s' does not name the file", err.text);
}

static void test_accuracy_json__malformed_files_are_refused(void **state)
{
    (void)state;
    assert_refused("", "line 1");
    assert_refused("[]", "JSON cannot be decoded into 'AccuracyResults'");
    assert_refused("{\"lst\": [], \"polygraphy_class\": \"RunResults\"}",
                   "JSON cannot be decoded into 'AccuracyResults'");
    assert_refused("{\"polygraphy_class\": \"AccuracyResults\"}", "expected a list 'lst'");
    assert_refused(RESULTS("[3]"), "JSON cannot be decoded into 'AccuracyResult'");
    assert_refused(RESULTS("[{\"lst\": [], \"polygraphy_class\": \"AccuracyResult\"}]"),
                   "'aggregation'");
    assert_refused(
        RESULTS(
            "[{\"lst\": [], \"aggregation\": \"sum\", \"polygraphy_class\": \"AccuracyResult\"}]"),
        "'aggregation'");
    assert_refused(FUNCTION("[3]"), "expected [[runner name, runner name], [iterations]]");
    assert_refused(FUNCTION("[[[\"a\"], []]]"),
                   "expected [[runner name, runner name], [iterations]]");
    assert_refused(FUNCTION("[[[\"a\", 3], []]]"),
                   "expected [[runner name, runner name], [iterations]]");
    assert_refused(FUNCTION("[[[\"a\", \"b\"], [3]]]"), "expected an object of verdicts");
    assert_refused(VERDICT("3"), "expected a verdict");
    assert_refused(VERDICT("{\"polygraphy_class\": \"L2Threshold\"}"), "expected a verdict");
    assert_refused(VERDICT("{\"polygraphy_class\": \"L2Result\"}"),
                   "JSON cannot be decoded into 'L2Threshold'");
    assert_refused(
        VERDICT("{\"l2_norm\": 1, \"thresholds\": {\"threshold\": 1, \"polygraphy_class\": "
                "\"SnrThreshold\"}, \"polygraphy_class\": \"L2Result\"}"),
        "JSON cannot be decoded into 'L2Threshold'");
    assert_refused(
        VERDICT("{\"l2_norm\": true, \"thresholds\": {\"threshold\": 1, \"polygraphy_class\": "
                "\"L2Threshold\"}, \"polygraphy_class\": \"L2Result\"}"),
        "'l2_norm' is missing or not a number");
    assert_refused(SIMPLE("best", "null"), "best");
    assert_refused(SIMPLE("elemwise", "null"), "expected the verdict 'passed'");
}

/* ---- Memory ---- */

static bool survives(uint64_t n)
{
    pgy_accuracy_results *r = NULL, *judged = NULL;
    pgy_compare *c = NULL;
    pgy_error err = {0};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_L2);
    mem_fail_nth(n);
    pgy_status st = pgy_accuracy_results_load(&r, GOLDEN "accuracy_average.json", &err);
    if (!st) st = pgy_compare_create(&c, &o, &err);
    if (!st)
        st = pgy_accuracy_reevaluate(&judged, r, (const pgy_compare *const *)&c, 1, true, &err);
    if (!st) st = pgy_accuracy_results_save(judged, WRITTEN, &err);
    mem_fail_nth(0);
    pgy_accuracy_results_destroy(r);
    pgy_accuracy_results_destroy(judged);
    pgy_compare_destroy(c);
    if (st && st != PGY_E_MEMORY) fail_msg("allocation %d: %s", (int)n, err.text);
    return st == PGY_OK;
}

static void test_accuracy_json__refused_memory_is_an_error(void **state)
{
    (void)state;
    if (!mem_fail_nth(0)) skip();
    size_t in_a_row = 0;
    for (uint64_t n = 1; in_a_row < 20; n++) {
        assert_true(n < 20000);
        in_a_row = survives(n) ? in_a_row + 1 : 0;
    }
    unlink(WRITTEN);
}

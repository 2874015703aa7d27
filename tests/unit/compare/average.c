/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts over means, summaries, and the containers they are kept in. */
#include "judging.h"

static pgy_verdict l2(const char *output, double metric)
{
    pgy_verdict v = {
        .output = (char *)output, .kind = PGY_COMPARE_L2, .has_metrics = true, .verified = true};
    v.metric = metric;
    v.threshold = judging_real(3);
    verdict_judge(&v);
    return v;
}

static void add(pgy_accuracy *a, size_t pair, const pgy_verdict *v, size_t count)
{
    pgy_verdicts *list = NULL;
    GOOD(accuracy_add_iteration(&list, a, pair, &judging_error));
    for (size_t i = 0; i < count; i++) GOOD(verdicts_put(list, &v[i], &judging_error));
}

static pgy_accuracy_results *make(pgy_accuracy **a, pgy_accuracy **b, bool average)
{
    pgy_accuracy_results *r = NULL;
    size_t pair;
    GOOD(accuracy_results_create(&r, &judging_error));
    GOOD(accuracy_add(a, r, PGY_COMPARE_L2, average, &judging_error));
    GOOD(accuracy_add(b, r, PGY_COMPARE_COSINE_SIMILARITY, average, &judging_error));
    GOOD(accuracy_add_pair(&pair, *a, "ra", "rb", &judging_error));
    GOOD(accuracy_add_pair(&pair, *b, "ra", "rb", &judging_error));
    assert_int_equal(pair, 0);
    return r;
}

static void fill(pgy_accuracy *a, pgy_accuracy *b)
{
    pgy_verdict first[] = {l2("o", 0.2), l2("p", 0)}, second[] = {l2("o", 4.8), l2("p", 0)};
    add(a, 0, first, 2);
    add(a, 0, second, 2);
    for (int i = 0; i < 2; i++) {
        pgy_verdict c[] = {l2("o", i), l2("p", 1)};
        for (int k = 0; k < 2; k++) {
            c[k].kind = PGY_COMPARE_COSINE_SIMILARITY;
            c[k].threshold = judging_real(0.997);
            verdict_judge(&c[k]);
        }
        add(b, 0, c, 2);
    }
}

static void test_average__judges_the_means(void **state)
{
    (void)state;
    pgy_accuracy *a, *b;
    pgy_accuracy_results *r = make(&a, &b, true);
    size_t passed, total;
    fill(a, b);
    assert_true(pgy_accuracy_passed(a)); /* mean 2.5 */
    assert_false(pgy_accuracy_passed(b));
    pgy_accuracy_stats(b, 0, &passed, &total);
    assert_true(passed == 1 && total == 2);
    judging_listen(PGY_LOG_INFO);
    GOOD(accuracy_log_joint_summary(r, 0, &judging_error));
    assert_string_equal(str_text(&judging_log),
                        "[E] Accuracy Summary | ra vs. rb | Passed: 1/2 outputs\n"
                        "[E]     o | FAILED:\n"
                        "[I]         L2 Norm: 2.5 (tolerance: 3) | PASSED\n"
                        "[E]         Cosine Similarity: 0.5 (min required: 0.997) | FAILED\n"
                        "[I]     p | PASSED:\n"
                        "[I]         L2 Norm: 0 (tolerance: 3) | PASSED\n"
                        "[I]         Cosine Similarity: 1 (min required: 0.997) | PASSED\n");
    judging_listen(PGY_LOG_INFO);
    pgy_accuracy_log_summary(r);
    assert_string_equal(str_text(&judging_log),
                        "[I] Accuracy Summary | ra vs. rb | Passed: 2/2 outputs\n"
                        "[I]     o | L2 Norm: 2.5 (tolerance: 3) | PASSED\n"
                        "[I]     p | L2 Norm: 0 (tolerance: 3) | PASSED\n"
                        "[E] Accuracy Summary | ra vs. rb | Passed: 1/2 outputs\n"
                        "[E]     o | Cosine Similarity: 0.5 (min required: 0.997) | FAILED\n"
                        "[I]     p | Cosine Similarity: 1 (min required: 0.997) | PASSED\n");
    judging_stop();
    pgy_accuracy_results_destroy(r);
}

static void test_average__per_iteration_summary(void **state)
{
    (void)state;
    pgy_accuracy *a, *b;
    pgy_accuracy_results *r = make(&a, &b, false);
    fill(a, b);
    assert_false(pgy_accuracy_results_passed(r));
    judging_listen(PGY_LOG_INFO);
    GOOD(accuracy_log_joint_summary(r, 0,
                                    &judging_error)); /* each function fails another iteration */
    assert_string_equal(
        str_text(&judging_log),
        "[E] Accuracy Summary | ra vs. rb | Passed: 0/2 iterations | Pass Rate: 0.00%\n");
    judging_listen(PGY_LOG_INFO);
    pgy_accuracy_log_summary(r);
    assert_logged(
        "[E] Accuracy Summary | ra vs. rb | Passed: 1/2 iterations | Pass Rate: 50.00%\n");
    judging_stop();
    pgy_accuracy_results_destroy(r);
}

static void test_average__needs_metrics_in_every_iteration(void **state)
{
    (void)state;
    pgy_accuracy *a, *b;
    pgy_accuracy_results *r = make(&a, &b, true);
    pgy_verdict v[] = {l2("o", 0)}, none[] = {l2("o", 0)};
    none[0].has_metrics = none[0].passed = false;
    add(a, 0, v, 1);
    add(a, 0, none, 1);
    assert_int_equal(accuracy_log_joint_summary(r, 0, &judging_error), PGY_E_ARGUMENT);
    assert_memory_equal(judging_error.text, "Output: o | Cannot compute an averaged comparison",
                        49);
    assert_false(pgy_accuracy_passed(a));
    judging_listen(PGY_LOG_INFO);
    pgy_accuracy_log_summary(r);
    assert_logged("[E] Accuracy Summary | ra vs. rb | Passed: 0/1 outputs\n");
    assert_logged("[E]     Output: o | Cannot compute an averaged comparison");
    judging_stop();
    pgy_accuracy_results_destroy(r);
}

static void test_average__nan_fails(void **state)
{
    (void)state;
    pgy_accuracy *a, *b;
    pgy_accuracy_results *r = make(&a, &b, true);
    pgy_verdict v[] = {l2("o", 0)}, nan[] = {l2("o", NAN)};
    add(a, 0, v, 1);
    add(a, 0, nan, 1);
    assert_false(pgy_accuracy_passed(a));
    pgy_accuracy_results_destroy(r);
}

/* Pairs with equal names stay apart: a later one cannot hide an earlier failure. */
static void test_average__pairs_of_equal_names(void **state)
{
    (void)state;
    pgy_accuracy *a, *b;
    pgy_accuracy_results *r = make(&a, &b, false);
    size_t pair;
    pgy_verdict bad[] = {l2("o", 9)}, good[] = {l2("o", 0)};
    GOOD(accuracy_add_pair(&pair, a, "ra", "rb", &judging_error));
    assert_int_equal(pair, 1);
    add(a, 0, bad, 1);
    add(a, 1, good, 1);
    assert_int_equal(pgy_accuracy_pair_count(a), 2);
    assert_int_equal(pgy_accuracy_iteration_count(a, 0), 1);
    assert_false(pgy_accuracy_passed(a));
    pgy_accuracy_results_destroy(r);
}

static void test_average__which_functions_can(void **state)
{
    (void)state;
    pgy_stat_entry max = {"", PGY_STAT_MAX}, only = {"o", PGY_STAT_MAX};
    const struct {
        pgy_compare_kind kind;
        const pgy_stat_entry *stat;
        bool can;
    } cases[] = {{PGY_COMPARE_L2, NULL, true},
                 {PGY_COMPARE_INDICES, NULL, false},
                 {PGY_COMPARE_SIMPLE, NULL, false},
                 {PGY_COMPARE_SIMPLE, &max, true},
                 {PGY_COMPARE_SIMPLE, &only, false}};
    for (size_t i = 0; i < 5; i++) {
        pgy_compare *c = NULL;
        const char *why = NULL;
        pgy_compare_options o = pgy_compare_options_default(cases[i].kind);
        o.stats = cases[i].stat;
        o.stat_count = cases[i].stat != NULL;
        GOOD(pgy_compare_create(&c, &o, &judging_error));
        assert_int_equal(compare_can_average(c, &why), cases[i].can);
        assert_int_equal(why == NULL, cases[i].can);
        pgy_compare_destroy(c);
    }
}

static void test_average__putting_a_verdict_again_replaces_it(void **state)
{
    (void)state;
    pgy_verdicts *v = NULL;
    GOOD(verdicts_create(&v, &judging_error));
    GOOD(pgy_verdicts_set(v, "o", true, &judging_error));
    GOOD(pgy_verdicts_set(v, "o", false, &judging_error));
    assert_int_equal(pgy_verdicts_count(v), 1);
    assert_false(verdicts_all_passed(v));
    verdicts_destroy(v);
}

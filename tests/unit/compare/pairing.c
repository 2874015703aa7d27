/* SPDX-License-Identifier: Apache-2.0 */
/* Which output meets which, what is left over, and the lines around it. */
#include "judging.h"

static const float ZERO[2] = {0, 0};
static const int64_t TWO[] = {2};

static pgy_iteration with_outputs(const char *runner, const char *const *names)
{
    pgy_iteration it = judging_iteration(runner);
    for (; *names; names++) judging_add(&it, *names, PGY_F32, ZERO, 1, TWO);
    return it;
}

static size_t count_unmatched(const char *const *first, const char *const *second, size_t compared,
                              bool compat)
{
    pgy_iteration a = with_outputs("rA", first), b = with_outputs("rB", second);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_L2);
    size_t unmatched = 0;
    judging_listen(PGY_LOG_VERBOSE);
    pgy_verdicts *v = judging_compare(&o, &a, &b, compat, &unmatched);
    assert_int_equal(pgy_verdicts_count(v), compared);
    verdicts_destroy(v);
    pgy_tensor_map_destroy(a.outputs);
    pgy_tensor_map_destroy(b.outputs);
    return unmatched;
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_pairing__by_name_substring_and_place(void **state)
{
    (void)state;
    assert_int_equal(count_unmatched(NAMES("out", "b", "zz"), NAMES("OUT_1", "b", "c"), 3, false),
                     0);
    assert_logged("[W] Output names did not match exactly. Assuming rB output: OUT_1 corresponds "
                  "to output: out\n");
    assert_logged("[W] Output names did not match exactly. Assuming rB output: c corresponds to "
                  "output: zz\n");
    assert_logged("[I] PASSED | L2 Norm | All outputs matched | Outputs: ['out', 'b', 'zz']\n");
    judging_stop();
}

static void test_pairing__left_over_outputs_are_counted(void **state)
{
    (void)state;
    assert_int_equal(count_unmatched(NAMES("out", "OUT_1"), NAMES("OUT_1"), 1, false), 1);
    assert_logged("[V] Will not compare OUT_1 with out, since the former already has an exact "
                  "match: OUT_1\n");
    assert_logged("[E] Output: 'out' of rA was not compared");
    assert_int_equal(count_unmatched(NAMES("x"), NAMES("q", "r", "x"), 1, false), 2);
    assert_logged("[E] Output: 'q' of rB was not compared");
    assert_int_equal(count_unmatched(NAMES("x", "y"), NAMES("q"), 1, true), 1);
    assert_logged("[W] Output: 'y' of rA was not compared");
    judging_stop();
}

static void test_pairing__nothing_in_common_is_an_error(void **state)
{
    (void)state;
    pgy_iteration a = with_outputs("rA", NAMES("q")), b = judging_iteration("rB");
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    pgy_compare *c = NULL;
    pgy_verdicts *v = NULL;
    size_t unmatched = 0;
    GOOD(pgy_compare_create(&c, &o, &judging_error));
    GOOD(verdicts_create(&v, &judging_error));
    assert_int_equal(compare_iteration(v, &unmatched, c, &a, &b, false, &judging_error),
                     PGY_E_ARGUMENT);
    assert_string_equal(judging_error.text,
                        "All outputs were skipped, no common outputs found! Note: "
                        "rA outputs: ['q'] rB outputs: []");
    pgy_tensor_map_clear(a.outputs);
    GOOD(compare_iteration(v, &unmatched, c, &a, &b, false, &judging_error)); /* both empty */
    verdicts_destroy(v);
    pgy_compare_destroy(c);
    pgy_tensor_map_destroy(a.outputs);
    pgy_tensor_map_destroy(b.outputs);
}

static pgy_verdict with_shapes(pgy_compare_kind kind, bool no_shape_check, size_t rank,
                               const int64_t *first, size_t other_rank, const int64_t *second)
{
    float values[12] = {0};
    pgy_iteration a = judging_iteration("a"), b = judging_iteration("b");
    judging_add(&a, "o", PGY_F32, values, rank, first);
    judging_add(&b, "o", PGY_F32, values, other_rank, second);
    pgy_compare_options o = pgy_compare_options_default(kind);
    o.no_shape_check = no_shape_check;
    pgy_verdicts *list = judging_compare(&o, &a, &b, false, NULL);
    pgy_verdict v = *pgy_verdicts_at(list, 0);
    verdicts_destroy(list);
    pgy_tensor_map_destroy(a.outputs);
    pgy_tensor_map_destroy(b.outputs);
    return v;
}

static void test_pairing__shapes(void **state)
{
    (void)state;
    int64_t a[] = {2, 3}, b[] = {3, 2}, c[] = {6}, d[] = {5};
    judging_listen(PGY_LOG_INFO);
    pgy_verdict v = with_shapes(PGY_COMPARE_SIMPLE, false, 2, a, 2, b);
    assert_false(v.passed || v.has_metrics);
    assert_logged("[E]     FAILED | Output: `o` | Will not compare outputs of different shapes.\n"
                  "        Note: Output shapes are (2, 3) and (3, 2).\n");
    assert_true(with_shapes(PGY_COMPARE_SIMPLE, true, 2, a, 2, b).passed);
    assert_true(with_shapes(PGY_COMPARE_L2, true, 2, a, 1, c).passed);
    v = with_shapes(PGY_COMPARE_L2, true, 2, a, 1, d);
    assert_false(v.passed || v.has_metrics);
    assert_logged("Cannot compare 6 elements with 5");
    judging_stop();
}

static void test_pairing__fail_fast_stops(void **state)
{
    (void)state;
    float one[] = {1, 1};
    pgy_iteration a = with_outputs("a", NAMES("x", "y")), b = judging_iteration("b");
    judging_add(&b, "x", PGY_F32, one, 1, TWO);
    judging_add(&b, "y", PGY_F32, ZERO, 1, TWO);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o.fail_fast = true;
    size_t unmatched = 0;
    pgy_verdicts *v = judging_compare(&o, &a, &b, false, &unmatched);
    assert_int_equal(pgy_verdicts_count(v), 1);
    assert_int_equal(unmatched, 0);
    verdicts_destroy(v);
    pgy_tensor_map_destroy(a.outputs);
    pgy_tensor_map_destroy(b.outputs);
}

/* Statistics are logged for what was compared; what failed shows values at INFO. */
static void test_pairing__statistics_of_outputs(void **state)
{
    (void)state;
    float one[] = {1, 1};
    pgy_iteration a = with_outputs("rA", NAMES("x", "y")), b = judging_iteration("rB");
    judging_add(&b, "x", PGY_F32, one, 1, TWO);
    judging_add(&b, "y", PGY_F32, ZERO, 1, TWO);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_L2);
    pgy_verdicts *v = judging_compare(&o, &a, &b, false, NULL);
    judging_listen(PGY_LOG_INFO);
    GOOD(compare_log_outputs(&a, &b, (const pgy_verdicts *const[]){v}, 1, &judging_error));
    assert_logged("[I] rA: x | Stats: mean=0, std-dev=0, var=0, median=0, min=0 at (0,), max=0 at "
                  "(0,), avg-magnitude=0, "
                  "p90=0, p95=0, p99=0\n"
                  "[I]     ---- Values ----\n"
                  "            [0. 0.]\n"
                  "[I]     ---- Histogram ----\n"
                  "        Bin Range  |  Num Elems | Visualization\n"
                  "        (0  , 0.1) |          2 | ########################################\n");
    assert_logged("p99=0\n[I] rB: y | Stats: mean=0");
    judging_stop();
    verdicts_destroy(v);
    pgy_tensor_map_destroy(a.outputs);
    pgy_tensor_map_destroy(b.outputs);
}

static pgy_status say_yes(pgy_verdicts *out, const pgy_iteration *a, const pgy_iteration *b,
                          void *user, pgy_error *err)
{
    (void)b;
    if (!user) return PGY_OK;
    return pgy_verdicts_set(out, pgy_tensor_map_name(a->outputs, 0), *(bool *)user, err);
}

static void test_pairing__callbacks(void **state)
{
    (void)state;
    bool yes = true;
    size_t unmatched = 0;
    pgy_iteration a = with_outputs("a", NAMES("x")), b = with_outputs("b", NAMES("x"));
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_CALLBACK);
    o.callback = say_yes;
    o.user = &yes;
    pgy_verdicts *v = judging_compare(&o, &a, &b, false, &unmatched);
    assert_true(pgy_verdicts_count(v) == 1 && verdicts_all_passed(v) && unmatched == 0);
    verdicts_destroy(v);
    o.user = NULL;
    v = judging_compare(&o, &a, &b, false, &unmatched);
    assert_true(pgy_verdicts_count(v) == 0 && unmatched == 2);
    verdicts_destroy(v);
    pgy_tensor_map_destroy(a.outputs);
    pgy_tensor_map_destroy(b.outputs);
}

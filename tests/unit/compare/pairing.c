/* SPDX-License-Identifier: Apache-2.0 */
/* Which output meets which, what is left over, and the lines around it. */
#include "judging.h"

#include "base/alloc.h"
#include "compare/compare.h"

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

/* Random sets of names that contain each other, are equal but for case, or have nothing in common:
 * both orders pair the same outputs, each at most once, and leave the same number over. */
static uint32_t random_state;

static size_t random_below(size_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static pgy_iteration random_iteration(const char *runner)
{
    static const char *const PARTS[] = {"y", "Y", "out", "OUT", "_1", "10", "z", "", ":0", "head/"};
    pgy_iteration it = judging_iteration(runner);
    for (size_t n = random_below(7); n > 0; n--) {
        char name[64] = "";
        for (size_t parts = 1 + random_below(3); parts > 0; parts--)
            strcat(name, PARTS[random_below(sizeof PARTS / sizeof *PARTS)]);
        if (!pgy_tensor_map_find(it.outputs, name)) judging_add(&it, name, PGY_F32, ZERO, 1, TWO);
    }
    return it;
}

static void check_partners(const pgy_iteration *a, const pgy_iteration *b)
{
    size_t *there = NULL, *back = NULL, paired = 0, paired_back = 0;
    size_t count = pgy_tensor_map_count(a->outputs), others = pgy_tensor_map_count(b->outputs);
    GOOD(compare_find_partners(&there, a, b, false, &judging_error));
    GOOD(compare_find_partners(&back, b, a, false, &judging_error));
    for (size_t i = 0; i < count; i++) {
        const char *name = pgy_tensor_map_name(a->outputs, i);
        if (there[i] != NO_PARTNER) assert_int_equal(back[there[i]], i); /* and so used once */
        paired += there[i] != NO_PARTNER;
        if (!pgy_tensor_map_find(b->outputs, name)) continue;
        assert_int_not_equal(there[i], NO_PARTNER);
        assert_string_equal(pgy_tensor_map_name(b->outputs, there[i]), name);
    }
    for (size_t k = 0; k < others; k++) paired_back += back[k] != NO_PARTNER;
    assert_int_equal(paired, paired_back);
    mem_free(there);
    mem_free(back);
}

static void test_pairing__order_of_the_sides_changes_nothing(void **state)
{
    (void)state;
    for (random_state = 1; random_state < 3000; random_state++) {
        uint32_t seed = random_state;
        pgy_iteration a = random_iteration("rA"), b = random_iteration("rB");
        check_partners(&a, &b);
        pgy_tensor_map_destroy(a.outputs);
        pgy_tensor_map_destroy(b.outputs);
        random_state = seed;
    }
}

/* Tolerances may be given under either name, whichever side comes first. */
static void test_pairing__tolerances_by_either_name(void **state)
{
    (void)state;
    float one[] = {1, 1};
    pgy_iteration a = with_outputs("a", NAMES("y1")), b = judging_iteration("b");
    judging_add(&b, "y", PGY_F32, one, 1, TWO);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    pgy_number_entry wide[] = {{"", judging_real(0)}, {"y", judging_real(5)}};
    o.atol = (pgy_number_map){wide, 2};
    for (int swap = 0; swap < 2; swap++)
        for (int compat = 0; compat < 2; compat++) {
            pgy_verdicts *v = judging_compare(&o, swap ? &b : &a, swap ? &a : &b, compat, NULL);
            assert_int_equal(verdicts_all_passed(v), swap || !compat);
            verdicts_destroy(v);
        }
    pgy_tensor_map_destroy(a.outputs);
    pgy_tensor_map_destroy(b.outputs);
}

static void test_pairing__a_partner_is_used_once(void **state)
{
    (void)state;
    assert_int_equal(count_unmatched(NAMES("y1", "y2"), NAMES("y"), 1, false), 1);
    assert_logged("[E] Output: 'y2' of rA was not compared");
    assert_int_equal(count_unmatched(NAMES("y"), NAMES("y1", "y2"), 1, false), 1);
    assert_logged("[E] Output: 'y2' of rB was not compared");
    /* the original compares both with y, and says nothing */
    assert_int_equal(count_unmatched(NAMES("y1", "y2"), NAMES("y"), 2, true), 0);
    /* the most similar names first, wherever they stand */
    assert_int_equal(count_unmatched(NAMES("o_1", "o_10"), NAMES("o_10:0", "o_1:0"), 2, false), 0);
    assert_logged("Assuming rB output: o_1:0 corresponds to output: o_1\n");
    assert_logged("Assuming rB output: o_10:0 corresponds to output: o_10\n");
    judging_stop();
}

static void test_pairing__nothing_in_common_is_an_error(void **state)
{
    (void)state;
    pgy_iteration a = with_outputs("rA", NAMES("q")), b = judging_iteration("rB");
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    pgy_compare *c = NULL;
    pgy_verdicts *v = NULL;
    compare_gaps gaps = {0};
    GOOD(pgy_compare_create(&c, &o, &judging_error));
    GOOD(verdicts_create(&v, &judging_error));
    assert_int_equal(compare_iteration(v, &gaps, c, &a, &b, false, &judging_error), PGY_E_ARGUMENT);
    assert_string_equal(judging_error.text,
                        "All outputs were skipped, no common outputs found! Note: "
                        "rA outputs: ['q'] rB outputs: []");
    pgy_tensor_map_clear(a.outputs);
    GOOD(compare_iteration(v, &gaps, c, &a, &b, false, &judging_error)); /* both empty */
    compare_gaps_deinit(&gaps);
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
    GOOD(compare_log_outputs(&a, &b, (const pgy_verdicts *const[]){v}, 1, false, &judging_error));
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
    assert_true(pgy_verdicts_count(v) == 0 && unmatched == 1);
    verdicts_destroy(v);
    pgy_tensor_map_destroy(a.outputs);
    pgy_tensor_map_destroy(b.outputs);
}

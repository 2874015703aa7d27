/* SPDX-License-Identifier: Apache-2.0 */
/* The function simple: golden metrics of the original, its rules for NaN, infinities, empty arrays
 * and ties, exact integers, and the log. */
#include "judging.h"

#include <stdlib.h>

#include "base/alloc.h"

typedef struct golden {
    size_t n;
    double metrics[8]; /* max, mean, median, quantile 0.9: absolute, relative */
} golden;

static const golden GOLDEN[] = {
    {7,
     {0x1.fb00000000000p-12, 0x1.0bcf9e0000000p-8, 0x1.ad93240000000p-13, 0x1.75b05a0000000p-11,
      0x1.2406000000000p-13, 0x1.3f490c0000000p-13, 0x1.9ec0000000000p-12, 0x1.f52e560000000p-10}},
    {100,
     {0x1.054e000000000p-11, 0x1.1740dc0000000p-4, 0x1.f79b1a0000000p-13, 0x1.1b65660000000p-10,
      0x1.b040000000000p-13, 0x1.04166c0000000p-13, 0x1.e44ccc0000000p-12, 0x1.063a8e0000000p-11}},
    {129,
     {0x1.0560000000000p-11, 0x1.8df9f80000000p-4, 0x1.e2146e0000000p-13, 0x1.0a5ad00000000p-10,
      0x1.aac0000000000p-13, 0x1.01f8fe0000000p-13, 0x1.d650000000000p-12, 0x1.6022ee0000000p-11}},
    {5000,
     {0x1.0620000000000p-11, 0x1.4c91a20000000p+3, 0x1.065f7c0000000p-12, 0x1.64281e0000000p-9,
      0x1.09c0000000000p-12, 0x1.0513400000000p-13, 0x1.d580000000000p-12, 0x1.360d1a0000000p-11}},
    {8193,
     {0x1.0620000000000p-11, 0x1.bb6eca0000000p+3, 0x1.08748c0000000p-12, 0x1.dcf9000000000p-9,
      0x1.0c00000000000p-12, 0x1.0b66f20000000p-13, 0x1.d88ccc0000000p-12, 0x1.30b7b60000000p-11}},
    {20001,
     {0x1.0620000000000p-11, 0x1.61f4080000000p-1, 0x1.0822460000000p-12, 0x1.4b51360000000p-11,
      0x1.08e0000000000p-12, 0x1.04d6620000000p-13, 0x1.d8c0000000000p-12, 0x1.40550a0000000p-11}},
};

static pgy_compare_options with_stat(const pgy_stat_entry *stat)
{
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o.stats = stat;
    o.stat_count = 1;
    return o;
}

static void test_simple__metrics_are_those_of_the_original(void **state)
{
    (void)state;
    pgy_stat_entry stat = {"", PGY_STAT_QUANTILE};
    pgy_number_entry q = {"", {.real = 0.9}};
    pgy_compare_options o = with_stat(&stat);
    o.quantile = (pgy_number_map){&q, 1};
    for (size_t i = 0; i < sizeof GOLDEN / sizeof GOLDEN[0]; i++) {
        const golden *g = &GOLDEN[i];
        float *a = calloc(g->n, sizeof *a), *b = calloc(g->n, sizeof *b);
        judging_golden(a, b, g->n);
        pgy_verdict v = judging_one(&o, PGY_F32, a, PGY_F32, b, g->n, false);
        const double got[] = {v.max_absdiff,      v.max_reldiff,     v.mean_absdiff,
                              v.mean_reldiff,     v.median_absdiff,  v.median_reldiff,
                              v.quantile_absdiff, v.quantile_reldiff};
        for (int m = 0; m < 8; m++)
            if (got[m] != g->metrics[m])
                fail_msg("n=%zu metric %d: %a, not %a", g->n, m, got[m], g->metrics[m]);
        assert_true(v.has_metrics && v.has_quantile && !v.passed);
        free(a);
        free(b);
    }
}

/* The kernels for this processor and the portable ones give the same bits. */
static void test_simple__does_not_depend_on_processor(void **state)
{
    (void)state;
    size_t n = 20001;
    float *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    judging_golden(a, b, n);
    pgy_verdict v = judging_one(&o, PGY_F32, a, PGY_F32, b, n, false);
    assert_true(v.mean_absdiff == GOLDEN[5].metrics[2] && v.median_reldiff == GOLDEN[5].metrics[5]);
    double *c = calloc(n, sizeof *c), *d = calloc(n, sizeof *d);
    for (size_t i = 0; i < n; i++) {
        c[i] = (double)a[i];
        d[i] = (double)b[i];
    }
    v = judging_one(&o, PGY_F64, c, PGY_F64, d, n, false);
    assert_true(fabs(v.max_absdiff - GOLDEN[5].metrics[0]) < 1e-12);
    free(a);
    free(b);
    free(c);
    free(d);
}

static bool passes(pgy_error_stat stat, double atol, double rtol, pgy_dtype dtype, const void *a,
                   const void *b, size_t n, bool infinities, bool compat)
{
    pgy_stat_entry entry = {"", stat};
    pgy_number_entry at = {"", {.real = atol}}, rt = {"", {.real = rtol}};
    pgy_compare_options o = with_stat(&entry);
    o.atol = (pgy_number_map){&at, 1};
    o.rtol = (pgy_number_map){&rt, 1};
    o.infinities_compare_equal = infinities;
    return judging_one(&o, dtype, a, dtype, b, n, compat).passed;
}

/* float32(0.1) is above 0.1: a tie in float32 fails. */
static void test_simple__ties_are_judged_in_double(void **state)
{
    (void)state;
    float a[] = {0.1f}, b[] = {0}, c[] = {0.5f};
    for (int stat = PGY_STAT_ELEMWISE; stat <= PGY_STAT_QUANTILE; stat++) {
        assert_false(passes((pgy_error_stat)stat, 0.1, 0, PGY_F32, a, b, 1, false, false));
        assert_true(passes((pgy_error_stat)stat, 0.5, 0, PGY_F32, c, b, 1, false, false));
    }
}

/* One tolerance is enough, per element only with elemwise. */
static void test_simple__either_tolerance_is_enough(void **state)
{
    (void)state;
    float a[] = {100, 0}, b[] = {101, 1e-4f};
    assert_true(passes(PGY_STAT_ELEMWISE, 1e-3, 0.02, PGY_F32, a, b, 2, false, false));
    assert_false(passes(PGY_STAT_MAX, 1e-3, 0.02, PGY_F32, a, b, 2, false, false));
    assert_true(passes(PGY_STAT_MAX, 1, 0, PGY_F32, a, b, 2, false, false));
}

static void test_simple__nan_fails_and_infinities_by_option(void **state)
{
    (void)state;
    float nan[] = {1, NAN}, inf[] = {INFINITY, -INFINITY, 1}, minus[] = {-INFINITY, -INFINITY, 1};
    double inf64[] = {INFINITY, 2};
    for (int stat = PGY_STAT_ELEMWISE; stat <= PGY_STAT_QUANTILE; stat++) {
        pgy_error_stat s = (pgy_error_stat)stat;
        assert_false(passes(s, 1e9, 1e9, PGY_F32, nan, nan, 2, true, false));
        assert_false(passes(s, 1e9, 1e9, PGY_F32, inf, inf, 3, false, false));
        assert_true(passes(s, 0, 0, PGY_F32, inf, inf, 3, true, false));
        assert_true(passes(s, 0, 0, PGY_F64, inf64, inf64, 2, true, false));
    }
    assert_false(passes(PGY_STAT_ELEMWISE, 1e9, 1e9, PGY_F32, inf, minus, 3, true, false));
}

static void test_simple__empty_outputs(void **state)
{
    (void)state;
    assert_true(passes(PGY_STAT_ELEMWISE, 0, 0, PGY_F32, "", "", 0, false, false));
    assert_true(passes(PGY_STAT_MAX, 0, 0, PGY_F32, "", "", 0, false, false));
    assert_true(passes(PGY_STAT_MEDIAN, 0, 0, PGY_F32, "", "", 0, false, false));
    assert_false(passes(PGY_STAT_MEAN, 0, 0, PGY_F32, "", "", 0, false, false));
    assert_false(passes(PGY_STAT_QUANTILE, 0, 0, PGY_F32, "", "", 0, false, false));
}

static void test_simple__integers_do_not_wrap(void **state)
{
    (void)state;
    int32_t a[] = {INT32_MAX}, b[] = {-1};
    uint64_t u[] = {0}, w[] = {1};
    int8_t x[] = {-128}, y[] = {127};
    judging_listen(PGY_LOG_WARNING);
    assert_false(passes(PGY_STAT_ELEMWISE, 1, 1, PGY_I32, a, b, 1, false, false));
    assert_logged("the exact differences mean FAILED");
    assert_true(passes(PGY_STAT_ELEMWISE, 1, 1, PGY_I32, a, b, 1, false, true));
    assert_logged("The original's verdict counts");
    assert_true(passes(PGY_STAT_ELEMWISE, 1, 0, PGY_U64, u, w, 1, false, false));
    assert_false(passes(PGY_STAT_ELEMWISE, 1, 0, PGY_U64, u, w, 1, false, true));
    assert_true(passes(PGY_STAT_MAX, 255, 0, PGY_I8, x, y, 1, false, false));
    assert_false(passes(PGY_STAT_MAX, 254, 0, PGY_I8, x, y, 1, false, false));
    judging_stop();
}

/* Floats against integers that float64 does not hold, around 2^53 and 2^63. */
static void test_simple__floats_meet_integers_exactly(void **state)
{
    (void)state;
    static const int64_t WHOLE[] = {(INT64_C(1) << 53) + 1, -(INT64_C(1) << 53) - 1, INT64_MAX,
                                    INT64_MIN + 1, INT64_MAX - 1};
    static const double REAL[] = {0x1p53, -0x1p53, 0x1p63, -0x1p63, 0x1p63},
                        GAPS[] = {1, 1, 1, 1, 2};
    static const uint64_t LARGE[] = {(UINT64_C(1) << 53) + 1, UINT64_MAX, UINT64_MAX - 4};
    static const float SINGLE[] = {0x1p53f, 0x1p64f, 0x1p64f}, SINGLE_GAPS[] = {1, 1, 5};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    pgy_number_entry zero = {"", {.is_integer = true}};
    o.rtol = o.atol = (pgy_number_map){&zero, 1};
    for (size_t i = 0; i < 5; i++) {
        double whole = (double)WHOLE[i], differs[] = {NAN, INFINITY, 1.5};
        pgy_verdict v = judging_one(&o, PGY_I64, &WHOLE[i], PGY_F64, &REAL[i], 1, false);
        assert_true(!v.passed && v.max_absdiff == GAPS[i]);
        v = judging_one(&o, PGY_F64, &REAL[i], PGY_I64, &WHOLE[i], 1, false);
        assert_true(!v.passed && v.max_absdiff == GAPS[i]);
        assert_true(judging_one(&o, PGY_I64, &WHOLE[i], PGY_F64, &whole, 1, true).passed);
        for (size_t k = 0; k < 3; k++)
            assert_false(
                judging_one(&o, PGY_I64, &WHOLE[i], PGY_F64, &differs[k], 1, false).passed);
    }
    for (size_t i = 0; i < 3; i++) {
        pgy_verdict v = judging_one(&o, PGY_U64, &LARGE[i], PGY_F32, &SINGLE[i], 1, false);
        assert_true(!v.passed && v.max_absdiff == (double)SINGLE_GAPS[i]);
        assert_false(judging_one(&o, PGY_F32, &SINGLE[i], PGY_U64, &LARGE[i], 1, false).passed);
    }
    int64_t equal[] = {0, 7, -3, INT64_C(1) << 60};
    double same[] = {0, 7, -3, 0x1p60};
    float near_7 = 7.25f;
    assert_true(judging_one(&o, PGY_I64, equal, PGY_F64, same, 4, false).passed);
    assert_true(judging_one(&o, PGY_I64, equal + 1, PGY_F32, &near_7, 1, false).max_absdiff ==
                0.25);
    /* the original rounds, and says so */
    judging_listen(PGY_LOG_WARNING);
    assert_true(judging_one(&o, PGY_I64, WHOLE, PGY_F64, REAL, 1, true).passed);
    assert_logged("the exact differences mean FAILED");
    judging_stop();
}

/* Beyond 2^53 float64 sees no difference; the exact one is 1. */
static void test_simple__large_integers_are_exact(void **state)
{
    (void)state;
    int64_t a[] = {INT64_C(1) << 60}, b[] = {(INT64_C(1) << 60) + 1};
    uint64_t c[] = {(UINT64_C(1) << 60) + 1};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    pgy_number_entry zero = {"", {.is_integer = true}};
    o.rtol = o.atol = (pgy_number_map){&zero, 1};
    assert_false(judging_one(&o, PGY_I64, a, PGY_I64, b, 1, false).passed);
    assert_true(judging_one(&o, PGY_I64, a, PGY_I64, b, 1, false).max_absdiff == 1);
    assert_false(judging_one(&o, PGY_I64, a, PGY_U64, c, 1, false).passed);
    assert_true(judging_one(&o, PGY_I64, a, PGY_U64, c, 1, true).passed);
}

static void test_simple__bools_and_mixed_types(void **state)
{
    (void)state;
    uint8_t t[] = {1, 0}, f[] = {1, 1};
    int8_t i[] = {5, 0};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    assert_true(judging_one(&o, PGY_BOOL, t, PGY_BOOL, t, 2, false).passed);
    assert_false(judging_one(&o, PGY_BOOL, t, PGY_BOOL, f, 2, false).passed);
    pgy_verdict v = judging_one(&o, PGY_BOOL, t, PGY_I8, i, 1, false);
    assert_true(v.max_absdiff == 4 && v.max_reldiff == 0.8);
    o.infinities_compare_equal = true; /* an exception in the original */
    assert_true(judging_one(&o, PGY_BOOL, t, PGY_BOOL, t, 2, false).passed);
    float x[] = {1.5f};
    uint16_t half[] = {0x3e00}, brain[] = {0x3fc0};
    assert_true(judging_one(&o, PGY_F32, x, PGY_F16, half, 1, false).passed);
    assert_true(judging_one(&o, PGY_BF16, brain, PGY_F32, x, 1, false).passed);
}

static void test_simple__complex_by_magnitude_of_the_difference(void **state)
{
    (void)state;
    double a[] = {1, 2}, b[] = {4, 6};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    pgy_verdict v = judging_one(&o, PGY_C128, a, PGY_C128, b, 1, false);
    assert_true(v.max_absdiff == 5 && !v.passed);
    assert_true(judging_one(&o, PGY_C128, a, PGY_C128, a, 1, false).passed);
}

static void test_simple__strings_are_equal_or_not(void **state)
{
    (void)state;
    int64_t shape[] = {2};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    const char *texts[][2] = {{"cat", "dog"}, {"cat", "dot"}};
    for (int k = 0; k < 2; k++) {
        pgy_iteration a = judging_iteration("a"), b = judging_iteration("b");
        judging_add(&a, "o", PGY_STRING, (pgy_string[2]){{0}}, 1, shape);
        judging_add(&b, "o", PGY_STRING, (pgy_string[2]){{0}}, 1, shape);
        for (size_t i = 0; i < 2; i++) {
            GOOD(pgy_tensor_set_string(pgy_tensor_map_at(a.outputs, 0), i, texts[0][i], 3,
                                       &judging_error));
            GOOD(pgy_tensor_set_string(pgy_tensor_map_at(b.outputs, 0), i, texts[k][i], 3,
                                       &judging_error));
        }
        pgy_verdicts *v = judging_compare(&o, &a, &b, false, NULL);
        assert_int_equal(pgy_verdicts_at(v, 0)->passed, k == 0);
        assert_false(pgy_verdicts_at(v, 0)->has_metrics);
        verdicts_destroy(v);
        pgy_tensor_map_destroy(a.outputs);
        pgy_tensor_map_destroy(b.outputs);
    }
}

static void test_simple__log_is_that_of_the_original(void **state)
{
    (void)state;
    float a[] = {1, 2.5f, 3, 4}, b[] = {1, 2, 3, 9};
    int64_t shape[] = {2, 2};
    pgy_iteration x = judging_iteration("rA"), y = judging_iteration("rB");
    judging_add(&x, "o", PGY_F32, a, 2, shape);
    judging_add(&y, "o", PGY_F32, b, 2, shape);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    judging_listen(PGY_LOG_ULTRA_VERBOSE);
    verdicts_destroy(judging_compare(&o, &x, &y, false, NULL));
    assert_logged(
        "[I] simple | Comparing Output: 'o' (dtype=float32, shape=(2, 2)) with 'o' (dtype=float32, "
        "shape=(2, 2))\n"
        "[I]     Tolerance: [abs=1e-05, rel=1e-05] | Checking elemwise error\n"
        "[X]     Note: Comparing rA vs. rB\n"
        "[S]     rA                                  | Output: o (dtype=float32, shape=(2, 2)):\n"
        "            [[1.  2.5]\n"
        "             [3.  4. ]]\n");
    assert_logged(
        "[S]         Mismatched indices:\n"
        "            [[0 1]\n"
        "             [1 1]]\n"
        "[X]         rA                                  | Mismatched values:\n"
        "            [2.5 4. ]\n"
        "[X]         rB                                  | Mismatched values:\n"
        "            [2. 9.]\n"
        "[I]     Error Metrics: o\n"
        "[I]         Minimum Required Tolerance: elemwise error | [abs=5] OR [rel=0.55556] "
        "(requirements may be lower if both abs/rel tolerances are set)\n"
        "[I]         Absolute Difference | Stats: mean=1.375, std-dev=2.1028, var=4.4219, "
        "median=0.25, min=0 at (0, 0), max=5 at (1, 1), avg-magnitude=1.375, p90=3.65, p95=4.325, "
        "p99=4.865\n"
        "[I]             ---- Values ----\n"
        "                    [[0.  0.5]\n"
        "                     [0.  5. ]]\n"
        "[I]             ---- Histogram ----\n"
        "                Bin Range  |  Num Elems | Visualization\n"
        "                (0  , 0.5) |          2 | ########################################\n");
    assert_logged("[I]         Relative Difference | Stats: mean=0.20139, std-dev=0.22853, "
                  "var=0.052228, median=0.125, min=0 at (0, 0), max=0.55556 at (1, 1), "
                  "avg-magnitude=0.20139, p90=0.46389, p95=0.50972, p99=0.54639\n");
    assert_logged(
        "[E]     FAILED | Output: 'o' | Difference exceeds tolerance (rel=1e-05, abs=1e-05)\n"
        "[E] FAILED | simple | Mismatched outputs: ['o']\n");
    judging_stop();
    pgy_tensor_map_destroy(x.outputs);
    pgy_tensor_map_destroy(y.outputs);
}

static void test_simple__values_per_output(void **state)
{
    (void)state;
    float a[] = {1}, b[] = {1.5f};
    int64_t shape[] = {1};
    pgy_iteration x = judging_iteration("a"), y = judging_iteration("b");
    judging_add(&x, "p", PGY_F32, a, 1, shape);
    judging_add(&x, "q", PGY_F32, a, 1, shape);
    judging_add(&y, "p", PGY_F32, b, 1, shape);
    judging_add(&y, "q", PGY_F32, b, 1, shape);
    pgy_number_entry atol[] = {{"p", {.real = 1}}, {"zz", {.real = 2}}};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o.atol = (pgy_number_map){atol, 2};
    judging_listen(PGY_LOG_WARNING);
    pgy_verdicts *v = judging_compare(&o, &x, &y, false, NULL);
    assert_true(pgy_verdicts_at(v, 0)->passed);
    assert_false(pgy_verdicts_at(v, 1)->passed); /* no default given: 1e-5 */
    assert_logged("Extra items in the atol dictionary: {'zz'}.");
    verdicts_destroy(v);
    judging_stop();
    pgy_tensor_map_destroy(x.outputs);
    pgy_tensor_map_destroy(y.outputs);
}

static void test_simple__refuses_bad_options(void **state)
{
    (void)state;
    pgy_compare *c = NULL;
    pgy_number_entry q = {"o", {.real = 1.5}};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o.quantile = (pgy_number_map){&q, 1};
    assert_int_equal(pgy_compare_create(&c, &o, &judging_error), PGY_E_ARGUMENT);
    assert_non_null(strstr(judging_error.text, "1.5"));
    o = pgy_compare_options_default(PGY_COMPARE_CALLBACK);
    assert_int_equal(pgy_compare_create(&c, &o, &judging_error), PGY_E_ARGUMENT);
    pgy_error_stat stat;
    assert_int_equal(pgy_error_stat_from_name(&stat, "foo", &judging_error), PGY_E_ARGUMENT);
    assert_null(c);
}

/* The n-th allocation fails, for every n: an error or a verdict, never a crash. */
static void test_simple__out_of_memory(void **state)
{
    (void)state;
    float *a = calloc(9000, sizeof *a), *b = calloc(9000, sizeof *b);
    int64_t shape[] = {9000};
    judging_golden(a, b, 9000);
    if (!mem_fail_nth(0)) skip();
    pgy_iteration x = judging_iteration("a"), y = judging_iteration("b");
    judging_add(&x, "o", PGY_F32, a, 1, shape);
    judging_add(&y, "o", PGY_F32, b, 1, shape);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    bool all_passed_through = false;
    for (uint64_t n = 1; n < 1000 && !all_passed_through; n++) {
        pgy_compare *c = NULL;
        pgy_verdicts *v = NULL;
        compare_gaps gaps = {0};
        GOOD(verdicts_create(&v, &judging_error));
        mem_fail_nth(n);
        pgy_status st = pgy_compare_create(&c, &o, &judging_error);
        if (!st) st = compare_iteration(v, &gaps, c, &x, &y, false, &judging_error);
        if (!st)
            st = compare_log_outputs(&x, &y, (const pgy_verdicts *const[]){v}, 1, false,
                                     &judging_error);
        mem_fail_nth(0);
        assert_true(st == PGY_OK || st == PGY_E_MEMORY);
        all_passed_through = n > 300 && st == PGY_OK;
        if (!st) assert_false(pgy_verdicts_at(v, 0)->passed);
        verdicts_destroy(v);
        pgy_compare_destroy(c);
    }
    assert_true(all_passed_through);
    pgy_tensor_map_destroy(x.outputs);
    pgy_tensor_map_destroy(y.outputs);
    free(a);
    free(b);
}

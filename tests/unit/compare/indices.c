/* SPDX-License-Identifier: Apache-2.0 */
/* The function indices: places of values, tolerance, batches, floats and NaN. */
#include "judging.h"

static bool judge(pgy_dtype dtype, const void *a, const void *b, size_t n, int64_t tolerance)
{
    pgy_number_entry t = {"",
                          {.is_integer = true, .integer = tolerance, .real = (double)tolerance}};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_INDICES);
    o.threshold = (pgy_number_map){&t, 1};
    return judging_one(&o, dtype, a, dtype, b, n, false).passed;
}

static void test_indices__documented_examples(void **state)
{
    (void)state;
    int64_t a[] = {1, 0, 2, 3}, b[] = {0, 1, 2, 3}, c[] = {1, 0, 2, 7};
    int64_t d[] = {0, 1, 2, 3, 4, 5, 6}, e[] = {0, 3, 2, 1, 4, 5, 6};
    assert_false(judge(PGY_I64, a, b, 4, 0));
    assert_true(judge(PGY_I64, a, b, 4, 1));
    assert_true(judge(PGY_I64, c, b, 4, 1));
    assert_false(judge(PGY_I64, c, b, 4, 0));
    assert_false(judge(PGY_I64, d, e, 7, 1));
    assert_true(judge(PGY_I64, d, e, 7, 2));
    assert_true(judge(PGY_I64, a, c, 4, 100));
}

/* The first place counts where a value is there several times. */
static void test_indices__first_place_of_a_repeated_value(void **state)
{
    (void)state;
    int32_t a[] = {9, 8, 5}, b[] = {5, 9, 5};
    assert_false(judge(PGY_I32, a, b, 3, 1));
    int32_t c[] = {9, 5, 7}, d[] = {5, 9, 5};
    assert_true(judge(PGY_I32, c, d, 3, 1));
}

static void test_indices__floats_and_nan(void **state)
{
    (void)state;
    float a[] = {1.5f, NAN, 2}, b[] = {2, NAN, 1};
    judging_listen(PGY_LOG_INFO);
    assert_false(judge(PGY_F32, a, b, 3, 0));
    assert_logged("[E]     FAILED | Value: 1.5 not found in output\n"
                  "[E]     FAILED | Value: nan not found in output\n"
                  "[E]     FAILED | Difference exceeds index tolerance (0)\n"
                  "[E] FAILED | indices | Mismatched outputs: ['o']\n");
    judging_stop();
    assert_true(judge(PGY_F32, a, a, 1, 0));
}

static void test_indices__floats_meet_integers_exactly(void **state)
{
    (void)state;
    int64_t a[] = {(INT64_C(1) << 53) + 1, 4};
    uint64_t u[] = {UINT64_MAX, 4};
    double b[] = {0x1p53, 4}, c[] = {0x1p64, 4}, d[] = {4, 0x1p53}, e[] = {0x1p53 + 2, 4};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_INDICES);
    assert_false(judging_one(&o, PGY_I64, a, PGY_F64, b, 2, false).passed);
    assert_false(judging_one(&o, PGY_F64, b, PGY_I64, a, 2, false).passed);
    assert_false(judging_one(&o, PGY_F64, d, PGY_I64, a, 2, false).passed);
    judging_listen(PGY_LOG_ERROR);
    assert_false(judging_one(&o, PGY_U64, u, PGY_F64, c, 2, false).passed);
    assert_logged("Value: 18446744073709551615 not found");
    judging_stop();
    assert_true(judging_one(&o, PGY_I64, a, PGY_F64, b, 2, true).passed); /* as the original */
    a[0]++;
    assert_true(judging_one(&o, PGY_I64, a, PGY_F64, e, 2, false).passed);
}

static void test_indices__each_row_is_a_batch(void **state)
{
    (void)state;
    int64_t a[] = {1, 0, 2, 3, 0, 1, 2, 3}, b[] = {0, 1, 2, 3, 9, 8, 7, 6}, shape[] = {2, 4};
    pgy_iteration x = judging_iteration("a"), y = judging_iteration("b");
    judging_add(&x, "o", PGY_I64, a, 2, shape);
    judging_add(&y, "o", PGY_I64, b, 2, shape);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_INDICES);
    judging_listen(PGY_LOG_INFO);
    pgy_verdicts *v = judging_compare(&o, &x, &y, false, NULL);
    assert_false(pgy_verdicts_at(v, 0)->passed);
    assert_logged("[E]     FAILED | Difference exceeds index tolerance (0)\n"
                  "[E]     FAILED | Difference exceeds index tolerance (0)\n"
                  "[E]     FAILED | Value: 0 not found in output\n");
    verdicts_destroy(v);
    o.fail_fast = true;
    judging_listen(PGY_LOG_INFO);
    verdicts_destroy(judging_compare(&o, &x, &y, false, NULL));
    assert_not_logged("not found");
    assert_not_logged("Mismatched outputs");
    judging_stop();
    pgy_tensor_map_destroy(x.outputs);
    pgy_tensor_map_destroy(y.outputs);
}

static void test_indices__shapes_must_be_equal_and_not_scalar(void **state)
{
    (void)state;
    int64_t a[] = {0, 1}, two[] = {2}, one[] = {1};
    pgy_iteration x = judging_iteration("a"), y = judging_iteration("b");
    judging_add(&x, "p", PGY_I64, a, 1, two);
    judging_add(&x, "q", PGY_I64, a, 0, NULL);
    judging_add(&y, "p", PGY_I64, a, 1, one);
    judging_add(&y, "q", PGY_I64, a, 0, NULL);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_INDICES);
    pgy_verdicts *v = judging_compare(&o, &x, &y, false, NULL);
    assert_false(pgy_verdicts_at(v, 0)->passed || pgy_verdicts_at(v, 1)->passed);
    verdicts_destroy(v);
    pgy_tensor_map_destroy(x.outputs);
    pgy_tensor_map_destroy(y.outputs);
}

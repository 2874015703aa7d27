/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of one iteration. */
#include "judging.h"

static bool is_valid(pgy_dtype dtype, const void *data, size_t n, bool check_nan, bool check_inf)
{
    int64_t shape[] = {(int64_t)n};
    bool valid;
    pgy_iteration it = judging_iteration("rA");
    judging_add(&it, "o", dtype, data, 1, shape);
    GOOD(validate_iteration(&valid, &it, "", check_nan, check_inf, false, &judging_error));
    pgy_tensor_map_destroy(it.outputs);
    return valid;
}

static void test_validate__nan_and_infinity(void **state)
{
    (void)state;
    float good[] = {1, 2}, nan[] = {1, NAN}, inf[] = {-INFINITY, 2}, both[] = {NAN, INFINITY};
    int64_t integers[] = {1, INT64_MIN};
    double complex[] = {1, INFINITY, NAN, 2};
    uint16_t half[] = {0x7c00, 0};
    assert_true(is_valid(PGY_F32, good, 2, true, true));
    assert_false(is_valid(PGY_F32, nan, 2, true, false));
    assert_false(is_valid(PGY_F32, nan, 2, false, true)); /* a NaN is not finite */
    assert_true(is_valid(PGY_F32, inf, 2, true, false));
    assert_false(is_valid(PGY_F32, inf, 2, false, true));
    assert_false(is_valid(PGY_F32, both, 2, true, false));
    assert_true(is_valid(PGY_F32, both, 2, false, false));
    assert_true(is_valid(PGY_I64, integers, 2, true, true));
    assert_true(is_valid(PGY_F32, "", 0, true, true));
    assert_false(is_valid(PGY_F16, half, 2, false, true));
    assert_false(is_valid(PGY_C128, complex, 2, true, false));
    assert_true(is_valid(PGY_C128, complex, 1, true, false));
}

static void test_validate__log(void **state)
{
    (void)state;
    float a[] = {NAN, 1, INFINITY, 2};
    int64_t shape[] = {2, 2}, one[] = {1};
    bool valid;
    pgy_iteration it = judging_iteration("rA");
    judging_add(&it, "o", PGY_F32, a, 2, shape);
    judging_add(&it, "p", PGY_F32, a + 1, 1, one);
    judging_listen(PGY_LOG_EXTRA_VERBOSE);
    GOOD(validate_iteration(&valid, &it, "Iteration 3 | ", true, true, false, &judging_error));
    assert_logged("[I] rA                                  | Iteration 3 | Validating output: o "
                  "(check_inf=True, check_nan=True)\n"
                  "[I]     mean=nan, std-dev=nan, var=nan, median=nan, min=nan at (0, 0), max=nan "
                  "at (0, 0), avg-magnitude=nan, p90=nan, p95=nan, p99=nan\n");
    assert_logged("[E]     NaN Detected | One or more NaNs were encountered in this output\n");
    assert_logged(
        "[X]     Note: NaNs at:\n        [[ True False]\n         [False False]]\n"
        "[E]     Inf Detected | One or more non-finite values were encountered in this output\n");
    assert_logged("[X]     Note: non-finite values:\n        [nan inf]\n[E]     FAILED | Errors "
                  "detected in output: o\n");
    assert_logged("[I]     PASSED | Output: p is valid\n");
    judging_listen(PGY_LOG_INFO);
    GOOD(validate_iteration(&valid, &it, "", true, true, true, &judging_error));
    assert_false(valid);
    assert_not_logged("output: p");
    judging_stop();
    pgy_tensor_map_destroy(it.outputs);
}

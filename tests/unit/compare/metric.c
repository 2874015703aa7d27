/* SPDX-License-Identifier: Apache-2.0 */
/* L2, cosine similarity, PSNR, SNR and LPIPS: golden numbers of the original, special values, exact
 * integers, text. */
#include "judging.h"

#include <stdlib.h>

typedef struct golden {
    size_t n;
    double metrics[4]; /* l2, cosine similarity, psnr, snr */
} golden;

static const golden GOLDEN[] = {
    {7, {0.0006680988145799607, 1.0, 78.79512884719911, 77.8291304143279}},
    {129, {0.0030628565384994613, 0.9999999614527072, 83.38113890907788, 78.82101072697206}},
    {8193, {0.026322906054039447, 1.0, 82.7688771120863, 77.99361194000485}},
    {20001, {0.04107951188809205, 1.0, 82.77913584536627, 78.03219112107661}},
};
static const pgy_compare_kind KINDS[] = {PGY_COMPARE_L2, PGY_COMPARE_COSINE_SIMILARITY,
                                         PGY_COMPARE_PSNR, PGY_COMPARE_SNR};

static pgy_verdict judge(pgy_compare_kind kind, pgy_dtype dtype, const void *a, const void *b,
                         size_t n, bool compat)
{
    pgy_compare_options o = pgy_compare_options_default(kind);
    return judging_one(&o, dtype, a, dtype, b, n, compat);
}

static void test_metric__numbers_are_those_of_the_original(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof GOLDEN / sizeof GOLDEN[0]; i++) {
        size_t n = GOLDEN[i].n;
        float *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
        judging_golden(a, b, n);
        for (int k = 0; k < 4; k++) {
            double got = judge(KINDS[k], PGY_F32, a, b, n, false).metric,
                   want = GOLDEN[i].metrics[k];
            bool same = k < 2
                            ? got == want
                            : fabs(got - want) <= 2e-14 * fabs(want); /* log10 differs by library */
            if (!same) fail_msg("n=%zu metric %d: %.17g, not %.17g", n, k, got, want);
        }
        free(a);
        free(b);
    }
}

static void test_metric__documented_example(void **state)
{
    (void)state;
    float a[] = {1, 2.5f, 3, 4}, b[] = {1, 2, 3, 9}, c[] = {-1, -2}, d[] = {-1, -2.5f};
    const double want[] = {5.024937810560445, 0.9213900413631209, 4.0391859152920695,
                           1.062683365166064};
    for (int k = 0; k < 4; k++) {
        pgy_verdict v = judge(KINDS[k], PGY_F32, a, b, 4, false);
        assert_true(fabs(v.metric - want[k]) < 1e-14);
        assert_false(v.passed);
    }
    assert_true(fabs(judge(PGY_COMPARE_PSNR, PGY_F32, c, d, 2, false).metric - 9.0309) < 1e-4);
}

static void test_metric__special_values(void **state)
{
    (void)state;
    float zero[] = {0, 0}, one[] = {1, 1}, nan[] = {NAN, 1};
    assert_true(judge(PGY_COMPARE_COSINE_SIMILARITY, PGY_F32, zero, zero, 2, false).metric == 1);
    assert_true(judge(PGY_COMPARE_COSINE_SIMILARITY, PGY_F32, zero, one, 2, false).metric == 0);
    assert_true(judge(PGY_COMPARE_PSNR, PGY_F32, one, one, 2, false).metric == INFINITY);
    assert_true(judge(PGY_COMPARE_PSNR, PGY_F32, one, one, 2, false).passed);
    assert_true(judge(PGY_COMPARE_SNR, PGY_F32, zero, one, 2, false).metric == -INFINITY);
    for (int k = 0; k < 4; k++) {
        pgy_verdict v = judge(KINDS[k], PGY_F32, nan, nan, 2, false);
        assert_true(isnan(v.metric) && !v.passed);
        assert_int_equal(judge(KINDS[k], PGY_F32, "", "", 0, false).passed, k < 2);
    }
}

static void test_metric__integers_do_not_overflow(void **state)
{
    (void)state;
    int64_t a[] = {INT64_C(4000000000), 0}, b[] = {0, 0};
    int32_t c[] = {100000, 200000}, d[] = {0, 0}, e[] = {INT32_MAX}, f[] = {-1};
    uint64_t u[] = {0}, w[] = {1};
    assert_true(judge(PGY_COMPARE_L2, PGY_I32, c, d, 2, false).metric == 223606.79774997896);
    assert_true(judge(PGY_COMPARE_L2, PGY_I64, a, b, 2, false).metric == 4e9);
    assert_true(judge(PGY_COMPARE_L2, PGY_I32, e, f, 1, false).metric == 2147483648.0);
    assert_true(judge(PGY_COMPARE_L2, PGY_U64, u, w, 1, false).metric == 1);
    assert_true(judge(PGY_COMPARE_L2, PGY_U64, u, w, 1, true).metric == 18446744073709551616.0);
    int32_t big[] = {100000, 100000};
    assert_true(judge(PGY_COMPARE_COSINE_SIMILARITY, PGY_I32, big, big, 2, false).passed);
    judging_listen(PGY_LOG_WARNING);
    assert_false(judge(PGY_COMPARE_COSINE_SIMILARITY, PGY_I32, big, big, 2, true).passed);
    assert_logged("Integers overflow in the original's Cosine Similarity");
    judging_stop();
}

static void test_metric__floats_meet_integers_exactly(void **state)
{
    (void)state;
    int64_t a[] = {(INT64_C(1) << 53) + 1, 0};
    uint64_t u[] = {UINT64_MAX, 0};
    double b[] = {0x1p53, 0};
    float c[] = {0x1p64f, 0};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_L2);
    assert_true(judging_one(&o, PGY_I64, a, PGY_F64, b, 2, false).metric == 1);
    assert_true(judging_one(&o, PGY_F32, c, PGY_U64, u, 2, false).metric == 1);
    assert_true(judging_one(&o, PGY_I64, a, PGY_F64, b, 2, true).metric == 0);
    o = pgy_compare_options_default(PGY_COMPARE_SNR);
    assert_true(isfinite(judging_one(&o, PGY_I64, a, PGY_F64, b, 2, false).metric));
}

static void test_metric__bools_are_numbers(void **state)
{
    (void)state;
    uint8_t a[] = {1, 0, 1, 1}, b[] = {1, 1, 1, 0};
    assert_true(judge(PGY_COMPARE_L2, PGY_BOOL, a, b, 4, false).metric == sqrt(2));
    assert_true(judge(PGY_COMPARE_L2, PGY_BOOL, a, a, 4, false).passed);
}

static void test_metric__line_tells_value_and_threshold_apart(void **state)
{
    (void)state;
    float a[] = {3.00001f}, b[] = {0}, c[] = {1};
    pgy_number_entry threshold = {"", {.is_integer = true, .integer = 3, .real = 3}};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_L2);
    o.threshold = (pgy_number_map){&threshold, 1};
    judging_listen(PGY_LOG_INFO);
    assert_false(judging_one(&o, PGY_F32, a, PGY_F32, b, 1, false).passed);
    assert_logged("[E]     L2 Norm: 3.00001 (tolerance: 3) | FAILED\n");
    assert_true(judging_one(&o, PGY_F32, c, PGY_F32, b, 1, false).passed);
    assert_logged("[I]     L2 Norm: 1 (tolerance: 3) | PASSED\n[I] PASSED | L2 Norm | All outputs "
                  "matched | Outputs: ['o']\n");
    assert_true(judge(PGY_COMPARE_PSNR, PGY_F32, c, c, 1, false).passed);
    assert_logged("PSNR: inf dB (min required: 30 dB) | PASSED");
    judging_stop();
}

static void test_metric__lpips_is_not_verified(void **state)
{
    (void)state;
    float a[] = {1};
    judging_listen(PGY_LOG_WARNING);
    pgy_verdict v = judge(PGY_COMPARE_LPIPS, PGY_F32, a, a, 1, false);
    assert_false(v.passed || v.verified);
    assert_logged("[E]     FAILED | Output: 'o' | LPIPS needs torch and the lpips package and was "
                  "not verified");
    v = judge(PGY_COMPARE_LPIPS, PGY_F32, a, a, 1, true);
    assert_true(v.passed && !v.verified);
    assert_logged("NOT verified");
    judging_stop();
}

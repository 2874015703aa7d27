/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of known distributions, the divergence against its definition, and calibration caches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "engine/precision/calibrate.h"

/* ---- Histograms ----------------------------------------------------------------------------- */

static void test_calibrate__counts_magnitudes(void **state)
{
    (void)state;
    histogram h = {0};
    const float x[] = {0, -2048, 1, -1.5f, 2047.5f};
    histogram_add(&h, x, 5);
    assert_true(h.width == 1 && h.max == 2048 && h.total == 5);
    assert_int_equal(h.counts[0], 1);
    assert_int_equal(h.counts[1], 2);
    assert_int_equal(h.counts[2047], 2);
}

static void test_calibrate__larger_numbers_join_bins(void **state)
{
    (void)state;
    histogram h = {0};
    const float small[] = {0.5f, 1.5f, 2.5f, 2048}, large[] = {5000};
    histogram_add(&h, small, 4);
    histogram_add(&h, large, 1);
    assert_true(h.width == 4 && h.max == 5000);
    assert_int_equal(h.counts[0], 3);
    assert_int_equal(h.counts[511], 1);
    assert_int_equal(h.counts[1250], 1);
    assert_int_equal(h.total, 5);
}

static void test_calibrate__zeros_have_no_range(void **state)
{
    (void)state;
    histogram h = {0};
    const float x[3] = {0};
    histogram_add(&h, x, 3);
    assert_true(calibrator_entropy(&h) == 0 && calibrator_entropy_2(&h) == 0);
    assert_true(calibrator_min_max(&h) == 0 && calibrator_legacy(&h, 0.5, 0.5) == 0);
}

static void test_calibrate__infinities_are_left_out(void **state)
{
    (void)state;
    histogram h = {0};
    const float x[] = {INFINITY, NAN, -3, 1};
    histogram_add(&h, x, 4);
    assert_int_equal(h.strange, 2);
    assert_int_equal(h.total, 2);
    assert_true(calibrator_min_max(&h) == 3);
}

/* ---- Ranges --------------------------------------------------------------------------------- */

static uint64_t seed = 1;
static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* As it is defined: P is what is clipped, Q what is rounded to 128 steps and spread over the bins
 * that are not empty. */
static double slow_divergence(const uint64_t *counts, size_t n)
{
    static double p[HISTOGRAM_BINS], q[HISTOGRAM_BINS];
    double all = 0, outside = 0, p_sum = 0, q_sum = 0, sum = 0;
    for (size_t i = n; i < HISTOGRAM_BINS; i++) outside += (double)counts[i];
    for (size_t i = 0; i < HISTOGRAM_BINS; i++) all += (double)counts[i];
    if (outside > 0.1 * all) return INFINITY;
    for (size_t i = 0; i < n; i++) p[i] = (double)counts[i];
    p[n - 1] += outside;
    for (size_t s = 0; s < 128; s++) {
        double total = 0, used = 0;
        for (size_t i = s * n / 128; i < (s + 1) * n / 128; i++) {
            total += (double)counts[i];
            used += counts[i] > 0;
        }
        for (size_t i = s * n / 128; i < (s + 1) * n / 128; i++)
            q[i] = counts[i] ? total / used : 0;
    }
    for (size_t i = 0; i < n; i++) p_sum += p[i], q_sum += q[i];
    for (size_t i = 0; i < n; i++) {
        if (p[i] <= 0) continue;
        if (q[i] <= 0) return INFINITY;
        sum += p[i] / p_sum * log(p[i] / p_sum / (q[i] / q_sum));
    }
    return sum;
}

static double slow_entropy(const histogram *h)
{
    uint64_t counts[HISTOGRAM_BINS];
    memcpy(counts, h->counts, sizeof counts);
    counts[0] = 0;
    double least = INFINITY;
    size_t best = HISTOGRAM_BINS;
    for (size_t n = HISTOGRAM_BINS; n >= 128; n--) {
        const double d = slow_divergence(counts, n);
        if (d < least - 1e-9) {
            least = d;
            best = n;
        }
    }
    return fmin(((double)best + 0.5) * h->width, h->max);
}

static void add_normal(histogram *h, size_t count, double sigma)
{
    for (size_t i = 0; i < count; i++) {
        const float x = (float)(sigma * normal());
        histogram_add(h, &x, 1);
    }
}

static void test_calibrate__entropy_is_as_defined(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        histogram h = {0};
        const float first = 4;
        histogram_add(&h, &first, 1);
        add_normal(&h, 20000, 0.5 + 0.4 * k);
        const float far = (float)(5 + 7 * k);
        histogram_add(&h, &far, 1);
        assert_true(fabs(calibrator_entropy(&h) - slow_entropy(&h)) < 1e-9);
    }
}

static void test_calibrate__entropy_clips_outliers(void **state)
{
    (void)state;
    histogram h = {0};
    const float far = 40;
    histogram_add(&h, &far, 1);
    add_normal(&h, 100000, 1);
    const double range = calibrator_entropy_2(&h);
    assert_true(range > 2 && range < 8);
    assert_true(calibrator_min_max(&h) == 40);
}

static void test_calibrate__entropy_keeps_uniform_numbers(void **state)
{
    (void)state;
    histogram h = {0};
    for (size_t i = 0; i < 200000; i++) {
        const float x = (float)(2 * uniform() - 1);
        histogram_add(&h, &x, 1);
    }
    assert_true(calibrator_entropy_2(&h) > 0.95);
}

/* As in images of few grey levels: every bin that is used has a step of its own. */
static void test_calibrate__entropy_keeps_few_levels(void **state)
{
    (void)state;
    histogram h = {0};
    for (int i = 0; i < 1000; i++) {
        const float x = (float)(i % 17) / 16;
        histogram_add(&h, &x, 1);
    }
    assert_true(calibrator_entropy(&h) == 1 && calibrator_entropy_2(&h) == 1);
}

/* All in bins of their own: clipping most of them would look like no loss. */
static void test_calibrate__entropy_of_few_numbers(void **state)
{
    (void)state;
    histogram h = {0};
    const float x[] = {1, 2.01f, 2.011f, 3.3f, 4.7f, 5.1f, 6, 7.5f};
    histogram_add(&h, x, 8);
    assert_true(calibrator_entropy(&h) == 7.5 && calibrator_entropy_2(&h) == 7.5);
}

/* Half of what a Relu gives is zero, which says nothing about the range. */
static void test_calibrate__entropy_looks_away_from_zeros(void **state)
{
    (void)state;
    histogram h = {0}, without = {0};
    const float zero = 0;
    for (size_t i = 0; i < 50000; i++) {
        const float x = (float)fabs(normal());
        histogram_add(&h, &x, 1);
        histogram_add(&h, &zero, 1);
        histogram_add(&without, &x, 1);
    }
    assert_true(calibrator_entropy_2(&h) == calibrator_entropy_2(&without));
    assert_true(calibrator_entropy_2(&h) > 2);
    assert_true(calibrator_entropy(&h) == calibrator_entropy(&without));
    assert_true(calibrator_entropy(&h) > 2);
}

static void test_calibrate__legacy_quantile(void **state)
{
    (void)state;
    histogram h = {0};
    for (int i = 1; i <= 1000; i++) {
        const float x = (float)i;
        histogram_add(&h, &x, 1);
    }
    /* Bins are 1/2 to 1 wide here. */
    assert_true(fabs(calibrator_legacy(&h, 0.9, 1) - 900) <= 2);
    assert_true(calibrator_legacy(&h, 1, 1) == 1000);
}

/* An exponential tail ends where one number is expected; what lies far beyond is left out. */
static void test_calibrate__legacy_regression(void **state)
{
    (void)state;
    histogram h = {.width = 1, .max = 2047};
    for (size_t i = 0; i < 1000; i++) {
        h.counts[i] = (uint64_t)(exp(10 - (double)i / 100) + 0.5);
        h.total += h.counts[i];
    }
    h.counts[2046] = 1;
    h.total++;
    const double range = calibrator_legacy(&h, 0.5, 0.1);
    assert_true(range > 950 && range < 1300);
}

static void test_calibrate__kinds_differ(void **state)
{
    (void)state;
    histogram h = {0};
    add_normal(&h, 10000, 1);
    pgy_calibration c = {
        .size = sizeof c, .kind = PGY_CALIBRATOR_LEGACY, .quantile = 0.5, .regression_cutoff = 1};
    assert_true(fabs(calibrator_grid(&c, &h).scale * 127 - 0.6745) < 0.05);
    c.kind = PGY_CALIBRATOR_MIN_MAX;
    assert_true(calibrator_grid(&c, &h).scale * 127 == h.max);
    c.kind = PGY_CALIBRATOR_ENTROPY;
    assert_true(calibrator_grid(&c, &h).scale * 127 == calibrator_entropy(&h));
}

/* What a grid does to numbers that are known. */
static void test_calibrate__errors_are_measured(void **state)
{
    (void)state;
    histogram h = {0};
    add_normal(&h, 100000, 1);
    const grid wide = grid_symmetric(127), narrow = grid_symmetric(1e-3);
    /* Steps of 1: the error of rounding is 1/12 at the least. Everything clipped: all is lost. */
    assert_true(fabs(calibrator_error(&h, &wide, false) / 1e5 - 1.0 / 12) < 0.02);
    assert_true(fabs(calibrator_snr_db(&h, &narrow, false)) < 0.1);
    const float zeros[1000] = {0};
    const double before = calibrator_error(&h, &wide, false);
    histogram_add(&h, zeros, 1000);
    assert_true(calibrator_error(&h, &wide, false) == before); /* zeros are exact */
}

/* An outlier is clipped, but never for more than it costs; no other rule does better. */
static void test_calibrate__least_error(void **state)
{
    (void)state;
    const pgy_calibrator others[] = {PGY_CALIBRATOR_ENTROPY_2, PGY_CALIBRATOR_ENTROPY,
                                     PGY_CALIBRATOR_MIN_MAX};
    for (int k = 0; k < 3; k++) {
        histogram h = {0};
        const float outlier = k == 1 ? 30 : 4;
        histogram_add(&h, &outlier, 1);
        add_normal(&h, 100000, 1);
        if (k == 2) { /* as HardSwish gives: a long side and a short one */
            h = (histogram){0};
            for (int i = 0; i < 100000; i++) {
                const double x = 3 * normal();
                const float y = (float)(x * fmax(0, fmin(6, x + 3)) / 6);
                histogram_add(&h, &y, 1);
            }
        }
        pgy_calibration c = {.size = sizeof c, .kind = PGY_CALIBRATOR_LEAST_ERROR};
        const grid best = calibrator_grid(&c, &h);
        const double error = calibrator_error(&h, &best, false);
        for (size_t i = 0; i < 3; i++) {
            c.kind = others[i];
            const grid other = calibrator_grid(&c, &h);
            assert_true(error <= calibrator_error(&h, &other, false));
        }
        assert_int_equal(best.zero, 0);
        if (k == 1) assert_true(best.scale * 127 < 25);
        c = (pgy_calibration){
            .size = sizeof c, .kind = PGY_CALIBRATOR_LEAST_ERROR, .asymmetric = true};
        const grid asymmetric = calibrator_grid(&c, &h);
        if (k == 2) assert_true(calibrator_error(&h, &asymmetric, true) < error / 2);
        assert_true(fabs(grid_low(&asymmetric, true)) <= fabs(h.low) + asymmetric.scale);
        assert_true(k != 2 || asymmetric.zero < -100);
    }
}

static void test_calibrate__zero_points_are_kept(void **state)
{
    (void)state;
    scale_table t = {0};
    assert_true(scales_set(&t, "x", 0.5f) && scales_set_zero(&t, "x", -128) &&
                scales_set_zero(&t, "y", 5));
    assert_int_equal(scales_find_zero(&t, "x"), -128);
    assert_int_equal(scales_find_zero(&t, "y"), 5);
    assert_int_equal(scales_find_zero(&t, "z"), 0);
    scales_deinit(&t);
}

/* ---- Caches --------------------------------------------------------------------------------- */

static pgy_status parse(scale_table *out, pgy_calibrator *kind, const char *text, pgy_error *err)
{
    return calibration_cache_parse(out, kind, text, strlen(text), "c.cache", err);
}

/* The form that TensorRT writes. */
static void test_calibrate__reads_caches_of_tensorrt(void **state)
{
    (void)state;
    scale_table t = {0};
    pgy_calibrator kind = PGY_CALIBRATOR_LEGACY;
    assert_int_equal(parse(&t, &kind,
                           "TRT-8601-EntropyCalibration2\nx: 3c010a14\n"
                           "(Unnamed Layer* 1) [Convolution]_output: 3F800000\na: b: 00000000\n",
                           NULL),
                     PGY_OK);
    assert_int_equal(kind, PGY_CALIBRATOR_ENTROPY_2);
    assert_int_equal(t.entries.count, 3);
    assert_true(fabs((double)*scales_find(&t, "x") - 0.00787593) < 1e-8);
    assert_true(*scales_find(&t, "(Unnamed Layer* 1) [Convolution]_output") == 1);
    assert_true(*scales_find(&t, "a: b") == 0);
    assert_null(scales_find(&t, "a"));
    scales_deinit(&t);
}

static void expect_wrong(const char *text, const char *message)
{
    scale_table t = {0};
    pgy_calibrator kind = PGY_CALIBRATOR_ENTROPY_2;
    pgy_error err = {0};
    assert_int_equal(parse(&t, &kind, text, &err), PGY_E_FORMAT);
    if (!strstr(err.text, message)) fail_msg("'%s' lacks '%s'", err.text, message);
    scales_deinit(&t);
}

static void test_calibrate__damage_is_named(void **state)
{
    (void)state;
    expect_wrong("x: 3c010a14\n", "'c.cache', line 1: expected a header");
    expect_wrong("TRT-abc-EntropyCalibration2\n", "line 1: expected a header");
    expect_wrong("TRT-8601-EntropyCalibration2\nx: 3c010a1\n",
                 "line 2: expected 'TENSOR: 8 hex digits'");
    expect_wrong("TRT-8601-EntropyCalibration2\nx: 3c010a14\ny 3c010a14\n",
                 "line 3: expected 'TENSOR");
    expect_wrong("TRT-8601-EntropyCalibration2\nx: 3c010g14\n", "'x: 3c010g14'");
    expect_wrong("TRT-8601-EntropyCalibration2\nx: 7f800000\n",
                 "line 2: the scale is negative or not finite");
    expect_wrong("TRT-8601-EntropyCalibration2\nx: bf800000\n",
                 "line 2: the scale is negative or not finite");
}

static void test_calibrate__caches_come_back(void **state)
{
    (void)state;
    char *path = NULL;
    scale_table made = {0}, read = {0};
    str text = {0};
    pgy_calibrator kind = PGY_CALIBRATOR_ENTROPY_2;
    bool found = true;
    assert_int_equal(file_temp_path(&path, ".cache", NULL), PGY_OK);
    assert_int_equal(calibration_cache_load(&read, &kind, &found, path, NULL), PGY_OK);
    assert_false(found); /* it is empty */
    assert_true(scales_set(&made, "layer/1:0", 0.0123f) && scales_set(&made, "y", 1));
    assert_true(scales_set(&made, "y", 2));
    const pgy_calibration how = {.size = sizeof how, .kind = PGY_CALIBRATOR_MIN_MAX};
    assert_int_equal(calibration_cache_save(path, &made, &how, NULL), PGY_OK);
    assert_int_equal(file_read(&text, path, NULL), PGY_OK);
    assert_non_null(
        strstr(str_text(&text), "-MinMaxCalibration\nlayer/1:0: 3c4985f0\ny: 40000000\n"));
    assert_int_equal(calibration_cache_load(&read, &kind, &found, path, NULL), PGY_OK);
    assert_true(found);
    assert_int_equal(kind, PGY_CALIBRATOR_MIN_MAX);
    assert_true(*scales_find(&read, "layer/1:0") == 0.0123f && *scales_find(&read, "y") == 2);
    str_deinit(&text);
    scales_deinit(&made);
    scales_deinit(&read);
    file_temp_release(path);
}

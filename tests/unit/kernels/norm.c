/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation kernels against the reference definitions. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 2e-6;

static void layer(const char *op, const char *shape, int64_t axis, const char *row, bool bias,
                  size_t outputs)
{
    reference_case c;
    reference_start(&c, "", op, op[0] == 'R' ? 23 : op[0] == 'L' ? 17 : 1);
    reference_attr_int(&c, "axis", axis);
    reference_input(&c, PGY_F32, shape);
    reference_input(&c, PGY_F32, row);
    if (bias) reference_input(&c, PGY_F32, row);
    assert_true(reference_run(&c, outputs, TOLERANCE) > 0);
}

static void test_norm__layers(void **state)
{
    (void)state;
    for (size_t outputs = 1; outputs <= 3; outputs++)
        for (int bias = 0; bias < 2; bias++) {
            layer("LayerNormalization", "2 3 1", -1, "1", bias, outputs);
            layer("LayerNormalization", "2 3 65", -1, "65", bias, outputs);
            layer("LayerNormalization", "2 9 768", 2, "768", bias, outputs);
            layer("LayerNormalization", "2 9 33", 1, "9 33", bias, outputs);
        }
    layer("RMSNormalization", "2 3 65", -1, "65", false, 1);
    layer("RMSNormalization", "4 300", -1, "300", false, 1);
    layer("SimplifiedLayerNormalization", "2 3 65", -1, "65", false, 1);
    layer("SimplifiedLayerNormalization", "2 3 65", -1, "65", false, 2);
}

static void test_norm__far_from_zero(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "LayerNormalization", 17);
    float *x = reference_input(&c, PGY_F32, "3 1000");
    for (size_t i = 0; i < 3000; i++) x[i] += 1000;
    reference_input(&c, PGY_F32, "1000");
    assert_true(reference_run(&c, 1, 1e-4) > 0);
}

static void test_norm__skips(void **state)
{
    (void)state;
    for (int simple = 0; simple < 2; simple++)
        for (int form = 0; form < 8; form++) {
            reference_case c;
            reference_start(&c, "com.microsoft",
                            simple ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization",
                            1);
            reference_input(&c, PGY_F32, "2 5 70");
            reference_input(&c, PGY_F32, form & 1 ? "5 70" : "2 5 70");
            reference_input(&c, PGY_F32, "70");
            if (!simple) reference_input(&c, PGY_F32, form & 2 ? "70" : NULL);
            reference_input(&c, PGY_F32, form & 4 ? "70" : NULL);
            assert_true(reference_run(&c, 1, TOLERANCE) > 0);
        }
    reference_case c;
    reference_start(&c, "com.microsoft", "SkipLayerNormalization", 1);
    for (int i = 0; i < 5; i++) reference_input(&c, PGY_F32, i < 2 ? "2 5 70" : "70");
    assert_true(reference_run(&c, 4, TOLERANCE) > 0);
}

static void test_norm__planes(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"1 6 1", "2 6 3 5", "3 6 40 17"};
    for (int i = 0; i < 3; i++) {
        reference_case c;
        reference_start(&c, "", "InstanceNormalization", 6);
        reference_input(&c, PGY_F32, SHAPES[i]);
        for (int k = 0; k < 2; k++) reference_input(&c, PGY_F32, "6");
        assert_true(reference_run(&c, 1, 4e-6) > 0);
        for (int64_t groups = 1; groups <= 6; groups++) {
            if (6 % groups) continue;
            reference_start(&c, "", "GroupNormalization", 21);
            reference_attr_int(&c, "num_groups", groups);
            reference_input(&c, PGY_F32, SHAPES[i]);
            for (int k = 0; k < 2; k++) reference_input(&c, PGY_F32, "6");
            assert_true(reference_run(&c, 1, 4e-6) > 0);
        }
        reference_start(&c, "", "BatchNormalization", 15);
        reference_input(&c, PGY_F32, SHAPES[i]);
        for (int k = 0; k < 3; k++) reference_input(&c, PGY_F32, "6");
        float *variance = reference_input(&c, PGY_F32, "6");
        for (int k = 0; k < 6; k++) variance[k] = fabsf(variance[k]) + 0.1f;
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
        reference_start(&c, "", "LpNormalization", 22);
        reference_input(&c, PGY_F32, SHAPES[i]);
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
}

static void test_norm__mean_and_variance_over_any_axes(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        size_t count;
        int64_t axes[4];
    } CASES[] = {
        {"2 5 7 9", 0, {0}},          {"1 3 20 31", 0, {0}},      {"2 5 7 9", 2, {2, 3}},
        {"2 5 7 9", 2, {-1, 1}},      {"2 6 5 70", 3, {0, 1, 2}}, {"3 4 5 130", 2, {1, 2}},
        {"2 5 7 9", 4, {3, 2, 1, 0}}, {"1000 3", 1, {0}},         {"40 1 1", 2, {1, 2}},
        {"2 3 4 1", 2, {0, 3}},       {"3 1 700", 2, {-1, -2}},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        reference_case c;
        reference_start(&c, "", "MeanVarianceNormalization", 13);
        if (CASES[i].count) reference_attr_ints(&c, "axes", CASES[i].axes, CASES[i].count);
        reference_input(&c, PGY_F32, CASES[i].shape);
        assert_true(reference_run(&c, 1, 4 * TOLERANCE) > 0);
    }
}

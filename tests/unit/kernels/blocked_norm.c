/* SPDX-License-Identifier: Apache-2.0 */
/* Group and instance normalisation of blocked tensors against the reference in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/kernel_reference.h"

static const double TOLERANCE = 2e-6;
/* Channels that fill their blocks and others, one chunk of pixels and several. */
static const int64_t SHAPES[][4] = {
    {1, 32, 5, 7}, {2, 24, 3, 3}, {1, 6, 1, 1}, {2, 40, 9, 15}, {1, 12, 20, 30}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static void start(kernel_case *c, const char *domain, const char *op, int64_t opset,
                  const int64_t *shape, float offset)
{
    case_start(c, domain, op, opset);
    case_input(c, false, 4, shape);
    for (size_t i = 0; i < case_count(&c->problem.inputs[0]); i++) c->inputs[0][i] += offset;
    for (int k = 0; k < 2; k++) case_input(c, true, 1, &shape[1]);
}

static void finish(kernel_case *c, double tolerance)
{
    case_output_of_reference(c);
    assert_true(case_run_layout(c, KERNEL_BLOCKED_8, tolerance) > 0);
    case_run_layout(c, KERNEL_BLOCKED_16, tolerance);
    case_end(c);
}

static void test_blocked_norm__groups(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT; i++)
        for (int64_t groups = 1; groups <= SHAPES[i][1]; groups++) {
            kernel_case c;
            if (SHAPES[i][1] % groups) continue;
            start(&c, "", "GroupNormalization", 21, SHAPES[i], 0);
            case_attr_int(&c, "num_groups", groups);
            finish(&c, TOLERANCE);
        }
}

static void test_blocked_norm__channels(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        kernel_case c;
        start(&c, "", "InstanceNormalization", 6, SHAPES[i], 0);
        finish(&c, TOLERANCE);
    }
}

static void test_blocked_norm__silu(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * SHAPE_COUNT; i++) {
        kernel_case c;
        start(&c, "com.microsoft", "GroupNorm", 1, SHAPES[i / 2], 0);
        case_attr_int(&c, "groups", 2);
        case_attr_int(&c, "channels_last", 0);
        case_attr_int(&c, "activation", i % 2);
        finish(&c, TOLERANCE);
    }
}

/* The variance is that of differences from the mean, however large that is. */
static void test_blocked_norm__far_from_zero(void **state)
{
    (void)state;
    kernel_case c;
    start(&c, "", "GroupNormalization", 21, SHAPES[4], 1000);
    case_attr_int(&c, "num_groups", 3);
    finish(&c, 1e-4);
}

/* The linear kernel's SiLU. */
static void test_blocked_norm__linear_silu(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * SHAPE_COUNT; i++) {
        kernel_case c;
        start(&c, "com.microsoft", "GroupNorm", 1, SHAPES[i / 2], 0);
        case_attr_int(&c, "groups", 2);
        case_attr_int(&c, "channels_last", 0);
        case_attr_int(&c, "activation", i % 2);
        case_output_of_reference(&c);
        assert_true(case_run(&c, TOLERANCE) > 0);
        case_end(&c);
    }
}

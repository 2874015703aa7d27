/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax kernels against the reference definitions. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 1e-6;
static const char *const OPS[] = {"Softmax", "LogSoftmax"};

static void test_softmax__any_axis(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"1 1 1", "3 5 17", "2 129 260", "2 3 1000", "4 1 600"};
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        for (int axis = -3; axis < 3; axis++)
            for (int op = 0; op < 2; op++) {
                reference_case c;
                reference_start(&c, "", OPS[op], 13);
                reference_attr_int(&c, "axis", axis);
                reference_input(&c, PGY_F32, SHAPES[i]);
                assert_true(reference_run(&c, 1, TOLERANCE) > 0);
            }
}

static void test_softmax__hardmax(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"1 1 1", "3 5 17", "2 129 300", "4 1 600"};
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        for (int axis = -3; axis < 3; axis++)
            for (int64_t opset = 11; opset < 14; opset += 2) {
                reference_case c;
                reference_start(&c, "", "Hardmax", opset);
                reference_attr_int(&c, "axis", axis);
                float *x = reference_input(&c, PGY_F32, SHAPES[i]);
                if (i) x[40] = x[41] = 9; /* of equals, the first one counts */
                if (i == 2) x[1000] = NAN;
                assert_true(reference_run(&c, 1, 0) > 0);
            }
}

static void test_softmax__large_and_special_numbers(void **state)
{
    (void)state;
    for (int op = 0; op < 2; op++)
        for (int axis = 0; axis < 2; axis++) {
            reference_case c;
            reference_start(&c, "", OPS[op], 13);
            reference_attr_int(&c, "axis", axis);
            float *x = reference_input(&c, PGY_F32, "40 40");
            for (size_t i = 0; i < 1600; i++) x[i] *= 30;
            x[5] = -INFINITY;
            x[41] = 3e38f;
            x[200] = NAN;
            x[399] = 1e4f;
            assert_true(reference_run(&c, 1, op ? 1e-6 : 4e-5) > 0);
        }
}

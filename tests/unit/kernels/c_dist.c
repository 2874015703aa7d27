/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft CDist against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"

static void start(reference_case *c, int rows, int columns, int width, const char *metric)
{
    char shape[64];
    reference_start(c, "com.microsoft", "CDist", 1);
    if (metric) reference_attr_text(c, "metric", metric);
    snprintf(shape, sizeof shape, "%d %d", rows, width);
    reference_input(c, PGY_F32, shape);
    snprintf(shape, sizeof shape, "%d %d", columns, width);
    reference_input(c, PGY_F32, shape);
}

static void test_c_dist__random_shapes(void **state)
{
    (void)state;
    static const char *const METRICS[] = {NULL, "sqeuclidean", "euclidean"};
    srand(2);
    for (int i = 0; i < 60; i++) {
        reference_case c;
        start(&c, 1 + rand() % 300, 1 + rand() % 70, 1 + rand() % 90, METRICS[i % 3]);
        assert_true(reference_run(&c, 1, 2e-6) > 0);
    }
}

/* Points that are near each other and far from the origin: a product of matrices would give 0. */
static void test_c_dist__near_points(void **state)
{
    (void)state;
    reference_case c;
    start(&c, 20, 20, 8, "euclidean");
    float *a = pgy_tensor_data(c.inputs[0]), *b = pgy_tensor_data(c.inputs[1]);
    for (int i = 0; i < 160; i++) {
        a[i] = 1000 + (float)(i % 8);
        b[i] = a[i] + (float)(1 + i / 8) / 1024;
    }
    assert_true(reference_run(&c, 1, 1e-6) > 0);
}

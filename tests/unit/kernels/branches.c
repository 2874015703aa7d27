/* SPDX-License-Identifier: Apache-2.0 */
/* BranchwiseRMSNorm and EngramGate in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 2e-6;

static void run_norm(const char *x, const char *scale, int branches, pgy_dtype dtype,
                     double tolerance)
{
    reference_case c;
    reference_start(&c, "com.microsoft", "BranchwiseRMSNorm", 1);
    if (branches) reference_attr_int(&c, "num_branches", branches);
    reference_attr_float(&c, "epsilon", 0.01F);
    reference_input(&c, dtype, x);
    if (scale) reference_input(&c, dtype, scale);
    assert_true(reference_run(&c, 1, tolerance) > 0);
}

static void test_branches__norm(void **state)
{
    (void)state;
    static const struct {
        const char *x, *scale;
        int branches;
    } CASES[] = {
        {"2 5 3 40", "40", 0},     {"2 5 3 40", "3 40", 0}, {"2 5 3 40", NULL, 0},
        {"4 17", "4 17", 0},       {"7 120", "40", 3},      {"7 120", "120", 3},
        {"2 1 4 1024", "1024", 0}, {"2 7", NULL, 7},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        run_norm(CASES[i].x, CASES[i].scale, CASES[i].branches, PGY_F32, TOLERANCE);
    run_norm("2 5 3 40", "3 40", 0, PGY_F16, 1e-3);
}

/* `value`, `scales`: shapes of the value and of the scales; normed: with output 1. */
static void run_gate(const char *key, const char *value, const char *scales, bool normed,
                     bool zeros, pgy_dtype dtype, double tolerance)
{
    reference_case c;
    reference_start(&c, "com.microsoft", "EngramGate", 1);
    float *first = reference_input(&c, dtype, key);
    if (zeros) memset(first, 0, 40 * sizeof *first); /* rows whose gate is a half */
    reference_input(&c, dtype, key);
    reference_input(&c, dtype, value);
    for (int i = 0; i < (normed ? 3 : 2); i++) reference_input(&c, dtype, scales);
    assert_true(reference_run(&c, normed ? 2 : 1, tolerance) > 0);
}

static void test_branches__gate(void **state)
{
    (void)state;
    for (int normed = 0; normed < 2; normed++) {
        run_gate("2 3 4 40", "2 3 40", "4 40", normed, false, PGY_F32, TOLERANCE);
        run_gate("2 3 4 40", "2 3 40", "4 40", normed, true, PGY_F32, TOLERANCE);
        run_gate("1 1 1 7", "1 1 7", "1 7", normed, false, PGY_F32, TOLERANCE);
        run_gate("1 9 2 1000", "1 9 1000", "2 1000", normed, false, PGY_F32, TOLERANCE);
        run_gate("2 3 4 40", "2 3 40", "4 40", normed, false, PGY_F16, 2e-3);
    }
}

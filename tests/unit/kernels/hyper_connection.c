/* SPDX-License-Identifier: Apache-2.0 */
/* HyperConnectionPreMix and HyperConnectionPostMix in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 1e-6;

/* Shapes of the inputs; NULL ends them. */
static size_t run_case(const char *op, int branches, const char *const *shapes, pgy_dtype dtype,
                       double tolerance)
{
    reference_case c;
    reference_start(&c, "com.microsoft", op, 1);
    if (branches) reference_attr_int(&c, "num_branches", branches);
    if (!shapes[2]) reference_attr_float(&c, "reduction_scale", 0.5F);
    for (; *shapes; shapes++) reference_input(&c, dtype, *shapes);
    return reference_run(&c, 1, tolerance);
}

static void test_hyper_connection__pre_mix(void **state)
{
    static const struct {
        int branches;
        const char *shapes[3];
    } CASES[] = {
        {0, {"2 3 4 40", "2 3 4"}}, {0, {"1 1 1 7", "1 1 1"}}, {4, {"2 3 160", "2 3 4"}},
        {3, {"5 51", "5 3"}},       {0, {"2 1000", "2"}},      {0, {"9 2 1024", "9 2"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        assert_true(run_case("HyperConnectionPreMix", CASES[i].branches, CASES[i].shapes, PGY_F32,
                             TOLERANCE) > 0);
    assert_true(run_case("HyperConnectionPreMix", 0, CASES[0].shapes, PGY_F16, 1e-3) > 0);
}

static void test_hyper_connection__post_mix(void **state)
{
    static const struct {
        int branches;
        const char *shapes[5];
    } CASES[] = {
        {0, {"2 3 4 40", "2 3 40", "2 3 4", "2 3 4 4"}},
        {0, {"2 3 4 40", "2 3 40", "2 3 4"}},
        {0, {"1 1 1 7", "1 1 7", "1 1 1", "1 1 1 1"}},
        {4, {"2 3 160", "2 3 40", "2 3 4", "2 3 4 4"}},
        {2, {"9 2048", "9 1024", "9 2"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        assert_true(run_case("HyperConnectionPostMix", CASES[i].branches, CASES[i].shapes, PGY_F32,
                             TOLERANCE) > 0);
    assert_true(run_case("HyperConnectionPostMix", 0, CASES[0].shapes, PGY_F16, 1e-3) > 0);
}

/* Gates for each feature are left to the definition. */
static void test_hyper_connection__gates_of_features(void **state)
{
    static const char *const PRE[] = {"2 3 4 40", "2 3 4 40", NULL};
    static const char *const POST[] = {"2 3 4 40", "2 3 40", "2 3 4 40", NULL};
    (void)state;
    assert_int_equal(run_case("HyperConnectionPreMix", 0, PRE, PGY_F32, TOLERANCE), 0);
    assert_int_equal(run_case("HyperConnectionPostMix", 0, POST, PGY_F32, TOLERANCE), 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* RandomNormal and RandomUniform against the reference definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

static void test_random__uniform(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"1", "3 7", "1000", "5 4 333"};
    for (size_t i = 0; i < 4; i++) {
        reference_case c;
        reference_start(&c, "", "RandomUniformLike", 22);
        reference_attr_float(&c, "low", -2);
        reference_attr_float(&c, "high", 5.5f);
        reference_attr_float(&c, "seed", (float)i);
        reference_input(&c, PGY_F32, SHAPES[i]);
        assert_true(reference_run(&c, 1, 0) > 0); /* the same numbers */
    }
}

static void test_random__normal(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"1", "3 7", "1000", "5 4 3333"};
    for (size_t i = 0; i < 4; i++) {
        reference_case c;
        reference_start(&c, "", "RandomNormalLike", 22);
        reference_attr_float(&c, "mean", 0.25f);
        reference_attr_float(&c, "scale", 3);
        if (i) reference_attr_float(&c, "seed", 7.9f);
        reference_input(&c, PGY_F32, SHAPES[i]);
        assert_true(reference_run(&c, 1, 4e-6) > 0);
    }
}

static void test_random__shape_of_an_attribute(void **state)
{
    (void)state;
    static const int64_t SHAPE[] = {2, 3, 50};
    for (int i = 0; i < 2; i++) {
        reference_case c;
        reference_start(&c, "", i ? "RandomNormal" : "RandomUniform", 22);
        reference_attr_ints(&c, "shape", SHAPE, 3);
        assert_true(reference_run(&c, 1, 1e-6) > 0);
    }
}

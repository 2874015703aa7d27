/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax, ArgMin, TopK and CumSum, against the reference definitions. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_I32};

static void special(float *x)
{
    x[3] = x[40] = NAN;
    x[7] = INFINITY;
    x[8] = -INFINITY;
    x[9] = 0;
    x[10] = -0.0f;
}

static void test_search__arg(void **state)
{
    (void)state;
    for (int axis = -3; axis < 3; axis++)
        for (int t = 0; t < 3; t++)
            for (int form = 0; form < 8; form++) {
                reference_case c;
                reference_start(&c, "", form & 1 ? "ArgMin" : "ArgMax", 13);
                reference_attr_int(&c, "axis", axis);
                reference_attr_int(&c, "select_last_index", form >> 1 & 1);
                reference_attr_int(&c, "keepdims", form >> 2);
                float *x = reference_input(&c, TYPES[t], "4 50 3");
                if (t == 0) special(x);
                assert_true(reference_run(&c, 1, 0) > 0);
            }
}

static void test_search__top_k(void **state)
{
    (void)state;
    for (int axis = -2; axis < 2; axis++)
        for (int t = 0; t < 3; t++)
            for (int64_t k = 1; k <= 40; k += 13)
                for (int largest = 0; largest < 2; largest++) {
                    reference_case c;
                    reference_start(&c, "", "TopK", 11);
                    reference_attr_int(&c, "axis", axis);
                    reference_attr_int(&c, "largest", largest);
                    float *x = reference_input(&c, TYPES[t], "40 70");
                    if (t == 0) special(x);
                    reference_ints(&c, &k, 1);
                    assert_true(reference_run(&c, 2, 0) > 0);
                }
}

static void test_search__running_sums(void **state)
{
    (void)state;
    for (int axis = -3; axis < 3; axis++)
        for (int t = 0; t < 3; t++)
            for (int form = 0; form < 4; form++) {
                reference_case c;
                reference_start(&c, "", "CumSum", 14);
                reference_attr_int(&c, "exclusive", form & 1);
                reference_attr_int(&c, "reverse", form >> 1);
                reference_input(&c, TYPES[t], "4 50 3");
                *(int64_t *)reference_input(&c, PGY_I64, "") = axis;
                reference_constant(&c);
                assert_true(reference_run(&c, 1, 2e-6) > 0);
            }
}

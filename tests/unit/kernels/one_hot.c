/* SPDX-License-Identifier: Apache-2.0 */
/* OneHot against the reference definition; indices are also beyond the depth. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static void test_one_hot__shapes_and_types(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16, PGY_U8, PGY_F64};
    static const char *const SHAPES[] = {"", "1", "40", "7 9", "2 3 130"};
    static const int64_t DEPTHS[] = {1, 5, 9, 40};
    for (size_t t = 0; t < sizeof TYPES / sizeof *TYPES; t++)
        for (int rank = 0, s = 0; s < 5; s++) {
            rank = (int[]){0, 1, 1, 2, 3}[s];
            for (int axis = -rank - 1; axis <= rank; axis++)
                for (int how = 0; how < 8; how++) {
                    reference_case c;
                    reference_start(&c, "", "OneHot", 11);
                    reference_attr_int(&c, "axis", axis);
                    reference_input(&c, how & 1 ? PGY_I64 : PGY_I32, SHAPES[s]);
                    reference_ints(&c, &DEPTHS[how / 2], 1);
                    reference_input(&c, TYPES[t], "2");
                    assert_true(reference_run(&c, 1, 0) > 0);
                }
        }
}

static void test_one_hot__indices_at_the_ends_of_their_type(void **state)
{
    (void)state;
    const int64_t depth = 9;
    reference_case c;
    reference_start(&c, "", "OneHot", 11);
    int64_t *x = reference_input(&c, PGY_I64, "6");
    x[0] = INT64_MAX, x[1] = INT64_MIN, x[2] = -9, x[3] = -10, x[4] = 8, x[5] = 9;
    reference_ints(&c, &depth, 1);
    float *values = reference_input(&c, PGY_F32, "2");
    values[0] = 0, values[1] = 1;
    assert_true(reference_run(&c, 1, 0) > 0);
}

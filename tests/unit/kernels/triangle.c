/* SPDX-License-Identifier: Apache-2.0 */
/* Trilu and EyeLike against the reference definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16, PGY_U8};
static const int64_t DIAGONALS[] = {0, 1, -1, 4, -5, 100, -100, INT64_MAX, INT64_MIN};

static void test_triangle__trilu(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"5 7", "2 3 7 4", "1 1", "3 70 1"};
    for (size_t shape = 0; shape < 4; shape++)
        for (size_t t = 0; t < 5; t++)
            for (size_t k = 0; k < 9; k++)
                for (int form = 0; form < 4; form++) {
                    reference_case c;
                    reference_start(&c, form & 1 ? "com.microsoft" : "", "Trilu",
                                    form & 1 ? 1 : 14);
                    reference_attr_int(&c, "upper", form >> 1);
                    reference_input(&c, TYPES[t], SHAPES[shape]);
                    *(int64_t *)reference_input(&c, PGY_I64, "") = DIAGONALS[k];
                    assert_true(reference_run(&c, 1, 0) > 0);
                }
    reference_case c;
    reference_start(&c, "", "Trilu", 14);
    reference_input(&c, PGY_F32, "4 4");
    assert_true(reference_run(&c, 1, 0) > 0);
}

static void test_triangle__eye_like(void **state)
{
    (void)state;
    /* float, uint8, int64, bool, float16, double, bfloat16 */
    static const int64_t CODES[] = {1, 2, 7, 9, 10, 11, 16};
    for (size_t t = 0; t < 7; t++)
        for (size_t k = 0; k < 9; k++) {
            reference_case c;
            reference_start(&c, "", "EyeLike", 9);
            reference_attr_int(&c, "dtype", CODES[t]);
            reference_attr_int(&c, "k", DIAGONALS[k]);
            reference_input(&c, PGY_F32, k % 2 ? "5 7" : "9 3");
            assert_true(reference_run(&c, 1, 0) > 0);
        }
}

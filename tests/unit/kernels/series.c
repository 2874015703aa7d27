/* SPDX-License-Identifier: Apache-2.0 */
/* Range against the reference definition. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static void scalar(reference_case *c, pgy_dtype dtype, double value)
{
    void *x = reference_input(c, dtype, "");
    switch (dtype) {
    case PGY_I32: *(int32_t *)x = (int32_t)value; break;
    case PGY_I64: *(int64_t *)x = (int64_t)value; break;
    case PGY_F32: *(float *)x = (float)value; break;
    default: *(double *)x = value;
    }
}

static void test_series__ranges(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_I32, PGY_I64, PGY_F32, PGY_F64};
    static const double ENDS[][3] = {{0, 1, 1},      {0, 100, 3},       {50, -7, -2},
                                     {-5, 40000, 1}, {2e9, -2e9, -1e8}, {7, 8, 100}};
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
            reference_case c;
            reference_start(&c, "", "Range", 11);
            for (size_t k = 0; k < 3; k++) scalar(&c, TYPES[t], ENDS[i][k]);
            assert_true(reference_run(&c, 1, 0) > 0);
        }
    for (size_t t = 2; t < 4; t++) {
        reference_case c;
        reference_start(&c, "", "Range", 11);
        scalar(&c, TYPES[t], 0.1);
        scalar(&c, TYPES[t], 1000);
        scalar(&c, TYPES[t], 0.3);
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

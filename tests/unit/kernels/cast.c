/* SPDX-License-Identifier: Apache-2.0 */
/* Casts between all pairs of types, against the reference definition. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_F64, PGY_F16, PGY_BF16, PGY_I64,
                                  PGY_I32, PGY_I8,  PGY_U8,  PGY_BOOL};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static void test_cast__all_pairs(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"", "0", "7 11", "40000"};
    for (size_t from = 0; from < TYPE_COUNT; from++)
        for (size_t to = 0; to < TYPE_COUNT; to++)
            for (size_t s = 0; s < 4; s++) {
                reference_case c;
                reference_start(&c, "", "Cast", 13);
                reference_attr_int(&c, "to", pgy_dtype_describe(TYPES[to])->onnx);
                reference_input(&c, TYPES[from], SHAPES[s]);
                assert_true(reference_run(&c, 1, 0) > 0);
            }
}

static void test_cast__numbers_that_do_not_fit(void **state)
{
    (void)state;
    for (size_t to = 0; to < TYPE_COUNT; to++) {
        reference_case c;
        reference_start(&c, "", "Cast", 13);
        reference_attr_int(&c, "to", pgy_dtype_describe(TYPES[to])->onnx);
        float *x = reference_input(&c, PGY_F32, "37");
        x[0] = 3e9f;
        x[1] = -1e20f;
        x[2] = INFINITY;
        x[3] = NAN;
        x[4] = 300;
        x[5] = 65519;
        x[6] = 65520;
        x[7] = 1e-8f;
        x[8] = 3e-8f;
        x[9] = -129;
        assert_true(reference_run(&c, 1, 0) > 0);
        reference_start(&c, "", "Cast", 13);
        reference_attr_int(&c, "to", pgy_dtype_describe(TYPES[to])->onnx);
        int64_t *i = reference_input(&c, PGY_I64, "5");
        i[0] = INT64_MAX;
        i[1] = INT64_MIN;
        i[2] = 16777217;
        i[3] = 0x123456789a;
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

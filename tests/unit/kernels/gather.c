/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, against the reference definitions. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static void test_gather__axes(void **state)
{
    (void)state;
    for (int axis = -3; axis < 3; axis++)
        for (size_t t = 0; t < TYPE_COUNT; t++)
            for (int wide = 0; wide < 2; wide++) {
                reference_case c;
                reference_start(&c, "", "Gather", 13);
                reference_attr_int(&c, "axis", axis);
                reference_input(&c, TYPES[t], "10 11 12");
                reference_input(&c, wide ? PGY_I64 : PGY_I32, t % 2 ? "5 3" : "");
                if (t > 1) reference_constant(&c);
                assert_true(reference_run(&c, 1, 0) > 0);
            }
    reference_case c;
    reference_start(&c, "", "Gather", 13);
    reference_input(&c, PGY_F32, "300 768");
    reference_input(&c, PGY_I64, "2 60");
    assert_true(reference_run(&c, 1, 0) > 0);
}

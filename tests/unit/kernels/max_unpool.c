/* SPDX-License-Identifier: Apache-2.0 */
/* MaxUnpool against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "harness/reference_case.h"

static void test_max_unpool__types(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_F16, PGY_F64};
    srand(1);
    for (int t = 0; t < 3; t++)
        for (int repeated = 0; repeated < 2; repeated++) {
            reference_case c;
            reference_start(&c, "", "MaxUnpool", 11);
            reference_attr_ints(&c, "kernel_shape", (const int64_t[]){2, 3}, 2);
            reference_attr_ints(&c, "strides", (const int64_t[]){2, 3}, 2);
            reference_input(&c, TYPES[t], "2 3 9 10");
            int64_t *indices = reference_input(&c, PGY_I64, "2 3 9 10");
            for (int i = 0; i < 2 * 3 * 9 * 10; i++)
                indices[i] = repeated ? rand() % 50 : i * 6 + rand() % 6;
            assert_true(reference_run(&c, 1, 0) > 0);
        }
}

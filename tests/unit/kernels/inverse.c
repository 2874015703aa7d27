/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Inverse against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/reference_case.h"

static void test_inverse__sizes(void **state)
{
    (void)state;
    static const int SIZES[] = {1, 2, 3, 4, 7, 16, 33, 64, 100};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        const int n = SIZES[i], count = i % 3 ? 3 : 1;
        char shape[64];
        reference_case c;
        reference_start(&c, "com.microsoft", "Inverse", 1);
        snprintf(shape, sizeof shape, "%d %d %d", count, n, n);
        float *x = reference_input(&c, PGY_F32, shape);
        for (int k = 0; k < count * n; k++) /* well away from singular; rows are exchanged */
            x[k * n + (k + 1) % n] += 40;
        assert_true(reference_run(&c, 1, 1e-6) > 0);
    }
}

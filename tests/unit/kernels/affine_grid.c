/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid against the reference definition. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static void test_affine_grid__sizes(void **state)
{
    (void)state;
    static const int64_t SIZES[][5] = {
        {2, 3, 5, 7}, {1, 1, 1, 1}, {1, 2, 3, 2500}, {2, 1, 4, 3, 5}, {1, 1, 1, 2, 1}};
    for (size_t i = 0; i < 5; i++)
        for (int align = 0; align < 2; align++) {
            reference_case c;
            reference_start(&c, "", "AffineGrid", 20);
            reference_attr_int(&c, "align_corners", align);
            const bool flat = i < 3;
            const char *const theta = flat               ? SIZES[i][0] == 2 ? "2 2 3" : "1 2 3"
                                      : SIZES[i][0] == 2 ? "2 3 4"
                                                         : "1 3 4";
            reference_input(&c, PGY_F32, theta);
            reference_ints(&c, SIZES[i], flat ? 4 : 5);
            assert_true(reference_run(&c, 1, 3e-7) > 0);
        }
}

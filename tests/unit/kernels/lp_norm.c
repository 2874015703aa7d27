/* SPDX-License-Identifier: Apache-2.0 */
/* LpNormalization against the reference definition. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static void test_lp_norm__axes(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"3 17 300", "1 1 1", "2 1 1000", "40 5 3"};
    for (size_t s = 0; s < 4; s++)
        for (int axis = -3; axis < 3; axis++)
            for (int how = 0; how < 6; how++) {
                reference_case c;
                reference_start(&c, "", "LpNormalization", 22);
                reference_attr_int(&c, "axis", axis);
                reference_attr_int(&c, "p", 1 + how % 2);
                float *x = reference_input(&c, PGY_F32, SHAPES[s]);
                const size_t count = pgy_tensor_count(c.inputs[0]);
                for (size_t i = 0; how / 2 == 1 && i < count; i++) x[i] = i % 3 ? 0 : x[i] * 1e-3f;
                for (size_t i = 0; how / 2 == 2 && i < count; i += 97)
                    x[i] = (const float[]){INFINITY, NAN, -0.0f}[i / 97 % 3];
                assert_true(reference_run(&c, 1, 1e-6) > 0);
            }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MaxpoolWithMask against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

typedef struct mask_case {
    const char *x, *mask; /* shapes */
    int64_t kernel[3], strides[3], pads[6];
    size_t rank;
} mask_case;

static void test_maxpool_with_mask__windows(void **state)
{
    (void)state;
    static const mask_case CASES[] = {
        {"1 3 8 9", "1 3 8 9", {2, 2}, {2, 2}, {0}, 2},
        {"2 3 7 7", "2 3 7 7", {3, 3}, {1, 2}, {1, 1, 1, 1}, 2},
        {"2 4 6 5", "1 3 6 5", {3, 2}, {1, 1}, {2, 0, 0, 1}, 2},
        {"1 2 30", "1 2 30", {4}, {3}, {1, 2}, 1},
        {"1 2 3 700", "1 2 3 700", {2, 3}, {1, 1}, {1, 2, 0, 2}, 2},
        {"1 2 5 600", "1 2 5 600", {2, 3}, {2, 2}, {0, 1, 0, 1}, 2},
        {"1 2 4 5 6", "1 2 4 5 6", {2, 3, 2}, {1, 2, 1}, {1, 0, 1, 0, 2, 0}, 3},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const mask_case *t = &CASES[i];
        reference_case c;
        reference_start(&c, "com.microsoft", "MaxpoolWithMask", 1);
        reference_attr_ints(&c, "kernel_shape", t->kernel, t->rank);
        reference_attr_ints(&c, "strides", t->strides, t->rank);
        reference_attr_ints(&c, "pads", t->pads, 2 * t->rank);
        reference_input(&c, PGY_F32, t->x);
        int32_t *mask = reference_input(&c, PGY_I32, t->mask);
        const size_t count = pgy_tensor_count(c.inputs[1]);
        for (size_t k = 0; k < count; k++) mask[k] = mask[k] > -3;
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

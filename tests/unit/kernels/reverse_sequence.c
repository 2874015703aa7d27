/* SPDX-License-Identifier: Apache-2.0 */
/* ReverseSequence against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"

static void test_reverse_sequence__random_shapes(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16, PGY_F64};
    srand(1);
    for (int i = 0; i < 100; i++) {
        const int steps = 1 + rand() % 9, entries = 1 + rand() % 9, time = i % 2;
        char shape[64], count[16];
        reference_case c;
        reference_start(&c, "", "ReverseSequence", 10);
        reference_attr_int(&c, "time_axis", time);
        reference_attr_int(&c, "batch_axis", !time);
        snprintf(shape, sizeof shape, "%d %d %d", time ? entries : steps, time ? steps : entries,
                 1 + rand() % 40);
        reference_input(&c, TYPES[rand() % 5], shape);
        snprintf(count, sizeof count, "%d", entries);
        int64_t *lengths = reference_input(&c, PGY_I64, count);
        for (int b = 0; b < entries; b++) lengths[b] = rand() % (steps + 1);
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Moves by indices that are data, against the reference definitions. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16};

static void test_index_moves__elements(void **state)
{
    (void)state;
    for (int axis = -3; axis < 3; axis++)
        for (size_t t = 0; t < 4; t++)
            for (int wide = 0; wide < 2; wide++) {
                reference_case c;
                reference_start(&c, "", "GatherElements", 13);
                reference_attr_int(&c, "axis", axis);
                reference_input(&c, TYPES[t], "10 11 12");
                reference_input(&c, wide ? PGY_I64 : PGY_I32, "9 11 3");
                assert_true(reference_run(&c, 1, 0) > 0);
                reference_start(&c, "", "ScatterElements", 18);
                reference_attr_int(&c, "axis", axis);
                reference_input(&c, TYPES[t], "10 11 12");
                reference_input(&c, wide ? PGY_I64 : PGY_I32, "9 11 3");
                reference_input(&c, TYPES[t], "9 11 3");
                assert_true(reference_run(&c, 1, 0) > 0);
            }
    reference_case c;
    reference_start(&c, "", "ScatterElements", 18);
    reference_attr_text(&c, "reduction", "add");
    reference_input(&c, PGY_F32, "10");
    reference_input(&c, PGY_I64, "3");
    reference_input(&c, PGY_F32, "3");
    assert_int_equal(reference_run(&c, 1, 0), 0);
}

static void tuples(pgy_dtype dtype, const char *data, const char *indices, const char *updates,
                   int64_t batch)
{
    reference_case c;
    reference_start(&c, "", "GatherND", 13);
    reference_attr_int(&c, "batch_dims", batch);
    reference_input(&c, dtype, data);
    reference_input(&c, PGY_I64, indices);
    assert_true(reference_run(&c, 1, 0) > 0);
    if (!updates) return;
    reference_start(&c, "", "ScatterND", 18);
    reference_input(&c, dtype, data);
    reference_input(&c, PGY_I64, indices);
    reference_input(&c, dtype, updates);
    assert_true(reference_run(&c, 1, 0) > 0);
}

static void test_index_moves__tuples(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        tuples(TYPES[t], "10 11 12", "7 1", "7 11 12", 0);
        tuples(TYPES[t], "10 11 12", "3 5 2", "3 5 12", 0);
        tuples(TYPES[t], "10 11 12", "40 3", "40", 0);
        tuples(TYPES[t], "10 11 12", "3", "", 0);
        tuples(TYPES[t], "10 11 12", "10 4 2", NULL, 1);
        tuples(TYPES[t], "10 11 12", "10 11 1", NULL, 2);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Moves by indices that are data, against the reference definitions. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- Reductions ----------------------------------------------------------------------------- */

static const char *const REDUCTIONS[] = {"none", "add", "mul", "min", "max"};
static const pgy_dtype REDUCED[] = {PGY_F32, PGY_I64, PGY_I32, PGY_F16};

/* Special values among the data and the updates; some updates meet the same element. */
static void special(pgy_dtype dtype, void *values, size_t count)
{
    static const float SPECIAL[] = {NAN, INFINITY, -INFINITY, 0, -0.0f};
    for (size_t i = 0; dtype == PGY_F32 && i < 5 && i < count; i++)
        ((float *)values)[i * (count / 5) % count] = SPECIAL[i];
    if (dtype == PGY_I64 && count > 1) memcpy(values, (int64_t[]){INT64_MAX, INT64_MIN}, 16);
}

static void reduced(const char *op, const char *reduction, pgy_dtype dtype, int64_t axis,
                    const char *data, const char *indices, const char *updates)
{
    reference_case c;
    reference_start(&c, "", op, 18);
    reference_attr_text(&c, "reduction", reduction);
    if (strcmp(op, "ScatterElements") == 0) reference_attr_int(&c, "axis", axis);
    void *x = reference_input(&c, dtype, data);
    special(dtype, x, pgy_tensor_count(c.inputs[0]));
    reference_input(&c, PGY_I64, indices);
    void *u = reference_input(&c, dtype, updates);
    special(dtype, u, pgy_tensor_count(c.inputs[2]));
    assert_true(reference_run(&c, 1, dtype == PGY_F16 ? 2e-3 : 2e-6) > 0);
}

static void test_index_moves__reductions(void **state)
{
    (void)state;
    for (int how = 0; how < 5; how++)
        for (size_t t = 0; t < 4; t++) {
            for (int axis = -3; axis < 3; axis++)
                reduced("ScatterElements", REDUCTIONS[how], REDUCED[t], axis, "10 11 12", "9 10 11",
                        "9 10 11");
            reduced("ScatterElements", REDUCTIONS[how], REDUCED[t], 1, "700 10", "700 1", "700 1");
            reduced("ScatterElements", REDUCTIONS[how], REDUCED[t], 0, "10", "900", "900");
            reduced("ScatterND", REDUCTIONS[how], REDUCED[t], 0, "10 11 12", "40 1", "40 11 12");
            reduced("ScatterND", REDUCTIONS[how], REDUCED[t], 0, "10 10 10", "600 3", "600");
            reduced("ScatterND", REDUCTIONS[how], REDUCED[t], 0, "10 11 3", "5 7 2", "5 7 3");
        }
}

static void test_index_moves__types_without_reduction_kernel(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "ScatterElements", 18);
    reference_attr_text(&c, "reduction", "add");
    reference_input(&c, PGY_F64, "10");
    reference_input(&c, PGY_I64, "3");
    reference_input(&c, PGY_F64, "3");
    assert_int_equal(reference_run(&c, 1, 0), 0);
}

static void test_index_moves__random_shapes(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 150; i++) {
        char data[64] = "", indices[64] = "";
        const int rank = 1 + rand() % 4, axis = rand() % rank;
        for (int d = 0; d < rank; d++) {
            const int size = (d == axis ? 10 : 1) + rand() % 9;
            const int some = d == axis ? 1 + rand() % 30 : 1 + rand() % size;
            snprintf(data + strlen(data), 8, "%d ", size);
            snprintf(indices + strlen(indices), 8, "%d ", some);
        }
        reference_case c;
        reference_start(&c, "", "GatherElements", 13);
        reference_attr_int(&c, "axis", axis);
        reference_input(&c, TYPES[i % 4], data);
        reference_input(&c, PGY_I64, indices);
        assert_true(reference_run(&c, 1, 0) > 0);
        reduced("ScatterElements", REDUCTIONS[rand() % 5], REDUCED[rand() % 3], axis, data, indices,
                indices);
    }
}

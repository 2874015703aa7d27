/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions against the reference definitions. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 2e-6;

static void reduce(const char *op, pgy_dtype dtype, const char *shape, unsigned axes, bool keep)
{
    int64_t list[4];
    size_t count = 0;
    reference_case c;
    reference_start(&c, "", op, 18);
    reference_attr_int(&c, "keepdims", keep);
    float *x = reference_input(&c, dtype, shape);
    for (size_t i = 0; dtype == PGY_F32 && i < pgy_tensor_count(c.inputs[0]); i++)
        x[i] = op[6] == 'P' ? 1 + x[i] / 16 : fabsf(x[i]) + 0.01f;
    for (int d = 0; d < 4; d++)
        if (axes >> d & 1) {
            list[count] = count % 2 ? d - 4 : d;
            count++;
        }
    if (count) reference_ints(&c, list, count);
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

static void test_reduce__any_axes(void **state)
{
    (void)state;
    static const char *const OPS[] = {"ReduceSum", "ReduceMean",   "ReduceMax",
                                      "ReduceMin", "ReduceProd",   "ReduceL1",
                                      "ReduceL2",  "ReduceLogSum", "ReduceSumSquare"};
    static const char *const SHAPES[] = {"2 3 4 5", "3 1 2 300", "1 1 1 1", "2 65 1 1", "1 7 70 2"};
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++)
            for (unsigned axes = 0; axes < 16; axes++) {
                reduce(OPS[i], PGY_F32, SHAPES[s], axes, axes % 2);
                if (i != 1 && i < 5) reduce(OPS[i], PGY_I64, SHAPES[s], axes, true);
                if (i != 1 && i < 5) reduce(OPS[i], PGY_I32, SHAPES[s], axes, true);
            }
    reduce("ReduceLogSumExp", PGY_F32, "2 3 4 500", 8, true);
    reduce("ReduceLogSumExp", PGY_F32, "2 3 4 5", 15, true);
    reduce("ReduceLogSumExp", PGY_F32, "2 3 4 500", 2, true);
    reduce("ReduceLogSumExp", PGY_F32, "2 30 4 5", 2, false);
    reduce("ReduceLogSumExp", PGY_F32, "7 3", 1, true);
}

static void test_reduce__axes_as_attribute_and_none(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "ReduceMean", 13);
    reference_attr_ints(&c, "axes", (const int64_t[]){-1, 0}, 2);
    reference_input(&c, PGY_F32, "3 4 5");
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    reference_start(&c, "", "ReduceSum", 13);
    reference_attr_int(&c, "noop_with_empty_axes", 1);
    reference_input(&c, PGY_F32, "3 4 5");
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

static void test_reduce__special_numbers(void **state)
{
    (void)state;
    static const char *const OPS[] = {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSumExp"};
    for (int i = 0; i < 4; i++)
        for (int axis = 0; axis < (i < 3 ? 2 : 1); axis++) {
            reference_case c;
            reference_start(&c, "", OPS[i], 18);
            float *x = reference_input(&c, PGY_F32, "40 80");
            x[0] = x[500] = INFINITY;
            x[90] = -INFINITY;
            for (int k = 240; k < 320; k++) x[k] = -INFINITY;
            x[803] = NAN;
            reference_ints(&c, &(const int64_t){1 - axis}, 1);
            assert_true(reference_run(&c, 1, TOLERANCE) > 0);
        }
}

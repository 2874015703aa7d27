/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax, ArgMin, TopK and CumSum, against the reference definitions. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_I32};

static void special(float *x)
{
    x[3] = x[40] = NAN;
    x[7] = INFINITY;
    x[8] = -INFINITY;
    x[9] = 0;
    x[10] = -0.0f;
}

static void test_search__arg(void **state)
{
    (void)state;
    for (int axis = -3; axis < 3; axis++)
        for (int t = 0; t < 3; t++)
            for (int form = 0; form < 8; form++) {
                reference_case c;
                reference_start(&c, "", form & 1 ? "ArgMin" : "ArgMax", 13);
                reference_attr_int(&c, "axis", axis);
                reference_attr_int(&c, "select_last_index", form >> 1 & 1);
                reference_attr_int(&c, "keepdims", form >> 2);
                float *x = reference_input(&c, TYPES[t], "4 50 3");
                if (t == 0) special(x);
                assert_true(reference_run(&c, 1, 0) > 0);
            }
}

static void test_search__top_k(void **state)
{
    (void)state;
    for (int axis = -2; axis < 2; axis++)
        for (int t = 0; t < 3; t++)
            for (int64_t k = 1; k <= 40; k += 13)
                for (int largest = 0; largest < 2; largest++) {
                    reference_case c;
                    reference_start(&c, "", "TopK", 11);
                    reference_attr_int(&c, "axis", axis);
                    reference_attr_int(&c, "largest", largest);
                    float *x = reference_input(&c, TYPES[t], "40 70");
                    if (t == 0) special(x);
                    reference_ints(&c, &k, 1);
                    assert_true(reference_run(&c, 2, 0) > 0);
                }
}

static void test_search__running_sums(void **state)
{
    (void)state;
    for (int axis = -3; axis < 3; axis++)
        for (int t = 0; t < 3; t++)
            for (int form = 0; form < 4; form++) {
                reference_case c;
                reference_start(&c, "", "CumSum", 14);
                reference_attr_int(&c, "exclusive", form & 1);
                reference_attr_int(&c, "reverse", form >> 1);
                reference_input(&c, TYPES[t], "4 50 3");
                *(int64_t *)reference_input(&c, PGY_I64, "") = axis;
                reference_constant(&c);
                assert_true(reference_run(&c, 1, 2e-6) > 0);
            }
}

/* Few values, so that many are equal; rising and falling lines, which change the best so far with
 * each element. */
static void add_filled(reference_case *c, pgy_dtype dtype, const char *shape, int kind)
{
    void *values = reference_input(c, dtype, shape);
    const size_t count = pgy_tensor_count(c->inputs[0]);
    for (size_t i = 0; i < count; i++) {
        const int64_t v = kind == 0   ? rand() % 7 - 3
                          : kind == 1 ? (int64_t)i
                          : kind == 2 ? (int64_t)(count - i)
                                      : rand();
        if (dtype == PGY_F32)
            ((float *)values)[i] = kind == 3 && v % 50 == 0 ? NAN : (float)v;
        else if (dtype == PGY_I64)
            ((int64_t *)values)[i] = kind == 3 ? v << 32 ^ v : v;
        else
            ((int32_t *)values)[i] = (int32_t)v;
    }
}

static void top_of(pgy_dtype dtype, const char *shape, int64_t axis, int64_t k, int kind)
{
    reference_case c;
    reference_start(&c, "", "TopK", 11);
    reference_attr_int(&c, "axis", axis);
    reference_attr_int(&c, "largest", rand() % 2);
    add_filled(&c, dtype, shape, kind);
    reference_ints(&c, &k, 1);
    assert_true(reference_run(&c, 2, 0) > 0);
}

static void test_search__ties_and_orders(void **state)
{
    (void)state;
    static const int64_t K[] = {1, 2, 8, 9, 97, 250, 600};
    srand(1);
    for (int t = 0; t < 3; t++)
        for (int kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < 7; i++) top_of(TYPES[t], "2 600", 1, K[i], kind);
            top_of(TYPES[t], "3 40 21", 1, 5, kind);
            top_of(TYPES[t], "256 3", 0, 200, kind);
            top_of(TYPES[t], "3 1", -1, 1, kind);
            top_of(TYPES[t], "4 64", -1, 2, kind);
        }
}

static void test_search__random_shapes(void **state)
{
    (void)state;
    static const char *const OPS[] = {"ArgMax", "ArgMin", "CumSum"};
    srand(2);
    for (int i = 0; i < 200; i++) {
        const int op = rand() % 3, t = rand() % 3, kind = rand() % (op == 2 ? 3 : 4);
        char shape[64];
        reference_case c;
        snprintf(shape, sizeof shape, "%d %d %d", 1 + rand() % 4, 1 + rand() % 90,
                 1 + rand() % (i % 4 ? 40 : 600));
        const int64_t axis = rand() % 3;
        reference_start(&c, "", OPS[op], op == 2 ? 14 : 13);
        if (op == 2) {
            reference_attr_int(&c, "exclusive", rand() % 2);
            reference_attr_int(&c, "reverse", rand() % 2);
        } else {
            reference_attr_int(&c, "axis", axis);
            reference_attr_int(&c, "select_last_index", rand() % 2);
        }
        add_filled(&c, TYPES[t], shape, kind);
        if (op == 2) {
            *(int64_t *)reference_input(&c, PGY_I64, "") = axis;
            reference_constant(&c);
        }
        assert_true(reference_run(&c, 1, 2e-6) > 0);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Quantising and back, of all variants, against the reference, bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "harness/int_case.h"

static const pgy_dtype INTEGERS[] = {PGY_U8, PGY_I8, PGY_U16, PGY_I16};

static void to_one_scale(pgy_dtype type, bool zero, double scale)
{
    int_case c;
    int_case_start(&c, "", "QuantizeLinear", 21);
    int_case_input(&c, PGY_F32, false, 3, (const int64_t[]){7, 83, 61});
    int_case_scalar(&c, PGY_F32, scale);
    if (zero) int_case_scalar(&c, type, 100);
    if (!zero) case_attr_int(&c.c, "output_dtype", pgy_dtype_describe(type)->onnx);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_quantize__one_scale(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (int form = 0; form < 4; form++)
            to_one_scale(INTEGERS[i], form & 1, form & 2 ? 0.0313 : 0.0001);
}

static void test_quantize__special_values(void **state)
{
    (void)state;
    const double values[] = {NAN,  INFINITY, -INFINITY, 0.5,   1.5,     2.5,   -0.5,  -1.5,
                             -2.5, 1e30,     -1e30,     127.5, -128.51, 1e-40, 254.5, 255.5};
    for (size_t i = 0; i < 4; i++) {
        int_case c;
        int_case_start(&c, "", "QuantizeLinear", 21);
        int_case_values(&c, PGY_F32, 1, (const int64_t[]){16}, values);
        c.c.problem.inputs[0].data = NULL;
        int_case_scalar(&c, PGY_F32, 1);
        int_case_scalar(&c, INTEGERS[i], 3);
        assert_true(int_case_run(&c, 1, 0) > 0);
        int_case_end(&c);
    }
}

/* Halves to even, subnormal numbers, and those that are too large. */
static void test_quantize__float8(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F8E4M3FN, PGY_F8E4M3FNUZ, PGY_F8E5M2, PGY_F8E5M2FNUZ};
    const double values[] = {NAN,   INFINITY, -INFINITY, 1.0625, 1.1875, 449,   -1e30, 0.0029296875,
                             1e-40, -0.0,     464,       57344,  61440,  65536, 3.3,   -0.017};
    for (size_t i = 0; i < 4; i++) {
        int_case c;
        to_one_scale(TYPES[i], false, 0.0313);
        to_one_scale(TYPES[i], false, 0.0001);
        int_case_start(&c, "", "QuantizeLinear", 21);
        int_case_values(&c, PGY_F32, 1, (const int64_t[]){16}, values);
        c.c.problem.inputs[0].data = NULL;
        int_case_scalar(&c, PGY_F32, 1);
        int_case_scalar(&c, TYPES[i], 0);
        assert_true(int_case_run(&c, 1, 0) > 0);
        int_case_end(&c);
    }
}

static void along_axis(const char *op, pgy_dtype type, int64_t axis)
{
    static const int64_t SHAPE[] = {5, 6, 70};
    const bool back = op[0] == 'D';
    int_case c;
    int_case_start(&c, "", op, 21);
    case_attr_int(&c.c, "axis", axis);
    int_case_input(&c, back ? type : PGY_F32, false, 3, SHAPE);
    int_case_scales(&c, SHAPE[axis < 0 ? axis + 3 : axis], 0.02);
    int_case_input(&c, type, true, 1, &SHAPE[axis < 0 ? axis + 3 : axis]);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_quantize__along_an_axis(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (int64_t axis = -1; axis < 3; axis++) {
            along_axis("QuantizeLinear", INTEGERS[i], axis);
            along_axis("DequantizeLinear", INTEGERS[i], axis);
        }
}

static void in_blocks(const char *op, int64_t axis, int64_t block)
{
    int64_t shape[] = {6, 12, 9}, scales[] = {6, 12, 9};
    const bool back = op[0] == 'D';
    int_case c;
    scales[axis] = (shape[axis] + block - 1) / block;
    int_case_start(&c, "", op, 21);
    case_attr_int(&c.c, "axis", axis);
    case_attr_int(&c.c, "block_size", block);
    int_case_input(&c, back ? PGY_I8 : PGY_F32, false, 3, shape);
    double values[6 * 12 * 9];
    for (int i = 0; i < 6 * 12 * 9; i++) values[i] = 0.01 + 0.001 * (i % 7);
    int_case_values(&c, PGY_F32, 3, scales, values);
    int_case_input(&c, PGY_I8, true, 3, scales);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_quantize__in_blocks(void **state)
{
    (void)state;
    for (int64_t axis = 0; axis < 3; axis++)
        for (int64_t block = 2; block < 5; block++) {
            in_blocks("QuantizeLinear", axis, block);
            in_blocks("DequantizeLinear", axis, block);
        }
}

static void test_quantize__back_from_all_types(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_U8, PGY_I8, PGY_U16,    PGY_I16,     PGY_I32,
                                      PGY_I4, PGY_U4, PGY_F8E5M2, PGY_F8E4M3FN};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        int_case c;
        int_case_start(&c, "", "DequantizeLinear", 21);
        int_case_input(&c, TYPES[i], false, 2, (const int64_t[]){13, 26});
        int_case_scalar(&c, PGY_F32, 0.0371);
        if (TYPES[i] != PGY_I32 && !pgy_dtype_is_float(TYPES[i])) int_case_scalar(&c, TYPES[i], 3);
        assert_true(int_case_run(&c, 1, 0) > 0);
        int_case_end(&c);
    }
}

static void test_quantize__range_of_the_data(void **state)
{
    (void)state;
    static const int64_t COUNTS[] = {1, 5, 40, 50000};
    for (size_t i = 0; i < 4; i++) {
        int_case c;
        int_case_start(&c, "", "DynamicQuantizeLinear", 11);
        int_case_input(&c, PGY_F32, false, 1, &COUNTS[i]);
        assert_true(int_case_run(&c, 3, 0) > 0);
        int_case_end(&c);
    }
}

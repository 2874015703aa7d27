/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "precision/round.h"

/* The conversion of the tensor layer, which has its own tests. */
static float converted(float v, pgy_dtype type)
{
    uint16_t narrow; /* room for the widest */
    float back;
    int64_t one = 1;
    pgy_error err;
    assert_int_equal(pgy_view_convert(pgy_view_of(&narrow, type, 1, &one), pgy_view_of(&v, PGY_F32, 1, &one), type == PGY_F8E4M3FN, &err), PGY_OK);
    assert_int_equal(pgy_view_convert(pgy_view_of(&back, PGY_F32, 1, &one), pgy_view_of(&narrow, type, 1, &one), false, &err), PGY_OK);
    return back;
}

static void check_all(pgy_dtype type)
{
    /* Every 16-bit pattern of a float32's upper half, with lower halves around the ties. */
    static const uint32_t LOW[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xf000, 0xffff};
    for (uint32_t high = 0; high < 0x10000; high += type == PGY_F8E4M3FN ? 7 : 1) {
        for (size_t i = 0; i < sizeof LOW / sizeof *LOW; i++) {
            const uint32_t bits = high << 16 | LOW[i];
            float v, got;
            memcpy(&v, &bits, sizeof v);
            round_floats(&got, &v, 1, type, false);
            const float expected = converted(v, type);
            if (isnan(expected))
                assert_true(isnan(got));
            else
                assert_memory_equal(&got, &expected, sizeof got);
        }
    }
}

static void test_round__equals_the_conversion_to_float16(void **state)
{
    (void)state;
    check_all(PGY_F16);
}

static void test_round__equals_the_conversion_to_bfloat16(void **state)
{
    (void)state;
    check_all(PGY_BF16);
}

static void test_round__equals_the_saturating_conversion_to_float8(void **state)
{
    (void)state;
    check_all(PGY_F8E4M3FN);
}

static void test_round__clamps_weights(void **state)
{
    (void)state;
    const float from[] = {65519, 65520, -1e30f, INFINITY, 1};
    float to[5];
    round_floats(to, from, 5, PGY_F16, true);
    assert_float_equal(to[0], 65504, 0);
    assert_float_equal(to[1], 65504, 0);
    assert_float_equal(to[2], -65504, 0);
    assert_float_equal(to[3], 65504, 0);
    assert_float_equal(to[4], 1, 0);
    round_floats(to, from, 5, PGY_F16, false);
    assert_float_equal(to[0], 65504, 0);
    assert_true(isinf(to[1]) && isinf(to[2]));
}

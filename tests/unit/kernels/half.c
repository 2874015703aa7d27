/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of 16-bit floats to and from float32: every level against the scalar conversions of the
 * tensor layer, bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "kernels/half.h"
#include "tensor/convert.h"

static const pgy_dtype TYPES[] = {PGY_F16, PGY_BF16};

static float widened(pgy_dtype t, uint16_t h)
{
    return t == PGY_F16 ? f16_to_f32(h) : bf16_to_f32(h);
}

static uint16_t narrowed(pgy_dtype t, float v)
{
    return t == PGY_F16 ? f16_from_f64((double)v) : bf16_from_f64((double)v);
}

static void test_half__every_code_is_widened(void **state)
{
    (void)state;
    static uint16_t codes[65536];
    static float wide[65536];
    for (size_t i = 0; i < 65536; i++) codes[i] = (uint16_t)i;
    for (size_t t = 0; t < 2; t++)
        for (cpu_level l = CPU_PORTABLE; l <= cpu_features(); l++) {
            memset(wide, 0x5a, sizeof wide);
            half_loops_of(TYPES[t], l)->widen(wide, codes, 65536);
            for (size_t i = 0; i < 65536; i++) {
                const float v = widened(TYPES[t], codes[i]);
                if (isnan(v))
                    assert_true(isnan(wide[i]) && signbit(wide[i]) == signbit(v));
                else
                    assert_memory_equal(&wide[i], &v, sizeof v);
            }
        }
}

/* Every code, and what lies halfway to the next and just beside that. */
static void test_half__every_code_and_its_neighbours_are_narrowed(void **state)
{
    (void)state;
    enum { EACH = 5 };
    static float x[EACH * 65536];
    static uint16_t y[EACH * 65536];
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < 65536; i++) {
            const float v = widened(TYPES[t], (uint16_t)i);
            const float next = widened(TYPES[t], (uint16_t)(i + 1));
            const float middle = isfinite(next) ? v + (next - v) / 2 : v * 1.0002441f;
            x[EACH * i] = v;
            x[EACH * i + 1] = nextafterf(v, 0);
            x[EACH * i + 2] = middle;
            x[EACH * i + 3] = nextafterf(middle, INFINITY);
            x[EACH * i + 4] = nextafterf(middle, -INFINITY);
        }
        for (cpu_level l = CPU_PORTABLE; l <= cpu_features(); l++) {
            memset(y, 0x5a, sizeof y);
            half_loops_of(TYPES[t], l)->narrow(y, x, EACH * 65536);
            for (size_t i = 0; i < EACH * 65536; i++) {
                if (isnan(x[i]))
                    assert_true(isnan(widened(TYPES[t], y[i])));
                else if (y[i] != narrowed(TYPES[t], x[i]))
                    fail_msg("%s at level %d: %a becomes %04x, not %04x", pgy_dtype_name(TYPES[t]),
                             l, (double)x[i], y[i], narrowed(TYPES[t], x[i]));
            }
        }
    }
}

static void test_half__numbers_of_any_size_are_narrowed(void **state)
{
    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (cpu_level l = CPU_PORTABLE; l <= cpu_features(); l++)
            for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 65521 * 7) {
                const uint32_t low = (uint32_t)bits;
                float x;
                uint16_t y = 0x5a5a;
                memcpy(&x, &low, sizeof x);
                half_loops_of(TYPES[t], l)->narrow(&y, &x, 1);
                if (isnan(x))
                    assert_true(isnan(widened(TYPES[t], y)));
                else
                    assert_int_equal(y, narrowed(TYPES[t], x));
            }
}

/* Rounding gives the bits of narrowing and widening, also in place, and keeps what lies around. */
static void test_half__rounds_as_it_narrows_and_widens(void **state)
{
    (void)state;
    enum { COUNT = 70, MOST = 4096 };
    static float x[MOST], y[MOST], wanted[MOST];
    static uint16_t narrow[MOST];
    for (size_t i = 0; i < MOST; i++) {
        const uint32_t bits = (uint32_t)i * 1048573u + (uint32_t)(i % 7 << 9);
        memcpy(&x[i], &bits, sizeof bits);
    }
    for (size_t t = 0; t < 2; t++)
        for (cpu_level l = CPU_PORTABLE; l <= cpu_features(); l++) {
            const half_loops *loops = half_loops_of(TYPES[t], l);
            loops->narrow(narrow, x, MOST);
            loops->widen(wanted, narrow, MOST);
            loops->round(y, x, MOST);
            assert_memory_equal(y, wanted, sizeof y);
            for (size_t count = 0; count < COUNT; count++) {
                memcpy(y, x, sizeof y);
                loops->round(y + 3, y + 3, count);
                assert_memory_equal(y + 3, wanted + 3, count * sizeof *y);
                assert_memory_equal(y, x, 3 * sizeof *y);
                assert_memory_equal(y + 3 + count, x + 3 + count, COUNT * sizeof *y);
            }
        }
}

static void test_half__ends_of_arrays_are_kept(void **state)
{
    (void)state;
    uint16_t half[80];
    float wide[80];
    for (size_t t = 0; t < 2; t++)
        for (cpu_level l = CPU_PORTABLE; l <= cpu_features(); l++)
            for (size_t count = 0; count < 70; count++) {
                const half_loops *loops = half_loops_of(TYPES[t], l);
                memset(half, 0, sizeof half);
                memset(wide, 0x5a, sizeof wide);
                loops->widen(wide + 3, half + 5, count);
                for (size_t i = 0; i < 80; i++)
                    assert_int_equal(wide[i] != 0, i < 3 || i >= 3 + count);
                for (size_t i = 0; i < 80; i++) wide[i] = 1;
                memset(half, 0, sizeof half);
                loops->narrow(half + 5, wide + 3, count);
                for (size_t i = 0; i < 80; i++)
                    assert_int_equal(half[i] != 0, i >= 5 && i < 5 + count);
            }
}

/* Numbers that survive in one type, in both, or in none. */
static void test_half__says_which_type_holds_numbers(void **state)
{
    (void)state;
    static const struct {
        uint32_t word;
        bool f16, bf16;
    } CASES[] = {
        {0x00000000, true, true},   /* 0 */
        {0x80000000, true, true},   /* -0 */
        {0x3f800000, true, true},   /* 1 */
        {0x3f802000, true, false},  /* 1 + 2^-10 */
        {0x33800000, true, true},   /* 2^-24, a denormal of float16 */
        {0x33000000, false, true},  /* 2^-25 */
        {0x00010000, false, true},  /* a denormal */
        {0x00000001, false, false}, /* the least denormal */
        {0x477fe000, true, false},  /* 65504 */
        {0x47800000, false, true},  /* 65536 */
        {0x7f7fffff, false, false}, /* the largest number */
        {0x7f800000, true, true},   /* Inf */
        {0x7fc00000, true, true},   /* NaN */
        {0x7f800001, false, false}, /* a signalling NaN */
        {0x7fc00001, false, false}, /* a NaN with a payload */
        {0x3f800001, false, false}, /* 1 + 2^-23 */
    };
    enum { COUNT = 3000, AT = 2999 };
    static char bytes[COUNT * sizeof(uint32_t) + 1];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes + 1 + AT * sizeof(uint32_t), &CASES[i].word, sizeof(uint32_t));
        assert_int_equal(half_holds(PGY_F16, bytes + 1, sizeof bytes - 1), CASES[i].f16);
        assert_int_equal(half_holds(PGY_BF16, bytes + 1, sizeof bytes - 1), CASES[i].bf16);
    }
    assert_true(half_holds(PGY_F16, bytes, 0));
}

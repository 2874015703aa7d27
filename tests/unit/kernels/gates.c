/* SPDX-License-Identifier: Apache-2.0 */
/* GatedAdd, ScaledSiLU and LinearAttentionGate against the reference definitions, in all types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

static const struct {
    pgy_dtype dtype;
    double tolerance;
} TYPES[] = {{PGY_F32, 2e-6}, {PGY_F16, 1e-3}, {PGY_BF16, 8e-3}};

static void test_gates__gated_add(void **state)
{
    (void)state;
    static const char *const SHAPES[][2] = {{"2 3 300", "2 3 1"},
                                            {"1 40 7", "1 40 1"},
                                            {"9", "1"},
                                            {"5 1", "5 1"},
                                            {"1 1 6000", "1 1 1"}};
    for (size_t i = 0; i < 3 * sizeof SHAPES / sizeof *SHAPES; i++) {
        const char *const *shapes = SHAPES[i / 3];
        reference_case c;
        reference_start(&c, "com.microsoft", "GatedAdd", 1);
        for (size_t k = 0; k < 3; k++) reference_input(&c, TYPES[i % 3].dtype, shapes[k / 2]);
        assert_true(reference_run(&c, 1, TYPES[i % 3].tolerance) > 0);
    }
}

/* The scale has a type of its own. */
static void test_gates__scaled_silu(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"2 3 300", "6001", "1", "3 5 7 2"};
    static const char *const SCALES[] = {NULL, "1", ""};
    for (size_t i = 0; i < 4 * 3 * 3; i++) {
        const size_t type = i % 3, scale = i / 3 % 3;
        reference_case c;
        reference_start(&c, "com.microsoft", "ScaledSiLU", 1);
        reference_attr_float(&c, "alpha", 1.3f);
        reference_input(&c, TYPES[type].dtype, SHAPES[i / 9]);
        if (scale) reference_input(&c, TYPES[i / 9 % 3].dtype, SCALES[scale]);
        assert_true(reference_run(&c, 1, TYPES[type].tolerance) > 0);
    }
}

static void test_gates__linear_attention_gate(void **state)
{
    (void)state;
    static const char *const SHAPES[][2] = {
        {"2 3 32", "32"}, {"1 200 7", "7"}, {"1 1 1", "1"}, {"1 2 3000", "3000"}};
    for (size_t i = 0; i < 2 * 3 * sizeof SHAPES / sizeof *SHAPES; i++) {
        const size_t type = i % 3, outputs = 1 + i / 3 % 2;
        const char *const *shapes = SHAPES[i / 6];
        reference_case c;
        reference_start(&c, "com.microsoft", "LinearAttentionGate", 1);
        reference_input(&c, TYPES[type].dtype, shapes[0]);
        reference_input(&c, PGY_F32, shapes[1]);
        reference_input(&c, PGY_F32, shapes[1]);
        if (outputs > 1) reference_input(&c, TYPES[type].dtype, shapes[0]);
        assert_true(reference_run(&c, outputs, TYPES[type].tolerance) > 0);
    }
}

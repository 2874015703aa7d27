/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise kernels against the reference definitions. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 4e-7;

static const char *const SHAPES[] = {"", "1", "0", "3", "17", "4 65", "2 3 5 7", "5000"};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static void unary(const char *domain, const char *op, pgy_dtype dtype, bool positive)
{
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        reference_case c;
        reference_start(&c, domain, op, *domain ? 1 : 26);
        float *x = reference_input(&c, dtype, SHAPES[i]);
        for (size_t k = 0; dtype == PGY_F32 && k < pgy_tensor_count(c.inputs[0]); k++)
            if (positive) x[k] = fabsf(x[k]) + 0.01f;
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
}

static void test_elementwise__unary_operators(void **state)
{
    (void)state;
    static const char *const OPS[] = {"Relu",
                                      "LeakyRelu",
                                      "Sigmoid",
                                      "Tanh",
                                      "Erf",
                                      "Exp",
                                      "Abs",
                                      "Neg",
                                      "Floor",
                                      "Ceil",
                                      "Round",
                                      "Sign",
                                      "Clip",
                                      "HardSigmoid",
                                      "Elu",
                                      "HardSwish",
                                      "ThresholdedRelu",
                                      "Softplus",
                                      "Softsign",
                                      "Selu",
                                      "Celu",
                                      "Mish",
                                      "Reciprocal",
                                      "Gelu",
                                      "Sin",
                                      "Cos",
                                      "Tan",
                                      "Atan",
                                      "Sinh",
                                      "Cosh",
                                      "Asinh",
                                      "Shrink",
                                      "IsNaN",
                                      "IsInf"};
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++) unary("", OPS[i], PGY_F32, false);
    unary("", "Swish", PGY_F32, false);
    unary("", "Sqrt", PGY_F32, true);
    unary("", "Log", PGY_F32, true);
    unary("", "Not", PGY_BOOL, false);
    for (int i = 0; i < 3; i++) {
        static const char *const INTS[] = {"Neg", "Abs", "Sign"};
        unary("", INTS[i], PGY_I64, false);
        unary("", INTS[i], PGY_I32, false);
    }
    unary("com.microsoft", "Gelu", PGY_F32, false);
    unary("com.microsoft", "FastGelu", PGY_F32, false);
    unary("com.microsoft", "QuickGelu", PGY_F32, false);
}

static void test_elementwise__attributes(void **state)
{
    (void)state;
    reference_case c;
    static const char *const ALPHA[] = {"LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "Swish"};
    for (size_t i = 0; i < sizeof ALPHA / sizeof *ALPHA; i++) {
        reference_start(&c, "", ALPHA[i], 26);
        reference_attr_float(&c, "alpha", 0.7f);
        reference_input(&c, PGY_F32, "3 400");
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
    reference_start(&c, "", "HardSigmoid", 22);
    reference_attr_float(&c, "alpha", 0.3f);
    reference_attr_float(&c, "beta", 0.25f);
    reference_input(&c, PGY_F32, "3 400");
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    reference_start(&c, "", "Gelu", 20);
    reference_attr_text(&c, "approximate", "tanh");
    reference_input(&c, PGY_F32, "3 400");
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    for (int i = 0; i < 4; i++) {
        reference_start(&c, "", "IsInf", 20);
        reference_attr_int(&c, "detect_negative", i & 1);
        reference_attr_int(&c, "detect_positive", i >> 1);
        float *x = reference_input(&c, PGY_F32, "40");
        x[3] = INFINITY;
        x[20] = -INFINITY;
        x[30] = NAN;
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

static void test_elementwise__special_numbers(void **state)
{
    (void)state;
    static const char *const OPS[] = {"Relu",  "LeakyRelu", "Sigmoid",     "Tanh",  "Erf",
                                      "Exp",   "Abs",       "Neg",         "Floor", "Ceil",
                                      "Round", "Sign",      "Clip",        "Elu",   "Selu",
                                      "IsNaN", "IsInf",     "HardSigmoid", "Log",   "Sqrt"};
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++) {
        reference_case c;
        reference_start(&c, "", OPS[i], 26);
        float *x = reference_input(&c, PGY_F32, "37");
        x[0] = INFINITY;
        x[2] = -INFINITY;
        x[5] = NAN;
        x[6] = 0;
        x[7] = 2.5f;
        x[8] = 1e30f;
        x[36] = NAN;
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
}

/* Arguments that reach every branch, also beyond the domain. */
static void test_elementwise__circular_and_hyperbolic_functions(void **state)
{
    (void)state;
    static const char *const OPS[] = {"Sin",  "Cos",  "Tan",   "Asin",  "Acos", "Atan",
                                      "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"};
    static const float SCALES[] = {0.01f, 0.1f, 0.24f, 1, 10};
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        for (size_t k = 0; k < sizeof SCALES / sizeof *SCALES; k++)
            for (int half = 0; half < 2; half++) {
                reference_case c;
                reference_start(&c, "", OPS[i], 22);
                const pgy_dtype dtype = half ? PGY_F16 : PGY_F32;
                float *x = reference_input(&c, dtype, "3 171");
                for (size_t n = 0; !half && n < 513; n++) x[n] *= SCALES[k];
                if (!half) x[0] = INFINITY, x[1] = -INFINITY, x[2] = NAN, x[3] = -0.0f;
                assert_true(reference_run(&c, 1, half ? 1e-3 : TOLERANCE) > 0);
            }
}

static void limits(bool low, bool high, float from, float to)
{
    reference_case c;
    reference_start(&c, "", "Clip", 13);
    reference_input(&c, PGY_F32, "3 77");
    float *l = reference_input(&c, PGY_F32, low ? "" : NULL);
    if (low) *l = from, reference_constant(&c);
    float *h = reference_input(&c, PGY_F32, high ? "" : NULL);
    if (high) *h = to, reference_constant(&c);
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

static void test_elementwise__clip_takes_constant_limits(void **state)
{
    (void)state;
    limits(false, false, 0, 0);
    limits(true, false, -1, 0);
    limits(false, true, 0, 1);
    limits(true, true, 0, 6);
    limits(true, true, 2, 1);
    reference_case c;
    reference_start(&c, "", "Clip", 13);
    reference_input(&c, PGY_F32, "7");
    reference_input(&c, PGY_F32, ""); /* not known in time */
    assert_int_equal(reference_run(&c, 1, TOLERANCE), 0);
}

static void test_elementwise__clip_of_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const bool is_signed = i & 1;
        reference_case c;
        reference_start(&c, "", "Clip", 13);
        reference_input(&c, is_signed ? PGY_I8 : PGY_U8, "3 77");
        int8_t *low = reference_input(&c, is_signed ? PGY_I8 : PGY_U8, i & 2 ? "" : NULL);
        if (low) *low = 3, reference_constant(&c);
        int8_t *high = reference_input(&c, is_signed ? PGY_I8 : PGY_U8, i & 4 ? "" : NULL);
        if (high) *high = is_signed ? -2 : 6, reference_constant(&c);
        assert_true(reference_run(&c, 1, 0) > 0);
    }
    unary("", "Relu", PGY_I8, false);
}

static void binary(const char *op, pgy_dtype dtype, const char *a, const char *b)
{
    reference_case c;
    reference_start(&c, "", op, 26);
    reference_input(&c, dtype, a);
    reference_input(&c, dtype, b);
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

static void test_elementwise__clip_of_integers(void **state)
{
    (void)state;
    static const int64_t LIMITS[] = {-3, 4, 0, 1 << 24, -(1 << 24), 2};
    for (size_t low = 0; low < 6; low++)
        for (size_t high = 0; high < 6; high++)
            for (int how = 0; how < 8; how++) {
                const pgy_dtype dtype = how & 1 ? PGY_I64 : PGY_I32;
                reference_case c;
                reference_start(&c, "", "Clip", 13);
                void *x = reference_input(&c, dtype, "3 70");
                if (dtype == PGY_I64)
                    memcpy(x, (int64_t[]){INT64_MAX, INT64_MIN}, 16);
                else
                    memcpy(x, (int32_t[]){INT32_MAX, INT32_MIN}, 8);
                for (int i = 0; i < 2; i++) {
                    const int64_t limit = LIMITS[i ? high : low];
                    void *to = reference_input(&c, dtype, how >> (1 + i) & 1 ? NULL : "");
                    if (!to) continue;
                    if (dtype == PGY_I64) *(int64_t *)to = limit;
                    if (dtype == PGY_I32) *(int32_t *)to = (int32_t)limit;
                    reference_constant(&c);
                }
                assert_true(reference_run(&c, 1, 0) > 0);
            }
}

static void test_elementwise__binary_operators_broadcast(void **state)
{
    (void)state;
    static const char *const PAIRS[][2] = {{"", ""},
                                           {"5", ""},
                                           {"", "5"},
                                           {"300", "300"},
                                           {"3 65", "65"},
                                           {"3 65", "3 1"},
                                           {"1 65", "3 1"},
                                           {"2 3 4 5", "3 1 1"},
                                           {"2 1 4 1", "3 1 5"},
                                           {"2 3 4 5", "2 3 4 5"},
                                           {"0 3", "1 3"},
                                           {"4 9000", "9000"},
                                           {"2 3 1 5 1 2", "1 3 4 1 2 2"}};
    static const char *const FLOATS[] = {"Add", "Sub",   "Mul",  "Div",           "Min",
                                         "Max", "Equal", "Less", "Greater",       "LessOrEqual",
                                         "Sum", "Mean",  "Add",  "GreaterOrEqual"};
    static const char *const INTS[] = {"Add",  "Sub",     "Mul",         "Div",
                                       "Min",  "Max",     "Mod",         "Equal",
                                       "Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
    static const char *const BYTES[] = {"Add",         "Sub",           "Mul",  "Min",
                                        "Max",         "Equal",         "Less", "Greater",
                                        "LessOrEqual", "GreaterOrEqual"};
    static const char *const BOOLS[] = {"And", "Or", "Xor", "Equal"};
    for (size_t p = 0; p < sizeof PAIRS / sizeof *PAIRS; p++) {
        for (size_t i = 0; i < sizeof FLOATS / sizeof *FLOATS; i++)
            binary(FLOATS[i], PGY_F32, PAIRS[p][0], PAIRS[p][1]);
        for (size_t i = 0; i < sizeof INTS / sizeof *INTS; i++) {
            binary(INTS[i], PGY_I64, PAIRS[p][0], PAIRS[p][1]);
            binary(INTS[i], PGY_I32, PAIRS[p][0], PAIRS[p][1]);
        }
        for (size_t i = 0; i < sizeof BYTES / sizeof *BYTES; i++) {
            binary(BYTES[i], PGY_U8, PAIRS[p][0], PAIRS[p][1]);
            binary(BYTES[i], PGY_I8, PAIRS[p][0], PAIRS[p][1]);
        }
        for (size_t i = 0; i < sizeof BOOLS / sizeof *BOOLS; i++)
            binary(BOOLS[i], PGY_BOOL, PAIRS[p][0], PAIRS[p][1]);
        binary("Add", PGY_F64, PAIRS[p][0], PAIRS[p][1]);
    }
    binary("PRelu", PGY_F32, "2 3 4 5", "3 1 1");
}

static void test_elementwise__nan_wins_in_min_and_max(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        reference_case c;
        reference_start(&c, "", i ? "Min" : "Max", 13);
        float *a = reference_input(&c, PGY_F32, "40"), *b = reference_input(&c, PGY_F32, "40");
        a[0] = b[1] = a[20] = b[21] = b[39] = NAN;
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

static void shift(pgy_dtype dtype, const char *direction, const char *a, const char *b)
{
    reference_case c;
    reference_start(&c, "", "BitShift", 28);
    reference_attr_text(&c, "direction", direction);
    reference_input(&c, dtype, a);
    reference_input(&c, dtype, b); /* in int8 also amounts below 0 and beyond the width */
    assert_true(reference_run(&c, 1, 0) > 0);
}

static void test_elementwise__bits_and_shifts(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_U8,  PGY_I8,  PGY_U16, PGY_I16,
                                      PGY_U32, PGY_I32, PGY_U64, PGY_I64};
    static const char *const PAIRS[][2] = {{"4 65", "4 65"}, {"4 65", ""}, {"", "65"}, {"1", "1"}};
    for (size_t t = 0; t < sizeof TYPES / sizeof *TYPES; t++) {
        unary("", "BitwiseNot", TYPES[t], false);
        for (size_t p = 0; p < sizeof PAIRS / sizeof *PAIRS; p++) {
            binary("BitwiseAnd", TYPES[t], PAIRS[p][0], PAIRS[p][1]);
            binary("BitwiseOr", TYPES[t], PAIRS[p][0], PAIRS[p][1]);
            binary("BitwiseXor", TYPES[t], PAIRS[p][0], PAIRS[p][1]);
            shift(TYPES[t], "LEFT", PAIRS[p][0], PAIRS[p][1]);
            shift(TYPES[t], "RIGHT", PAIRS[p][0], PAIRS[p][1]);
        }
    }
}

static void test_elementwise__truncated_remainders(void **state)
{
    (void)state;
    static const float SPECIAL[][2] = {{INFINITY, 3},  {3, INFINITY},    {NAN, 1},
                                       {1, NAN},       {5, 0},           {-6, 3},
                                       {1e30f, 0.3f},  {-0.0f, 2},       {3e38f, 1e-45f},
                                       {2, -INFINITY}, {1e-45f, 3e-45f}, {-7.5f, 2}};
    enum { COUNT = sizeof SPECIAL / sizeof *SPECIAL };
    for (int special = 0; special < 2; special++)
        for (int scale = -3; scale < 12; scale++) {
            reference_case c;
            reference_start(&c, "", "Mod", 13);
            reference_attr_int(&c, "fmod", 1);
            float *a = reference_input(&c, PGY_F32, "5 60");
            float *b = reference_input(&c, PGY_F32, "5 60");
            for (size_t k = 0; k < 300; k++) a[k] *= powf(10, (float)scale);
            for (size_t k = 0; special && k < COUNT; k++) {
                a[11 * k] = SPECIAL[k][0];
                b[11 * k] = SPECIAL[k][1];
            }
            assert_true(reference_run(&c, 1, 0) > 0);
        }
}

static void test_elementwise__several_operands(void **state)
{
    (void)state;
    static const char *const OPS[] = {"Sum", "Mean", "Min", "Max"};
    for (size_t i = 0; i < 4; i++)
        for (int count = 1; count < 6; count++) {
            static const char *const SHAPE[] = {"3 1 40", "5 1", "40", "3 5 40", ""};
            reference_case c;
            reference_start(&c, "", OPS[i], 13);
            for (int k = 0; k < count; k++) reference_input(&c, PGY_F32, SHAPE[k]);
            assert_true(reference_run(&c, 1, TOLERANCE) > 0);
        }
}

static void test_elementwise__powers(void **state)
{
    (void)state;
    static const float EXPONENTS[] = {2, 3, 1, -1, 0.5f, 1.7f};
    for (size_t i = 0; i < 6; i++)
        for (int constant = 0; constant < 2; constant++) {
            reference_case c;
            reference_start(&c, "", "Pow", 15);
            float *x = reference_input(&c, PGY_F32, "3 50");
            for (size_t k = 0; k < 150; k++) x[k] = fabsf(x[k]) + 0.05f;
            *(float *)reference_input(&c, PGY_F32, "") = EXPONENTS[i];
            if (constant) reference_constant(&c);
            assert_true(reference_run(&c, 1, TOLERANCE) > 0);
        }
    reference_case c;
    reference_start(&c, "", "Pow", 15);
    reference_input(&c, PGY_F32, "50");
    *(int64_t *)reference_input(&c, PGY_I64, "") = 2;
    reference_constant(&c);
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

static void test_elementwise__where_of_any_width(void **state)
{
    (void)state;
    static const char *const SHAPE[][3] = {
        {"3 40", "3 40", "3 40"}, {"3 40", "", "3 40"},   {"3 40", "40", ""}, {"3 1", "3 40", "40"},
        {"", "3 40", "3 40"},     {"2 1 40", "3 1", "1"}, {"1", "", ""}};
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16, PGY_I32, PGY_F64};
    for (size_t i = 0; i < sizeof SHAPE / sizeof *SHAPE; i++)
        for (size_t t = 0; t < sizeof TYPES / sizeof *TYPES; t++) {
            reference_case c;
            reference_start(&c, "", "Where", 16);
            reference_input(&c, PGY_BOOL, SHAPE[i][0]);
            reference_input(&c, TYPES[t], SHAPE[i][1]);
            reference_input(&c, TYPES[t], SHAPE[i][2]);
            assert_true(reference_run(&c, 1, 0) > 0);
        }
}

static void test_elementwise__bias_and_activation(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        reference_case c;
        reference_start(&c, "com.microsoft", i ? "FastGelu" : "BiasGelu", 1);
        reference_input(&c, PGY_F32, "2 5 67");
        reference_input(&c, PGY_F32, "67");
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
}

static void test_elementwise__blocked_layouts_are_kept(void **state)
{
    (void)state;
    static const char *const OTHER[] = {"2 32 3 5", "1 32 1 1", "2 32 1 1",
                                        "",         "2 32 3 1", "1 32 3 5"};
    for (size_t i = 0; i < sizeof OTHER / sizeof *OTHER; i++)
        for (int layout = KERNEL_BLOCKED_8; layout <= KERNEL_BLOCKED_16; layout++)
            for (int constant = 0; constant < 2; constant++) {
                reference_case c;
                reference_start(&c, "", "Mul", 14);
                reference_input(&c, PGY_F32, "2 32 3 5");
                reference_input(&c, PGY_F32, OTHER[i]);
                if (constant) reference_constant(&c);
                assert_true(reference_run_layout(&c, 1, (kernel_layout)layout, TOLERANCE) > 0);
            }
    reference_case c;
    reference_start(&c, "", "Exp", 13); /* lanes beyond the channels would not stay zero */
    reference_input(&c, PGY_F32, "2 5 7");
    assert_true(reference_run_layout(&c, 1, KERNEL_BLOCKED_8, TOLERANCE) > 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Golden values are those of Python's repr and numpy's float16 and float32 texts. */
#include "support.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#include "base/pytext.h"

static void expect_repr(double v, const char *text)
{
    char out[32];
    memset(out, 'x', sizeof out);
    assert_int_equal(py_double_repr(out, v), strlen(text));
    assert_string_equal(out, text);
}

static void test_pytext__double_repr(void **state)
{
    (void)state;
    expect_repr(0.0, "0.0");
    expect_repr(-0.0, "-0.0");
    expect_repr(1, "1.0");
    expect_repr(-2.5, "-2.5");
    expect_repr(0.1, "0.1");
    expect_repr(0.1 + 0.2, "0.30000000000000004");
    expect_repr(1.0 / 3, "0.3333333333333333");
    expect_repr(1e-5, "1e-05");
    expect_repr(0.0001, "0.0001");
    expect_repr(0.00012345, "0.00012345");
    expect_repr(1e15, "1000000000000000.0");
    expect_repr(1e16, "1e+16");
    expect_repr(9999999999999998.0, "9999999999999998.0");
    expect_repr(123456789012345680.0, "1.2345678901234568e+17");
    expect_repr(1e22, "1e+22");
    expect_repr(1e100, "1e+100");
    expect_repr(0.00029540061950683594, "0.00029540061950683594");
    expect_repr(0x1p-44, "5.684341886080802e-14");
    expect_repr(9007199254740993.0, "9007199254740992.0");
    expect_repr(DBL_MAX, "1.7976931348623157e+308");
    expect_repr(DBL_MIN, "2.2250738585072014e-308");
    expect_repr(5e-324, "5e-324");
    expect_repr(-5e-324 * 3, "-1.5e-323");
    expect_repr(INFINITY, "inf");
    expect_repr(-INFINITY, "-inf");
    expect_repr(NAN, "nan");
    expect_repr(-NAN, "nan");
}

static void test_pytext__reads_back_and_is_short(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        double v;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v) || v == 0) continue;
        char text[32], digits[20], shorter[48];
        int exp10;
        py_double_repr(text, v);
        assert_true(strtod(text, NULL) == v);
        const int n = py_shortest_digits(digits, &exp10, fabs(v), 64);
        snprintf(shorter, sizeof shorter, "%.*e", n - 2, fabs(v));
        if (n > 1) assert_true(strtod(shorter, NULL) != fabs(v));
    }
}

static void test_pytext__float_repr(void **state)
{
    (void)state;
    static const struct {
        float v;
        const char *text;
    } CASES[] = {{0.1f, "0.1"},
                 {1.0f / 3, "0.33333334"},
                 {16777216.0f, "16777216.0"},
                 {3.4028235e38f, "3.4028235e+38"},
                 {1e-45f, "1e-45"},
                 {0x1p-126f, "1.1754944e-38"},
                 {0x1p90f, "1.2379401e+27"},
                 {-2.5f, "-2.5"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char out[32];
        assert_int_equal(py_float_repr(out, CASES[i].v), strlen(CASES[i].text));
        assert_string_equal(out, CASES[i].text);
    }
}

static void test_pytext__half_digits(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *digits;
        int exp10;
    } CASES[] = {{0x1p-24, "6", -7},          {0x1p-14, "6104", -4},
                 {0.0999755859375, "1", 0},   {1, "1", 1},
                 {65504, "655", 5},           {2048, "2048", 4},
                 {0.333251953125, "3333", 0}, {0x3FFp-24, "61", -4},
                 {1024, "1024", 4},           {0.25, "25", 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char digits[20];
        int exp10;
        const int n = py_shortest_digits(digits, &exp10, CASES[i].v, 16);
        digits[n] = '\0';
        assert_string_equal(digits, CASES[i].digits);
        assert_int_equal(exp10, CASES[i].exp10);
    }
}

static void test_pytext__text_repr(void **state)
{
    (void)state;
    static const struct {
        const char *text, *repr;
    } CASES[] = {
        {"a", "'a'"},
        {"", "''"},
        {"it's", "\"it's\""},
        {"say \"it's\"", "'say \"it\\'s\"'"},
        {"tab\t\r\n\x7f\x01", "'tab\\t\\r\\n\\x7f\\x01'"},
        {"\xC3\xA9\xE2\x80\xA8\xC2\xA0\xF0\x9F\x98\x80\xF3\xA0\x80\x81",
         "'\xC3\xA9\\u2028\\xa0\xF0\x9F\x98\x80\\U000e0001'"},
        {"back\\", "'back\\\\'"},
        {"\xFF\xC3", "'\\udcff\\udcc3'"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        str s = {0};
        str_append_py_repr(&s, CASES[i].text);
        assert_string_equal(str_text(&s), CASES[i].repr);
        str_deinit(&s);
    }
}

static void test_pytext__sequences(void **state)
{
    (void)state;
    static const int64_t ITEMS[] = {2, -3, INT64_MIN};
    static const char *const NAMES[] = {"a", "it's"};
    str s = {0};
    str_append_py_tuple(&s, ITEMS, 0);
    str_append_py_tuple(&s, ITEMS, 1);
    str_append_py_tuple(&s, ITEMS, 3);
    str_append_py_ints(&s, ITEMS, 0);
    str_append_py_ints(&s, ITEMS, 2);
    str_append_py_list(&s, NAMES, 2);
    str_append_py_list(&s, NAMES, 0);
    assert_string_equal(str_text(&s),
                        "()(2,)(2, -3, -9223372036854775808)[][2, -3]['a', \"it's\"][]");
    str_deinit(&s);
}

static void test_pytext__g(void **state)
{
    (void)state;
    str s = {0};
    str_append_g(&s, 5, 0.123456789);
    str_append(&s, " ");
    str_append_g(&s, 5, -NAN);
    str_append(&s, " ");
    str_append_g(&s, 5, -INFINITY);
    str_append(&s, " ");
    str_append_g(&s, 5, 1e-7);
    assert_string_equal(str_text(&s), "0.12346 nan -inf 1e-07");
    str_deinit(&s);
}

static void test_pytext__other_locale(void **state)
{
    (void)state;
    const char *const set = setlocale(LC_ALL, "de_DE.UTF-8");
    char out[32];
    str s = {0};
    py_double_repr(out, 0.30000000000000004);
    str_append_g(&s, 5, 1.5);
    const double parsed = text_to_double("2.5", NULL);
    setlocale(LC_ALL, "C");
    assert_string_equal(out, "0.30000000000000004");
    assert_string_equal(str_text(&s), "1.5");
    assert_true(parsed == 2.5);
    str_deinit(&s);
    if (!set) skip();
}

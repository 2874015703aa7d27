/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <polygraphy/base.h>

static void test_error__set_and_prefix(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_equal(pgy_error_set(&err, PGY_E_SHAPE, "axis %d is not in [%d, %d)", 3, -2, 2),
                     PGY_E_SHAPE);
    assert_string_equal(err.text, "axis 3 is not in [-2, 2)");
    assert_int_equal(pgy_error_prefix(&err, PGY_E_SHAPE, "node '%s': ", "Conv_3"), PGY_E_SHAPE);
    assert_string_equal(err.text, "node 'Conv_3': axis 3 is not in [-2, 2)");
    assert_int_equal(pgy_error_prefix(&err, PGY_E_SHAPE, "node '%s': ", "Conv_3"), PGY_E_SHAPE);
    assert_string_equal(err.text, "node 'Conv_3': axis 3 is not in [-2, 2)"); /* once */
    assert_int_equal(pgy_error_set(NULL, PGY_E_IO, "x"), PGY_E_IO);
    assert_int_equal(pgy_error_prefix(NULL, PGY_E_IO, "x"), PGY_E_IO);
}

static void test_error__may_quote_itself(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_equal(pgy_error_set(&err, PGY_E_IO, "inner"), PGY_E_IO);
    assert_int_equal(pgy_error_set(&err, PGY_E_IO, "outer: %s!", err.text), PGY_E_IO);
    assert_string_equal(err.text, "outer: inner!");
}

static void test_error__stays_one_line(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_equal(pgy_error_set(&err, PGY_E_FORMAT, "name '%s'", "a\nb\033[31m\x7f"),
                     PGY_E_FORMAT);
    assert_string_equal(err.text, "name 'a b\\x1b[31m\\x7f'");
}

static void test_error__truncates_at_a_character(void **state)
{
    (void)state;
    pgy_error err = {0};
    char text[4001];
    for (int shift = 0; shift < 3; shift++) {
        memset(text, 'x', sizeof text);
        for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xE2\x82\xAC", 3);
        text[4000] = '\0';
        assert_int_equal(pgy_error_set(&err, PGY_E_IO, "%s", text), PGY_E_IO);
        const size_t n = strlen(err.text);
        assert_in_range(n, sizeof err.text - 6, sizeof err.text - 1);
        assert_string_equal(err.text + n - 3, "...");
        assert_memory_equal(err.text + n - 6, "\xE2\x82\xAC", 3);
        assert_int_equal(pgy_error_prefix(&err, PGY_E_IO, "%s", text), PGY_E_IO);
        assert_in_range(strlen(err.text), sizeof err.text - 6, sizeof err.text - 1);
    }
}

static void test_error__names(void **state)
{
    (void)state;
    assert_string_equal(pgy_status_name(PGY_OK), "ok");
    assert_string_equal(pgy_status_name(PGY_E_NOT_FOUND), "not found");
    assert_string_equal(pgy_status_name(PGY_E_INTERNAL), "internal");
    assert_string_equal(pgy_status_name((pgy_status)99), "unknown");
    assert_string_equal(pgy_status_name((pgy_status)-1), "unknown");
    assert_string_equal(pgy_version(), PGY_VERSION);
}

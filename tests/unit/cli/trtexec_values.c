/* SPDX-License-Identifier: Apache-2.0 */
/* The values of trtexec's options: lists of pairs, shapes, sizes, numbers, paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/trtexec/options.h"

/* "name=value|name=value" of a list, or its error. */
static void read_pairs(str *out, const char *text)
{
    arena a = {0};
    trtexec_pair *pairs = NULL;
    size_t count = 0;
    pgy_error err = {0};
    const pgy_status st = trtexec_pairs(&pairs, &count, text, "--shapes", &a, &err);
    if (st) str_append(out, err.text);
    for (size_t i = 0; !st && i < count; i++)
        str_printf(out, "%s%s=%s", i ? "|" : "", pairs[i].name, pairs[i].value);
    arena_deinit(&a);
}

static void test_trtexec_values__pairs(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {
        {"x:4x1x28x28", "x=4x1x28x28"},   {"x:0:4x1x28x28", "x:0=4x1x28x28"},
        {"a:1,b:0:2x3", "a=1|b:0=2x3"},   {"'x:0':2x3", "x:0=2x3"},
        {"'a,b':2x3,c:1", "a,b=2x3|c=1"}, {"'a b':in.raw", "a b=in.raw"},
        {"s:scalar", "s=scalar"},         {"s:,t:1", "s=|t=1"},
        {"block*:2", "block*=2"},
    };
    static const char *const WRONG[] = {"",     "x",    "4x1x28x28", ":1",
                                        "a:1,", ",a:1", "a:1,b",     "'':1"};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        str text = {0};
        read_pairs(&text, CASES[i][0]);
        assert_string_equal(str_text(&text), CASES[i][1]);
        str_deinit(&text);
    }
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        str text = {0};
        read_pairs(&text, WRONG[i]);
        if (!strstr(str_text(&text), "--shapes: '") ||
            !strstr(str_text(&text), "is not of the form NAME:VALUE"))
            fail_msg("'%s' gives: %s", WRONG[i], str_text(&text));
        str_deinit(&text);
    }
}

static void test_trtexec_values__dims(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t rank;
        int64_t dims[4];
    } CASES[] = {{"4x1x28x28", 4, {4, 1, 28, 28}},
                 {"7", 1, {7}},
                 {"0x3", 2, {0, 3}},
                 {"scalar", 0, {0}},
                 {"", 0, {0}},
                 {"9223372036854775807", 1, {INT64_MAX}}};
    static const char *const WRONG[] = {"x",    "1x",  "x1",     "1xx2",    "-1",
                                        "1x-1", "1X2", "1,2",    "1 ",      " 1",
                                        "+1",   "1.5", "Scalar", "scalar1", "9223372036854775808"};
    arena a = {0};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        int64_t *dims = NULL;
        size_t rank = 99;
        pgy_error err = {0};
        assert_int_equal(trtexec_dims(&dims, &rank, CASES[i].text, "--shapes", &a, &err), PGY_OK);
        assert_int_equal(rank, CASES[i].rank);
        for (size_t k = 0; k < rank; k++) assert_int_equal(dims[k], CASES[i].dims[k]);
    }
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        int64_t *dims = NULL;
        size_t rank = 0;
        pgy_error err = {0};
        if (!trtexec_dims(&dims, &rank, WRONG[i], "--shapes", &a, &err))
            fail_msg("'%s' is read as a shape", WRONG[i]);
        if (!strstr(err.text, "is not a shape; expected dimensions as in 1x3x224x224"))
            fail_msg("'%s' gives: %s", WRONG[i], err.text);
    }
    arena_deinit(&a);
}

/* A rank beyond the greatest is an error, not a write beyond the array. */
static void test_trtexec_values__too_many_dims(void **state)
{
    (void)state;
    arena a = {0};
    str text = {0};
    int64_t *dims = NULL;
    size_t rank = 0;
    pgy_error err = {0};
    for (size_t i = 0; i < PGY_MAX_RANK; i++) str_append(&text, i ? "x1" : "1");
    assert_int_equal(trtexec_dims(&dims, &rank, str_text(&text), "--shapes", &a, &err), PGY_OK);
    assert_int_equal(rank, PGY_MAX_RANK);
    str_append(&text, "x1");
    assert_int_equal(trtexec_dims(&dims, &rank, str_text(&text), "--shapes", &a, &err),
                     PGY_E_ARGUMENT);
    str_deinit(&text);
    arena_deinit(&a);
}

static void test_trtexec_values__sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } CASES[] = {
        {"16", 16ull << 20}, {"100B", 100}, {"1K", 1024},    {"2M", 2ull << 20}, {"3G", 3ull << 30},
        {"0.5K", 512},       {"1.7B", 1},   {"0.3", 314572}, {"0", 0},           {"1e1B", 10}};
    static const char *const WRONG[] = {"",   "K",   "1KB", "1T",  "1k",
                                        "-1", "nan", "inf", "1 M", "9000000000000G"};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        uint64_t bytes = 99;
        pgy_error err = {0};
        assert_int_equal(trtexec_bytes(&bytes, CASES[i].text, "--memPoolSize", 1 << 20, &err),
                         PGY_OK);
        assert_int_equal(bytes, CASES[i].bytes);
    }
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        uint64_t bytes = 0;
        pgy_error err = {0};
        if (!trtexec_bytes(&bytes, WRONG[i], "--memPoolSize", 1 << 20, &err))
            fail_msg("'%s' is read as %llu bytes", WRONG[i], (unsigned long long)bytes);
        if (!strstr(err.text, "--memPoolSize: '")) fail_msg("'%s' gives: %s", WRONG[i], err.text);
    }
}

static void test_trtexec_values__numbers(void **state)
{
    (void)state;
    static const char *const WRONG[] = {"", "x", "1x", "1 ", "nan", "inf", "1e999", "-2"};
    pgy_error err = {0};
    double v = 0;
    assert_int_equal(trtexec_real(&v, "0.25", "--duration", -1, &err), PGY_OK);
    assert_true(v == 0.25);
    assert_int_equal(trtexec_real(&v, "-1", "--duration", -1, &err), PGY_OK);
    assert_true(v == -1);
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        if (!trtexec_real(&v, WRONG[i], "--duration", -1, &err))
            fail_msg("'%s' is read as %g", WRONG[i], v);
        if (!strstr(err.text, "is not a number of at least -1"))
            fail_msg("'%s' gives: %s", WRONG[i], err.text);
    }
}

static void test_trtexec_values__home(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {{"~/a.plan", "/home/me/a.plan"},
                                           {"~", "/home/me"},
                                           {"~you/a", "~you/a"},
                                           {"a~/b", "a~/b"},
                                           {"", ""}};
    arena a = {0};
    assert_int_equal(setenv("HOME", "/home/me", 1), 0);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *path = NULL;
        pgy_error err = {0};
        assert_int_equal(trtexec_path(&path, CASES[i][0], &a, &err), PGY_OK);
        assert_string_equal(path, CASES[i][1]);
    }
    arena_deinit(&a);
}

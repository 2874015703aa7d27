/* SPDX-License-Identifier: Apache-2.0 */
/* Names of elements of sequences among named tensors. */
#include "tensor/elements.h"

#include "support.h"

static pgy_tensor_map *map_of(const char *names)
{
    pgy_tensor_map *m = NULL;
    pgy_error err = {0};
    char copy[256];
    expect_ok(pgy_tensor_map_create(&m, &err), &err);
    snprintf(copy, sizeof copy, "%s", names);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        expect_ok(pgy_tensor_map_adopt(m, word, tensor_of(PGY_F32, DIMS(1), NULL), &err), &err);
    return m;
}

static void expect_count(const char *names, size_t wanted)
{
    pgy_tensor_map *m = map_of(names);
    pgy_error err = {0};
    size_t count = 99;
    expect_ok(elements_count(&count, m, "s", &err), &err);
    assert_int_equal(count, wanted);
    pgy_tensor_map_destroy(m);
}

static void expect_refused(const char *names, const char *text)
{
    pgy_tensor_map *m = map_of(names);
    pgy_error err = {0};
    size_t count = 99;
    assert_int_equal(elements_count(&count, m, "s", &err), PGY_E_ARGUMENT);
    assert_int_equal(count, 99);
    if (!strstr(err.text, text)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(m);
}

static void test_elements__names(void **state)
{
    (void)state;
    assert_true(elements_belongs("s[0]", "s"));
    assert_true(elements_belongs("s[]", "s"));
    assert_true(elements_belongs("s[12][3]", "s"));
    assert_true(elements_belongs("s[0][]", "s"));
    assert_true(elements_belongs("s[1][2]", "s[1]"));
    assert_true(elements_belongs("s[keys]", "s"));
    assert_true(elements_belongs("s[3][values]", "s"));
    static const char *const OTHERS[] = {
        "s",      "s[",  "s[01]", "s[1]x",      "s[-1]",      "st[0]",
        "s[][0]", "s[1", "s[a]",  "s[keys][0]", "s[values]x", "s[99999999999999999999]"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (elements_belongs(OTHERS[i], "s")) fail_msg("'%s' belongs to 's'", OTHERS[i]);
}

static void test_elements__lengths(void **state)
{
    (void)state;
    expect_count("s[0]", 1);
    expect_count("x s[1] st[5] s[0] s", 2);
    expect_count("s[]", 0);
    expect_count("s[0][0] s[0][1] s[1][]", 2);
    expect_count("s[0][keys] s[0][values] s[1][keys] s[1][values]", 2);
}

static void test_elements__what_is_missing_is_named(void **state)
{
    (void)state;
    expect_refused("s", "'s' is a sequence: give its elements as 's[0]', 's[1]'");
    expect_refused("s[0] s[2]", "lacks 's[1]'");
    expect_refused("s[1]", "lacks 's[0]'");
    expect_refused("s[999999999999999]", "lacks 's[0]'");
    expect_refused("s[0] s[7] s[8]", "lacks 's[1]'");
    expect_refused("s[] s[0]", "is empty, but there is an element 's[...]', too");
}

static void test_elements__a_name_is_taken_once(void **state)
{
    (void)state;
    pgy_tensor_map *m = map_of("s[0]");
    pgy_error err = {0};
    assert_int_equal(elements_adopt(m, "s[0]", tensor_of(PGY_I8, DIMS(1), NULL), &err),
                     PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "the name 's[0]' belongs to a tensor and to an element"));
    expect_ok(elements_adopt_none(m, "t", PGY_I64, &err), &err);
    const pgy_tensor *none = pgy_tensor_map_find(m, "t[]");
    assert_int_equal(pgy_tensor_dtype(none), PGY_I64);
    assert_int_equal(pgy_tensor_rank(none), 1);
    assert_int_equal(pgy_tensor_count(none), 0);
    pgy_tensor_map_destroy(m);
}

static void expect_map_refused(const char *names, const char *text)
{
    pgy_tensor_map *m = map_of(names);
    pgy_tensor *keys, *values;
    pgy_error err = {0};
    assert_int_equal(elements_map(&keys, &values, m, "s", &err), PGY_E_ARGUMENT);
    if (!strstr(err.text, text)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(m);
}

static void test_elements__maps(void **state)
{
    (void)state;
    pgy_tensor_map *m = map_of("x");
    pgy_tensor *keys, *values;
    pgy_error err = {0};
    expect_ok(elements_map(&keys, &values, m, "s", &err), &err);
    assert_null(keys);
    expect_ok(elements_adopt_map(m, "s", tensor_of(PGY_I64, DIMS(3), NULL),
                                 tensor_of(PGY_F32, DIMS(3), NULL), &err),
              &err);
    expect_ok(elements_map(&keys, &values, m, "s", &err), &err);
    assert_int_equal(pgy_tensor_dtype(keys), PGY_I64);
    assert_int_equal(pgy_tensor_dtype(values), PGY_F32);
    pgy_tensor_map_destroy(m);
    expect_map_refused("s[keys]", "map 's' lacks 's[values]'");
    expect_map_refused("s[values]", "map 's' lacks 's[keys]'");
}

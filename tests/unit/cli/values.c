/* SPDX-License-Identifier: Apache-2.0 */
/* The small languages inside option values, and what is said about what is not in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/args/parser.h"

static arena memory;
static pgy_error err;

static pgy_text_list list_of(const char *const *items, size_t count)
{
    return (pgy_text_list){items, count, true};
}
#define LIST(...) \
    list_of((const char *[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

static cast_value cast(const char *text)
{
    cast_value v = {0};
    assert_int_equal(value_cast(&v, text, &memory, &err), PGY_OK);
    return v;
}

static void test_values__cast(void **state)
{
    (void)state;
    assert_int_equal(cast("53").kind, CAST_INT);
    assert_int_equal(cast(" 1_000 ").number.integer, 1000);
    assert_int_equal(cast("53.0").kind, CAST_REAL);
    assert_int_equal(cast("-inf").kind, CAST_REAL);
    assert_int_equal(cast("1e-3").kind, CAST_REAL);
    assert_int_equal(cast("'53'").kind, CAST_TEXT);
    assert_string_equal(cast("'53'").text, "53");
    assert_int_equal(cast("99999999999999999999").kind, CAST_REAL);
    cast_value v = cast("[1, a,2.5]");
    assert_int_equal(v.count, 3);
    assert_int_equal(v.items[0].kind, CAST_INT);
    assert_string_equal(v.items[1].text, "a");
    v = cast("[]");
    assert_int_equal(v.count, 1);
    assert_string_equal(v.items[0].text, "");
    arena_deinit(&memory);
}

static void test_values__keys(void **state)
{
    (void)state;
    const key_value *pairs;
    size_t count;
    pgy_text_list words = LIST("out:0:1e-3", "5", "out:0:7");
    assert_int_equal(values_split(&pairs, &count, &words, &memory, &err), PGY_OK);
    assert_int_equal(count, 2);
    assert_string_equal(pairs[0].key, "out:0");
    assert_string_equal(pairs[0].value, "7");
    assert_string_equal(pairs[1].key, "");
    pgy_number_map map;
    words = LIST("out:x");
    assert_int_equal(values_numbers(&map, &words, "--rtol", &memory, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "--rtol: 'x' is not a number; expected NUMBER or OUTPUT:NUMBER");
    arena_deinit(&memory);
}

static void test_values__ranges(void **state)
{
    (void)state;
    const pgy_value_range *r;
    size_t count;
    pgy_text_list words = LIST("[0,1]", "x:[-inf,2.5]");
    assert_int_equal(values_ranges(&r, &count, &words, &memory, &err), PGY_OK);
    assert_int_equal(count, 2);
    assert_true(r[0].is_integer && r[0].high_int == 1);
    assert_string_equal(r[1].name, "x");
    assert_false(r[1].is_integer);
    const char *const bad[] = {"2", "[1]", "[1,2,3]", "[a,b]"};
    for (size_t i = 0; i < 4; i++) {
        words = list_of(&bad[i], 1);
        assert_int_equal(values_ranges(&r, &count, &words, &memory, &err), PGY_E_ARGUMENT);
        assert_non_null(strstr(err.text, "is not a range"));
    }
    arena_deinit(&memory);
}

static bool crosses; /* the syntax that shapes are written in */

static pgy_metadata *shapes(const char *text)
{
    static const args_dialect CROSSES = {.program = "p", .values = &VALUES_CROSSES};
    pgy_metadata *m = NULL;
    pgy_text_list words = list_of(&text, 1);
    args line = {.dialect = crosses ? &CROSSES : &ARGS_PLAIN};
    const pgy_status st = values_shapes(&m, &words, "--input-shapes", &line, &err);
    arena_deinit(&line.memory);
    return st ? NULL : m;
}

static void expect_shape(const char *text, const char *wanted)
{
    pgy_metadata *m = shapes(text);
    char *shown = NULL;
    if (!m) fail_msg("%s: %s", text, err.text);
    assert_int_equal(pgy_metadata_text(&shown, m, &err), PGY_OK);
    assert_string_equal(shown, wanted);
    pgy_text_free(shown);
    pgy_metadata_destroy(m);
}

static void test_values__shapes_with_crosses(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {{"a:1x3", "{a [shape=(1, 3)]}"},
                                           {"a:1x-1", "{a [shape=(1, -1)]}"},
                                           {"x:0:4x28", "{x:0 [shape=(4, 28)]}"},
                                           {"'a b':7", "{a b [shape=(7,)]}"},
                                           {"b:scalar", "{b [shape=()]}"}};
    static const char *const WRONG[] = {"a", ":1", "a:1x", "a:[1,3]", "a:1x3,"};
    crosses = true;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        expect_shape(CASES[i][0], CASES[i][1]);
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        assert_null(shapes(WRONG[i]));
        assert_non_null(strstr(err.text, "is not NAME:D0xD1x...; write it as 'input:1x3x224x224'"));
    }
    crosses = false;
    arena_deinit(&memory);
}

static void test_values__shapes(void **state)
{
    (void)state;
    expect_shape("x:[1,3,224]", "{x [shape=(1, 3, 224)]}");
    expect_shape("a:b:[]", "{a:b [shape=()]}");
    expect_shape("x:[batch,-1, 0]", "{x [shape=('batch', -1, 0)]}");
    expect_shape("x:['n',2]", "{x [shape=('n', 2)]}");
    assert_null(shapes("x:1x2"));
    assert_non_null(strstr(err.text, "'x:[1,2]'"));
    assert_null(shapes("x"));
    assert_null(shapes("x:[1,,2]"));
    arena_deinit(&memory);
}

static void test_values__shapes_of_older_releases(void **state)
{
    (void)state;
    expect_shape("x,1x3x224", "{x [shape=(1, 3, 224)]}");
    expect_shape("x,-1x3,float32", "{x [shape=(-1, 3)]}");
    expect_shape("axb,2x'nx'", "{axb [shape=(2, 'nx')]}");
    assert_null(shapes("x,auto"));
    assert_null(shapes("x,1xx2"));
    assert_null(shapes("x,"));
    arena_deinit(&memory);
}

static void test_values__top_k(void **state)
{
    (void)state;
    const pgy_top_k *k;
    size_t count;
    pgy_text_list words = LIST("top-5", "logits:top-2,axis=-1");
    assert_int_equal(values_top_k(&k, &count, &words, &memory, &err), PGY_OK);
    assert_int_equal(k[0].k, 5);
    assert_false(k[0].has_axis);
    assert_int_equal(k[1].axis, -1);
    words = LIST("max-3");
    assert_int_equal(values_top_k(&k, &count, &words, &memory, &err), PGY_E_ARGUMENT);
    arena_deinit(&memory);
}

static void test_values__bytes(void **state)
{
    (void)state;
    uint64_t n;
    assert_int_equal(value_bytes(&n, "2.3m", "-x", &err), PGY_OK);
    assert_int_equal(n, 2411724);
    assert_int_equal(value_bytes(&n, "1e3", "-x", &err), PGY_OK);
    assert_int_equal(n, 1000);
    const char *const bad[] = {"", "K", "1KB", "-1", "nan", "1e30"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(value_bytes(&n, bad[i], "-x", &err), PGY_E_ARGUMENT);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Golden texts are those of Python's json.dumps(value, indent="    "). */
#include "support.h"

#include <math.h>

#include "base/alloc.h"
#include "base/json.h"

static arena memory;

static int group_teardown(void **state)
{
    (void)state;
    arena_deinit(&memory);
    return 0;
}

static json_value *parse(const char *text)
{
    json_value *v = NULL;
    pgy_error err = {0};
    if (json_parse(&v, text, strlen(text), &memory, &err)) fail_msg("%s", err.text);
    return v;
}

static void expect_error(const char *text, size_t size, const char *message)
{
    json_value *v = NULL;
    pgy_error err = {0};
    char *exact = malloc(size ? size : 1); /* so that a sanitizer sees reads past the end */
    memcpy(exact, text, size);
    assert_int_equal(json_parse(&v, exact, size, &memory, &err), PGY_E_FORMAT);
    assert_string_equal(err.text, message);
    assert_null(v);
    free(exact);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void test_json__scalars(void **state)
{
    (void)state;
    assert_int_equal(parse(" null ")->type, JSON_NULL);
    assert_true(parse("true")->boolean);
    assert_int_equal(parse("false")->type, JSON_BOOL);
    assert_int_equal(parse("-12")->integer, -12);
    assert_true(parse("-12")->real == -12.0);
    assert_int_equal(parse("0")->type, JSON_INT);
    assert_true(parse("9223372036854775807")->integer == INT64_MAX);
    assert_true(parse("-9223372036854775808")->integer == INT64_MIN);
    const json_value *big = parse("9223372036854775808");
    assert_int_equal(big->type, JSON_REAL);
    assert_true(big->real == 9223372036854775808.0);
    assert_true(span_equals(big->raw, "9223372036854775808"));
    assert_int_equal(parse("1.0")->type, JSON_REAL);
    assert_true(parse("-1.5e-3")->real == -1.5e-3);
    assert_true(parse("1E+2")->real == 100);
    assert_true(isnan(parse("NaN")->real));
    assert_true(parse("Infinity")->real == INFINITY);
    assert_true(parse("-Infinity")->real == -INFINITY);
    assert_true(signbit(parse("-0.0")->real));
    char many[2000];
    memset(many, '3', sizeof many);
    many[1] = '.';
    many[1999] = '\0';
    assert_true(parse(many)->real == 10.0 / 3);
}

static void test_json__strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *meaning;
        size_t size;
    } CASES[] = {
        {"\"\"", "", 0},
        {"\"abc\"", "abc", 3},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"\\u00e9\\u20AC\\ud83d\\ude00x\"", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80x", 10},
        {"\"\xC3\xA9\xF0\x9F\x98\x80\"", "\xC3\xA9\xF0\x9F\x98\x80", 6},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\x7f\"", "\x7f", 1},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const json_value *v = parse(CASES[i].text);
        size_t size = 99;
        assert_int_equal(v->type, JSON_STRING);
        const char *text = json_string(v, &memory, &size);
        assert_int_equal(size, CASES[i].size);
        assert_memory_equal(text, CASES[i].meaning, size + 1);
    }
}

/* The scan goes 32 and 16 bytes at a time: what ends a string must be found wherever it stands. */
static void test_json__long_strings(void **state)
{
    (void)state;
    char text[400];
    for (size_t size = 0; size < 200; size++) {
        memset(text, 'x', sizeof text);
        text[0] = text[size + 1] = '"';
        json_value *v = NULL;
        assert_int_equal(json_parse(&v, text, size + 2, &memory, NULL), PGY_OK);
        assert_int_equal(v->raw.size, size);
        assert_false(v->escaped);
        if (!size) continue;
        for (int c = 0; c < 0x20; c++) {
            text[size / 2 + 1] = (char)c;
            assert_int_equal(json_parse(&v, text, size + 2, &memory, NULL), PGY_E_FORMAT);
        }
        text[size / 2 + 1] = '\xFF';
        assert_int_equal(json_parse(&v, text, size + 2, &memory, NULL), PGY_E_FORMAT);
    }
}

static void test_json__tree(void **state)
{
    (void)state;
    json_value *v = parse("{\"a\": [1, 2, {\"b\": null}], \"c\\n\": {},\n  \"d\": []}");
    assert_int_equal(v->count, 3);
    const json_value *a = json_get(v, "a");
    assert_int_equal(a->count, 3);
    assert_int_equal(json_at(a, 1)->integer, 2);
    assert_null(json_at(a, 3));
    assert_int_equal(json_get(json_at(a, 2), "b")->type, JSON_NULL);
    assert_int_equal(json_get(v, "c\n")->type, JSON_OBJECT);
    assert_int_equal(json_get(v, "d")->line, 2);
    assert_int_equal(json_get(v, "d")->column, 8);
    assert_null(json_get(v, "e"));
    assert_null(json_get(a, "e"));
    assert_null(json_get(NULL, "e"));
    assert_null(json_at(NULL, 0));
    assert_null(json_at(v, 0));
}

static void expect_keys(const json_value *object, const char *keys, const char *values)
{
    size_t i = 0;
    for (const json_value *v = object->first; v; v = v->next, i++) {
        assert_int_equal(v->key.data[0], keys[i]);
        assert_int_equal(v->integer, values[i] - '0');
    }
    assert_int_equal(i, strlen(keys));
    assert_int_equal(object->count, i);
}

/* As in a dict: the last value, in the place of the first. */
static void test_json__duplicate_keys(void **state)
{
    (void)state;
    expect_keys(parse("{\"a\":1,\"b\":2,\"a\":3}"), "ab", "32");
    expect_keys(parse("{\"a\":1,\"a\":2,\"a\":3}"), "a", "3");
    expect_keys(parse("{\"a\":1,\"\\u0061\":2,\"b\":3,\"b\":4}"), "ab", "24");
    str s = {0};
    str_append_char(&s, '{');
    for (int i = 0; i < 1000; i++) str_printf(&s, "%s\"k%d\": %d", i ? ", " : "", i % 300, i);
    str_append_char(&s, '}');
    const json_value *v = parse(str_text(&s));
    assert_int_equal(v->count, 300);
    int expected = 0;
    for (const json_value *c = v->first; c; c = c->next, expected++)
        assert_int_equal(c->integer, expected < 100 ? expected + 900 : expected + 600);
    assert_int_equal(expected, 300);
    str_deinit(&s);
}

#define ERROR_CASE(text, message) expect_error(text, sizeof text - 1, message)

static void test_json__errors_name_the_place(void **state)
{
    (void)state;
    ERROR_CASE("", "JSON line 1 column 1: expected a value, found the end of the text");
    ERROR_CASE("{\"a\":\n  tru}", "JSON line 2 column 3: expected a value, found 't'");
    ERROR_CASE("[1,]", "JSON line 1 column 4: expected a value, found ']'");
    ERROR_CASE("[1 2]", "JSON line 1 column 4: expected ',' or ']', found '2'");
    ERROR_CASE("[1", "JSON line 1 column 3: expected ',' or ']', found the end of the text");
    ERROR_CASE("{\"a\" 1}", "JSON line 1 column 6: expected ':', found '1'");
    ERROR_CASE("{a: 1}", "JSON line 1 column 2: expected a key in double quotes, found 'a'");
    ERROR_CASE("{\"a\":1,}", "JSON line 1 column 8: expected a key in double quotes, found '}'");
    ERROR_CASE("{\"a\":1", "JSON line 1 column 7: expected ',' or '}', found the end of the text");
    ERROR_CASE("1 x", "JSON line 1 column 3: expected the end of the text, found 'x'");
    ERROR_CASE("01", "JSON line 1 column 2: expected the end of the text, found '1'");
    ERROR_CASE("1.", "JSON line 1 column 2: expected the end of the text, found '.'");
    ERROR_CASE("1e", "JSON line 1 column 2: expected the end of the text, found 'e'");
    ERROR_CASE("-", "JSON line 1 column 2: expected a digit, found the end of the text");
    ERROR_CASE("-x", "JSON line 1 column 2: expected a digit, found 'x'");
    ERROR_CASE("+1", "JSON line 1 column 1: expected a value, found '+'");
    ERROR_CASE("[\0]", "JSON line 1 column 2: expected a value, found byte 0x00");
    ERROR_CASE("\xEF\xBB\xBF[]", "JSON line 1 column 1: expected a value, found byte 0xef");
    ERROR_CASE("\n\"abc", "JSON line 2 column 1: the string that starts here has no closing quote");
    ERROR_CASE("\"a\nb\"",
               "JSON line 1 column 3: a string holds a control character; write it as an escape");
    ERROR_CASE("\"a\\x\"", "JSON line 1 column 3: a string holds an invalid escape");
    ERROR_CASE("\"a\\", "JSON line 1 column 3: a string holds an invalid escape");
    ERROR_CASE("\"\\u12g4\"", "JSON line 1 column 2: a string holds an invalid escape");
    ERROR_CASE("\"\\u12", "JSON line 1 column 2: a string holds an invalid escape");
    ERROR_CASE("\"\\ud800\"", "JSON line 1 column 2: a string holds an invalid escape");
    ERROR_CASE("\"\\udc00\"", "JSON line 1 column 2: a string holds an invalid escape");
    ERROR_CASE("\"\\ud800\\u0041\"", "JSON line 1 column 2: a string holds an invalid escape");
    ERROR_CASE("\"\xC3\"", "JSON line 1 column 1: the string that starts here is not UTF-8");
    ERROR_CASE("\"\xED\xA0\x80\"",
               "JSON line 1 column 1: the string that starts here is not UTF-8");
    ERROR_CASE("\"\xC0\x80\"", "JSON line 1 column 1: the string that starts here is not UTF-8");
    ERROR_CASE("\"\xF5\x80\x80\x80\"",
               "JSON line 1 column 1: the string that starts here is not UTF-8");
}

static void test_json__depth(void **state)
{
    (void)state;
    char text[1200];
    memset(text, '[', 512);
    memset(text + 512, ']', 512);
    json_value *v = NULL;
    assert_int_equal(json_parse(&v, text, 1024, &memory, NULL), PGY_OK);
    memset(text, '[', 513);
    memset(text + 513, ']', 513);
    expect_error(text, 1026, "JSON line 1 column 513: values are nested more than 512 levels deep");
}

static void test_json__refused_memory(void **state)
{
    (void)state;
    static const char TEXT[] = "[{\"\\u0061\": \"b\", \"c\": [1, 2.5, "
                               "1111111111111111111111111111111111111111111111111111111"
                               "1111111111111111111]}]";
    for (uint64_t n = 1; n < 8 && mem_fail_nth(n); n++) {
        arena a = {0};
        json_value *v = NULL;
        const pgy_status st = json_parse(&v, TEXT, sizeof TEXT - 1, &a, NULL);
        if (n <= 2) assert_int_equal(st, PGY_E_MEMORY);
        assert_true((st == PGY_OK) == (v != NULL));
        arena_deinit(&a);
    }
    mem_fail_nth(0);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_all_kinds(json_writer *w)
{
    json_begin_object(w);
    json_key(w, "a");
    json_begin_array(w);
    json_end_array(w);
    json_key(w, "b");
    json_begin_object(w);
    json_end_object(w);
    json_key(w, "c");
    json_begin_array(w);
    json_int(w, 1);
    json_real(w, -2.0);
    json_real(w, 1e-5);
    json_real(w, 1e16);
    json_bool(w, true);
    json_null(w);
    json_real(w, NAN);
    json_real(w, -INFINITY);
    json_uint(w, UINT64_MAX);
    json_int(w, INT64_MIN);
    json_begin_array(w);
    json_bool(w, false);
    json_end_array(w);
    json_end_array(w);
    json_key(w, "d\n");
    json_text(w, "\xC3\xA9\xF0\x9F\x98\x80\x7f/\"\\\b\f\r\t\x01");
    json_end_object(w);
}

static void test_json__items_of_objects(void **state)
{
    const int64_t dims[] = {1, -3};
    json_writer *w = NULL;
    str s = {0};
    (void)state;
    assert_int_equal(json_writer_create_str(&w, &s, NULL), PGY_OK);
    json_begin_object(w);
    json_put_bool(w, "flag", true);
    json_put_int(w, "least", INT64_MIN);
    json_put_uint(w, "most", UINT64_MAX);
    json_put_real(w, "real", 0.5);
    json_put_text(w, "text", "a\n");
    json_put_text(w, "none", NULL);
    json_put_null(w, "null");
    json_put_ints(w, "dims", dims, 2);
    json_put_ints(w, "empty", NULL, 0);
    json_end_object(w);
    assert_int_equal(json_writer_finish(w, NULL), PGY_OK);
    json_writer_destroy(w);
    assert_string_equal(str_text(&s),
                        "{\n    \"flag\": true,\n    \"least\": -9223372036854775808,\n"
                        "    \"most\": 18446744073709551615,\n    \"real\": 0.5,\n"
                        "    \"text\": \"a\\n\",\n    \"none\": null,\n    \"null\": null,\n"
                        "    \"dims\": [\n        1,\n        -3\n    ],\n    \"empty\": []\n}");
    str_deinit(&s);
}

static const char ALL_KINDS[] =
    "{\n    \"a\": [],\n    \"b\": {},\n    \"c\": [\n        1,\n        -2.0,\n        1e-05,\n  "
    "      1e+16,\n"
    "        true,\n        null,\n        NaN,\n        -Infinity,\n        "
    "18446744073709551615,\n"
    "        -9223372036854775808,\n        [\n            false\n        ]\n    ],\n"
    "    \"d\\n\": \"\\u00e9\\ud83d\\ude00\\u007f/\\\"\\\\\\b\\f\\r\\t\\u0001\"\n}";

static void test_json__writes_as_python(void **state)
{
    (void)state;
    json_writer *w = NULL;
    str s = {0};
    assert_int_equal(json_writer_create_str(&w, &s, NULL), PGY_OK);
    write_all_kinds(w);
    assert_int_equal(json_writer_finish(w, NULL), PGY_OK);
    json_writer_destroy(w);
    assert_string_equal(str_text(&s), ALL_KINDS);
    str_deinit(&s);
}

/* The text can stand in a <script> of a page, whatever the names are, and a browser reads it. */
static void test_json__for_html(void **state)
{
    (void)state;
    json_writer *w = NULL;
    str s = {0};
    assert_int_equal(json_writer_create_str(&w, &s, NULL), PGY_OK);
    json_for_html(w);
    json_begin_object(w);
    json_put_text(w, "<!--", "</script><b>&amp;\"\xe2\x80\xa8\xe2\x80\xa9\xff");
    json_key(w, "reals");
    json_begin_array(w);
    json_real(w, 12);
    json_real(w, -0.5);
    json_real(w, 0);
    json_real(w, 1e16);
    json_real(w, NAN);
    json_real_or_text(w, INFINITY);
    json_real(w, -INFINITY);
    json_end_array(w);
    json_end_object(w);
    assert_int_equal(json_writer_finish(w, NULL), PGY_OK);
    json_writer_destroy(w);
    assert_string_equal(str_text(&s),
                        "{\"\\u003c!--\":\"\\u003c/"
                        "script\\u003e\\u003cb\\u003e\\u0026amp;\\\"\\u2028\\u2029\\\\xff\","
                        "\"reals\":[12,-0.5,0,1e+16,\"nan\",\"inf\",\"-inf\"]}");
    str_deinit(&s);
}

static void test_json__writes_a_file(void **state)
{
    (void)state;
    json_writer *w = NULL;
    file_writer *file = NULL;
    str s = {0};
    assert_int_equal(file_writer_create(&file, scratch("x.json"), NULL), PGY_OK);
    assert_int_equal(json_writer_create_file(&w, file, NULL), PGY_OK);
    write_all_kinds(w);
    assert_int_equal(json_writer_finish(w, NULL), PGY_OK);
    json_writer_destroy(w);
    assert_int_equal(file_writer_commit(file, NULL), PGY_OK);
    file_writer_destroy(file);
    assert_int_equal(file_read(&s, scratch("x.json"), NULL), PGY_OK);
    assert_string_equal(str_text(&s), ALL_KINDS);
    str_deinit(&s);
}

/* Items [from, to) of two arrays of arrays, or all of them. */
static void write_items(json_writer *w, int from, int to)
{
    for (int i = from; i < to; i++) {
        json_begin_array(w);
        json_int(w, i);
        json_end_array(w);
    }
}

/* Items written elsewhere, then put into place, give the text that writing in order gives. */
static void test_json__parts(void **state)
{
    (void)state;
    static const int ENDS[][2] = {{0, 3}, {2, 2}, {2, 5}}; /* the part's items, of 5 */
    for (size_t c = 0; c < 3; c++)
        for (int to_file = 0; to_file < 2; to_file++) {
            const int from = ENDS[c][0], to = ENDS[c][1];
            str in_order = {0}, put = {0};
            json_writer *w = NULL, *part = NULL;
            file_writer *files[2] = {NULL};
            file_map map = {.fd = -1};
            char *path = NULL;
            assert_int_equal(file_temp_path(&path, ".json", NULL), PGY_OK);
            assert_int_equal(file_writer_create_temp(&files[0], path, NULL), PGY_OK);
            assert_int_equal(json_writer_create_file(&part, files[0], NULL), PGY_OK);
            json_begin_part(part, 2);
            write_items(part, from, to);
            json_end_part(part);
            assert_int_equal(json_writer_finish(part, NULL), PGY_OK);
            assert_int_equal(file_writer_commit(files[0], NULL), PGY_OK);
            assert_int_equal(file_map_open(&map, path, NULL), PGY_OK);

            assert_int_equal(json_writer_create_str(&w, &in_order, NULL), PGY_OK);
            json_begin_array(w), json_begin_array(w);
            write_items(w, 0, 5);
            json_end_array(w), json_end_array(w);
            assert_int_equal(json_writer_finish(w, NULL), PGY_OK);
            json_writer_destroy(w);

            if (to_file) {
                assert_int_equal(file_writer_create(&files[1], scratch("whole.json"), NULL),
                                 PGY_OK);
                assert_int_equal(json_writer_create_file(&w, files[1], NULL), PGY_OK);
            } else {
                assert_int_equal(json_writer_create_str(&w, &put, NULL), PGY_OK);
            }
            json_begin_array(w), json_begin_array(w);
            write_items(w, 0, from);
            json_insert(w, &map);
            write_items(w, to, 5);
            json_end_array(w), json_end_array(w);
            assert_int_equal(json_writer_finish(w, NULL), PGY_OK);
            json_writer_destroy(w);
            if (to_file) {
                assert_int_equal(file_writer_commit(files[1], NULL), PGY_OK);
                assert_int_equal(file_read(&put, scratch("whole.json"), NULL), PGY_OK);
            }
            assert_string_equal(str_text(&put), str_text(&in_order));

            file_map_close(&map);
            json_writer_destroy(part);
            for (size_t i = 0; i < 2; i++) file_writer_destroy(files[i]);
            file_temp_release(path);
            str_deinit(&in_order);
            str_deinit(&put);
        }
}

static void test_json__bad_utf8_is_shown(void **state)
{
    (void)state;
    json_writer *w = NULL;
    str s = {0};
    assert_int_equal(json_writer_create_str(&w, &s, NULL), PGY_OK);
    json_text_n(w, "a\xFF\xC3\0z", 5);
    assert_int_equal(json_writer_finish(w, NULL), PGY_OK);
    json_writer_destroy(w);
    assert_string_equal(str_text(&s), "\"a\\\\xff\\\\xc3\\u0000z\"");
    str_deinit(&s);
}

/* Pieces of every size give the text of the whole, also over the border of the buffer. */
static void test_json__base64_in_pieces(void **state)
{
    (void)state;
    enum { SIZE = 2000003 };
    uint8_t *data = malloc(SIZE);
    for (int i = 0; i < SIZE; i++) data[i] = (uint8_t)(i * 31 + i / 257);
    str texts[2] = {{0}};
    for (int pass = 0; pass < 2; pass++) {
        json_writer *w = NULL;
        assert_int_equal(json_writer_create_str(&w, &texts[pass], NULL), PGY_OK);
        json_base64_begin(w);
        size_t at = 0;
        for (size_t n = pass ? SIZE : 0; at < SIZE; at += n, n = n * 5 / 4 + 1) {
            if (n > SIZE - at) n = SIZE - at;
            json_base64_append(w, data + at, n);
        }
        json_base64_end(w);
        assert_int_equal(json_writer_finish(w, NULL), PGY_OK);
        json_writer_destroy(w);
    }
    assert_int_equal(texts[0].size, (SIZE + 2) / 3 * 4 + 2);
    assert_int_equal(texts[1].size, texts[0].size);
    assert_memory_equal(texts[0].data, texts[1].data, texts[0].size);
    assert_memory_equal(texts[0].data + texts[0].size - 2, "=\"", 2);
    str_deinit(&texts[0]);
    str_deinit(&texts[1]);
    free(data);
}

static void test_json__write_errors_stick(void **state)
{
    (void)state;
    json_writer *w = NULL;
    file_writer *file = NULL;
    pgy_error err = {0};
    char *big = calloc(1, 3 << 20);
    assert_int_equal(file_writer_create(&file, "/dev/full", NULL), PGY_OK);
    assert_int_equal(json_writer_create_file(&w, file, NULL), PGY_OK);
    json_base64_begin(w);
    json_base64_append(w, big, 3 << 20);
    json_base64_end(w);
    assert_int_equal(json_writer_finish(w, &err), PGY_E_IO);
    assert_string_equal(err.text, "cannot write '/dev/full': No space left on device");
    json_writer_destroy(w);
    file_writer_destroy(file);
    free(big);
    json_writer_destroy(NULL);
}

static void test_json__too_deep_to_write(void **state)
{
    (void)state;
    json_writer *w = NULL;
    str s = {0};
    assert_int_equal(json_writer_create_str(&w, &s, NULL), PGY_OK);
    for (int i = 0; i < 1100; i++) json_begin_array(w);
    for (int i = 0; i < 1100; i++) json_end_array(w);
    assert_int_equal(json_writer_finish(w, NULL), PGY_E_UNSUPPORTED);
    json_writer_destroy(w);
    str_deinit(&s);
}

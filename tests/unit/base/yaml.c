/* SPDX-License-Identifier: Apache-2.0 */
/* The part of YAML that plugin configurations are in: trees of what is read, one line about what is
 * refused. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>

#include "base/yaml.h"

static void append(str *out, const json_value *v)
{
    switch (v->type) {
    case JSON_NULL: str_append(out, "null"); break;
    case JSON_BOOL: str_append(out, v->boolean ? "true" : "false"); break;
    case JSON_INT: str_printf(out, "%lld", (long long)v->integer); break;
    case JSON_REAL: str_printf(out, "%gf", v->real); break;
    case JSON_STRING: str_printf(out, "'%.*s'", (int)v->raw.size, v->raw.data); break;
    default:
        str_append_char(out, v->type == JSON_ARRAY ? '[' : '{');
        for (const json_value *i = v->first; i; i = i->next) {
            if (v->type == JSON_OBJECT) str_printf(out, "%.*s=", (int)i->key.size, i->key.data);
            append(out, i);
            if (i->next) str_append_char(out, ' ');
        }
        str_append_char(out, v->type == JSON_ARRAY ? ']' : '}');
    }
}

static void expect(const char *text, const char *expected)
{
    arena memory = {0};
    json_value *v = NULL;
    pgy_error err = {0};
    str out = {0};
    if (yaml_parse(&v, text, strlen(text), &memory, &err)) fail_msg("%s: %s", text, err.text);
    append(&out, v);
    assert_string_equal(str_text(&out), expected);
    str_deinit(&out);
    arena_deinit(&memory);
}

static void refuse(const char *text, const char *expected)
{
    arena memory = {0};
    json_value *v = NULL;
    pgy_error err = {0};
    assert_int_equal(yaml_parse(&v, text, strlen(text), &memory, &err), PGY_E_FORMAT);
    assert_string_equal(err.text, expected);
    arena_deinit(&memory);
}

static void test_yaml__blocks(void **state)
{
    (void)state;
    expect("", "[]");
    expect("# nothing\n", "[]");
    expect("a: 1\nb:\n- x\n- y\nc:\n    - 2\n", "[{a=1 b=['x' 'y'] c=[2]}]");
    expect("- a: 1\n  b: 2\n- - 1\n  - 2\n-\n  c: 3\n", "[[{a=1 b=2} [1 2] {c=3}]]");
    expect("a:\nb: ~\n", "[{a=null b=null}]");
    expect("a: {}\nb: []\nc: [1, x, 'y']\nd: {e: 1, f: [2]}\n",
           "[{a={} b=[] c=[1 'x' 'y'] d={e=1 f=[2]}}]");
    expect("a: 1 # note\n  # another\n\nb: x#y\r\n", "[{a=1 b='x#y'}]");
    expect("'a b': 1\n\"c\\\"d\": 2\n", "[{a b=1 c\"d=2}]");
}

static void test_yaml__documents(void **state)
{
    (void)state;
    expect("a: 1\n---\nb: 2\n", "[{a=1} {b=2}]");
    expect("---\na: 1\n...\n---\n- 2\n...\n", "[{a=1} [2]]");
    expect("---\n---\nx\n", "[null 'x']");
}

static void test_yaml__scalars(void **state)
{
    (void)state;
    expect("[1, -1, 0, 007, 1.5, .5, -1.0e+3, 1e5, .inf, -.Inf, 1_0, 0x1F]",
           "[[1 -1 0 '007' 1.5f 0.5f -1000f '1e5' inff -inff '1_0' '0x1F']]");
    expect("[yes, No, ON, off, true, FALSE, y, null, ~, Null]",
           "[[true false true false true false 'y' null null null]]");
    expect("['1', \"true\", 'it''s', \"a\\tb\\x41\\u00e9\\n\"]",
           "[['1' 'true' 'it's' 'a\tbA\xC3\xA9\n']]");
    expect("[\"\\N\\_\\L\\P\"]", "[['\xC2\x85\xC2\xA0\xE2\x80\xA8\xE2\x80\xA9']]");
    expect("99999999999999999999", "[1e+20f]");
    expect("a: onnx::Add_1\nb: -x\nc: http://a/b?c=d\n",
           "[{a='onnx::Add_1' b='-x' c='http://a/b?c=d'}]");
}

static void test_yaml__several_lines(void **state)
{
    (void)state;
    expect("a: one\n  two\n\n  three\nb: 1\n", "[{a='one two\nthree' b=1}]");
    expect("a: 'one\n  two'\nb: \"one\\\n  \\ two\"\n", "[{a='one two' b='one two'}]");
}

static void test_yaml__refused(void **state)
{
    (void)state;
    refuse("a: [&x 1]\n",
           "line 1 column 5: anchors, tags, block scalars and directives are not supported here");
    refuse("a: *x\n", "line 1 column 6: the alias refers to an anchor that is not defined");
    refuse("a: &x\n- *x\n", "line 2 column 5: the alias refers to an anchor that is not defined");
    refuse("a: !!python/object:os.system []\n", "line 1 column 4: the tag is not supported");
    refuse("a: |\n  b\n",
           "line 1 column 4: anchors, tags, block scalars and directives are not supported here");
    refuse("%YAML 1.1\n", "line 1 column 1: YAML directives (%) are not supported");
    refuse("? a\n: b\n", "line 1 column 1: complex keys ('?') are not supported");
    refuse("a: 1\na: 2\n", "line 2 column 5: the key appears twice in one mapping");
    refuse("a: 'x\n", "line 2 column 1: a quoted string is not closed");
    refuse("a: [1, 2\n", "line 2 column 1: a list or mapping in brackets is not closed");
    refuse("a: b: c\n", "line 1 column 5: unexpected text after a value");
    refuse("a: - b\n", "line 1 column 4: a list must begin on a new line");
    refuse(
        "a: 1\n  b: 2\n",
        "line 2 column 4: a multi-line string contains a key: quote the string or indent the key");
    refuse("  a: 1\nb: 2\n", "line 2 column 1: wrong indentation: the line is indented too far");
    refuse("a: \"\\q\"\n", "line 1 column 7: the escape is invalid or stands for a zero byte");
    refuse("a: \"\\0\"\n", "line 1 column 7: the escape is invalid or stands for a zero byte");
    refuse("a:\n\t- b\n", "line 2 column 2: a tab stands before a value; indent with blanks");
    refuse("a: 1\nb: x\xFFy\n", "line 2 column 5: the text holds bytes that are not UTF-8");
    refuse("a: \"\xF7\x8C\x8C\x8C\"\n", "line 1 column 5: the text holds bytes that are not UTF-8");
}

/* Names of models can hold any bytes; what is written is read again, as that text or as Latin-1. */
static void test_yaml__written_texts(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {
        {"\xF0\x9F\x98\x80", "\"\\U0001F600\""},
        {"\xC3\xA9", "\"\\xE9\""},
        {"\xE2\x82\xAC", "\"\\u20AC\""},
        {"\xF7\x8C\x8C\x8C", "\"\\xF7\\x8C\\x8C\\x8C\""},
        {"\xFF", "\"\\xFF\""},
        {"\xC3", "\"\\xC3\""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        arena memory = {0};
        json_value *v = NULL;
        str out = {0};
        yaml_append_text(&out, CASES[i][0]);
        assert_string_equal(str_text(&out), CASES[i][1]);
        assert_int_equal(yaml_parse(&v, str_text(&out), out.size, &memory, NULL), PGY_OK);
        str_deinit(&out);
        arena_deinit(&memory);
    }
}

static void test_yaml__aliases(void **state)
{
    (void)state;
    expect("a: &id001 !!python/tuple\n- 1\n- 2\nb: *id001\nc: &x 'y' # z\nd: *x\n",
           "[{a=[1 2] b=[1 2] c='y' d='y'}]");
    str bomb = {0};
    str_append(&bomb, "a0: &a0 [x, x, x, x]\n");
    for (int i = 1; i < 40; i++) {
        str_printf(&bomb, "a%d: &a%d\n", i, i);
        for (int k = 0; k < 4; k++) str_printf(&bomb, "- *a%d\n", i - 1);
    }
    refuse(str_text(&bomb), "line 44 column 6: aliases expand to too many values");
    str_deinit(&bomb);
}

static void test_yaml__depth(void **state)
{
    (void)state;
    str deep = {0};
    str_append_fill(&deep, '[', 100000);
    refuse(str_text(&deep), "line 1 column 64: lists and mappings are nested too deep");
    str_clear(&deep);
    for (int i = 0; i < 50000; i++) str_append(&deep, "- ");
    refuse(str_text(&deep), "line 1 column 129: lists and mappings are nested too deep");
    str_deinit(&deep);
}

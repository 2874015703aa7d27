/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "decode/decode.h"

static void expect(const char *name, const char *from, const char *to, const char *wanted)
{
    str out = {0};
    const bool found = pattern_map(&out, name, from, to);
    if (!out.failed) {
        assert_int_equal(found, wanted != NULL);
        if (wanted) assert_string_equal(str_text(&out), wanted);
    }
    str_deinit(&out);
}

static void test_pattern__maps_names(void **state)
{
    (void)state;
    expect("past_key_values.3.key", "past_key_values.*", "present.*", "present.3.key");
    expect("past_3", "past_*", "present_*", "present_3");
    expect("a.7.b.8", "a.*.b.*", "x*y*", "x7y8");
    expect("a.7.b.8.b.9", "a.*.b.*", "x*y*", "x7y8.b.9"); /* the first takes the least */
    expect("layer.0.in", "*.in", "*.out", "layer.0.out");
    expect("in.in", "*.in", "*.out", "in.out");
    expect("state", "state", "new", "new");
    expect("", "*", "new_*", "new_");
    expect("xx", "x*x", "y*y", "yy");
}

static void test_pattern__names_that_do_not_match(void **state)
{
    (void)state;
    expect("past", "past_*", "present_*", NULL);
    expect("x", "x*x", "y*y", NULL);
    expect("key.past.0", "past.*", "present.*", NULL);
    expect("past.0.key", "past.*.value", "present.*.value", NULL);
}

static void test_pattern__pairs(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } CASES[] = {
        {"a.*=b.*", NULL},
        {"a=b", NULL},
        {"ab", "decode.caches: 'ab' is no pair of names; expected input=output such as "
               "past_key_values.*=present.*"},
        {"=b", "decode.caches: '=b' is no pair of names; expected input=output such as "
               "past_key_values.*=present.*"},
        {"a=", "decode.caches: 'a=' is no pair of names; expected input=output such as "
               "past_key_values.*=present.*"},
        {"a=b=c", "decode.caches: 'a=b=c' is no pair of names; expected input=output such as "
                  "past_key_values.*=present.*"},
        {"a.*=b", "decode.caches: 'a.*=b' has 1 '*' in the input's name and 0 in the output's; "
                  "expected the same number, at most 8"},
        {"*********=*********", "decode.caches: '*********=*********' has 9 '*' in the input's "
                                "name and 9 in the output's; expected the same number, at most 8"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        arena a = {0};
        pgy_error err = {0};
        const char *from = NULL, *to = NULL;
        const pgy_status st = pattern_split(&from, &to, CASES[i].text, &a, &err);
        arena_deinit(&a);
        if (st == PGY_E_MEMORY) continue;
        assert_int_equal(st, CASES[i].error ? PGY_E_ARGUMENT : PGY_OK);
        if (CASES[i].error) assert_string_equal(err.text, CASES[i].error);
    }
}

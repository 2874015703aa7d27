/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"

static void test_str__appends(void **state)
{
    (void)state;
    str s = {0};
    assert_string_equal(str_text(&s), "");
    str_append(&s, "ab");
    str_append_n(&s, "cdef", 2);
    str_append_char(&s, '-');
    str_append_fill(&s, '*', 3);
    str_printf(&s, " %d %s", 42, "x");
    assert_string_equal(str_text(&s), "abcd-*** 42 x");
    assert_int_equal(s.size, 13);
    str_append_fill(&s, ' ', 0);
    str_append_n(&s, NULL, 0);
    assert_int_equal(s.size, 13);
    str_clear(&s);
    assert_string_equal(str_text(&s), "");
    str_printf(&s, "%5000d", 1);
    assert_false(s.failed);
    assert_int_equal(s.size, 5000);
    assert_int_equal(s.data[4999], '1');
    str_deinit(&s);
    str_deinit(&s);
}

static void test_str__grows_one_by_one(void **state)
{
    (void)state;
    str s = {0};
    for (int i = 0; i < 1000; i++) {
        str_append_char(&s, (char)('a' + i % 26));
        assert_false(s.failed);
        assert_int_equal(s.data[s.size], '\0');
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(s.data[i], 'a' + i % 26);
    str_deinit(&s);
}

static void test_str__take(void **state)
{
    (void)state;
    str s = {0};
    char *text = str_take(&s);
    assert_non_null(text);
    assert_string_equal(text, "");
    mem_free(text);
    str_append(&s, "mine");
    text = str_take(&s);
    assert_non_null(text);
    assert_string_equal(text, "mine");
    assert_null(s.data);
    mem_free(text);
}

static void test_str__failure_sticks(void **state)
{
    (void)state;
    str s = {0};
    str_append(&s, "ok");
    str_append_fill(&s, 'x', SIZE_MAX);
    assert_true(s.failed);
    str_append(&s, "more");
    assert_string_equal(str_text(&s), "ok");
    assert_null(str_take(&s));
    if (!mem_fail_nth(1)) return;
    str_printf(&s, "%d", 1);
    assert_true(s.failed);
    assert_null(str_take(&s));
    str_append(&s, "again");
    assert_string_equal(str_text(&s), "again");
    assert_true(mem_fail_nth(1));
    str_printf(&s, "%500d", 1);
    assert_true(s.failed);
    assert_string_equal(str_text(&s), "again");
    str_deinit(&s);
}

static void test_str__spans(void **state)
{
    (void)state;
    assert_true(span_equals((span){"abcdef", 3}, "abc"));
    assert_false(span_equals((span){"abcdef", 3}, "abcd"));
    assert_true(span_equal((span){NULL, 0}, span_of("")));
    assert_true(span_hash(span_of("hello world, long enough")) ==
                span_hash((span){"hello world, long enough!", 24}));
    assert_true(span_hash(span_of("a")) != span_hash(span_of("b")));
    assert_true(span_hash((span){"a\0", 1}) != span_hash((span){"a\0", 2}));
    assert_true(span_hash((span){"12345678", 8}) != span_hash((span){"12345678\0", 9}));
}

static void test_str__small_functions(void **state)
{
    (void)state;
    assert_true(str_starts_with("abc", "ab") && str_starts_with("abc", "") &&
                !str_starts_with("a", "ab"));
    assert_true(str_ends_with("m.onnx", ".onnx") && str_ends_with("x", "") &&
                !str_ends_with("x", "xx"));
    assert_true(str_equal_nocase("VerBose", "vERbOSE") && !str_equal_nocase("a", "ab") &&
                !str_equal_nocase("ab", "a"));
    assert_false(str_equal_nocase("[", "{"));
    assert_true(str_contains_nocase("ONNXRuntime", "xrun") && str_contains_nocase("", ""));
    assert_false(str_contains_nocase("abc", "abcd"));
    assert_int_equal(str_distance("kitten", "sitting"), 3);
    assert_int_equal(str_distance("", "abc"), 3);
    assert_int_equal(str_distance("same", "same"), 0);
    char longer[1001];
    memset(longer, 'x', 1000);
    longer[1000] = '\0';
    assert_int_equal(str_distance(longer, ""), 1000);
}

/* Expectations are those of fnmatch.fnmatchcase. */
static void test_str__wildcards(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } CASES[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "a/b\nc", true},
        {"a*c", "abbc", true},
        {"a*c", "abcd", false},
        {"*a*b*", "xxaxxbxx", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"?", "\xC3\xA9", true},
        {"??", "\xC3\xA9", false},
        {"[abc]x", "bx", true},
        {"[!abc]x", "bx", false},
        {"[!abc]x", "dx", true},
        {"[a-c]", "b", true},
        {"[a-c]", "d", false},
        {"[]]", "]", true},
        {"[!]]", "]", false},
        {"[!]]", "a", true},
        {"[", "[", true},
        {"[a", "[a", true},
        {"[a", "a", false},
        {"a[]", "a[]", true},
        {"[a-]", "-", true},
        {"[c-a]", "b", false},
        {"\\*", "\\x", true},
        {"\\*", "*", false},
        {"[\\]", "\\", true},
        {"**", "x", true},
        {"*[0-9]", "out12", true},
        {"*.weight", "a.b.weight", true},
        {"[\xC3\xA0-\xC3\xBF]", "\xC3\xA9", true},
        {"a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        if (str_match_wildcard(CASES[i].pattern, CASES[i].text) != CASES[i].matches)
            fail_msg("'%s' on '%s'", CASES[i].pattern, CASES[i].text);
}

static void test_str__vector(void **state)
{
    (void)state;
    strvec v = {0};
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        assert_true(strvec_push(&v, name));
        assert_null(v.items[v.count]);
    }
    assert_true(strvec_push_n(&v, "tailcut", 4));
    assert_int_equal(v.count, 51);
    assert_string_equal(v.items[49], "n49");
    assert_true(strvec_contains(&v, "tail"));
    assert_false(strvec_contains(&v, "n50"));
    if (mem_fail_nth(1)) {
        assert_false(strvec_push(&v, "lost"));
        assert_int_equal(v.count, 51);
    }
    strvec_deinit(&v);
    assert_null(v.items);
}

static void test_str__map_keeps_order_and_finds(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static int values[COUNT];
    strmap m = {0};
    assert_null(strmap_get(&m, "x"));
    for (int i = 0; i < COUNT; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        assert_true(strmap_put(&m, key, &values[i]));
        assert_ptr_equal(strmap_get(&m, key), &values[i]);
    }
    assert_int_equal(m.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        assert_string_equal(m.entries[i].key, key);
        assert_ptr_equal(strmap_get(&m, key), &values[i]);
    }
    assert_true(strmap_put(&m, "key17", NULL));
    assert_int_equal(m.count, COUNT);
    assert_true(strmap_has(&m, "key17"));
    assert_null(strmap_get(&m, "key17"));
    assert_ptr_equal(strmap_find(&m, "key17"), &m.entries[17]);
    assert_ptr_equal(strmap_get_n(&m, "key16xyz", 5), &values[16]);
    assert_false(strmap_has(&m, "key"));
    strmap_deinit(&m);
}

static void test_str__map_survives_refused_memory(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 60 && mem_fail_nth(n); n++) {
        strmap m = {0};
        size_t kept = 0;
        for (int i = 0; i < 40; i++) {
            char key[16];
            snprintf(key, sizeof key, "%d", i);
            kept += strmap_put(&m, key, &m);
        }
        assert_int_equal(m.count, kept);
        for (size_t i = 0; i < m.count; i++) assert_ptr_equal(strmap_get(&m, m.entries[i].key), &m);
        strmap_deinit(&m);
    }
    mem_fail_nth(0);
}

static void test_str__map_renames_in_place(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    strmap m = {0};
    int values[COUNT];
    char key[24], other[24];
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "key%d", i);
        assert_true(strmap_put(&m, key, &values[i]));
        if (i == 4) assert_true(strmap_rename(&m, "key2", "early")); /* while it is small */
    }
    assert_false(strmap_rename(&m, "absent", "new"));
    assert_false(strmap_rename(&m, "key3", "key4"));
    for (int i = 5; i < COUNT; i += 2) {
        snprintf(key, sizeof key, "key%d", i);
        snprintf(other, sizeof other, "other%d", i);
        assert_true(strmap_rename(&m, key, other));
        assert_null(strmap_get(&m, key));
    }
    assert_int_equal(m.count, COUNT);
    assert_ptr_equal(strmap_find(&m, "early"), &m.entries[2]);
    for (int i = 5; i < COUNT; i++) {
        snprintf(key, sizeof key, i % 2 ? "other%d" : "key%d", i);
        assert_ptr_equal(strmap_get(&m, key), &values[i]);
        assert_string_equal(m.entries[i].key, key);
    }
    strmap_deinit(&m);
}

static void test_str__map_keeps_keys_in_an_arena(void **state)
{
    (void)state;
    enum { COUNT = 30 };
    arena names = {0};
    strmap m = {.names = &names};
    int values[COUNT];
    char key[24];
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "key%d", i);
        assert_true(strmap_put(&m, key, &values[i]));
    }
    assert_true(strmap_rename(&m, "key3", "renamed"));
    assert_ptr_equal(strmap_get(&m, "renamed"), &values[3]);
    const char *kept = m.entries[7].key;
    strmap_deinit(&m); /* a sanitizer tells if it frees keys */
    assert_string_equal(kept, "key7");
    arena_deinit(&names);
}

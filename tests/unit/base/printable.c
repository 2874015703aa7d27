/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/printable.h"

static void expect(const char *text, size_t size, const char *kept, const char *wanted)
{
    str s = {0};
    str_append_printable(&s, text, size, kept);
    assert_false(s.failed);
    assert_string_equal(str_text(&s), wanted);
    assert_int_equal(is_printable(text, size, kept), s.size == size && !memcmp(s.data, text, size));
    const size_t once = s.size;
    str_append_printable(&s, wanted, strlen(wanted), kept);
    assert_string_equal(str_text(&s) + once, wanted); /* twice is no more than once */
    str_deinit(&s);
}
#define EXPECT(text, kept, wanted) expect(text, sizeof text - 1, kept, wanted)

static void test_printable__controls(void **state)
{
    (void)state;
    EXPECT("conv1/weight C:\\x {}", "", "conv1/weight C:\\x {}");
    EXPECT("\x1b]0;T\a\x7f", "", "\\x1b]0;T\\x07\\x7f");
    EXPECT("a\nb\rc\td", "", "a\\nb\\rc\\td");
    EXPECT("a\nb\rc\td", "\n\t", "a\nb\\rc\td");
    EXPECT("a\0b", "\n\t", "a\\x00b");
    EXPECT("\xc2\x9b"
           "31m",
           "", "\\x9b31m");
}

static void test_printable__text_of_all_languages(void **state)
{
    (void)state;
    EXPECT("Größe 入力 \xf0\x9f\x98\x80 \xc2\xa0", "", "Größe 入力 \xf0\x9f\x98\x80 \xc2\xa0");
}

static void test_printable__bytes_that_are_not_utf8(void **state)
{
    (void)state;
    EXPECT("\xff", "", "\\xff");
    EXPECT("a\xe5\x85", "", "a\\xe5\\x85");        /* cut */
    EXPECT("\xc0\x9b", "", "\\xc0\\x9b");          /* overlong */
    EXPECT("\xed\xa0\x80", "", "\\xed\\xa0\\x80"); /* surrogate */
    EXPECT("\x9b", "", "\\x9b");                   /* C1 of an 8-bit terminal */
}

static void test_printable__directions_and_no_width(void **state)
{
    (void)state;
    EXPECT("a\xe2\x80\xae"
           "b",
           "", "a\\u202eb");
    EXPECT("\xe2\x80\x8b\xef\xbb\xbf\xe2\x81\xa6", "", "\\u200b\\ufeff\\u2066");
    EXPECT("\xf3\xa0\x81\xa1", "", "\\U000e0061");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Files of token ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/decode.h>

/* The ids of a text as "2x3: 1 2 3 4 5 6", or the error. */
static const char *parsed(const char *text, size_t size)
{
    static char out[512];
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    if (pgy_decode_ids_parse(&t, text, size, "ids.txt", &err)) {
        snprintf(out, sizeof out, "%.500s", err.text);
        return out;
    }
    const int64_t *shape = pgy_tensor_shape(t), *ids = pgy_tensor_data(t);
    size_t at =
        (size_t)snprintf(out, sizeof out, "%lldx%lld:", (long long)shape[0], (long long)shape[1]);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        at += (size_t)snprintf(out + at, sizeof out - at, " %lld", (long long)ids[i]);
    pgy_tensor_release(t);
    return out;
}

static bool ran_out(const char *text)
{
    return strstr(text, "out of memory") != NULL;
}

#define expect(text, wanted)                                     \
    do {                                                         \
        const char *found = parsed(text, strlen(text));          \
        if (!ran_out(found)) assert_string_equal(found, wanted); \
    } while (0)

static void test_ids__texts(void **state)
{
    (void)state;
    expect("1 2,3", "1x3: 1 2 3");
    expect("\n 1\t2 \r\n\n3, 4\n", "2x2: 1 2 3 4");
    expect("[1, 2, 3]", "1x3: 1 2 3");
    expect(" [[1,2],\n[3,4]]", "2x2: 1 2 3 4");
    expect("-1 +7 9223372036854775807", "1x3: -1 7 9223372036854775807");
}

static void test_ids__refused(void **state)
{
    (void)state;
    expect("", "ids.txt: there are no token ids");
    expect(" \n , \n", "ids.txt: there are no token ids");
    expect("[]", "ids.txt: there are no token ids");
    expect("[[], []]", "ids.txt: there are no token ids");
    expect("1 2\n3\n", "ids.txt: row 1 has 1 ids, but row 0 has 2; all rows need the same number");
    expect("[[1], [2, 3]]",
           "ids.txt: row 1 has 2 ids, but row 0 has 1; all rows need the same number");
    expect("1\n12x 4", "ids.txt, line 2: '12x' is no token id; expected integers with blanks or "
                       "commas between them");
    expect("1.5", "ids.txt, line 1: '1.5' is no token id; expected integers with blanks or commas "
                  "between them");
    expect(
        "9223372036854775808",
        "ids.txt, line 1: '9223372036854775808' is no token id; expected integers with blanks or "
        "commas between them");
    expect("-", "ids.txt, line 1: '-' is no token id; expected integers with blanks or commas "
                "between them");
    expect("[1, 2.5]", "ids.txt, line 1: expected an integer id");
    expect("[1, [2]]", "ids.txt, line 1: expected an integer id");
    expect("[[1], 2]", "ids.txt, line 1: expected an array of ids");
    expect("[1,\n 2",
           "ids.txt: JSON line 2 column 3: expected ',' or ']', found the end of the text");
}

static void test_ids__a_word_of_control_characters_is_shown_safely(void **state)
{
    (void)state;
    const char text[] = {'\x1b', '[', 0, '\x7f', 'a'};
    const char *found = parsed(text, sizeof text);
    if (!ran_out(found)) assert_non_null(strstr(found, "line 1: '?[??a' is no token id"));
}

static void test_ids__npy(void **state)
{
    (void)state;
    const int32_t ids[] = {5, 6, 7, 8};
    const int64_t shape[] = {2, 2};
    static const char PATH[] = TEST_BINARY_DIR "/decode_ids.npy";
    pgy_tensor *t = NULL;
    float wrong[] = {1, 2};
    if (pgy_npy_save(PATH, pgy_view_of((void *)ids, PGY_I32, 2, shape), NULL)) return;
    pgy_status st = pgy_decode_ids_load(&t, PATH, NULL);
    if (st != PGY_E_MEMORY) assert_int_equal(st, PGY_OK);
    if (!st) {
        assert_int_equal(pgy_tensor_dtype(t), PGY_I64);
        assert_int_equal(((const int64_t *)pgy_tensor_data(t))[3], 8);
        pgy_tensor_release(t);
    }
    if (pgy_npy_save(PATH, pgy_view_of(wrong, PGY_F32, 1, shape), NULL)) return;
    pgy_error err = {0};
    st = pgy_decode_ids_load(&t, PATH, &err);
    if (st == PGY_E_MEMORY) return;
    assert_int_equal(st, PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "expected integers of rank 1 or 2, but it has float32"));
}

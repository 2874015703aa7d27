/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/base64.h"

static void test_base64__rfc_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *data, *text;
    } CASES[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char text[16] = "", data[16] = "";
        size_t size = 99;
        base64_encode(text, CASES[i].data, strlen(CASES[i].data));
        assert_string_equal(text, CASES[i].text);
        assert_int_equal(base64_encoded_size(strlen(CASES[i].data)), strlen(text));
        assert_true(base64_decoded_size(&size, text, strlen(text)));
        assert_int_equal(size, strlen(CASES[i].data));
        assert_true(base64_decode(data, &size, text, strlen(text), true));
        assert_int_equal(size, strlen(CASES[i].data));
        assert_string_equal(data, CASES[i].data);
    }
}

/* A second, plain encoder to compare with. */
static void encode_plainly(char *out, const uint8_t *in, size_t size)
{
    static const char SET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t bit = 0; bit < size * 8; bit += 6) {
        unsigned v = 0;
        for (size_t b = bit; b < bit + 6; b++)
            v = v << 1 | (b < size * 8 ? in[b / 8] >> (7 - b % 8) & 1u : 0u);
        *out++ = SET[v];
    }
    for (size_t n = size; n % 3; n++) *out++ = '=';
}

static void test_base64__every_length_goes_round(void **state)
{
    (void)state;
    for (size_t size = 0; size < 300; size++) {
        uint8_t *data = malloc(size + 1), *back = malloc(size + 1);
        const size_t text_size = base64_encoded_size(size);
        char *text = malloc(text_size + 1), *expected = malloc(text_size + 1);
        for (size_t i = 0; i < size; i++) data[i] = (uint8_t)(i * 167 + size * 31 + (i >> 3));
        text[text_size] = 'G';
        back[size] = 0x5A;
        base64_encode(text, data, size);
        encode_plainly(expected, data, size);
        assert_memory_equal(text, expected, text_size);
        assert_int_equal(text[text_size], 'G');
        size_t n = 0;
        assert_true(base64_decode(back, &n, text, text_size, true));
        assert_int_equal(n, size);
        assert_memory_equal(back, data, size);
        assert_int_equal(back[size], 0x5A);
        free(data);
        free(back);
        free(text);
        free(expected);
    }
}

static void test_base64__every_wrong_byte_is_found(void **state)
{
    (void)state;
    char text[129], out[129];
    size_t n;
    for (int c = 0; c < 256; c++) {
        const bool legal =
            c && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", c);
        for (size_t at = 0; at < 128; at += 13) {
            memset(text, 'A', sizeof text);
            text[at] = (char)c;
            assert_int_equal(base64_decode(out, &n, text, 128, false), legal);
        }
    }
}

static void test_base64__strict(void **state)
{
    (void)state;
    static const char *const BAD[] = {"A",    "AA",       "AAA",  "====", "A===",  "=AAA",
                                      "AA=A", "Zg==AAAA", "Zh==", "Zm9=", "AAA\n", "AA A"};
    char out[16];
    size_t n = 77;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        if (base64_decode(out, &n, BAD[i], strlen(BAD[i]), true))
            fail_msg("'%s' was accepted", BAD[i]);
    assert_false(base64_decode(out, &n, "Zg==", 4, false));
    assert_int_equal(n, 77);
    assert_false(base64_decoded_size(&n, "AAAAA", 5));
}

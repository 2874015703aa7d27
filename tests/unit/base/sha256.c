/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the vectors of FIPS 180-4 and of NIST's example pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/sha256.h"

static void expect(const void *data, size_t size, const char *hex)
{
    uint8_t hash[SHA256_SIZE];
    char text[2 * SHA256_SIZE + 1];
    sha256(hash, data, size);
    for (size_t i = 0; i < SHA256_SIZE; i++) snprintf(text + 2 * i, 3, "%02x", hash[i]);
    assert_string_equal(text, hex);
}

static void test_sha256__published_vectors(void **state)
{
    (void)state;
    static const char TWO_BLOCKS[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char FOUR_LINES[] =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
        "lmnopqrsmnopqrstnopqrstu";
    expect("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(TWO_BLOCKS, sizeof TWO_BLOCKS - 1,
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect(FOUR_LINES, sizeof FOUR_LINES - 1,
           "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

static void test_sha256__a_million_letters(void **state)
{
    (void)state;
    char *text = mem_alloc(1000000);
    assert_non_null(text);
    memset(text, 'a', 1000000);
    expect(text, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    mem_free(text);
}

/* Lengths at which the padding needs one block or two: values of Python's hashlib. */
static void test_sha256__lengths_around_the_padding(void **state)
{
    (void)state;
    char text[65];
    memset(text, 'x', sizeof text);
    expect(text, 55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
    expect(text, 56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
    expect(text, 63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
    expect(text, 64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
    expect(text, 65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9");
}

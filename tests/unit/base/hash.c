/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64 against values of the reference implementation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"

static void test_hash__known_values(void **state)
{
    (void)state;
    static const char TEXT[] = "Nobody inspects the spammish repetition";
    assert_true(hash_xxh64("", 0, 0) == 0xEF46DB3751D8E999U);
    assert_true(hash_xxh64("a", 1, 0) == 0xD24EC4F1A98C6E5BU);
    assert_true(hash_xxh64("abc", 3, 0) == 0x44BC2CF5AD770999U);
    assert_true(hash_xxh64(TEXT, sizeof TEXT - 1, 0) == 0xFBCEA83C8A378BF1U);
}

static void test_hash__every_byte_and_the_seed_count(void **state)
{
    (void)state;
    unsigned char data[100] = {0};
    for (size_t size = 1; size <= sizeof data; size++) {
        const uint64_t hash = hash_xxh64(data, size, 1);
        assert_true(hash != hash_xxh64(data, size, 2));
        assert_true(hash != hash_xxh64(data, size - 1, 1));
        for (size_t i = 0; i < size; i++) {
            data[i] = 1;
            assert_true(hash != hash_xxh64(data, size, 1));
            data[i] = 0;
        }
    }
}

static void test_hash__in_pieces_is_the_same(void **state)
{
    (void)state;
    unsigned char data[200];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + i / 3);
    for (size_t size = 0; size <= sizeof data; size++) {
        for (size_t step = 1; step < 70; step += 3) {
            hash_stream h;
            hash_stream_start(&h);
            for (size_t i = 0; i < size; i += step)
                hash_stream_add(&h, data + i, size - i < step ? size - i : step);
            assert_true(hash_stream_finish(&h) == hash_xxh64(data, size, 0));
        }
    }
}

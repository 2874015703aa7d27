/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/wire.h"

static wire_reader reader_of(const void *bytes, size_t size)
{
    return (wire_reader){bytes, (const uint8_t *)bytes + size, bytes};
}

static void test_wire__varints_go_round(void **state)
{
    (void)state;
    static const uint64_t VALUES[] = {0,     1,     127,        128,        300,
                                      16383, 16384, UINT32_MAX, 1ull << 35, UINT64_MAX};
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
        str s = {0};
        uint64_t back = 0;
        wire_put_varint(&s, VALUES[i]);
        assert_int_equal(s.size, wire_varint_size(VALUES[i]));
        wire_reader r = reader_of(s.data, s.size);
        assert_int_equal(wire_varint(&r, &back, NULL), PGY_OK);
        assert_true(back == VALUES[i]);
        assert_ptr_equal(r.p, r.end);
        for (size_t cut = 0; cut < s.size; cut++) {
            r = reader_of(s.data, cut);
            assert_int_equal(wire_varint(&r, &back, NULL), PGY_E_FORMAT);
        }
        str_deinit(&s);
    }
}

static void test_wire__known_bytes(void **state)
{
    (void)state;
    str s = {0};
    wire_put_tag(&s, 1, WIRE_LEN);
    wire_put_varint(&s, 300);
    wire_put_tag(&s, 16, WIRE_VARINT);
    assert_int_equal(s.size, 5);
    assert_memory_equal(s.data, "\x0A\xAC\x02\x80\x01", 5);
    str_deinit(&s);
}

static void test_wire__fields(void **state)
{
    (void)state;
    static const char BYTES[] = "\x08\x96\x01" /* 1: varint 150 */
                                "\x12\x03"
                                "abc"                                  /* 2: "abc" */
                                "\x1D\x00\x00\x80\x3F"                 /* 3: 1.0f */
                                "\x21\x01\x02\x03\x04\x05\x06\x07\x08" /* 4 */
                                "\x2B\x08\x01\x33\x34\x2C" /* 5: group with 1 and a group 6 */
                                "\x32\x00";                /* 6: "" */
    wire_reader r = reader_of(BYTES, sizeof BYTES - 1);
    wire_field f;
    bool more = false;
    assert_int_equal(wire_next(&r, &f, &more, NULL), PGY_OK);
    assert_true(more && f.number == 1 && f.type == WIRE_VARINT && f.value == 150 &&
                f.whole_size == 3);
    assert_int_equal(wire_next(&r, &f, &more, NULL), PGY_OK);
    assert_true(more && f.number == 2 && f.type == WIRE_LEN && f.size == 3 && f.whole_size == 5);
    assert_memory_equal(f.data, "abc", 3);
    assert_int_equal(wire_next(&r, &f, &more, NULL), PGY_OK);
    assert_true(more && f.number == 3 && f.type == WIRE_I32 && f.value == 0x3F800000);
    assert_int_equal(wire_next(&r, &f, &more, NULL), PGY_OK);
    assert_true(more && f.number == 4 && f.type == WIRE_I64 && f.value == 0x0807060504030201);
    assert_int_equal(wire_next(&r, &f, &more, NULL), PGY_OK);
    assert_true(more && f.number == 5 && f.type == WIRE_GROUP && f.whole_size == 6);
    assert_ptr_equal(f.begin, BYTES + 22);
    assert_int_equal(wire_next(&r, &f, &more, NULL), PGY_OK);
    assert_true(more && f.number == 6 && f.type == WIRE_LEN && f.size == 0);
    assert_int_equal(wire_next(&r, &f, &more, NULL), PGY_OK);
    assert_false(more);
}

static void expect_error(const char *bytes, size_t size, const char *part)
{
    wire_reader r = reader_of(bytes, size);
    wire_field f;
    bool more;
    pgy_error err = {0};
    pgy_status st;
    do st = wire_next(&r, &f, &more, &err);
    while (!st && more);
    assert_int_equal(st, PGY_E_FORMAT);
    if (!strstr(err.text, part)) fail_msg("'%s' lacks '%s'", err.text, part);
}

static void test_wire__errors_name_the_offset(void **state)
{
    (void)state;
    expect_error("\x08\x01\x12\x05"
                 "abc",
                 7, "field 2 at byte 2 claims 5 bytes, but 3 remain");
    expect_error("\x08\x80", 2, "a varint is truncated or longer than 10 bytes at byte 1");
    expect_error("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12,
                 "a varint is truncated or longer than 10 bytes at byte 1");
    expect_error("\x00\x01", 2, "a field number is out of range at byte 0");
    expect_error("\x0F\x01", 2, "a field has an invalid wire type at byte 0");
    expect_error("\x0C", 1, "a field has an invalid wire type at byte 0");
    expect_error("\x1D\x00\x00", 3, "truncated at byte 0");
    expect_error("\x21\x00\x00", 3, "truncated at byte 0");
    expect_error("\x0B\x08\x01", 3, "a varint is truncated or longer than 10 bytes at byte 3");
    expect_error("\x0B\x14", 2, "a group ends with the number of another group at byte 1");
    expect_error("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11,
                 "claims 18446744073709551615 bytes");
    char deep[200];
    memset(deep, 0x0B, sizeof deep);
    expect_error(deep, sizeof deep, "nested too deeply at byte 100");
}

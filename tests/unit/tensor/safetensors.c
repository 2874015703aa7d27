/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the safetensors package wrote, our own, and headers that lie. */
#include "support.h"

static void test_safetensors__reads_the_real_one(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    expect_ok(pgy_safetensors_load(&m, DATA("mixed.safetensors"), &err), &err);
    assert_int_equal(pgy_tensor_map_count(m), 17);
    for (size_t i = 0; i < pgy_tensor_map_count(m); i++) {
        pgy_tensor *t = pgy_tensor_map_at(m, i), *as_float = NULL;
        const char *name = pgy_tensor_map_name(m, i);
        if (pgy_tensor_count(t) != 6) continue;
        assert_string_equal(pgy_dtype_name(pgy_tensor_dtype(t)), name);
        expect_ok(pgy_tensor_cast(&as_float, pgy_tensor_view(t), PGY_F32, &err), &err);
        for (int k = 0; k < 6; k++)
            assert_true(((float *)pgy_tensor_data(as_float))[k] ==
                        (float)(pgy_tensor_dtype(t) == PGY_BOOL ? k != 0 : k));
        pgy_tensor_release(as_float);
    }
    assert_int_equal(*(int16_t *)pgy_tensor_data(pgy_tensor_map_find(m, "quote\"\xe4\xb8\xad\\")),
                     7);
    assert_int_equal(pgy_tensor_rank(pgy_tensor_map_find(m, "scalar")), 0);
    expect_ok(pgy_safetensors_save(OUT("safetensors"), m, &err), &err);
    pgy_tensor_map *again = NULL;
    expect_ok(pgy_safetensors_load(&again, OUT("safetensors"), &err), &err);
    assert_int_equal(pgy_tensor_map_count(again), 17);
    for (size_t i = 0; i < 17; i++)
        expect_same(pgy_tensor_map_find(again, pgy_tensor_map_name(m, i)), pgy_tensor_map_at(m, i));
    pgy_tensor_map_destroy(m);
    pgy_tensor_map_destroy(again);
}

static pgy_status parse(const char *header, size_t data_bytes, pgy_error *err)
{
    unsigned char file[1024] = {0};
    size_t n = strlen(header);
    pgy_tensor_map *m = NULL;
    file[0] = (unsigned char)n;
    file[1] = (unsigned char)(n >> 8);
    memcpy(file + 8, header, n);
    pgy_status st = pgy_safetensors_parse(&m, file, 8 + n + data_bytes, err);
    pgy_tensor_map_destroy(m);
    return st;
}

static void test_safetensors__headers_that_lie(void **state)
{
    (void)state;
    pgy_error err = {0};
    expect_ok(parse("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, &err),
              &err);
    expect_ok(parse("{}", 0, &err), &err);
    expect_error(parse("{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, &err),
                 PGY_E_FORMAT, &err, "'a': 'shape' and");
    expect_error(parse("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7, &err),
                 PGY_E_FORMAT, &err, "outside the file");
    expect_error(parse("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9, &err),
                 PGY_E_FORMAT, &err, "9 bytes of data");
    expect_error(parse("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, &err),
                 PGY_E_FORMAT, &err, "outside");
    expect_error(parse("{\"a\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, &err),
                 PGY_E_UNSUPPORTED, &err, "'F99'");
    expect_error(
        parse("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,8]}}", 8, &err),
        PGY_E_FORMAT, &err, "'shape'");
    expect_error(parse("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{"
                       "\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
                       6, &err),
                 PGY_E_FORMAT, &err, "'b': its data overlap");
    expect_error(parse("{\"a\":3}", 0, &err), PGY_E_FORMAT, &err, "'dtype'");
    expect_error(parse("[1]", 0, &err), PGY_E_FORMAT, &err, "not a JSON object");
    expect_error(parse("{\"a\":", 0, &err), PGY_E_FORMAT, &err, "header: ");
    pgy_tensor_map *m = NULL;
    expect_error(pgy_safetensors_parse(&m, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8, &err),
                 PGY_E_FORMAT, &err, "more than the file has");
    expect_error(pgy_safetensors_parse(&m, "abc", 3, &err), PGY_E_FORMAT, &err,
                 "truncated after 3 bytes");
}

static void test_safetensors__types_it_lacks(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    expect_ok(pgy_tensor_map_create(&m, &err), &err);
    expect_ok(pgy_tensor_map_adopt(m, "x", tensor_of(PGY_I4, DIMS(2), NULL), &err), &err);
    expect_error(pgy_safetensors_save(OUT("safetensors_bad"), m, &err), PGY_E_TYPE, &err,
                 "'x': the format has no element type int4");
    pgy_tensor_map_destroy(m);
}

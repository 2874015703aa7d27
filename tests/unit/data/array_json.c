/* SPDX-License-Identifier: Apache-2.0 */
/* ndarray objects: the base64 that NumPy's bytes give, and every way to read one. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "base/alloc.h"
#include "data/array_json.h"

static const char FLOATS[] = "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ"
                             "3NoYXBlJzogKDIsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAg"
                             "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAACAPw==";
static const char SCALAR[] = "k05VTVBZAQB2AHsnZGVzY3InOiAnfGIxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ"
                             "3NoYXBlJzogKCksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAg"
                             "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoB";

static void assert_written(pgy_view v, const char *base64)
{
    str text = {0}, expected = {0};
    json_writer *w = NULL;
    pgy_error err = {0};
    assert_int_equal(json_writer_create_str(&w, &text, &err), PGY_OK);
    assert_int_equal(array_json_write(w, v, &err), PGY_OK);
    assert_int_equal(json_writer_finish(w, &err), PGY_OK);
    str_printf(&expected, "{\n    \"array\": \"%s\",\n    \"polygraphy_class\": \"ndarray\"\n}",
               base64);
    assert_string_equal(str_text(&text), str_text(&expected));
    json_writer_destroy(w);
    str_deinit(&text);
    str_deinit(&expected);
}

static pgy_status read(pgy_tensor **out, const char *json, pgy_error *err)
{
    arena memory = {0};
    json_value *v = NULL;
    pgy_status st = json_parse(&v, json, strlen(json), &memory, err);
    if (!st) st = array_json_read(out, v, NULL, "here", err);
    arena_deinit(&memory);
    return st;
}

static void assert_read(const char *format, const char *base64, pgy_dtype dtype, size_t rank)
{
    str json = {0};
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    str_printf(&json, format, base64);
    if (read(&t, str_text(&json), &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_tensor_dtype(t), dtype);
    assert_int_equal(pgy_tensor_rank(t), rank);
    if (dtype == PGY_F32)
        assert_memory_equal(pgy_tensor_data(t), ((float[]){0, 1}), 8);
    else
        assert_int_equal(*(uint8_t *)pgy_tensor_data(t), 1);
    pgy_tensor_release(t);
    str_deinit(&json);
}

static void test_array_json__golden_floats(void **state)
{
    (void)state;
    float data[] = {0, 1};
    int64_t shape[] = {2};
    assert_written(pgy_view_of(data, PGY_F32, 1, shape), FLOATS);
    assert_read("{\"array\": \"%s\", \"polygraphy_class\": \"ndarray\"}", FLOATS, PGY_F32, 1);
}

static void test_array_json__golden_bool_scalar(void **state)
{
    (void)state;
    uint8_t data = 1;
    assert_written(pgy_view_of(&data, PGY_BOOL, 0, NULL), SCALAR);
    assert_read("{\"array\": \"%s\", \"polygraphy_class\": \"ndarray\"}", SCALAR, PGY_BOOL, 0);
}

static void test_array_json__strided_views_are_written_in_order(void **state)
{
    (void)state;
    float data[] = {0, 9, 1, 9};
    int64_t shape[] = {2}, strides[] = {2};
    pgy_view v = pgy_view_of(data, PGY_F32, 1, shape);
    v.strides = strides;
    assert_written(v, FLOATS);
}

static void test_array_json__markers_old_and_new(void **state)
{
    (void)state;
    static const char *const FORMS[] = {
        "{\"array\": \"%s\", \"__polygraphy_encoded_ndarray\": "
        "\"polygraphy_serialized_json_type\"}",
        "{\"values\": {\"array\": \"%s\", \"polygraphy_class\": \"ndarray\"}, "
        "\"polygraphy_class\": \"LazyArray\"}",
        "{\"values\": {\"array\": \"%s\", \"polygraphy_class\": \"ndarray\"}, "
        "\"polygraphy_class\": \"LazyNumpyArray\"}",
        "{\"array\": {\"array\": \"%s\", \"polygraphy_class\": \"ndarray\"}, \"shape\": [2], "
        "\"polygraphy_class\": \"FormattedArray\"}",
        "{\"polygraphy_class\": \"ndarray\", \"array\": \"%s\"}",
        "{\"array\": 3, \"array\": \"%s\", \"polygraphy_class\": \"ndarray\"}",
    };
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        assert_read(FORMS[i], FLOATS, PGY_F32, 1);
}

static void test_array_json__escaped_base64(void **state)
{
    (void)state;
    /* '/' may be written as \/ ; this array is 0xff 0xff 0xff. */
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    static const char JSON[] = "{\"array\": "
                               "\"k05VTVBZAQB2AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZ"
                               "SwgJ3NoYXBlJzogKDMsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAg"
                               "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAr\\/\\/\\/8=\", "
                               "\"polygraphy_class\": \"ndarray\"}";
    if (read(&t, JSON, &err)) fail_msg("%s", err.text);
    assert_memory_equal(pgy_tensor_data(t), "\xff\xff\xff", 3);
    pgy_tensor_release(t);
}

/* Archives of old releases: the first array counts. */
static void test_array_json__npz_archives(void **state)
{
    (void)state;
    static const char FORM[] = "{\"array\": \"%s\", \"polygraphy_class\": \"ndarray\"}",
                      NPZ[] = "UEsDBC0AAAAIAAAAIQDzBVMh//////////8FABQAYS5ucHkBABAAiAAAAAAAAABJAAAA"
                              "AAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TZqKuo6Cell9UUpSYF59flJIKEndLzClO"
                              "BYoXZyQWpAL5GkY6mjoKtQoUAC4GMGiwBwBQSwECLQMtAAAACAAAACEA8wVTIUkAAACI"
                              "AAAABQAAAAAAAAAAAAAAgAEAAAAAYS5ucHlQSwUGAAAAAAEAAQAzAAAAgAAAAAAA";
    assert_read(FORM, NPZ, PGY_F32, 1);
    static const char *const BAD[] = {"UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==", "UEsDBC0AAAAIAAAA",
                                      "UEs="};
    for (size_t i = 0; i < 3; i++) {
        str json = {0};
        pgy_tensor *t = NULL;
        pgy_error err = {0};
        str_printf(&json, FORM, BAD[i]);
        assert_int_not_equal(read(&t, str_text(&json), &err), PGY_OK);
        assert_int_equal(strncmp(err.text, "here: ", 6), 0);
        if (i == 0) assert_non_null(strstr(err.text, "holds no array"));
        str_deinit(&json);
    }
}

static void test_array_json__types_numpy_lacks_are_refused(void **state)
{
    (void)state;
    uint16_t data[2] = {0};
    int64_t shape[] = {2};
    str text = {0};
    json_writer *w = NULL;
    pgy_error err = {0};
    assert_int_equal(json_writer_create_str(&w, &text, &err), PGY_OK);
    assert_int_equal(array_json_write(w, pgy_view_of(data, PGY_BF16, 1, shape), &err), PGY_E_TYPE);
    assert_non_null(strstr(err.text, "bfloat16"));
    json_writer_destroy(w);
    str_deinit(&text);
}

static void test_array_json__unknown_classes_are_named(void **state)
{
    (void)state;
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    assert_int_equal(read(&t, "{\"polygraphy_class\": \"Mystery\"}", &err), PGY_E_FORMAT);
    assert_string_equal(err.text, "here: Could not decode serialized type: Mystery");
    assert_int_equal(read(&t, "{\"polygraphy_class\": \"RunResults\"}", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "JSON cannot be decoded into 'ndarray'"));
    assert_int_equal(read(&t, "[]", &err), PGY_E_FORMAT);
}

/* Larger than one block of the decoder, so that blocks meet. */
static void test_array_json__large_arrays_survive(void **state)
{
    (void)state;
    enum { COUNT = 300001 };
    str text = {0};
    json_writer *w = NULL;
    pgy_tensor *t = NULL, *back = NULL;
    pgy_error err = {0};
    int64_t shape[] = {COUNT};
    assert_int_equal(pgy_tensor_create(&t, PGY_I32, 1, shape, &err), PGY_OK);
    uint32_t *x = pgy_tensor_data(t);
    for (uint32_t i = 0; i < COUNT; i++) x[i] = i * 2654435761u;
    assert_int_equal(json_writer_create_str(&w, &text, &err), PGY_OK);
    assert_int_equal(lazy_array_json_write(w, pgy_tensor_view(t), &err), PGY_OK);
    assert_int_equal(json_writer_finish(w, &err), PGY_OK);
    if (read(&back, str_text(&text), &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_tensor_count(back), COUNT);
    assert_memory_equal(pgy_tensor_data(back), x, COUNT * sizeof *x);
    pgy_tensor_release(back);
    pgy_tensor_release(t);
    json_writer_destroy(w);
    str_deinit(&text);
}

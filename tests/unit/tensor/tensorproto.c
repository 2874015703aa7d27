/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto files that the onnx package wrote with every typed field, our own, and messages that
 * lie. */
#include "tensor/tensorproto.h"

#include "support.h"
#include "tensor/convert.h"

static void test_tensorproto__typed_fields(void **state)
{
    (void)state;
    static const char *const TYPES[] = {
        "float",    "double",       "int8",       "int16",     "int32",      "int64",
        "uint8",    "uint16",       "uint32",     "uint64",    "bool",       "float16",
        "bfloat16", "float8e4m3fn", "float8e5m2", "complex64", "complex128", "int4",
        "uint4",    "float4e2m1",   "float6e2m3", "float6e3m2"};
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        pgy_error err = {0};
        char path[512], *name = NULL;
        pgy_tensor *t = NULL, *values = NULL;
        snprintf(path, sizeof path, DATA("typed_%s.pb"), TYPES[i]);
        expect_ok(pgy_tensorproto_load(&t, &name, path, &err), &err);
        assert_string_equal(name, "x");
        assert_int_equal(pgy_tensor_dtype(t), pgy_dtype_from_name(TYPES[i]));
        expect_ok(pgy_tensor_cast(&values, pgy_tensor_view(t), PGY_F64, &err), &err);
        const double *v = pgy_tensor_data(values);
        assert_int_equal(pgy_tensor_count(t), 3);
        assert_true(v[0] == 0 && v[1] == 1 && v[2] == (pgy_tensor_dtype(t) == PGY_BOOL ? 1 : 3));
        pgy_text_free(name);
        pgy_tensor_release(t);
        pgy_tensor_release(values);
    }
}

/* Four elements of 6 bits lie in three bytes; the 15 of these files end within the twelfth. */
static void test_tensorproto__raw_elements_of_six_bits(void **state)
{
    (void)state;
    static const char *const FILES[] = {DATA("raw_float6e2m3.pb"), DATA("raw_float6e3m2.pb")};
    for (size_t k = 0; k < 2; k++) {
        pgy_error err = {0};
        pgy_tensor *t = NULL, *values = NULL, *again = NULL;
        char *name = NULL;
        expect_ok(pgy_tensorproto_load(&t, &name, FILES[k], &err), &err);
        assert_int_equal(pgy_tensor_dtype(t), k ? PGY_F6E3M2 : PGY_F6E2M3);
        assert_int_equal(pgy_tensor_size_bytes(t), 12);
        expect_ok(pgy_tensor_cast(&values, pgy_tensor_view(t), PGY_F64, &err), &err);
        for (int i = 0; i < 15; i++) assert_true(((double *)pgy_tensor_data(values))[i] == i - 7);
        expect_ok(pgy_tensor_cast(&again, pgy_tensor_view(values), pgy_tensor_dtype(t), &err),
                  &err);
        assert_memory_equal(pgy_tensor_data(again), pgy_tensor_data(t), 12);
        expect_ok(pgy_tensorproto_save(OUT("raw6_pb"), name, pgy_tensor_view(again), &err), &err);
        expect_same_files(OUT("raw6_pb"), FILES[k]);
        pgy_text_free(name);
        pgy_tensor_release(t);
        pgy_tensor_release(values);
        pgy_tensor_release(again);
    }
}

static void test_tensorproto__strings(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t = NULL, *again = NULL;
    char *name = NULL;
    expect_ok(pgy_tensorproto_load(&t, NULL, DATA("typed_string.pb"), &err), &err);
    assert_memory_equal(((pgy_string *)pgy_tensor_data(t))[1].data, "zw\xc3\xb6lf", 6);
    expect_ok(pgy_tensorproto_save(OUT("string_pb"), "s", pgy_tensor_view(t), &err), &err);
    expect_ok(pgy_tensorproto_load(&again, &name, OUT("string_pb"), &err), &err);
    assert_string_equal(name, "s");
    expect_same(t, again);
    pgy_text_free(name);
    pgy_tensor_release(t);
    pgy_tensor_release(again);
}

static void test_tensorproto__writes_onnx_bytes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    expect_ok(pgy_tensorproto_load(&t, NULL, DATA("raw_f32.pb"), &err), &err);
    for (int i = 0; i < 6; i++) assert_true(((float *)pgy_tensor_data(t))[i] == (float)i);
    expect_ok(pgy_tensorproto_save(OUT("raw_pb"), "weights", pgy_tensor_view(t), &err), &err);
    expect_same_files(OUT("raw_pb"), DATA("raw_f32.pb"));
    pgy_tensor_release(t);
}

static void test_tensorproto__external_needs_the_model(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    expect_error(
        pgy_tensorproto_load(&t, NULL, DATA("external.pb"), &err), PGY_E_UNSUPPORTED, &err,
        "tensor 'far': its elements are external data, which can be read only with its model");
}

static pgy_status parse(const char *bytes, size_t size, pgy_tensor **t, pgy_error *err)
{
    *t = NULL;
    return pgy_tensorproto_parse(t, NULL, bytes, size, err);
}
#define PARSE(bytes, t, err) parse(bytes, sizeof bytes - 1, t, err)

static void test_tensorproto__unpacked_and_split_lists(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t;
    /* dims 4 unpacked; float_data: a packed run of two, one alone, a packed run of one */
    expect_ok(
        PARSE("\x08\x04\x10\x01\x22\x08\0\0\x80\x3f\0\0\0\x40\x25\0\0\x40\x40\x22\x04\0\0\x80\x40",
              &t, &err),
        &err);
    for (int i = 0; i < 4; i++) assert_true(((float *)pgy_tensor_data(t))[i] == (float)(i + 1));
    pgy_tensor_release(t);
    /* dims packed (1, 2), int64_data unpacked -1, packed 300 */
    expect_ok(
        PARSE(
            "\x0a\x02\x01\x02\x10\x07\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x3a\x02\xac\x02",
            &t, &err),
        &err);
    assert_int_equal(((int64_t *)pgy_tensor_data(t))[0], -1);
    assert_int_equal(((int64_t *)pgy_tensor_data(t))[1], 300);
    assert_int_equal(pgy_tensor_rank(t), 2);
    pgy_tensor_release(t);
}

static void test_tensorproto__messages_that_lie(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t;
    expect_error(PARSE("\x08\x02\x10\x01\x4a\x04\0\0\x80\x3f", &t, &err), PGY_E_FORMAT, &err,
                 "its raw data has the wrong size in bytes (has 4, needs 8)");
    expect_error(PARSE("\x08\x02\x10\x06\x28\x01", &t, &err), PGY_E_FORMAT, &err,
                 "it has the wrong number of values (has 1, needs 2)");
    expect_error(PARSE("\x08\x02\x10\x63", &t, &err), PGY_E_UNSUPPORTED, &err, "element type 99");
    expect_error(PARSE("\x08\x02\x10\x08", &t, &err), PGY_E_FORMAT, &err,
                 "it has the wrong number of strings (has 0, needs 2)");
    expect_error(PARSE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x08\x7f\x10\x01", &t, &err),
                 PGY_E_SHAPE, &err, "too many elements");
    expect_error(PARSE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01", &t, &err),
                 PGY_E_SHAPE, &err, "dimension 0 is -1;");
    expect_error(PARSE("\x22\x03\0\0\0\x10\x01", &t, &err), PGY_E_FORMAT, &err,
                 "not a multiple of 4");
    expect_error(PARSE("\x12\x00", &t, &err), PGY_E_FORMAT, &err,
                 "field 2 has the wrong wire type, 2");
    expect_error(PARSE("\x4a\x7f", &t, &err), PGY_E_FORMAT, &err, "TensorProto: ");
    assert_null(t);
}

static int retained, released;
static void count_retain(void *user)
{
    (void)user, retained++;
}
static void count_release(void *user)
{
    (void)user, released++;
}

static void test_tensorproto__borrows_aligned_raw_data(void **state)
{
    (void)state;
    pgy_error err = {0};
    _Alignas(8) char memory[16] = {0};
    int64_t dims[1] = {2};
    const tensorproto_owner owner = {count_retain, count_release, NULL};
    for (int shift = 0; shift < 2; shift++) {
        pgy_tensor *t = NULL;
        tensorproto_fields f = {
            .data_type = 1, .dims = dims, .rank = 1, .has_raw = true, .raw = {memory + shift, 8}};
        retained = released = 0;
        expect_ok(tensorproto_decode(&t, &f, &owner, &err), &err);
        assert_int_equal(pgy_tensor_data(t) == memory, shift == 0);
        assert_int_equal(retained, shift == 0);
        pgy_tensor_release(t);
        assert_int_equal(released, retained);
    }
}

static void test_tensorproto__raw_files(void **state)
{
    (void)state;
    pgy_error err = {0};
    float x[6] = {0, 1, 2, 3, 4, 5};
    pgy_tensor *t = NULL;
    expect_ok(pgy_raw_save(OUT("raw"), pgy_view_of(x, PGY_F32, DIMS(2, 3)), &err), &err);
    expect_ok(pgy_raw_load(&t, OUT("raw"), PGY_F32, DIMS(6), &err), &err);
    assert_memory_equal(pgy_tensor_data(t), x, sizeof x);
    pgy_tensor_release(t);
    t = NULL;
    expect_error(pgy_raw_load(&t, OUT("raw"), PGY_F32, DIMS(7), &err), PGY_E_SHAPE, &err,
                 "has 24 bytes, but 7 elements of float32 need 28");
    expect_error(pgy_raw_load(&t, OUT("raw"), PGY_STRING, DIMS(7), &err), PGY_E_TYPE, &err,
                 "strings");
    assert_null(t);
}

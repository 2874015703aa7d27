/* SPDX-License-Identifier: Apache-2.0 */
/* npy files that NumPy wrote (tests/data/tensor), headers byte for byte, and malformed input. */
#include "tensor/npy.h"

#include "support.h"

static pgy_tensor *load(const char *path)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    expect_ok(pgy_npy_load(&t, path, &err), &err);
    return t;
}

static void test_npy__writes_numpys_bytes(void **state)
{
    (void)state;
    static const char *const FILES[] = {DATA("c.npy"), DATA("text.npy")};
    for (size_t i = 0; i < 2; i++) {
        pgy_error err = {0};
        pgy_tensor *t = load(FILES[i]);
        expect_ok(pgy_npy_save(OUT("npy"), pgy_tensor_view(t), &err), &err);
        expect_same_files(OUT("npy"), FILES[i]);
        pgy_tensor_release(t);
    }
}

static void expect_header(pgy_dtype dtype, size_t rank, const int64_t *shape, const char *text)
{
    str header = {0};
    npy_header h;
    assert_int_equal(npy_header_write(&header, dtype, 0, rank, shape, NULL), PGY_OK);
    assert_memory_equal(header.data, "\x93NUMPY\x01\x00", 8);
    assert_int_equal(header.size % 64, 0);
    assert_memory_equal(header.data + 10, text, strlen(text));
    assert_int_equal(npy_header_parse(&h, header.data, header.size, NULL), PGY_OK);
    assert_int_equal(h.data_offset, header.size);
    assert_int_equal(h.rank, rank);
    str_deinit(&header);
}

static void test_npy__headers(void **state)
{
    (void)state;
    expect_header(PGY_F32, DIMS(2, 3),
                  "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      ");
    expect_header(PGY_BOOL, 0, NULL, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }");
    expect_header(PGY_U64, DIMS(5), "{'descr': '<u8', 'fortran_order': False, 'shape': (5,), }");
    expect_header(PGY_C128, DIMS(5), "{'descr': '<c16', 'fortran_order': False, 'shape': (5,), }");
}

/* The header of a shape that just fills 118 bytes and of one that does not, from numpy.save. */
static void test_npy__padding_leaves_room_to_grow(void **state)
{
    (void)state;
    static const struct {
        size_t rank;
        int64_t first, rest;
        size_t size;
    } CASES[] = {
        {1, 12345678, 1, 128}, {10, 1, 1, 128}, {14, 1, 1, 128}, {15, 1, 1, 192}, {30, 1, 1, 192}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        str header = {0};
        int64_t shape[PGY_MAX_RANK];
        for (size_t k = 0; k < CASES[i].rank; k++) shape[k] = k ? CASES[i].rest : CASES[i].first;
        assert_int_equal(npy_header_write(&header, PGY_F32, 0, CASES[i].rank, shape, NULL), PGY_OK);
        assert_int_equal(header.size, CASES[i].size);
        str_deinit(&header);
    }
}

static void test_npy__orders_and_versions(void **state)
{
    (void)state;
    pgy_tensor *c = load(DATA("c.npy"));
    static const char *const FILES[] = {DATA("fortran.npy"), DATA("big_endian.npy"),
                                        DATA("version2.npy"), DATA("version3.npy")};
    static const pgy_dtype TYPES[] = {PGY_I64, PGY_F64, PGY_F32, PGY_F32};
    for (size_t i = 0; i < 4; i++) {
        pgy_error err = {0};
        pgy_tensor *t = load(FILES[i]), *as_float = NULL;
        assert_int_equal(pgy_tensor_dtype(t), TYPES[i]);
        expect_ok(pgy_tensor_cast(&as_float, pgy_tensor_view(t), PGY_F32, &err), &err);
        expect_same(as_float, c);
        pgy_tensor_release(as_float);
        pgy_tensor_release(t);
    }
    for (int i = 0; i < 24; i++) assert_true(((float *)pgy_tensor_data(c))[i] == (float)i);
    pgy_tensor_release(c);
}

static void test_npy__strings(void **state)
{
    (void)state;
    pgy_tensor *text = load(DATA("text.npy")), *big = load(DATA("big_text.npy")),
               *bytes = load(DATA("bytes.npy"));
    const pgy_string *s = pgy_tensor_data(text), *b = pgy_tensor_data(bytes);
    expect_same(text, big);
    assert_int_equal(s[1].size, 3);
    assert_memory_equal(s[1].data, "\xe4\xb8\xad", 3);
    assert_int_equal(s[2].size, 0);
    assert_int_equal(b[2].size, 3);
    assert_memory_equal(b[2].data, "xyz", 3);
    pgy_tensor_release(text);
    pgy_tensor_release(big);
    pgy_tensor_release(bytes);
}

static void test_npy__refuses_objects_and_structs(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    expect_error(pgy_npy_load(&t, DATA("object.npy"), &err), PGY_E_UNSUPPORTED, &err,
                 "object.npy: npy: the array holds pickled");
    expect_error(pgy_npy_load(&t, DATA("struct.npy"), &err), PGY_E_UNSUPPORTED, &err, "structured");
    expect_error(pgy_npy_load(&t, DATA("missing.npy"), &err), PGY_E_NOT_FOUND, &err, "missing.npy");
    assert_null(t);
}

/* A file with the given dict, padded to 128 bytes, and `extra` bytes of elements. */
static pgy_status parse_dict(const char *dict, size_t extra, pgy_error *err)
{
    unsigned char file[512];
    pgy_tensor *t = NULL;
    memset(file, ' ', sizeof file);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(file + 10, dict, strlen(dict));
    pgy_status st = pgy_npy_parse(&t, file, 128 + extra, err);
    pgy_tensor_release(t);
    return st;
}

static void test_npy__malformed(void **state)
{
    (void)state;
    pgy_error err = {0};
    expect_ok(parse_dict("{'shape': (2L, 1,), 'fortran_order': False, \"descr\": '<f4'}", 8, &err),
              &err);
    expect_error(parse_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7, &err),
                 PGY_E_FORMAT, &err, "header says 8 bytes");
    expect_error(parse_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2), }", 8, &err),
                 PGY_E_FORMAT, &err, "tuple");
    expect_error(parse_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8, &err),
                 PGY_E_FORMAT, &err, "tuple");
    expect_error(parse_dict("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", 8, &err),
                 PGY_E_FORMAT, &err, "'Maybe");
    expect_error(parse_dict("{'descr': '<f4', 'fortran_order': False}", 8, &err), PGY_E_FORMAT,
                 &err, "lacks 'shape'");
    expect_error(
        parse_dict("{'descr': '<f4', 'shape': (2,), 'fortran_order': False, 'x': 1}", 8, &err),
        PGY_E_FORMAT, &err, "key 'x'");
    expect_error(parse_dict("{'descr': '<f3', 'fortran_order': False, 'shape': (2,), }", 8, &err),
                 PGY_E_UNSUPPORTED, &err, "'<f3'");
    expect_error(
        parse_dict("{'descr': '<U0', 'fortran_order': False, 'shape': (9999999,), }", 8, &err),
        PGY_E_FORMAT, &err, "width 0");
    expect_error(
        parse_dict("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,), }", 8,
                   &err),
        PGY_E_SHAPE, &err, "fit");
    expect_error(
        parse_dict("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
                   8, &err),
        PGY_E_FORMAT, &err, "tuple");
    pgy_tensor *t = NULL;
    expect_error(pgy_npy_parse(&t, "\x93NUMPX\x01\x00\x76\x00", 10, &err), PGY_E_FORMAT, &err,
                 "magic");
    expect_error(pgy_npy_parse(&t, "\x93NUMPY\x04\x00\x76\x00", 10, &err), PGY_E_UNSUPPORTED, &err,
                 "version 4.0");
    expect_error(pgy_npy_parse(&t, "\x93NUMPY\x01\x00\x76\x00", 10, &err), PGY_E_FORMAT, &err,
                 "118 bytes");
}

static void test_npy__types_numpy_lacks(void **state)
{
    (void)state;
    pgy_error err = {0};
    uint16_t x[2] = {0};
    expect_error(pgy_npy_save(OUT("npy"), pgy_view_of(x, PGY_BF16, DIMS(2)), &err), PGY_E_TYPE,
                 &err, "bfloat16");
}

static void test_npy__saves_a_strided_view_as_row_major(void **state)
{
    (void)state;
    pgy_error err = {0};
    float x[6] = {0, 1, 2, 3, 4, 5}, turned[6] = {0, 3, 1, 4, 2, 5};
    int64_t strides[2] = {1, 3};
    pgy_view v = pgy_view_of(x, PGY_F32, DIMS(3, 2));
    v.strides = strides;
    expect_ok(pgy_npy_save(OUT("npy_strided"), v, &err), &err);
    pgy_tensor *t = load(OUT("npy_strided"));
    assert_memory_equal(pgy_tensor_data(t), turned, sizeof turned);
    pgy_tensor_release(t);
}

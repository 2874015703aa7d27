/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways to data files and to small tensors, for the tests of this layer. */
#ifndef TEST_TENSOR_SUPPORT_H
#define TEST_TENSOR_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <polygraphy/tensor.h>

#define DATA(name) TEST_SOURCE_DIR "/tests/data/tensor/" name
#define OUT(name) TEST_BINARY_DIR "/tests/out_" name
#define DIMS(...)                                                     \
    (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) \
    {                                                                 \
        __VA_ARGS__                                                   \
    }

static inline void expect_ok(pgy_status st, const pgy_error *err)
{
    if (st) fail_msg("%s: %s", pgy_status_name(st), err->text);
}

static inline pgy_tensor *tensor_of(pgy_dtype dtype, size_t rank, const int64_t *shape,
                                    const void *values)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    expect_ok(pgy_tensor_create(&t, dtype, rank, shape, &err), &err);
    if (values) memcpy(pgy_tensor_data(t), values, pgy_tensor_size_bytes(t));
    return t;
}

static inline void expect_same(const pgy_tensor *a, const pgy_tensor *b)
{
    assert_int_equal(pgy_tensor_dtype(a), pgy_tensor_dtype(b));
    assert_true(pgy_view_same_shape(pgy_tensor_view(a), pgy_tensor_view(b)));
    if (pgy_tensor_dtype(a) != PGY_STRING) {
        assert_memory_equal(pgy_tensor_data(a), pgy_tensor_data(b), pgy_tensor_size_bytes(a));
        return;
    }
    const pgy_string *x = pgy_tensor_data(a), *y = pgy_tensor_data(b);
    for (size_t i = 0; i < pgy_tensor_count(a); i++) {
        assert_int_equal(x[i].size, y[i].size);
        assert_memory_equal(x[i].data, y[i].data, x[i].size);
    }
}

static inline size_t read_file(const char *path, unsigned char *out, size_t capacity)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, capacity, f);
    fclose(f);
    return n;
}

static inline void expect_same_files(const char *a, const char *b)
{
    static unsigned char x[1 << 16], y[1 << 16];
    size_t n = read_file(a, x, sizeof x);
    assert_int_equal(read_file(b, y, sizeof y), n);
    assert_memory_equal(x, y, n);
}

static inline void expect_error(pgy_status st, pgy_status wanted, const pgy_error *err,
                                const char *text)
{
    assert_int_equal(st, wanted);
    if (!strstr(err->text, text)) fail_msg("'%s' is not in '%s'", text, err->text);
}

#endif

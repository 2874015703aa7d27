/* SPDX-License-Identifier: Apache-2.0 */
/* Products with dequantised weights of a few bits become MatMulNBits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/pass_case.h"

static void codes(model_builder *b, const char *name, pgy_dtype dtype, size_t rank,
                  const int64_t *shape)
{
    static const struct {
        pgy_dtype dtype;
        int64_t least, most;
    } RANGES[] = {{PGY_I2, -2, 1}, {PGY_U2, 0, 3},      {PGY_I4, -8, 7},
                  {PGY_U4, 0, 15}, {PGY_I8, -128, 127}, {PGY_U8, 0, 255}};
    pgy_tensor *wide = NULL, *t = NULL;
    assert_int_equal(pgy_tensor_create(&wide, PGY_I64, rank, shape, NULL), 0);
    for (size_t r = 0; r < sizeof RANGES / sizeof *RANGES; r++)
        for (size_t i = 0; RANGES[r].dtype == dtype && i < pgy_tensor_count(wide); i++)
            ((int64_t *)pgy_tensor_data(wide))[i] =
                RANGES[r].least +
                (int64_t)(i * 7919 % 257) % (RANGES[r].most - RANGES[r].least + 1);
    assert_int_equal(pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, NULL), 0);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
    pgy_tensor_release(wide);
}

/* An opset that has all these types. */
static model_builder begin(const char *shape)
{
    model_builder b = start(shape);
    b.proto->opset_imports[0]->version = 25;
    return b;
}

static const pgy_dtype TYPES[] = {PGY_I4, PGY_U4, PGY_I2, PGY_U2, PGY_I8, PGY_U8};

/* x [3, 40] times weights [40, 6] in blocks of 16: the last one is not full. */
static void test_fuse_nbits__blocks(void **state)
{
    (void)state;
    for (size_t t = 0; t < 6; t++)
        for (int zeros = 0; zeros < 2; zeros++) {
            model_builder b = begin("3, 40");
            codes(&b, "w", TYPES[t], 2, (const int64_t[]){40, 6});
            weights_from(&b, "s", "3, 6", 18, 1.1f);
            if (zeros) codes(&b, "z", TYPES[t], 2, (const int64_t[]){3, 6});
            pgy_onnx_node *n = builder_node(&b, "DequantizeLinear", zeros ? "w s z" : "w s", "d");
            builder_attr_int(&b, n, "axis", 0);
            builder_attr_int(&b, n, "block_size", 16);
            builder_node(&b, "MatMul", "x d", "y");
            expect_y(&b, "MatMulNBits");
        }
}

static void test_fuse_nbits__gemm_with_bias(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++)
        for (int bias = 0; bias < 2; bias++) {
            model_builder b = begin("3, 32");
            codes(&b, "w", PGY_I4, 2, turned ? (const int64_t[]){6, 32} : (const int64_t[]){32, 6});
            weights_from(&b, "s", turned ? "6, 2" : "2, 6", 12, 1.1f);
            weights(&b, "c", "6", 6);
            pgy_onnx_node *n = builder_node(&b, "DequantizeLinear", "w s", "d");
            builder_attr_int(&b, n, "axis", turned);
            builder_attr_int(&b, n, "block_size", 16);
            builder_attr_int(&b, builder_node(&b, "Gemm", bias ? "x d c" : "x d", bias ? "y" : "g"),
                             "transB", turned);
            if (!bias) builder_node(&b, "Add", "c g", "y");
            expect_y(&b, "MatMulNBits");
        }
}

/* One scale for each column, or one for all. */
static void test_fuse_nbits__columns(void **state)
{
    (void)state;
    for (int one = 0; one < 2; one++) {
        model_builder b = begin("2, 5, 33");
        codes(&b, "w", PGY_I4, 2, (const int64_t[]){33, 6});
        if (one)
            scalar(&b, "s", 0.3f);
        else
            weights_from(&b, "s", "6", 6, 1.1f);
        builder_attr_int(&b, builder_node(&b, "DequantizeLinear", "w s", "d"), "axis", 1);
        builder_node(&b, "MatMul", "x d", "y");
        expect_y(&b, "MatMulNBits");
    }
}

/* Blocks across the sum, and weights that two nodes read, stay as they are. */
static void test_fuse_nbits__others(void **state)
{
    (void)state;
    model_builder b = begin("3, 32");
    codes(&b, "w", PGY_I4, 2, (const int64_t[]){32, 32});
    weights_from(&b, "s", "32, 2", 64, 1.1f);
    pgy_onnx_node *n = builder_node(&b, "DequantizeLinear", "w s", "d");
    builder_attr_int(&b, n, "axis", 1);
    builder_attr_int(&b, n, "block_size", 16);
    builder_node(&b, "MatMul", "x d", "y");
    expect_y(&b, "MatMul");
    b = begin("32, 32");
    codes(&b, "w", PGY_I4, 2, (const int64_t[]){32, 32});
    scalar(&b, "s", 0.3f);
    builder_node(&b, "DequantizeLinear", "w s", "d");
    builder_node(&b, "MatMul", "x d", "m");
    builder_node(&b, "MatMul", "m d", "y");
    expect_y(&b, "MatMul MatMul");
}

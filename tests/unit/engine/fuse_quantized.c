/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised models: what becomes of DequantizeLinear, an operator, QuantizeLinear; the reference
 * gives the same for both graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "harness/quantized_case.h"

/* Weights [6, 4, 3, 3] with a scale for each output channel: wd. */
static void conv_weights(model_builder *b)
{
    static const float SCALES[6] = {0.004f, 0.006f, 0.005f, 0.0031f, 0.0042f, 0.0057f};
    bytes(b, "w", PGY_I8, 4, (const int64_t[]){6, 4, 3, 3}, -126, 1);
    builder_floats(b, "ws", "6", SCALES);
    bytes(b, "wz", PGY_I8, 1, (const int64_t[]){6}, 0, 0);
    builder_attr_int(b, builder_node(b, "DequantizeLinear", "w ws wz", "wd"), "axis", 0);
}

static void test_fuse_quantized__convolutions(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        model_builder b = start_quantised("1, 4, 6, 6", form & 1 ? PGY_I8 : PGY_U8);
        conv_weights(&b);
        weights(&b, "bias", "6", 6);
        builder_node(&b, "Conv", form & 2 ? "xd wd bias" : "xd wd", "c");
        end_quantised(&b, "c", 0.05f, PGY_U8, 131);
        expect_y(&b, "QuantizeLinear QLinearConv DequantizeLinear");
    }
}

static void test_fuse_quantized__relu_is_a_limit(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        model_builder b = start_quantised("1, 4, 6, 6", PGY_I8);
        conv_weights(&b);
        builder_node(&b, "Conv", "xd wd", "c");
        builder_node(&b, "Relu", "c", "r");
        end_quantised(&b, "r", 0.05f, PGY_I8, form ? -128 : 0);
        expect_y(&b, "QuantizeLinear QLinearConv DequantizeLinear");
    }
}

static void test_fuse_quantized__a_convolution_that_stays_a_float(void **state)
{
    (void)state;
    model_builder b = start_quantised("1, 4, 6, 6", PGY_U8);
    conv_weights(&b);
    weights(&b, "bias", "6", 6);
    builder_node(&b, "Conv", "xd wd bias", "c");
    builder_node(&b, "Tanh", "c", "t");
    builder_node(&b, "Add", "c t", "y");
    expect_y(&b, "QuantizeLinear QuantizedConv Tanh Add");
}

static void test_fuse_quantized__residual_and_relu_of_floats(void **state)
{
    (void)state;
    model_builder b = start_quantised("1, 4, 6, 6", PGY_U8);
    bytes(&b, "w", PGY_I8, 4, (const int64_t[]){4, 4, 1, 1}, -126, 1);
    scalar(&b, "ws", 0.004f);
    builder_node(&b, "DequantizeLinear", "w ws", "wd");
    builder_node(&b, "Conv", "xd wd", "c");
    builder_node(&b, "Add", "x c", "a");
    builder_node(&b, "Relu", "a", "y");
    expect_y(&b, "QuantizeLinear QuantizedConv");
}

static void test_fuse_quantized__products(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        model_builder b = start_quantised("2, 5, 8", PGY_U8);
        bytes(&b, "w", PGY_I8, 2, (const int64_t[]){8, 6}, -126, 1);
        scalar(&b, "ws", 0.004f);
        builder_node(&b, "DequantizeLinear", "w ws", "wd");
        builder_node(&b, "MatMul", "xd wd", form & 1 ? "m" : "y");
        if (form & 1) end_quantised(&b, "m", 0.05f, PGY_I8, 4);
        expect_y(&b, form & 1 ? "QuantizeLinear QLinearMatMul DequantizeLinear"
                              : "QuantizeLinear QuantizedMatMul");
    }
}

static void test_fuse_quantized__gemm(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        model_builder b = start_quantised("5, 8", PGY_U8);
        bytes(&b, "w", PGY_I8, 2, (const int64_t[]){form & 1 ? 6 : 8, form & 1 ? 8 : 6}, -126, 1);
        scalar(&b, "ws", 0.004f);
        bytes(&b, "c", PGY_I32, 1, (const int64_t[]){6}, -90, 31);
        scalar(&b, "cs", 0.017f * 0.004f);
        builder_node(&b, "DequantizeLinear", "w ws", "wd");
        builder_node(&b, "DequantizeLinear", "c cs", "cd");
        builder_attr_int(&b, builder_node(&b, "Gemm", "xd wd cd", form & 2 ? "g" : "y"), "transB",
                         form & 1);
        if (form & 2) end_quantised(&b, "g", 0.05f, PGY_U8, 120);
        expect_y(&b, form & 2 ? "QuantizeLinear QGemm DequantizeLinear" : "QuantizeLinear QGemm");
    }
}

/* A Relu above the zero point is a table behind the sum. */
static void test_fuse_quantized__a_sum_and_its_relu(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        model_builder b = start_quantised("2, 5, 8", PGY_U8);
        grid(&b, "bs", 0.03f, "bz", PGY_U8, 99);
        bytes(&b, "b", PGY_U8, 3, (const int64_t[]){2, 5, 8}, 1, 1);
        builder_node(&b, "DequantizeLinear", "b bs bz", "bd");
        builder_node(&b, form ? "Mul" : "Add", "xd bd", "s");
        builder_node(&b, "Relu", "s", "r");
        end_quantised(&b, "r", 0.05f, PGY_U8, 120);
        expect_y(&b, form ? "QuantizeLinear QLinearMul Lookup DequantizeLinear"
                          : "QuantizeLinear QLinearAdd Lookup DequantizeLinear");
    }
}

static void test_fuse_quantized__sums_and_joins(void **state)
{
    (void)state;
    static const char *const OPS[][2] = {
        {"Add", "QLinearAdd"}, {"Mul", "QLinearMul"}, {"Concat", "QLinearConcat"}};
    for (size_t i = 0; i < 3; i++) {
        model_builder b = start_quantised("2, 5, 8", PGY_U8);
        grid(&b, "bs", 0.03f, "bz", PGY_U8, 99);
        bytes(&b, "b", PGY_U8, 3, (const int64_t[]){2, 5, 8}, 1, 1);
        builder_node(&b, "DequantizeLinear", "b bs bz", "bd");
        pgy_onnx_node *n = builder_node(&b, OPS[i][0], "xd bd", "s");
        if (i == 2) builder_attr_int(&b, n, "axis", 1);
        end_quantised(&b, "s", 0.05f, PGY_U8, 120);
        char nodes[64];
        snprintf(nodes, sizeof nodes, "QuantizeLinear %s DequantizeLinear", OPS[i][1]);
        expect_y(&b, nodes);
    }
}

static void test_fuse_quantized__means(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        const int64_t size[2] = {2, 2};
        model_builder b = start_quantised("1, 3, 6, 6", PGY_U8);
        pgy_onnx_node *n = builder_node(&b, form ? "AveragePool" : "GlobalAveragePool", "xd", "m");
        if (form) builder_attr_ints(&b, n, "kernel_shape", 2, size);
        end_quantised(&b, "m", 0.0101f, PGY_U8, 120);
        expect_y(&b, form ? "QuantizeLinear QLinearAveragePool DequantizeLinear"
                          : "QuantizeLinear QLinearGlobalAveragePool DequantizeLinear");
    }
}

/* The same scale before and behind what moves values. */
static void test_fuse_quantized__moves(void **state)
{
    (void)state;
    const int64_t size[2] = {3, 3}, order[4] = {0, 2, 3, 1};
    model_builder b = start_quantised("1, 3, 6, 6", PGY_U8);
    builder_attr_ints(&b, builder_node(&b, "MaxPool", "xd", "m"), "kernel_shape", 2, size);
    builder_node(&b, "QuantizeLinear", "m xs xz", "mq");
    builder_node(&b, "DequantizeLinear", "mq xs xz", "md");
    builder_attr_ints(&b, builder_node(&b, "Transpose", "md", "t"), "perm", 4, order);
    builder_node(&b, "QuantizeLinear", "t xs xz", "tq");
    builder_node(&b, "DequantizeLinear", "tq xs xz", "y");
    expect_y(&b, "QuantizeLinear MaxPool Transpose DequantizeLinear");
}

static void test_fuse_quantized__quantised_before_it_is_moved(void **state)
{
    (void)state;
    const int64_t size[2] = {3, 3};
    model_builder b = start_quantised("1, 4, 6, 6", PGY_U8);
    conv_weights(&b);
    builder_node(&b, "Conv", "xd wd", "c");
    builder_attr_ints(&b, builder_node(&b, "MaxPool", "c", "m"), "kernel_shape", 2, size);
    end_quantised(&b, "m", 0.05f, PGY_U8, 131);
    expect_y(&b, "QuantizeLinear Transpose QLinearConv NhwcMaxPool Transpose DequantizeLinear");
}

static void test_fuse_quantized__functions_become_tables(void **state)
{
    (void)state;
    static const char *const OPS[] = {"Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Exp", "Erf"};
    for (size_t i = 0; i < 6; i++) {
        model_builder b = start_quantised("3, 40", i % 2 ? PGY_I8 : PGY_U8);
        builder_node(&b, OPS[i], "xd", "f");
        end_quantised(&b, "f", 0.0123f, i % 3 ? PGY_U8 : PGY_I8, 5);
        expect_y(&b, "QuantizeLinear Lookup DequantizeLinear");
    }
}

static void test_fuse_quantized__a_chain_is_one_table(void **state)
{
    (void)state;
    model_builder b = start_quantised("3, 40", PGY_U8);
    scalar(&b, "half", 0.5f);
    builder_node(&b, "Mul", "half xd", "h");
    builder_node(&b, "Tanh", "h", "t");
    builder_node(&b, "Add", "t half", "a");
    end_quantised(&b, "a", 0.0083f, PGY_U8, 17);
    expect_y(&b, "QuantizeLinear Lookup DequantizeLinear");
}

static void test_fuse_quantized__other_scales_are_a_table_the_same_are_nothing(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        model_builder b = start_quantised("3, 40", PGY_U8);
        end_quantised(&b, "xd", same ? 0.017f : 0.02f, PGY_U8, 120);
        expect_y(&b, same ? "QuantizeLinear DequantizeLinear"
                          : "QuantizeLinear Lookup DequantizeLinear");
    }
}

static void test_fuse_quantized__weights_of_floats_are_floats(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        model_builder b = start("5, 8");
        bytes(&b, "w", form ? PGY_U8 : PGY_I8, 2, (const int64_t[]){8, 6}, 3, 1);
        scalar(&b, "ws", 0.04f);
        builder_node(&b, "DequantizeLinear", "w ws", "wd");
        builder_node(&b, "MatMul", "x wd", "y");
        expect_y(&b, "MatMul");
    }
}

/* ---- Near misses ---------------------------------------------------------------------------- */

static void test_fuse_quantized__what_others_use_stays_a_float(void **state)
{
    (void)state;
    model_builder b = start_quantised("3, 40", PGY_U8);
    builder_node(&b, "Tanh", "xd", "t");
    grid(&b, "ys", 0.01f, "yz", PGY_U8, 120);
    builder_node(&b, "QuantizeLinear", "t ys yz", "yq");
    builder_node(&b, "DequantizeLinear", "yq ys yz", "yd");
    builder_node(&b, "Add", "yd t", "y");
    expect_y(&b, "QuantizeLinear DequantizeLinear Tanh QuantizeLinear DequantizeLinear Add");
}

static void test_fuse_quantized__scales_for_each_row_are_no_weights(void **state)
{
    (void)state;
    model_builder b = start_quantised("5, 8", PGY_U8);
    weights_from(&b, "ws", "8", 8, 1.5f);
    bytes(&b, "w", PGY_I8, 2, (const int64_t[]){8, 6}, -126, 1);
    builder_attr_int(&b, builder_node(&b, "DequantizeLinear", "w ws", "wd"), "axis", 0);
    builder_node(&b, "MatMul", "xd wd", "m");
    end_quantised(&b, "m", 0.05f, PGY_U8, 120);
    expect_y(&b, "QuantizeLinear DequantizeLinear MatMul QuantizeLinear DequantizeLinear");
}

static void test_fuse_quantized__three_axes_stay_floats(void **state)
{
    (void)state;
    model_builder b = start_quantised("1, 2, 4, 4, 4", PGY_U8);
    bytes(&b, "w", PGY_I8, 5, (const int64_t[]){3, 2, 2, 2, 2}, -126, 1);
    scalar(&b, "ws", 0.004f);
    builder_node(&b, "DequantizeLinear", "w ws", "wd");
    builder_node(&b, "Conv", "xd wd", "c");
    end_quantised(&b, "c", 0.05f, PGY_U8, 131);
    expect_y(&b, "QuantizeLinear DequantizeLinear Conv QuantizeLinear DequantizeLinear");
}

/* A channel without weights may have no scale. */
static void test_fuse_quantized__a_scale_of_zero(void **state)
{
    (void)state;
    static const float SCALES[6] = {0, 0.006f, 0.005f, 0, 0.0042f, 0.0057f};
    model_builder b = start_quantised("1, 4, 6, 6", PGY_U8);
    bytes(&b, "w", PGY_I8, 4, (const int64_t[]){6, 4, 3, 3}, -126, 1);
    builder_floats(&b, "ws", "6", SCALES);
    bytes(&b, "wz", PGY_I8, 1, (const int64_t[]){6}, 0, 0);
    builder_attr_int(&b, builder_node(&b, "DequantizeLinear", "w ws wz", "wd"), "axis", 0);
    builder_node(&b, "Conv", "xd wd", "c");
    end_quantised(&b, "c", 0.05f, PGY_U8, 131);
    expect_y(&b, "QuantizeLinear QLinearConv DequantizeLinear");
}

static void test_fuse_quantized__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_fuse_quantized)) skip();
    test_fuse_quantized__moves(state);
    test_fuse_quantized__quantised_before_it_is_moved(state);
    refuse_allocations_of(NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Images with blocked channels become row-major ones, all of a graph's or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/pass_case.h"

#define NCHWC "com.microsoft.nchwc:"

static model_builder start_nchwc(const char *shape)
{
    model_builder b = start(shape);
    builder_opset(&b, "com.microsoft.nchwc", 1);
    return b;
}

static pgy_onnx_node *conv(model_builder *b, const char *inputs, const char *output)
{
    pgy_onnx_node *n = builder_node(b, NCHWC "Conv", inputs, output);
    builder_attr_ints(b, n, "kernel_shape", 2, (const int64_t[]){1, 1});
    return n;
}

static void output_of(model_builder *b, const char *x, int64_t channels)
{
    builder_attr_int(b, builder_node(b, NCHWC "ReorderOutput", x, "y"), "channels", channels);
}

static void test_lower_nchwc__convolutions(void **state)
{
    (void)state;
    model_builder b = start_nchwc("2, 3, 4, 5");
    weights(&b, "w", "16, 3, 1, 1", 48);
    weights(&b, "v", "16, 16, 1, 1", 256);
    weights(&b, "d", "16, 1, 1, 1", 16);
    weights(&b, "bias", "16", 16);
    builder_attr_string(&b, conv(&b, "x w bias", "a"), "activation", "Relu");
    conv(&b, "a v", "c");
    builder_attr_int(&b, conv(&b, "c d bias", "e"), "group", 16);
    pgy_onnx_node *n = conv(&b, "e v bias a", "f");
    builder_attr_string(&b, n, "activation", "LeakyRelu");
    builder_attr_floats(&b, n, "activation_params", 1, (const float[]){0.3F});
    output_of(&b, "f", 13);
    expect_y(&b, "FusedConv Conv Conv FusedConv Slice");
}

static void test_lower_nchwc__pools_and_what_stands_between(void **state)
{
    (void)state;
    static const char *const POOLS[] = {"MaxPool", "AveragePool", "GlobalAveragePool",
                                        "GlobalMaxPool"};
    for (size_t i = 0; i < 4; i++) {
        model_builder b = start_nchwc("2, 20, 4, 6");
        scalar(&b, "half", 0.5F);
        builder_node(&b, NCHWC "ReorderInput", "x", "a");
        builder_node(&b, "Mul", "a half", "c");
        builder_node(&b, "Sub", "c a", "d");
        builder_attr_int(&b, builder_node(&b, "Concat", "d a", "e"), "axis", 1);
        pgy_onnx_node *n;
        char op[64];
        snprintf(op, sizeof op, NCHWC "%s", POOLS[i]);
        n = builder_node(&b, op, "e", "f");
        if (i < 2) builder_attr_ints(&b, n, "kernel_shape", 2, (const int64_t[]){2, 3});
        if (i < 2) builder_attr_ints(&b, n, "strides", 2, (const int64_t[]){2, 1});
        output_of(&b, "f", 40);
        char nodes[64];
        snprintf(nodes, sizeof nodes, "Pad Mul Sub Concat %s Slice", POOLS[i]);
        expect_y(&b, nodes);
    }
}

static void test_lower_nchwc__channels_last_and_enlarging(void **state)
{
    (void)state;
    for (int linear = 0; linear < 2; linear++) {
        model_builder b = start_nchwc("1, 3, 4, 32");
        builder_attr_int(&b, builder_node(&b, NCHWC "ReorderInput", "x", "a"), "channels_last", 1);
        pgy_onnx_node *n = builder_node(&b, NCHWC "Upsample", "a", "c");
        builder_attr_ints(&b, n, "scales", 4, (const int64_t[]){1, 1, 2, 3});
        if (linear) builder_attr_string(&b, n, "mode", "linear");
        if (linear) builder_attr_string(&b, n, "coordinate_transformation_mode", "half_pixel");
        n = builder_node(&b, NCHWC "ReorderOutput", "c", "y");
        builder_attr_int(&b, n, "channels", 32);
        builder_attr_int(&b, n, "channels_last", 1);
        expect_y(&b, NULL);
    }
}

/* Softmax depends on the order of elements, and so do readers of an output: images stay blocked,
 * and their channels move by Transposes. */
static void test_lower_nchwc__what_stays(void **state)
{
    (void)state;
    model_builder b = start_nchwc("2, 32, 2, 2");
    builder_node(&b, NCHWC "ReorderInput", "x", "a");
    builder_attr_int(&b, builder_node(&b, "Softmax", "a", "c"), "axis", 1);
    output_of(&b, "c", 32);
    expect_y(&b, "Reshape Transpose Reshape Softmax Reshape Transpose Reshape");
    b = start_nchwc("2, 32, 2, 2"); /* nodes in the order of a file that is not sorted */
    output_of(&b, "c", 32);
    builder_attr_int(&b, builder_node(&b, "Softmax", "a", "c"), "axis", 1);
    builder_node(&b, NCHWC "ReorderInput", "x", "a");
    expect_y(&b, "Reshape Transpose Reshape Softmax Reshape Transpose Reshape");
    b = start_nchwc("2, 32, 2, 2");
    builder_node(&b, NCHWC "ReorderInput", "x", "y");
    expect_y(&b, "Reshape Transpose Reshape");
    b = start_nchwc("2, 32, N, 2"); /* a size that is not known */
    builder_node(&b, NCHWC "ReorderInput", "x", "y");
    expect_y(&b, "ReorderInput");
}

/* Channels that fill no whole block, and channels at the end. */
static void test_lower_nchwc__channels_of_images_that_stay_blocked(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        model_builder b = start_nchwc(last ? "2, 3, 4, 21" : "2, 21, 3, 4");
        builder_attr_int(&b, builder_node(&b, NCHWC "ReorderInput", "x", "a"), "channels_last",
                         last);
        builder_attr_int(&b, builder_node(&b, "Softmax", "a", "c"), "axis", 1);
        pgy_onnx_node *n = builder_node(&b, NCHWC "ReorderOutput", "c", "y");
        builder_attr_int(&b, n, "channels", 21);
        builder_attr_int(&b, n, "channels_last", last);
        expect_y(&b, "Pad Reshape Transpose Reshape Softmax Reshape Transpose Reshape Slice");
    }
}

static void test_lower_nchwc__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_lower_nchwc)) skip();
    test_lower_nchwc__convolutions(state);
    test_lower_nchwc__pools_and_what_stands_between(state);
    test_lower_nchwc__channels_last_and_enlarging(state);
    test_lower_nchwc__channels_of_images_that_stay_blocked(state);
    refuse_allocations_of(NULL);
}

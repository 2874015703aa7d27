/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes and their neighbours get the channels last; alone they stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/quantized_case.h"

/* y = convolution of x, both bytes with names for quantise: `out` maps of `in` channels. */
static void conv(model_builder *b, const char *x, const char *y, int64_t in, int64_t out,
                 int64_t group)
{
    char w[16], s[16], d[16], sum[16], names[64];
    static const int64_t PADS[4] = {1, 1, 1, 1};
    snprintf(w, sizeof w, "%sw", y);
    snprintf(s, sizeof s, "%sws", y);
    snprintf(d, sizeof d, "%swd", y);
    snprintf(sum, sizeof sum, "%sc", y);
    bytes(b, w, PGY_I8, 4, (const int64_t[]){out, in / group, 3, 3}, -126, 1);
    scalar(b, s, 0.00417f);
    snprintf(names, sizeof names, "%s %s", w, s);
    builder_node(b, "DequantizeLinear", names, d);
    snprintf(names, sizeof names, "%sd %s", x, d);
    pgy_onnx_node *n = builder_node(b, "Conv", names, sum);
    builder_attr_int(b, n, "group", group);
    builder_attr_ints(b, n, "pads", 4, PADS);
    quantise(b, sum, y, 0.0513f, PGY_U8, 131);
}

/* A residual block, whose sum, table and mean have the channels last, too. */
static void test_bytes_channels_last__a_block(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        model_builder b = start_quantised("2, 8, 5, 6", form ? PGY_I8 : PGY_U8);
        builder_node(&b, "Identity", "xd", "xqd");
        conv(&b, "xq", "p", 8, 8, 1);
        conv(&b, "p", "q", 8, 8, 8);
        builder_node(&b, "Add", "pd qd", "sum");
        quantise(&b, "sum", "r", 0.06f, PGY_U8, 120);
        builder_node(&b, "Tanh", "rd", "t");
        quantise(&b, "t", "u", 0.01f, PGY_U8, 128);
        builder_node(&b, "GlobalAveragePool", "ud", "m");
        end_quantised(&b, "m", 0.0101f, PGY_U8, 120);
        /* The last Transpose moves nothing, so it is a Reshape. */
        expect_y(&b, "QuantizeLinear Transpose QLinearConv QLinearConv QLinearAdd Lookup "
                     "QLinearGlobalAveragePool Reshape DequantizeLinear");
    }
}

static void test_bytes_channels_last__joins_and_pools(void **state)
{
    (void)state;
    static const int64_t SIZE[2] = {2, 3};
    for (int form = 0; form < 2; form++) {
        model_builder b = start_quantised("1, 4, 6, 6", PGY_U8);
        builder_node(&b, "Identity", "xd", "xqd");
        conv(&b, "xq", "p", 4, 4, 1);
        conv(&b, "xq", "q", 4, 8, 1);
        builder_attr_int(&b, builder_node(&b, "Concat", "pd qd", "join"), "axis", form ? -3 : 1);
        quantise(&b, "join", "r", form ? 0.0513f : 0.0717f, PGY_U8, 131);
        builder_attr_ints(&b, builder_node(&b, "AveragePool", "rd", "m"), "kernel_shape", 2, SIZE);
        end_quantised(&b, "m", 0.0307f, PGY_U8, 120);
        expect_y(&b, form ? "QuantizeLinear Transpose QLinearConv QLinearConv Concat "
                            "QLinearAveragePool Transpose DequantizeLinear"
                          : "QuantizeLinear Transpose QLinearConv QLinearConv QLinearConcat "
                            "QLinearAveragePool Transpose DequantizeLinear");
    }
}

/* A first convolution of three channels, a pool, and another convolution. */
static model_builder first_layers(void)
{
    static const int64_t SIZE[2] = {2, 2};
    model_builder b = start_quantised("1, 3, 8, 8", PGY_U8);
    builder_node(&b, "Identity", "xd", "xqd");
    conv(&b, "xq", "p", 3, 8, 1);
    builder_attr_ints(&b, builder_node(&b, "MaxPool", "pd", "m"), "kernel_shape", 2, SIZE);
    builder_node(&b, "QuantizeLinear", "m ps pz", "mq");
    builder_node(&b, "DequantizeLinear", "mq ps pz", "mqd");
    conv(&b, "mq", "q", 8, 8, 1);
    builder_node(&b, "DequantizeLinear", "q qs qz", "y");
    return b;
}

/* The rows of its taps have more than four bytes. */
static void test_bytes_channels_last__few_channels_turn(void **state)
{
    (void)state;
    model_builder b = first_layers();
    expect_y(&b, "QuantizeLinear Transpose QLinearConv NhwcMaxPool QLinearConv Transpose "
                 "DequantizeLinear");
}

/* Of 3 bytes, most of a group of four would be empty: the convolution stays, and its pool turns for
 * those behind it. */
static void test_bytes_channels_last__a_single_channel_stays(void **state)
{
    static const int64_t SIZE[2] = {2, 2};
    (void)state;
    model_builder b = start_quantised("1, 1, 8, 8", PGY_U8);
    builder_node(&b, "Identity", "xd", "xqd");
    conv(&b, "xq", "p", 1, 8, 1);
    builder_attr_ints(&b, builder_node(&b, "MaxPool", "pd", "m"), "kernel_shape", 2, SIZE);
    builder_node(&b, "QuantizeLinear", "m ps pz", "mq");
    builder_node(&b, "DequantizeLinear", "mq ps pz", "mqd");
    conv(&b, "mq", "q", 8, 8, 1);
    builder_node(&b, "DequantizeLinear", "q qs qz", "y");
    expect_y(&b, "QuantizeLinear QLinearConv Transpose NhwcMaxPool QLinearConv Transpose "
                 "DequantizeLinear");
}

static void test_bytes_channels_last__few_channels_turn_on_a_gpu(void **state)
{
    (void)state;
    model_builder b = first_layers();
    expect_y_on(&b, "cuda",
                "QuantizeLinear Transpose QLinearConv NhwcMaxPool QLinearConv Transpose "
                "DequantizeLinear");
}

/* y = a convolution behind o + p + o, or o + p + p if `twice`: o is a convolution, p one of o. */
static model_builder residual(int64_t channels, int64_t group, bool twice)
{
    char shape[32];
    snprintf(shape, sizeof shape, "2, %d, 5, 6", (int)channels);
    model_builder b = start_quantised(shape, PGY_U8);
    builder_node(&b, "Identity", "xd", "xqd");
    conv(&b, "xq", "o", channels, channels, 1);
    conv(&b, "o", "p", channels, channels, group);
    builder_node(&b, "Add", "od pd", "sum");
    quantise(&b, "sum", "r", 0.06f, PGY_U8, 120);
    builder_node(&b, "Add", twice ? "rd pd" : "rd od", "more");
    quantise(&b, "more", "t", 0.0917f, PGY_U8, 110);
    conv(&b, "t", "u", channels, channels, 1);
    builder_node(&b, "DequantizeLinear", "u us uz", "y");
    return b;
}

static const char STAYS[] = "QuantizeLinear Transpose QLinearConv QLinearConv QLinearAdd "
                            "QLinearAdd QLinearConv Transpose DequantizeLinear";
static const char JOINS[] = "QuantizeLinear Transpose QLinearConv QLinearConv QLinearAdd "
                            "QLinearConv Transpose DequantizeLinear";

static void test_bytes_channels_last__sums_join_convolutions(void **state)
{
    (void)state;
    model_builder b = residual(16, 1, false);
    expect_y(&b, JOINS);
    b = residual(10, 1, false);
    expect_y(&b, JOINS);
    b = residual(16, 1, true); /* others read the convolution's bytes, too */
    expect_y(&b, STAYS);
    b = residual(16, 16, false); /* depthwise */
    expect_y(&b, STAYS);
}

static void test_bytes_channels_last__sums_join_convolutions_on_a_gpu(void **state)
{
    (void)state;
    model_builder b = residual(16, 1, false);
    expect_y_on(&b, "cuda", JOINS);
    b = residual(16, 1, true); /* others read the convolution's bytes, too */
    expect_y_on(&b, "cuda", STAYS);
    b = residual(8, 1, false); /* no whole vectors */
    expect_y_on(&b, "cuda", STAYS);
    b = residual(16, 16, false); /* no product */
    expect_y_on(&b, "cuda", STAYS);
}

static void test_bytes_channels_last__small_groups_stay(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        model_builder b = start_quantised("1, 8, 6, 6", PGY_U8);
        builder_node(&b, "Identity", "xd", "xqd");
        conv(&b, "xq", "p", 8, form ? 32 : 30, 2);
        builder_node(&b, "Tanh", "pd", "t");
        quantise(&b, "t", "q", 0.01f, PGY_U8, 128);
        builder_node(&b, "DequantizeLinear", "q qs qz", "y");
        expect_y(&b, form ? "QuantizeLinear Transpose QLinearConv Lookup Transpose DequantizeLinear"
                          : "QuantizeLinear QLinearConv Lookup DequantizeLinear");
    }
}

static void test_bytes_channels_last__alone_it_stays(void **state)
{
    (void)state;
    model_builder b = start_quantised("1, 8, 6, 6", PGY_U8);
    builder_node(&b, "Identity", "xd", "xqd");
    conv(&b, "xq", "p", 8, 8, 1);
    builder_node(&b, "DequantizeLinear", "p ps pz", "y");
    expect_y(&b, "QuantizeLinear QLinearConv DequantizeLinear");
}

static void test_bytes_channels_last__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_bytes_channels_last)) skip();
    test_bytes_channels_last__joins_and_pools(state);
    refuse_allocations_of(NULL);
}

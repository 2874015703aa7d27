/* SPDX-License-Identifier: Apache-2.0 */
/* Averages that move before a pointwise convolution, and those that stay behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/passes/pass.h"
#include "harness/pass_case.h"

/* A convolution of 2 x 8 x 6 x 5, and the average of its results. */
typedef struct pool_case {
    const char *pool, *weight;
    size_t weights;
    int64_t group, conv_stride;
    int64_t stride, pad, counts, ceil; /* of the pool, along both axes */
    const char *auto_pad;
    int64_t dilation; /* 0: 1 */
} pool_case;

static model_builder build(const pool_case *c)
{
    model_builder b = start("2, 8, 6, 5");
    weights(&b, "w", c->weight, c->weights);
    weights(&b, "b", "16", 16);
    const int64_t conv_strides[] = {c->conv_stride, c->conv_stride};
    pgy_onnx_node *n = builder_node(&b, "Conv", "x w b", "t");
    builder_attr_int(&b, n, "group", c->group);
    builder_attr_ints(&b, n, "strides", 2, conv_strides);
    n = builder_node(&b, c->pool, "t", "y");
    if (strcmp(c->pool, "GlobalAveragePool") == 0) return b;
    const int64_t kernel[] = {2, 3}, strides[] = {c->stride, c->stride};
    const int64_t pads[] = {c->pad, c->pad, c->pad, c->pad};
    builder_attr_ints(&b, n, "kernel_shape", 2, kernel);
    builder_attr_ints(&b, n, "strides", 2, strides);
    if (c->auto_pad)
        builder_attr_string(&b, n, "auto_pad", c->auto_pad);
    else
        builder_attr_ints(&b, n, "pads", 4, pads);
    builder_attr_int(&b, n, "ceil_mode", c->ceil);
    if (c->dilation)
        builder_attr_ints(&b, n, "dilations", 2, (const int64_t[]){c->dilation, c->dilation});
    if (strcmp(c->pool, "AveragePool") == 0)
        builder_attr_int(&b, n, "count_include_pad", c->counts);
    return b;
}

static void test_pool_before_conv__averages_move(void **state)
{
    (void)state;
    static const pool_case CASES[] = {
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 0, 0, 0, NULL, 0},
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 0, 1, 0, "VALID", 0},
        {"AveragePool", "16, 4, 1, 1", 64, 2, 1, 2, 0, 1, 0, NULL, 0},
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 1, 0, 0, NULL, 0},
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 1, 0, 1, NULL, 0},
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 0, 0, 0, "SAME_UPPER", 0},
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 0, 0, 0, NULL, 2},
        {"GlobalAveragePool", "16, 8, 1, 1", 128, 1, 1, 1, 0, 0, 0, NULL, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        model_builder b = build(&CASES[i]);
        expect_y(&b, i == 7 ? "GlobalAveragePool Conv" : "AveragePool Conv");
    }
}

static void test_pool_before_conv__others_stay(void **state)
{
    (void)state;
    static const pool_case CASES[] = {
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 1, 1, 0, NULL, 0}, /* padding has no bias */
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 0, 1, 1, NULL, 0},
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 0, 1, 0, "SAME_LOWER", 0},
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 1, 0, 0, 0, NULL, 0}, /* saves nothing */
        {"AveragePool", "16, 8, 1, 1", 128, 1, 2, 2, 0, 0, 0, NULL,
         0}, /* does not read all pixels */
        {"AveragePool", "16, 8, 2, 1", 256, 1, 1, 2, 0, 0, 0, NULL, 0},
        {"AveragePool", "16, 8, 1, 1", 128, 1, 1, 2, 1, 0, 0, NULL, 2},
        {"MaxPool", "16, 8, 1, 1", 128, 1, 1, 2, 0, 0, 0, NULL, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        model_builder b = build(&CASES[i]);
        expect_y(&b, i == 7 ? "Conv MaxPool" : "Conv AveragePool");
    }
}

/* A convolution whose results something else reads has to be computed for all pixels. */
static void test_pool_before_conv__results_that_others_read_stay(void **state)
{
    (void)state;
    model_builder b = start("1, 8, 6, 4");
    weights(&b, "w", "16, 8, 1, 1", 128);
    builder_node(&b, "Conv", "x w", "t");
    builder_node(&b, "GlobalAveragePool", "t", "m");
    builder_node(&b, "Sub", "t m", "y");
    expect_y(&b, "Conv GlobalAveragePool Sub");
}

/* An activation behind the pool becomes part of the convolution. */
static void test_pool_before_conv__activations_are_fused(void **state)
{
    (void)state;
    model_builder b = start("1, 8, 6, 4");
    weights(&b, "w", "16, 8, 1, 1", 128);
    builder_node(&b, "Conv", "x w", "t");
    builder_node(&b, "GlobalAveragePool", "t", "m");
    builder_node(&b, "Relu", "m", "y");
    expect_y(&b, "GlobalAveragePool FusedConv");
}

static void test_pool_before_conv__refused_allocations(void **state)
{
    (void)state;
    if (!refuse_allocations_of(&PASS_pool_before_conv)) skip();
    test_pool_before_conv__averages_move(NULL);
    refuse_allocations_of(NULL);
}

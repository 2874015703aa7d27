/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of convolutions of one tensor that become one, and similar ones that stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "engine/passes/pass.h"
#include "harness/pass_case.h"

/* A convolution of x, 1 x 4 x 6 x 7, with `out` x `in` x k x k weights. */
typedef struct term {
    int64_t out, in, kernel, pad, stride, dilation;
} term;

static void conv(model_builder *b, const term *t, const char *w, const char *y)
{
    char shape[64], inputs[32];
    const int64_t pads[] = {t->pad, t->pad, t->pad, t->pad}, strides[] = {t->stride, t->stride};
    const int64_t dilations[] = {t->dilation, t->dilation};
    snprintf(shape, sizeof shape, "%d, %d, %d, %d", (int)t->out, (int)t->in, (int)t->kernel,
             (int)t->kernel);
    weights(b, w, shape, (size_t)(t->out * t->in * t->kernel * t->kernel));
    snprintf(inputs, sizeof inputs, "x %s", w);
    pgy_onnx_node *n = builder_node(b, "Conv", inputs, y);
    builder_attr_int(b, n, "group", 4 / t->in);
    builder_attr_ints(b, n, "pads", 4, pads);
    builder_attr_ints(b, n, "strides", 2, strides);
    builder_attr_ints(b, n, "dilations", 2, dilations);
}

static model_builder two(const term *p, const term *q, const char *op)
{
    model_builder b = start("1, 4, 6, 7");
    conv(&b, p, "w", "p");
    conv(&b, q, "v", "q");
    builder_node(&b, op, "p q", "y");
    return b;
}

/* BatchNormalization of x. */
static void batch_norm(model_builder *b, const char *y)
{
    weights(b, "scale", "4", 4);
    weights(b, "shift", "4", 4);
    weights(b, "mean", "4", 4);
    weights_from(b, "variance", "4", 4, 2);
    builder_node(b, "BatchNormalization", "x scale shift mean variance", y);
}

static void test_join_branches__kernels_are_summed(void **state)
{
    (void)state;
    static const term CASES[][2] = {
        {{4, 1, 3, 1, 1, 1}, {4, 1, 1, 0, 1, 1}}, /* depthwise */
        {{4, 1, 1, 0, 1, 1}, {4, 1, 5, 2, 1, 1}}, /* the larger one second */
        {{6, 4, 3, 1, 2, 1}, {6, 4, 1, 0, 2, 1}}, /* strided */
        {{6, 2, 3, 1, 1, 1}, {6, 2, 3, 1, 1, 1}}, /* groups; equal kernels */
        {{4, 1, 3, 1, 1, 1}, {4, 1, 1, 0, 1, 2}}, /* a dilation of one tap */
        {{4, 1, 4, 2, 2, 1}, {4, 1, 2, 1, 2, 1}}, /* not in the middle */
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        model_builder b = two(&CASES[i][0], &CASES[i][1], "Add");
        expect_y(&b, "Conv");
        b = two(&CASES[i][0], &CASES[i][1], "Sub");
        expect_y(&b, "Conv");
    }
}

static void test_join_branches__others_stay(void **state)
{
    (void)state;
    static const term CASES[][2] = {
        {{4, 1, 3, 1, 1, 1}, {4, 4, 1, 0, 1, 1}}, /* groups differ */
        {{4, 1, 3, 1, 1, 1}, {4, 1, 3, 2, 1, 2}}, /* dilated */
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        model_builder b = two(&CASES[i][0], &CASES[i][1], "Add");
        expect_y(&b, "Conv FusedConv");
    }
    /* The result of one is read twice. */
    model_builder b = start("1, 4, 6, 7");
    conv(&b, &(term){4, 1, 3, 1, 1, 1}, "w", "p");
    conv(&b, &(term){4, 1, 1, 0, 1, 1}, "v", "q");
    builder_node(&b, "Add", "p q", "r");
    builder_node(&b, "Mul", "p r", "y");
    expect_y(&b, "Conv FusedConv Mul");
}

/* A block as RepVGG and MobileOne are trained: kernels of two sizes, and the tensor normalised. */
static void test_join_branches__batch_normalisation_is_one_tap(void **state)
{
    (void)state;
    static const term KERNELS[][2] = {{{4, 4, 3, 1, 1, 1}, {4, 4, 1, 0, 1, 1}},
                                      {{4, 2, 3, 1, 1, 1}, {4, 2, 1, 0, 1, 1}},
                                      {{4, 1, 3, 1, 1, 1}, {4, 1, 1, 0, 1, 1}}};
    for (size_t i = 0; i < 3; i++) {
        model_builder b = start("1, 4, 6, 7");
        conv(&b, &KERNELS[i][0], "w", "p");
        conv(&b, &KERNELS[i][1], "v", "q");
        batch_norm(&b, "n");
        builder_node(&b, "Add", "n q", "r");
        builder_node(&b, "Add", "r p", "s");
        builder_node(&b, "Relu", "s", "y");
        expect_y(&b, "FusedConv");
    }
}

/* As FastViT mixes: x + scale * (norm(x) + conv(x) - norm(x)). */
static void test_join_branches__the_tensor_itself_is_one_tap(void **state)
{
    (void)state;
    model_builder b = start("1, 4, 6, 7");
    conv(&b, &(term){4, 1, 3, 1, 1, 1}, "w", "p");
    batch_norm(&b, "n");
    builder_node(&b, "Add", "n p", "s");
    builder_node(&b, "Sub", "s n", "d");
    weights(&b, "factor", "4, 1, 1", 4);
    builder_node(&b, "Mul", "factor d", "m");
    builder_node(&b, "Add", "x m", "y");
    expect_y(&b, "Conv");
}

/* Beside other convolutions a sum with the tensor is cheaper than more weights. */
static void test_join_branches__residuals_of_dense_convolutions_stay(void **state)
{
    (void)state;
    model_builder b = start("1, 4, 6, 7");
    conv(&b, &(term){4, 4, 3, 1, 1, 1}, "w", "p");
    builder_node(&b, "Add", "x p", "y");
    expect_y(&b, "FusedConv");
}

static void test_join_branches__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_join_branches)) skip();
    test_join_branches__batch_normalisation_is_one_tap(state);
    test_join_branches__the_tensor_itself_is_one_tap(state);
    refuse_allocations_of(NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of three axes over patches that do not overlap become products. Others stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pass_case.h"

static const int64_t STRIDES[3] = {2, 3, 2};

/* x and w: shapes; w has 5 maps of 2 channels. */
static pgy_onnx_node *conv(model_builder *b, const char *x, const char *w, size_t count, bool bias)
{
    *b = start(x);
    weights(b, "w", w, count);
    if (bias) weights(b, "b", "5", 5);
    return builder_node(b, "Conv", bias ? "x w b" : "x w", "y");
}

static void test_patches_to_matmul__rows_of_patches(void **state)
{
    (void)state;
    model_builder b;
    pgy_onnx_node *n = conv(&b, "2, 2, 4, 6, 4", "5, 2, 2, 3, 2", 120, false);
    builder_attr_ints(&b, n, "strides", 3, STRIDES);
    expect_y(&b, "Reshape Transpose Reshape MatMul Transpose Reshape");
    n = conv(&b, "1, 2, 2, 9, 2", "5, 2, 2, 3, 2", 120, true);
    builder_attr_ints(&b, n, "strides", 3, STRIDES);
    builder_attr_string(&b, n, "auto_pad", "VALID");
    expect_y(&b, NULL);
    /* A patch is the whole image. */
    n = conv(&b, "7, 2, 2, 3, 2", "5, 2, 2, 3, 2", 120, false);
    builder_attr_ints(&b, n, "strides", 3, STRIDES);
    expect_y(&b, "Reshape MatMul Reshape");
}

static void test_patches_to_matmul__others_stay(void **state)
{
    (void)state;
    static const int64_t PADS[6] = {0, 0, 0, 0, 0, 2}, DILATIONS[3] = {1, 1, 2};
    model_builder b;
    /* Strides of 1, a remainder, pads, dilations, groups, two axes. */
    (void)conv(&b, "1, 2, 4, 6, 4", "5, 2, 2, 3, 2", 120, false);
    expect_y(&b, "Conv");
    builder_attr_ints(&b, conv(&b, "1, 2, 5, 6, 4", "5, 2, 2, 3, 2", 120, false), "strides", 3,
                      STRIDES);
    expect_y(&b, "Conv");
    pgy_onnx_node *n = conv(&b, "1, 2, 4, 6, 4", "5, 2, 2, 3, 2", 120, false);
    builder_attr_ints(&b, n, "strides", 3, STRIDES);
    builder_attr_ints(&b, n, "pads", 6, PADS);
    expect_y(&b, "Conv");
    n = conv(&b, "1, 2, 4, 6, 4", "5, 2, 2, 3, 2", 120, false);
    builder_attr_ints(&b, n, "strides", 3, STRIDES);
    builder_attr_ints(&b, n, "dilations", 3, DILATIONS);
    expect_y(&b, "Conv");
    n = conv(&b, "1, 10, 4, 6, 4", "5, 2, 2, 3, 2", 120, false);
    builder_attr_ints(&b, n, "strides", 3, STRIDES);
    builder_attr_int(&b, n, "group", 5);
    expect_y(&b, "Conv");
    builder_attr_ints(&b, conv(&b, "1, 2, 4, 6", "5, 2, 2, 3", 60, false), "strides", 2, STRIDES);
    expect_y(&b, "Conv");
}

static void test_patches_to_matmul__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_patches_to_matmul)) skip();
    test_patches_to_matmul__rows_of_patches(state);
    refuse_allocations_of(NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions over patches that do not overlap become products. Others stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/quantized_case.h"

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

/* Of bytes with two axes, if the patches are larger than the kernels of bytes support. */
static void test_patches_to_matmul__bytes(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        const int64_t size = form == 3 ? 8 : 16, strides[2] = {size, size};
        static const char *const INPUTS[] = {"q w", "q w z", "q w z wz", "q w z"};
        model_builder b = start("2, 3, 16, 32");
        bytes(&b, "w", PGY_I8, 4, (const int64_t[]){5, 3, size, size}, -126, 1);
        bytes(&b, "wz", PGY_I8, 0, NULL, 3, 0);
        builder_node(&b, "DynamicQuantizeLinear", "x", "q s z");
        pgy_onnx_node *n = builder_node(&b, "ConvInteger", INPUTS[form], "c");
        builder_attr_ints(&b, n, "strides", 2, strides);
        builder_attr_int(&b, builder_node(&b, "Cast", "c", "y"), "to", 1);
        expect_y(&b, form == 3 ? "DynamicQuantizeLinear ConvInteger Cast" : NULL);
    }
}

static void test_patches_to_matmul__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_patches_to_matmul)) skip();
    test_patches_to_matmul__rows_of_patches(state);
    test_patches_to_matmul__bytes(state);
    refuse_allocations_of(NULL);
}

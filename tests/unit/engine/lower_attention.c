/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and QAttention of com.microsoft become a product and ProjectedAttention. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pass_case.h"

/* Rows of 6 numbers, projected to 2 heads of 4. */
static model_builder projection(const char *shape)
{
    model_builder b = start(shape);
    builder_opset(&b, "com.microsoft", 1);
    weights(&b, "w", "6, 24", 144);
    weights(&b, "b", "24", 24);
    return b;
}

static void test_lower_attention__product_with_bias(void **state)
{
    (void)state;
    model_builder b = projection("2, 5, 6");
    pgy_onnx_node *n = builder_node(&b, "com.microsoft:Attention", "x w b", "y");
    builder_attr_int(&b, n, "num_heads", 2);
    builder_attr_int(&b, n, "unidirectional", 1);
    builder_attr_float(&b, n, "scale", 0.25F);
    expect_y(&b, "FusedMatMul ProjectedAttention");
}

static void test_lower_attention__without_bias_and_other_widths(void **state)
{
    (void)state;
    static const int64_t WIDTHS[] = {8, 8, 8}, OTHERS[] = {4, 4, 16};
    for (int i = 0; i < 2; i++) {
        model_builder b = projection("2, 5, 6");
        pgy_onnx_node *n = builder_node(&b, "com.microsoft:Attention", "x w", "y");
        builder_attr_int(&b, n, "num_heads", 2);
        builder_attr_ints(&b, n, "qkv_hidden_sizes", 3, i ? OTHERS : WIDTHS);
        expect_y(&b, "MatMul ProjectedAttention");
    }
}

static void test_lower_attention__cache(void **state)
{
    (void)state;
    model_builder b = projection("1, 3, 6");
    weights(&b, "past", "2, 1, 2, 5, 4", 80);
    weights(&b, "added", "1, 2, 3, 8", 48);
    pgy_onnx_node *n =
        builder_node(&b, "com.microsoft:Attention", "x w b - past added", "y present");
    builder_attr_int(&b, n, "num_heads", 2);
    expect_y(&b, "FusedMatMul ProjectedAttention");
}

static void integers(model_builder *b, const char *name, pgy_dtype dtype, const int64_t *shape,
                     size_t rank, int64_t least)
{
    pgy_tensor *wide = NULL, *t = NULL;
    assert_int_equal(pgy_tensor_create(&wide, PGY_I64, rank, shape, NULL), 0);
    for (size_t i = 0; i < pgy_tensor_count(wide); i++)
        ((int64_t *)pgy_tensor_data(wide))[i] = least + (int64_t)(i * 7919 % 251);
    assert_int_equal(pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, NULL), 0);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
    pgy_tensor_release(wide);
}

/* A scale for all weights, or one for each column. */
static void test_lower_attention__bytes(void **state)
{
    (void)state;
    for (int each = 0; each < 2; each++) {
        model_builder b = start("2, 5, 6");
        builder_opset(&b, "com.microsoft", 1);
        scalar(&b, "xs", 0.01F);
        integers(&b, "xz", PGY_U8, NULL, 0, 128);
        integers(&b, "w", PGY_I8, (const int64_t[]){6, 24}, 2, -125);
        integers(&b, "wz", PGY_I8, (const int64_t[]){24}, each ? 1 : 0, -125);
        weights_from(&b, "ws", each ? "24" : "", each ? 24 : 1, 1.01F);
        weights(&b, "b", "24", 24);
        builder_node(&b, "QuantizeLinear", "x xs xz", "q");
        pgy_onnx_node *n = builder_node(&b, "com.microsoft:QAttention", "q w b xs ws - xz wz", "y");
        builder_attr_int(&b, n, "num_heads", 2);
        expect_y(&b, NULL);
    }
}

static void test_lower_attention__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_lower_attention)) skip();
    test_lower_attention__product_with_bias(state);
    test_lower_attention__bytes(state);
    refuse_allocations_of(NULL);
}

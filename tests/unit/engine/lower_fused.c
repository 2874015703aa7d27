/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that ONNX Runtime's optimiser makes become those that they stand for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pass_case.h"

static model_builder start_fused(const char *shape)
{
    model_builder b = start(shape);
    builder_opset(&b, "com.microsoft", 1);
    return b;
}

static void test_lower_fused__gemm_with_an_activation(void **state)
{
    (void)state;
    static const struct {
        const char *name, *nodes;
    } ACTIVATIONS[] = {{"Relu", "FusedMatMul"},
                       {"Tanh", "FusedMatMul"},
                       {"LeakyRelu", "Gemm LeakyRelu"},
                       {"HardSigmoid", "Gemm HardSigmoid"},
                       {"Elu", "Gemm Elu"},
                       {"Celu", "Gemm Celu"},
                       {"Selu", "Gemm Selu"},
                       {"Softplus", "Gemm Softplus"},
                       {"Softsign", "Gemm Softsign"},
                       {"ThresholdedRelu", "Gemm ThresholdedRelu"},
                       {"Clip", "FusedGemm"}};
    for (size_t i = 0; i < sizeof ACTIVATIONS / sizeof *ACTIVATIONS; i++) {
        model_builder b = start_fused("3, 6");
        weights(&b, "w", "5, 6", 30);
        weights(&b, "b", "5", 5);
        pgy_onnx_node *n = builder_node(&b, "com.microsoft:FusedGemm", "x w b", "y");
        builder_attr_int(&b, n, "transB", 1);
        builder_attr_float(&b, n, "alpha", 0.5F);
        builder_attr_string(&b, n, "activation", ACTIVATIONS[i].name);
        builder_attr_float(&b, n, "activation_alpha", 0.3F);
        builder_attr_float(&b, n, "activation_beta", 0.7F);
        builder_attr_float(&b, n, "activation_gamma", 1.2F);
        expect_y(&b, ACTIVATIONS[i].nodes);
    }
}

static void test_lower_fused__other_names(void **state)
{
    (void)state;
    model_builder b = start_fused("2, 6, 3");
    weights(&b, "w", "2, 6, 5", 60);
    pgy_onnx_node *n = builder_node(&b, "com.microsoft:TransposeMatMul", "x w", "y");
    builder_attr_int(&b, n, "transA", 1);
    builder_attr_float(&b, n, "alpha", 0.25F);
    expect_y(&b, "FusedMatMul");
    b = start_fused("2, 6, 3");
    ints(&b, "axis64", "", (const int64_t[]){-2});
    builder_attr_int(&b, builder_node(&b, "Cast", "axis64", "axis"), "to", 6);
    builder_node(&b, "com.microsoft:ExpandDims", "x axis", "z");
    builder_node(&b, "Exp", "z", "y");
    expect_y(&b, "Unsqueeze Exp");
}

/* Scores whose scale and exchanged axes the optimiser put into the product. */
static void test_lower_fused__products_of_an_attention(void **state)
{
    (void)state;
    model_builder b = start_fused("2, 3, 5, 8");
    builder_node(&b, "Sin", "x", "k");
    builder_node(&b, "Cos", "x", "v");
    pgy_onnx_node *n = builder_node(&b, "com.microsoft:FusedMatMul", "x k", "scores");
    builder_attr_int(&b, n, "transB", 1);
    builder_attr_float(&b, n, "alpha", 0.25F);
    builder_node(&b, "Softmax", "scores", "weights");
    builder_node(&b, "com.microsoft:FusedMatMul", "weights v", "y");
    expect_y(&b, "Sin Cos Attention");
}

static void test_lower_fused__products_that_fuse_anew(void **state)
{
    (void)state;
    model_builder b = start_fused("2, 6, 3");
    weights(&b, "w", "2, 6, 5", 60);
    pgy_onnx_node *n = builder_node(&b, "com.microsoft:FusedMatMul", "x w", "y");
    builder_attr_int(&b, n, "transA", 1);
    builder_attr_float(&b, n, "alpha", 0.25F);
    expect_y(&b, "FusedMatMul");
}

/* A matrix turned by the optimiser takes in the BatchNormalization of rows. */
static void test_lower_fused__product_before_batch_normalization(void **state)
{
    (void)state;
    model_builder b = start_fused("1, 6, 3");
    weights(&b, "w", "6, 5", 30);
    weights_from(&b, "scale", "5", 5, 2);
    weights(&b, "bias", "5", 5);
    weights(&b, "mean", "5", 5);
    weights_from(&b, "variance", "5", 5, 2);
    pgy_onnx_node *n = builder_node(&b, "com.microsoft:FusedMatMul", "x w", "z");
    builder_attr_int(&b, n, "transA", 1);
    builder_attr_int(&b, builder_node(&b, "Flatten", "z", "rows"), "axis", 2);
    builder_node(&b, "BatchNormalization", "rows scale bias mean variance", "y");
    expect_y(&b, "FusedMatMul Flatten");
}

/* Attention of 2 heads of 4 for one token, with 5 or, in a shared buffer, 3 tokens before. */
static void expect_step(bool shared, const char *inputs, const char *nodes)
{
    model_builder b = start_fused("2, 1, 8");
    weights(&b, "k", "2, 1, 8", 16);
    weights(&b, "v", "2, 1, 8", 16);
    weights(&b, "past_k", "2, 2, 5, 4", 80);
    weights(&b, "past_v", "2, 2, 5, 4", 80);
    weights(&b, "b", "24", 24);
    weights(&b, "added", shared ? "1, 2, 1, 4" : "1, 2, 1, 6", shared ? 8 : 12);
    ints(&b, "length64", "1", (const int64_t[]){3});
    ints(&b, "mask64", shared ? "2, 4" : "2, 6",
         (const int64_t[]){1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1});
    builder_attr_int(&b, builder_node(&b, "Cast", "length64", "length"), "to", 6);
    builder_attr_int(&b, builder_node(&b, "Cast", "mask64", "mask"), "to", 6);
    pgy_onnx_node *n = builder_node(&b, "com.microsoft:DecoderMaskedMultiHeadAttention", inputs,
                                    "y present_k present_v");
    builder_attr_int(&b, n, "num_heads", 2);
    builder_attr_float(&b, n, "mask_filter_value", -50);
    builder_attr_float(&b, n, "scale", 0.4F);
    if (shared) builder_attr_int(&b, n, "past_present_share_buffer", 1);
    builder_output(&b, "present_k", PGY_F32, NULL);
    builder_output(&b, "present_v", PGY_F32, NULL);
    expect_y(&b, nodes);
}

static void test_lower_fused__attention_for_one_token(void **state)
{
    (void)state;
    expect_step(false, "x k v - - past_k past_v", "MultiHeadAttention");
    expect_step(false, "x k v mask added past_k past_v - - - b", "MultiHeadAttention");
    expect_step(true, "x k v - - past_k past_v length", "GroupQueryAttention");
    expect_step(true, "x k v mask added past_k past_v length - - b", "Add GroupQueryAttention");
    expect_step(true, "x k v mask - past_k past_v length", "GroupQueryAttention");
}

static void test_lower_fused__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_lower_fused)) skip();
    test_lower_fused__gemm_with_an_activation(state);
    test_lower_fused__other_names(state);
    test_lower_fused__attention_for_one_token(state);
    refuse_allocations_of(NULL);
}

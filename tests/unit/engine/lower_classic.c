/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ai.onnx.ml that become standard ones, and those that stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pass_case.h"

static const float NUMBERS[] = {0.5F, -1, 2, 0.25F, 1.5F, -0.75F};

/* A node on x of 4 rows and 3 features. */
static pgy_onnx_node *node(model_builder *b, const char *op, const char *outputs)
{
    *b = start("4, 3");
    builder_opset(b, "ai.onnx.ml", 1);
    return builder_node(b, op, "x", outputs);
}

static void test_lower_classic__scaler(void **state)
{
    (void)state;
    model_builder b;
    pgy_onnx_node *n = node(&b, "ai.onnx.ml:Scaler", "y");
    builder_attr_floats(&b, n, "offset", 3, NUMBERS);
    builder_attr_floats(&b, n, "scale", 3, NUMBERS + 3);
    expect_y(&b, "Sub Mul");
}

static void test_lower_classic__normalizer(void **state)
{
    (void)state;
    model_builder b;
    builder_attr_string(&b, node(&b, "ai.onnx.ml:Normalizer", "y"), "norm", "L2");
    expect_y(&b, "ReduceL2 Equal Where Div");
    builder_attr_string(&b, node(&b, "ai.onnx.ml:Normalizer", "y"), "norm", "L1");
    expect_y(&b, "ReduceL1 Equal Where Div");
    builder_attr_string(&b, node(&b, "ai.onnx.ml:Normalizer", "y"), "norm", "MAX");
    expect_y(&b, "Normalizer");
}

static void expect_regressor(int64_t targets, const char *transform, const char *nodes)
{
    model_builder b;
    pgy_onnx_node *n = node(&b, "ai.onnx.ml:LinearRegressor", "y");
    builder_attr_floats(&b, n, "coefficients", (size_t)targets * 3, NUMBERS);
    builder_attr_floats(&b, n, "intercepts", (size_t)targets, NUMBERS);
    builder_attr_int(&b, n, "targets", targets);
    builder_attr_string(&b, n, "post_transform", transform);
    expect_y(&b, nodes);
}

static void test_lower_classic__regressor(void **state)
{
    (void)state;
    expect_regressor(2, "NONE", "Gemm");
    expect_regressor(2, "SOFTMAX", "Gemm Softmax");
    expect_regressor(2, "LOGISTIC", "FusedMatMul");
    expect_regressor(1, "LOGISTIC", "Gemm"); /* ONNX Runtime transforms no single target */
    expect_regressor(2, "SOFTMAX_ZERO", "LinearRegressor");
}

static pgy_onnx_node *classifier(model_builder *b, const char *outputs)
{
    static const int64_t LABELS[] = {-5, 7};
    pgy_onnx_node *n = node(b, "ai.onnx.ml:LinearClassifier", outputs);
    builder_attr_floats(b, n, "coefficients", 6, NUMBERS);
    builder_attr_floats(b, n, "intercepts", 2, NUMBERS);
    builder_attr_ints(b, n, "classlabels_ints", 2, LABELS);
    return n;
}

static void test_lower_classic__classifier(void **state)
{
    (void)state;
    model_builder b;
    builder_attr_string(&b, classifier(&b, "label y"), "post_transform", "SOFTMAX");
    expect_y(&b, "Gemm Softmax");
    classifier(&b, "label scores");
    builder_attr_int(&b, builder_node(&b, "Cast", "label", "y"), "to", 1);
    expect_y(&b, "Gemm ArgMax Gather Cast");
    builder_attr_string(&b, classifier(&b, "label y"), "post_transform", "SOFTMAX_ZERO");
    expect_y(&b, "LinearClassifier");
}

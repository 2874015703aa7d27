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

static void test_lower_classic__extractor(void **state)
{
    static const char *const SHAPES[] = {"4", "1, 4", ""};
    static const int64_t AT[] = {2, 0, 2, 1};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        model_builder b = start("4, 3");
        builder_opset(&b, "ai.onnx.ml", 1);
        builder_ints(&b, "at", SHAPES[i], AT);
        builder_node(&b, "ai.onnx.ml:ArrayFeatureExtractor", "x at", "y");
        expect_y(&b, "Gather");
    }
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

static const char *const NAMES[] = {"calm", "wild"};

/* One tree of one test: feature 1 <= 0.5 gives class 0, else class 1. */
static pgy_onnx_node *stump(model_builder *b, const char *outputs)
{
    static const int64_t ZEROS[3] = {0}, IDS[] = {0, 1, 2}, TRUE_IDS[] = {1, 0, 0},
                         FALSE_IDS[] = {2, 0, 0}, FEATURES[] = {1, 0, 0};
    static const float VALUES[] = {0.5F, 0, 0}, WEIGHTS[] = {1, 1};
    static const char *const MODES[] = {"BRANCH_LEQ", "LEAF", "LEAF"};
    pgy_onnx_node *n = node(b, "ai.onnx.ml:TreeEnsembleClassifier", outputs);
    builder_attr_strings(b, n, "classlabels_strings", 2, NAMES);
    builder_attr_strings(b, n, "nodes_modes", 3, MODES);
    builder_attr_ints(b, n, "nodes_treeids", 3, ZEROS);
    builder_attr_ints(b, n, "nodes_nodeids", 3, IDS);
    builder_attr_ints(b, n, "nodes_featureids", 3, FEATURES);
    builder_attr_ints(b, n, "nodes_truenodeids", 3, TRUE_IDS);
    builder_attr_ints(b, n, "nodes_falsenodeids", 3, FALSE_IDS);
    builder_attr_floats(b, n, "nodes_values", 3, VALUES);
    builder_attr_ints(b, n, "class_treeids", 2, ZEROS);
    builder_attr_ints(b, n, "class_nodeids", 2, IDS + 1);
    builder_attr_ints(b, n, "class_ids", 2, IDS);
    builder_attr_floats(b, n, "class_weights", 2, WEIGHTS);
    return n;
}

static void test_lower_classic__text_labels_of_trees(void **state)
{
    (void)state;
    model_builder b;
    stump(&b, "label y");
    expect_y(&b, "TreeEnsembleClassifier");
    stump(&b, "label scores");
    builder_attr_strings(&b, builder_node(&b, "ai.onnx.ml:LabelEncoder", "label", "place"),
                         "classes_strings", 2, NAMES);
    builder_attr_int(&b, builder_node(&b, "Cast", "place", "y"), "to", 1);
    expect_y(&b, "TreeEnsembleClassifier Gather LabelEncoder Cast");
}

/* Two support vectors, one for each class. */
static pgy_onnx_node *machine(model_builder *b, const char *outputs)
{
    static const float VECTORS[] = {1, 0, 0.5F, -1, 2, 0.25F}, FACTORS[] = {1, -1}, RHO[] = {0.1F},
                       PARAMS[] = {0.5F, 0, 3};
    static const int64_t COUNTS[] = {1, 1};
    pgy_onnx_node *n = node(b, "ai.onnx.ml:SVMClassifier", outputs);
    builder_attr_strings(b, n, "classlabels_strings", 2, NAMES);
    builder_attr_string(b, n, "kernel_type", "RBF");
    builder_attr_floats(b, n, "kernel_params", 3, PARAMS);
    builder_attr_floats(b, n, "support_vectors", 6, VECTORS);
    builder_attr_floats(b, n, "coefficients", 2, FACTORS);
    builder_attr_floats(b, n, "rho", 1, RHO);
    builder_attr_ints(b, n, "vectors_per_class", 2, COUNTS);
    return n;
}

static void test_lower_classic__text_labels_of_support_vector_machines(void **state)
{
    (void)state;
    model_builder b;
    machine(&b, "label y");
    expect_y(&b, "SVMClassifier");
    machine(&b, "label scores");
    builder_attr_strings(&b, builder_node(&b, "ai.onnx.ml:LabelEncoder", "label", "place"),
                         "classes_strings", 2, NAMES);
    builder_attr_int(&b, builder_node(&b, "Cast", "place", "y"), "to", 1);
    expect_y(&b, "SVMClassifier Gather LabelEncoder Cast");
}

static void test_lower_classic__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_lower_classic)) skip();
    test_lower_classic__scaler(state);
    test_lower_classic__normalizer(state);
    test_lower_classic__regressor(state);
    test_lower_classic__classifier(state);
    refuse_allocations_of(NULL);
}

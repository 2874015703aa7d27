/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ai.onnx.ml and com.microsoft that become standard ones, and those that stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "harness/pass_case.h"

/* A node on x of 4 rows and 3 features. */
static pgy_onnx_node *node(model_builder *b, const char *op, const char *inputs)
{
    *b = start("4, 3");
    builder_opset(b, "ai.onnx.ml", 2);
    return builder_node(b, op, inputs, "y");
}

static void cast(model_builder *b, const char *from, const char *to, int64_t dtype)
{
    builder_attr_int(b, builder_node(b, "Cast", from, to), "to", dtype);
}

static void test_lower_others__binarizer(void **state)
{
    (void)state;
    model_builder b;
    builder_attr_float(&b, node(&b, "ai.onnx.ml:Binarizer", "x"), "threshold", 0.25F);
    expect_y(&b, "Greater Cast");
}

static void test_lower_others__imputer(void **state)
{
    (void)state;
    static const float NUMBERS[] = {0.5F, -1, 2};
    for (size_t count = 1; count < 4; count += 2) {
        model_builder b;
        pgy_onnx_node *n = node(&b, "ai.onnx.ml:Imputer", "x");
        builder_attr_floats(&b, n, "imputed_value_floats", count, NUMBERS);
        builder_attr_float(&b, n, "replaced_value_float", NAN);
        expect_y(&b, "IsNaN Where");
        builder_attr_floats(&b, node(&b, "ai.onnx.ml:Imputer", "x"), "imputed_value_floats", count,
                            NUMBERS);
        expect_y(&b, "Equal Where");
    }
}

static void test_lower_others__imputer_of_integers(void **state)
{
    (void)state;
    static const int64_t NUMBERS[] = {5, -1, 2};
    for (size_t count = 1; count < 4; count += 2) {
        model_builder b = start("4, 3");
        builder_opset(&b, "ai.onnx.ml", 2);
        cast(&b, "x", "i", 7);
        pgy_onnx_node *n = builder_node(&b, "ai.onnx.ml:Imputer", "i", "f");
        builder_attr_ints(&b, n, "imputed_value_int64s", count, NUMBERS);
        cast(&b, "f", "y", 1);
        expect_y(&b, "Cast Equal Where Cast");
    }
}

static void test_lower_others__feature_vectorizer(void **state)
{
    (void)state;
    static const int64_t WHOLE[] = {3, 3}, CUT[] = {3, 2};
    model_builder b;
    node(&b, "ai.onnx.ml:FeatureVectorizer", "x x");
    expect_y(&b, "Concat");
    builder_attr_ints(&b, node(&b, "ai.onnx.ml:FeatureVectorizer", "x x"), "inputdimensions", 2,
                      WHOLE);
    expect_y(&b, "Concat");
    builder_attr_ints(&b, node(&b, "ai.onnx.ml:FeatureVectorizer", "x x"), "inputdimensions", 2,
                      CUT);
    expect_y(&b, "FeatureVectorizer");
}

static const char *const WORDS[] = {"calm", "wild", "warm", "calm"};

static void test_lower_others__label_encoder_to_texts(void **state)
{
    (void)state;
    static const float KEYS[] = {0, 1, -1, 2};
    static const int64_t VALUES[] = {7, 1, -3, 5};
    model_builder b = start("4, 3");
    builder_opset(&b, "ai.onnx.ml", 2);
    builder_node(&b, "Round", "x", "r");
    pgy_onnx_node *n = builder_node(&b, "ai.onnx.ml:LabelEncoder", "r", "t");
    builder_attr_floats(&b, n, "keys_floats", 4, KEYS);
    builder_attr_strings(&b, n, "values_strings", 4, WORDS);
    builder_attr_string(&b, n, "default_string", "wild");
    n = builder_node(&b, "ai.onnx.ml:LabelEncoder", "t", "i");
    builder_attr_strings(&b, n, "keys_strings", 4, WORDS);
    builder_attr_ints(&b, n, "values_int64s", 4, VALUES);
    cast(&b, "i", "y", 1);
    expect_y(&b, "Round LabelEncoder Gather LabelEncoder Cast");
}

/* Texts t of the places of WORDS, or another text. */
static model_builder start_texts(int64_t version)
{
    static const int64_t PLACES[] = {0, 1, -1, 2};
    model_builder b = start("4, 3");
    builder_opset(&b, "ai.onnx.ml", version);
    cast(&b, "x", "p", 7);
    pgy_onnx_node *n = builder_node(&b, "ai.onnx.ml:CategoryMapper", "p", "t");
    builder_attr_ints(&b, n, "cats_int64s", 4, PLACES);
    builder_attr_strings(&b, n, "cats_strings", 4, WORDS);
    return b;
}

static void test_lower_others__category_mapper(void **state)
{
    (void)state;
    static const int64_t NUMBERS[] = {7, 1, -3, 5};
    for (int64_t version = 1; version < 3; version++) {
        model_builder b = start_texts(version);
        pgy_onnx_node *n = builder_node(&b, "ai.onnx.ml:CategoryMapper", "t", "i");
        builder_attr_ints(&b, n, "cats_int64s", 4, NUMBERS);
        builder_attr_strings(&b, n, "cats_strings", 4, WORDS);
        builder_attr_int(&b, n, "default_int64", -9);
        cast(&b, "i", "y", 1);
        expect_y(&b, version == 1 ? "Cast CategoryMapper CategoryMapper Cast"
                                  : "Cast LabelEncoder Gather LabelEncoder Cast");
    }
}

static void add_vectorizer(model_builder *b, const char *const *pool)
{
    static const int64_t STARTS[] = {0, 2}, COLUMNS[] = {0, 2, 1};
    static const float WEIGHTS[] = {0.5F, 2, 3};
    pgy_onnx_node *n = builder_node(b, "TfIdfVectorizer", "t", "y");
    builder_attr_int(b, n, "min_gram_length", 1);
    builder_attr_int(b, n, "max_gram_length", 2);
    builder_attr_int(b, n, "max_skip_count", 1);
    builder_attr_string(b, n, "mode", "TFIDF");
    builder_attr_ints(b, n, "ngram_counts", 2, STARTS);
    builder_attr_ints(b, n, "ngram_indexes", 3, COLUMNS);
    builder_attr_floats(b, n, "weights", 3, WEIGHTS);
    builder_attr_strings(b, n, "pool_strings", 4, pool);
}

static void test_lower_others__vectorizer_of_texts(void **state)
{
    (void)state;
    static const char *const NUMBERS[] = {"0", "-1", "1", "0"};
    model_builder b = start_texts(2);
    add_vectorizer(&b, WORDS);
    expect_y(&b, "Cast LabelEncoder Gather LabelEncoder TfIdfVectorizer");
    for (int64_t version = 0; version < 3; version++) {
        b = start("4, 3");
        if (version) builder_opset(&b, "ai.onnx.ml", version);
        cast(&b, "x", "i", 7);
        cast(&b, "i", "t", 8);
        add_vectorizer(&b, NUMBERS);
        expect_y(&b, "Cast Cast LabelEncoder TfIdfVectorizer");
    }
}

static void test_lower_others__product_of_16_bits(void **state)
{
    (void)state;
    model_builder b = start("4, 3");
    builder_node(&b, "Transpose", "x", "z");
    cast(&b, "x", "l", 5);
    cast(&b, "z", "r", 5);
    builder_node(&b, "com.microsoft:MatMulInteger16", "l r", "i");
    cast(&b, "i", "y", 1);
    expect_y(&b, "Transpose Cast Cast Cast Cast MatMul Cast");
}

static void test_lower_others__transposed_convolution(void **state)
{
    (void)state;
    static const int64_t PADS[] = {1, 0, 0, 1}, STRIDES[] = {2, 1};
    for (int bias = 0; bias < 2; bias++) {
        model_builder b = start("1, 2, 5, 4");
        weights(&b, "w", "2, 3, 3, 3", 54);
        if (bias) weights(&b, "b", "3", 3);
        ints(&b, "pads", "4", PADS);
        builder_attr_ints(&b,
                          builder_node(&b, "com.microsoft:ConvTransposeWithDynamicPads",
                                       bias ? "x w pads b" : "x w pads", "y"),
                          "strides", 2, STRIDES);
        expect_y(&b, "ConvTranspose");
    }
}

static void test_lower_others__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_lower_others)) skip();
    test_lower_others__binarizer(state);
    test_lower_others__imputer(state);
    test_lower_others__imputer_of_integers(state);
    test_lower_others__feature_vectorizer(state);
    test_lower_others__label_encoder_to_texts(state);
    test_lower_others__category_mapper(state);
    test_lower_others__vectorizer_of_texts(state);
    test_lower_others__product_of_16_bits(state);
    test_lower_others__transposed_convolution(state);
    refuse_allocations_of(NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Each pattern on a small model: what the graph consists of afterwards, and that the reference
 * gives the same for both. Near misses stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/passes/pass.h"
#include "harness/pass_case.h"

/* ---- Rows of channels beside convolutions -----------------------------------------------------
 */

/* Conv, rows of channels from its image, Relu, an image of them, Conv. `pixels`: the size of the
 * second axis of rows; 20 are those of an image of 4 x 5. */
static void rows_between_convolutions(const int64_t *perm, int64_t channels, int64_t pixels,
                                      const char *nodes)
{
    const int64_t rows[3] = {2, channels, pixels}, image[4] = {2, 6, 4, 5};
    model_builder b = start("2, 3, 4, 5");
    weights(&b, "w", "6, 3, 1, 1", 18);
    weights(&b, "v", "4, 6, 1, 1", 24);
    ints(&b, "rows", "3", rows);
    ints(&b, "image", "4", image);
    builder_node(&b, "Conv", "x w", "c");
    builder_node(&b, "Reshape", "c rows", "r");
    builder_attr_ints(&b, builder_node(&b, "Transpose", "r", "t"), "perm", 3, perm);
    builder_node(&b, "Softmax", "t", "s");
    builder_attr_ints(&b, builder_node(&b, "Transpose", "s", "u"), "perm", 3, perm);
    builder_node(&b, "Reshape", "u image", "i");
    builder_node(&b, "Conv", "i v", "y");
    expect_y(&b, nodes);
}

static void test_passes__rows_of_channels_turn_beside_convolutions(void **state)
{
    (void)state;
    static const int64_t TURN[3] = {0, 2, 1}, OTHER[3] = {1, 0, 2};
    rows_between_convolutions(TURN, 6, 20, "Conv Transpose Reshape Softmax Reshape Transpose Conv");
    /* Not the image's channels, and not the image's axes. */
    rows_between_convolutions(TURN, 12, 10,
                              "Conv Reshape Transpose Softmax Transpose Reshape Conv");
    rows_between_convolutions(OTHER, 6, 20,
                              "Conv Reshape Transpose Softmax Transpose Reshape Conv");
}

/* A product of channels between Transposes; `rows`: rows of the weights, of 7 columns. */
static void product_between_transposes(bool bias, const char *bias_shape, const int64_t *back,
                                       const char *nodes)
{
    static const int64_t LAST[4] = {0, 2, 3, 1};
    model_builder b = start("2, 5, 4, 3");
    weights(&b, "w", "5, 7", 35);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "x", "t"), "perm", 4, LAST);
    builder_node(&b, "MatMul", "t w", "m");
    if (bias) weights(&b, "b", bias_shape, 7);
    if (bias) builder_node(&b, "Add", "b m", "a");
    builder_attr_ints(&b, builder_node(&b, "Transpose", bias ? "a" : "m", "y"), "perm", 4, back);
    expect_y(&b, nodes);
}

static void test_passes__a_product_of_channels_is_a_convolution(void **state)
{
    (void)state;
    static const int64_t FIRST[4] = {0, 3, 1, 2}, OTHER[4] = {0, 3, 2, 1};
    product_between_transposes(false, NULL, FIRST, "Conv");
    product_between_transposes(true, "7", FIRST, "Conv");
    product_between_transposes(true, "1, 7", FIRST, "Transpose FusedMatMul Transpose");
    product_between_transposes(true, "7", OTHER, "Transpose FusedMatMul Transpose");
}

/* ---- Batch normalisation -------------------------------------------------------------------- */

static void batch_norm(model_builder *b, const char *inputs, const char *output,
                       const char *channels, size_t count)
{
    char names[64];
    weights(b, "gamma", channels, count);
    weights(b, "beta", channels, count);
    weights(b, "mean", channels, count);
    weights_from(b, "variance", channels, count, 1.5f);
    snprintf(names, sizeof names, "%s gamma beta mean variance", inputs);
    builder_node(b, "BatchNormalization", names, output);
}

static void test_passes__batch_normalisation_goes_into_a_convolution(void **state)
{
    (void)state;
    for (int bias = 0; bias < 2; bias++) {
        model_builder b = start("2, 4, 5, 5");
        weights(&b, "w", "6, 2, 3, 3", 108);
        weights(&b, "b", "6", 6);
        pgy_onnx_node *n = builder_node(&b, "Conv", bias ? "x w b" : "x w", "c");
        builder_attr_int(&b, n, "group", 2);
        batch_norm(&b, "c", "y", "6", 6);
        expect_y(&b, "Conv");
    }
}

/* Before a convolution, whose weights cannot take it for the sake of the Relu in between. */
static void test_passes__batch_normalisation_and_relu_are_a_convolution(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"2, 6, 5, 5", "2, 6, 5"};
    for (size_t i = 0; i < 2; i++) {
        model_builder b = start(SHAPES[i]);
        batch_norm(&b, "x", "n", "6", 6);
        builder_node(&b, "Relu", "n", "y");
        expect_y(&b, "FusedConv");
    }
    model_builder b = start("2, 6, 5, 5");
    builder_attr_int(&b, builder_node(&b, "Cast", "x", "h"), "to", 10);
    batch_norm(&b, "h", "n", "6", 6);
    builder_node(&b, "Relu", "n", "r");
    builder_attr_int(&b, builder_node(&b, "Cast", "r", "y"), "to", 1);
    expect_y(&b, "Cast FusedConv Cast");
    b = start("2, 6, 5, 5");
    batch_norm(&b, "x", "n", "6", 6);
    builder_node(&b, "Sigmoid", "n", "y");
    expect_y(&b, "BatchNormalization Sigmoid");
    b = start("2, 6");
    batch_norm(&b, "x", "n", "6", 6);
    builder_node(&b, "Relu", "n", "y");
    expect_y(&b, "BatchNormalization Relu");
    b = start("2, 6, 5, 5");
    batch_norm(&b, "x", "n", "6", 6);
    builder_node(&b, "Relu", "n", "r");
    builder_node(&b, "Add", "r n", "y");
    expect_y(&b, "BatchNormalization Relu Add");
}

/* Slices of whole blocks of channels are pieces of one Split, others stay. */
static void test_passes__slices_of_channels_are_pieces(void **state)
{
    (void)state;
    static const int64_t ZERO = 0, ALL = 48;
    for (size_t i = 0; i < 3; i++) { /* pieces of 16 and 32, of 8 and 40, along the last axis */
        const int64_t cut = i == 1 ? 8 : 16, axis = i == 2 ? -1 : 1;
        model_builder b = start(i == 2 ? "1, 3, 48" : "1, 48, 3");
        ints(&b, "zero", "1", &ZERO);
        ints(&b, "cut", "1", &cut);
        ints(&b, "all", "1", &ALL);
        ints(&b, "axis", "1", &axis);
        builder_node(&b, "Slice", "x zero cut axis", "p");
        builder_node(&b, "Slice", "x cut all axis", "q");
        builder_attr_int(&b, builder_node(&b, "Concat", "q p", "y"), "axis", axis);
        expect_y(&b, i ? "Slice Slice Concat" : "Split Concat");
    }
}

static void test_passes__batch_normalisation_goes_into_a_transposed_convolution(void **state)
{
    (void)state;
    model_builder b = start("2, 4, 5, 5");
    weights(&b, "w", "4, 3, 3, 3", 108);
    builder_attr_int(&b, builder_node(&b, "ConvTranspose", "x w", "c"), "group", 2);
    batch_norm(&b, "c", "y", "6", 6);
    expect_y(&b, "ConvTranspose");
}

static void test_passes__batch_normalisation_goes_into_gemm(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        model_builder b = start("3, 4");
        weights(&b, "w", turned ? "6, 4" : "4, 6", 24);
        weights(&b, "b", "6", 6);
        builder_attr_int(&b, builder_node(&b, "Gemm", "x w b", "c"), "transB", turned);
        batch_norm(&b, "c", "y", "6", 6);
        expect_y(&b, "Gemm");
    }
}

static void test_passes__batch_normalisation_goes_into_a_product(void **state)
{
    (void)state;
    static const int64_t ROWS[] = {-1, 4};
    for (int cut = 0; cut < 2; cut++) {
        model_builder b = start(cut ? "2, 3, 5" : "6, 5");
        weights(&b, "w", "5, 4", 20);
        builder_node(&b, "MatMul", "x w", "m");
        if (cut) {
            ints(&b, "rows", "2", ROWS);
            builder_node(&b, "Reshape", "m rows", "r");
        }
        batch_norm(&b, cut ? "r" : "m", "y", "4", 4);
        expect_y(&b, cut ? "FusedMatMul Reshape" : "FusedMatMul");
    }
}

static void test_passes__arithmetic_per_channel_goes_into_a_convolution(void **state)
{
    (void)state;
    model_builder b = start("2, 4, 5, 5");
    weights(&b, "w", "6, 4, 3, 3", 216);
    weights(&b, "s", "6, 1, 1", 6);
    weights_from(&b, "t", "1, 6, 1, 1", 6, 2);
    scalar(&b, "half", 0.5f);
    builder_node(&b, "Conv", "x w", "c");
    builder_node(&b, "Mul", "s c", "m");
    builder_node(&b, "Sub", "m t", "a");
    builder_node(&b, "Div", "a half", "y");
    expect_y(&b, "Conv");
}

static void test_passes__what_is_not_per_channel_stays(void **state)
{
    (void)state;
    model_builder b = start("2, 4, 5, 5");
    weights(&b, "w", "6, 4, 3, 3", 216);
    weights(&b, "s", "3", 3);
    builder_node(&b, "Conv", "x w", "c");
    builder_node(&b, "Mul", "c s", "y");
    expect_y(&b, "Conv Mul");
}

static void test_passes__a_convolution_that_is_used_twice_stays(void **state)
{
    (void)state;
    model_builder b = start("2, 4, 5, 5");
    weights(&b, "w", "6, 4, 3, 3", 216);
    builder_node(&b, "Conv", "x w", "c");
    batch_norm(&b, "c", "n", "6", 6);
    builder_node(&b, "Relu", "c", "r");
    builder_node(&b, "Mul", "n r", "y");
    expect_y(&b, "Conv BatchNormalization Relu Mul");
}

/* ---- Convolutions --------------------------------------------------------------------------- */

static void test_passes__residual_and_activation_behind_a_convolution(void **state)
{
    (void)state;
    static const char *const ACTIVATIONS[] = {"Relu", "LeakyRelu", "Sigmoid", "Tanh",
                                              "HardSigmoid"};
    for (size_t i = 0; i < 5; i++) {
        model_builder b = start("1, 4, 5, 5");
        const int64_t pads[4] = {1, 1, 1, 1};
        weights(&b, "w", "4, 4, 3, 3", 144);
        builder_attr_ints(&b, builder_node(&b, "Conv", "x w", "c"), "pads", 4, pads);
        builder_node(&b, "Add", i % 2 ? "c x" : "x c", "a");
        builder_node(&b, ACTIVATIONS[i], "a", "y");
        expect_y(&b, "FusedConv");
    }
}

static pgy_onnx_node *own_node(model_builder *b, const char *op, const char *in, const char *out)
{
    pgy_onnx_node *n = builder_node(b, op, in, out);
    n->domain = "com.microsoft";
    return n;
}

static void test_passes__activations_of_the_domain_pgy_behind_a_convolution(void **state)
{
    (void)state;
    static const char *const ACTIVATIONS[] = {"HardSwish", "Gelu", "FastGelu", "QuickGelu"};
    for (size_t i = 0; i < 4; i++) {
        model_builder b = start("1, 4, 5, 5");
        builder_opset(&b, "com.microsoft", 1);
        weights(&b, "w", "4, 4, 3, 3", 144);
        builder_node(&b, "Conv", "x w", "c");
        pgy_onnx_node *f =
            i ? own_node(&b, ACTIVATIONS[i], "c", "y") : builder_node(&b, ACTIVATIONS[i], "c", "y");
        if (i == 3) builder_attr_float(&b, f, "alpha", 1);
        expect_y(&b, "FusedConv");
    }
}

static void test_passes__swish_of_another_slope_stays_behind_a_convolution(void **state)
{
    (void)state;
    model_builder b = start("1, 4, 5, 5");
    builder_opset(&b, "com.microsoft", 1);
    weights(&b, "w", "4, 4, 3, 3", 144);
    builder_node(&b, "Conv", "x w", "c");
    own_node(&b, "QuickGelu", "c", "y");
    expect_y(&b, "Conv QuickGelu");
}

static void test_passes__clip_behind_a_convolution(void **state)
{
    (void)state;
    model_builder b = start("1, 4, 5, 5");
    weights(&b, "w", "4, 4, 3, 3", 144);
    scalar(&b, "low", -1);
    scalar(&b, "high", 6);
    builder_node(&b, "Conv", "x w", "c");
    builder_node(&b, "Clip", "c low high", "y");
    expect_y(&b, "FusedConv");
}

static void test_passes__zeros_around_an_image_become_pads(void **state)
{
    (void)state;
    for (int form = 0; form < 3; form++) {
        model_builder b = start("1, 4, 5, 5");
        const int64_t pads[8] = {0, form == 1, 1, 2, 0, 0, 0, 1}, own[4] = {1, 0, 1, 0};
        ints(&b, "pads", "8", pads);
        scalar(&b, "value", form == 2 ? 0.5f : 0);
        weights(&b, "w", form == 1 ? "4, 5, 3, 3" : "4, 4, 3, 3", form == 1 ? 180 : 144);
        builder_node(&b, "Pad", "x pads value", "p");
        builder_attr_ints(&b, builder_node(&b, "Conv", "p w", "y"), "pads", 4, own);
        expect_y(&b, form ? "Pad Conv" : "Conv");
    }
}

static void test_passes__zeros_become_pads_of_valid_but_not_of_same(void **state)
{
    (void)state;
    static const char *const WAYS[] = {"NOTSET", "VALID", "SAME_UPPER"};
    for (int way = 0; way < 3; way++) {
        model_builder b = start("1, 4, 5, 5");
        const int64_t pads[8] = {0, 0, 1, 0, 0, 0, 2, 1};
        ints(&b, "pads", "8", pads);
        weights(&b, "w", "4, 4, 3, 3", 144);
        builder_node(&b, "Pad", "x pads", "p");
        builder_attr_string(&b, builder_node(&b, "Conv", "p w", "y"), "auto_pad", WAYS[way]);
        expect_y(&b, way == 2 ? "Pad Conv" : "Conv");
    }
}

static void test_passes__an_addition_that_broadcasts_stays(void **state)
{
    (void)state;
    model_builder b = start("1, 4, 5, 5");
    builder_input(&b, "z", PGY_F32, "1, 4, 1, 1");
    weights(&b, "w", "4, 4, 1, 1", 16);
    builder_node(&b, "Conv", "x w", "c");
    builder_node(&b, "Add", "c z", "y");
    expect_y(&b, "Conv Add");
}

/* ---- Activations ---------------------------------------------------------------------------- */

static model_builder start_gelu(void)
{
    model_builder b = start("3, 7");
    scalar(&b, "half", 0.5f);
    scalar(&b, "one", 1);
    scalar(&b, "two", 2);
    scalar(&b, "three", 3);
    scalar(&b, "root", 1.41421356f);
    scalar(&b, "root_half", 0.70710678f);
    scalar(&b, "cubic", 0.044715f);
    scalar(&b, "pi", 0.79788456f);
    return b;
}

static void test_passes__gelu_with_erf(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        model_builder b = start_gelu();
        builder_node(&b, form % 2 ? "Mul" : "Div", form % 2 ? "root_half x" : "x root", "u");
        builder_node(&b, "Erf", "u", "e");
        builder_node(&b, "Add", form % 2 ? "one e" : "e one", "a");
        if (form == 0) {
            builder_node(&b, "Mul", "x a", "m");
            builder_node(&b, "Mul", "m half", "y");
        } else if (form == 1) {
            builder_node(&b, "Mul", "half x", "m");
            builder_node(&b, "Mul", "a m", "y");
        } else if (form == 2) {
            builder_node(&b, "Div", "a two", "m");
            builder_node(&b, "Mul", "m x", "y");
        } else {
            builder_node(&b, "Mul", "a x", "m");
            builder_node(&b, "Div", "m two", "y");
        }
        expect_y(&b, "Gelu");
    }
}

static void test_passes__gelu_with_tanh(void **state)
{
    (void)state;
    for (int form = 0; form < 3; form++) {
        model_builder b = start_gelu();
        if (form == 0) {
            builder_node(&b, "Pow", "x three", "p");
            builder_node(&b, "Mul", "p cubic", "q");
            builder_node(&b, "Add", "x q", "s");
            builder_node(&b, "Mul", "s pi", "u");
        } else if (form == 1) {
            builder_node(&b, "Mul", "x x", "p");
            builder_node(&b, "Mul", "p x", "r");
            builder_node(&b, "Mul", "cubic r", "q");
            builder_node(&b, "Add", "q x", "s");
            builder_node(&b, "Mul", "pi s", "u");
        } else {
            builder_node(&b, "Mul", "x cubic", "p");
            builder_node(&b, "Mul", "p x", "q");
            builder_node(&b, "Add", "q one", "s");
            builder_node(&b, "Mul", "x pi", "v");
            builder_node(&b, "Mul", "v s", "u");
        }
        builder_node(&b, "Tanh", "u", "e");
        builder_node(&b, "Add", "e one", "a");
        builder_node(&b, "Mul", "x a", "m");
        builder_node(&b, "Mul", "m half", "y");
        expect_y(&b, "Gelu");
    }
}

static void test_passes__what_is_nearly_gelu_stays(void **state)
{
    (void)state;
    model_builder b = start_gelu();
    scalar(&b, "other", 0.6f);
    builder_node(&b, "Mul", "x other", "u");
    builder_node(&b, "Erf", "u", "e");
    builder_node(&b, "Add", "e one", "a");
    builder_node(&b, "Mul", "x a", "m");
    builder_node(&b, "Mul", "m half", "y");
    expect_y(&b, "Mul Erf Add Mul Mul");
    b = start_gelu(); /* an intermediate is an output */
    builder_node(&b, "Div", "x root", "u");
    builder_node(&b, "Erf", "u", "e");
    builder_node(&b, "Add", "e one", "a");
    builder_node(&b, "Mul", "x a", "m");
    builder_node(&b, "Mul", "m half", "y");
    builder_output(&b, "a", PGY_F32, NULL);
    expect_y(&b, "Div Erf Add Mul Mul");
}

static void test_passes__products_with_a_sigmoid(void **state)
{
    (void)state;
    model_builder b = start_gelu();
    builder_node(&b, "Sigmoid", "x", "s");
    builder_node(&b, "Mul", "x s", "y");
    expect_y(&b, "QuickGelu");
    b = start_gelu();
    builder_node(&b, "Mul", "x two", "u");
    builder_node(&b, "Sigmoid", "u", "s");
    builder_node(&b, "Mul", "s x", "y");
    expect_y(&b, "QuickGelu");
    b = start_gelu();
    builder_attr_float(&b, builder_node(&b, "HardSigmoid", "x", "s"), "alpha", 1.0f / 6);
    builder_node(&b, "Mul", "s x", "y");
    expect_y(&b, "HardSwish");
    b = start_gelu();
    builder_node(&b, "Softplus", "x", "s");
    builder_node(&b, "Tanh", "s", "t");
    builder_node(&b, "Mul", "x t", "y");
    expect_y(&b, "Mish");
    b = start_gelu(); /* of something else */
    builder_node(&b, "Neg", "x", "u");
    builder_node(&b, "Sigmoid", "u", "s");
    builder_node(&b, "Mul", "x s", "y");
    expect_y(&b, "Neg Sigmoid Mul");
}

static void test_passes__hard_swish_with_clip(void **state)
{
    (void)state;
    model_builder b = start_gelu();
    scalar(&b, "zero", 0);
    scalar(&b, "six", 6);
    builder_node(&b, "Add", "x three", "a");
    builder_node(&b, "Clip", "a zero six", "c");
    builder_node(&b, "Mul", "x c", "m");
    builder_node(&b, "Div", "m six", "y");
    expect_y(&b, "HardSwish");
}

/* ---- Normalisations ------------------------------------------------------------------------- */

/* form: bit 0: a product instead of a power; bit 1: the inverse root instead of the quotient. */
static void normalise(model_builder *b, const char *x, int form, int64_t axis)
{
    char pair[16];
    scalar(b, "epsilon", 1e-5f);
    scalar(b, "square", 2);
    snprintf(pair, sizeof pair, form & 1 ? "%s %s" : "%s square", x, x);
    builder_node(b, form & 1 ? "Mul" : "Pow", pair, "sq");
    node_ints(b, builder_node(b, "ReduceMean", "sq", "var"), "axes", axis);
    builder_node(b, "Add", "var epsilon", "e");
    builder_node(b, "Sqrt", "e", "root");
    if (form & 2) {
        builder_node(b, "Reciprocal", "root", "inv");
        snprintf(pair, sizeof pair, "%s inv", x);
    } else {
        snprintf(pair, sizeof pair, "%s root", x);
    }
    builder_node(b, form & 2 ? "Mul" : "Div", pair, "n");
}

static void test_passes__layer_normalisation(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        model_builder b = start("2, 3, 8");
        weights(&b, "g", form & 4 ? "1, 1, 8" : "8", 8);
        weights(&b, "b", "8", 8);
        node_ints(&b, builder_node(&b, "ReduceMean", "x", "m"), "axes", form & 1 ? 2 : -1);
        builder_node(&b, "Sub", "x m", "d");
        normalise(&b, "d", form, -1);
        builder_node(&b, "Mul", form & 4 ? "g n" : "n g", "s");
        builder_node(&b, "Add", "s b", "y");
        expect_y(&b, "LayerNormalization");
    }
}

static void test_passes__layer_normalisation_without_weights(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 8");
    node_ints(&b, builder_node(&b, "ReduceMean", "x", "m"), "axes", -1);
    builder_node(&b, "Sub", "x m", "d");
    normalise(&b, "d", 0, -1);
    builder_node(&b, "Neg", "n", "y");
    expect_y(&b, "LayerNormalization Neg");
}

static void test_passes__normalisation_of_other_axes_stays(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 8");
    node_ints(&b, builder_node(&b, "ReduceMean", "x", "m"), "axes", 1);
    builder_node(&b, "Sub", "x m", "d");
    normalise(&b, "d", 0, 1);
    builder_node(&b, "Neg", "n", "y");
    expect_y(&b, "ReduceMean Sub Pow ReduceMean Add Sqrt Div Neg");
}

static void test_passes__root_mean_square_normalisation(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        model_builder b = start("2, 3, 8");
        weights(&b, "g", "8", 8);
        normalise(&b, "x", form, -1);
        builder_node(&b, "Mul", "g n", "y");
        expect_y(&b, "RMSNormalization");
    }
}

static void test_passes__layer_normalisation_of_a_sum(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        model_builder b = start("N, 3, 8");
        builder_input(&b, "z", PGY_F32, "N, 3, 8");
        weights(&b, "g", "8", 8);
        weights(&b, "b", "8", 8);
        builder_node(&b, "Add", "x z", "a");
        builder_node(&b, "LayerNormalization", "a g b", "y");
        if (shared) builder_output(&b, "a", PGY_F32, NULL);
        expect_y(&b, "SkipLayerNormalization");
    }
    model_builder b = start("3, 8"); /* of another rank */
    builder_input(&b, "z", PGY_F32, "3, 8");
    weights(&b, "g", "8", 8);
    builder_node(&b, "Add", "x z", "a");
    builder_node(&b, "LayerNormalization", "a g", "y");
    expect_y(&b, "Add LayerNormalization");
}

static void test_passes__group_normalisation(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        model_builder b = start("2, 6, 5, 5");
        const int64_t groups[3] = {0, 3, -1}, whole[4] = {2, 6, 5, 5};
        const float ones[3] = {1, 1, 1}, shifted[3] = {0, 0, form ? 1 : 0};
        ints(&b, "groups", "3", groups);
        ints(&b, "whole", "4", whole);
        builder_floats(&b, "ones", "3", ones);
        builder_floats(&b, "zeros", "3", shifted);
        weights(&b, "g", "6, 1, 1", 6);
        weights(&b, "b", "6, 1, 1", 6);
        builder_node(&b, "Reshape", "x groups", "r");
        builder_node(&b, "InstanceNormalization", "r ones zeros", "i");
        builder_node(&b, "Reshape", "i whole", "w");
        builder_node(&b, "Mul", "w g", "m");
        builder_node(&b, "Add", "m b", "y");
        expect_y(&b, form ? "Reshape InstanceNormalization Reshape Mul Add" : "GroupNormalization");
    }
}

/* ---- Products ------------------------------------------------------------------------------- */

static void test_passes__what_stands_behind_a_product(void **state)
{
    (void)state;
    static const char *const ACTIVATIONS[] = {"Relu", "Sigmoid", "Tanh", NULL};
    for (size_t i = 0; i < 4; i++) {
        model_builder b = start("N, 3, 8");
        builder_input(&b, "z", PGY_F32, "N, 3, 5");
        weights(&b, "w", "8, 5", 40);
        weights(&b, "b", "1, 1, 5", 5);
        scalar(&b, "half", 0.5f);
        builder_node(&b, "MatMul", "x w", "m");
        builder_node(&b, "Mul", "half m", "s");
        builder_node(&b, "Add", "b s", "a");
        builder_node(&b, "Add", "a z", ACTIVATIONS[i] ? "r" : "y");
        if (ACTIVATIONS[i]) builder_node(&b, ACTIVATIONS[i], "r", "y");
        expect_y(&b, "FusedMatMul");
    }
}

static void test_passes__what_stands_before_a_product(void **state)
{
    (void)state;
    const int64_t swap[4] = {0, 1, 3, 2}, heads[4] = {0, 2, 3, 1};
    for (int form = 0; form < 2; form++) {
        model_builder b = start("2, 3, 4, 8");
        builder_input(&b, "z", PGY_F32, form ? "2, 5, 3, 8" : "2, 3, 5, 8");
        scalar(&b, "root", 1.5f);
        builder_node(&b, "Mul", "x root", "q");
        builder_attr_ints(&b, builder_node(&b, "Transpose", "z", "t"), "perm", 4,
                          form ? heads : swap);
        builder_node(&b, "Div", "t root", "k");
        builder_node(&b, "MatMul", "q k", "y");
        expect_y(&b, form ? "Transpose FusedMatMul" : "FusedMatMul");
    }
}

static void test_passes__gemm_between_reshapes(void **state)
{
    (void)state;
    const int64_t rows[2] = {-1, 8}, back[3] = {-1, 3, 5};
    for (int form = 0; form < 2; form++) {
        model_builder b = start(form ? "N, 3, 2, 4" : "N, 3, 8");
        ints(&b, "rows", "2", rows);
        ints(&b, "back", "3", back);
        weights(&b, "w", "8, 5", 40);
        weights(&b, "b", "5", 5);
        builder_node(&b, "Reshape", "x rows", "r");
        builder_node(&b, "Gemm", "r w b", "g");
        builder_node(&b, "Reshape", "g back", "s");
        builder_node(&b, "Relu", "s", "y");
        expect_y(&b, form ? "Reshape FusedMatMul" : "FusedMatMul");
    }
}

static void test_passes__a_product_that_is_an_output_stays(void **state)
{
    (void)state;
    model_builder b = start("3, 8");
    weights(&b, "w", "8, 5", 40);
    weights(&b, "b", "5", 5);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "Add", "m b", "y");
    builder_output(&b, "m", PGY_F32, NULL);
    expect_y(&b, "MatMul Add");
}

/* ---- Transposes ----------------------------------------------------------------------------- */

static void test_passes__a_transpose_of_small_axes_is_a_view(void **state)
{
    (void)state;
    const int64_t perm[3] = {1, 0, 2};
    for (int form = 0; form < 2; form++) {
        model_builder b = start(form ? "2, N, 4" : "1, N, 4");
        builder_attr_ints(&b, builder_node(&b, "Transpose", "x", "t"), "perm", 3, perm);
        builder_node(&b, "Relu", "t", "y");
        expect_y(&b, form ? "Transpose Relu" : "Reshape Relu");
    }
}

static void test_passes__transposes_around_an_activation_meet(void **state)
{
    (void)state;
    const int64_t there[3] = {1, 2, 0}, back[3] = {2, 0, 1};
    model_builder b = start("2, 3, 4");
    scalar(&b, "two", 2);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "x", "t"), "perm", 3, there);
    builder_node(&b, "Sub", "two t", "s");
    builder_node(&b, "Relu", "s", "r");
    builder_attr_ints(&b, builder_node(&b, "Transpose", "r", "y"), "perm", 3, back);
    expect_y(&b, "Sub Relu");
}

/* ---- Functions ------------------------------------------------------------------------------ */

/* f(a, b) = (LeakyRelu(a), b if there is one); g calls f twice; names are those of the model too.
 */
static model_builder start_functions(void)
{
    model_builder b = start("3, 8");
    builder_opset(&b, "own", 1);
    model_builder f = builder_function(&b, "own", "f", "x", "y", "slope");
    builder_attr_ref(&f, builder_node(&f, "LeakyRelu", "x", "h"), "alpha", PGY_ATTR_FLOAT, "slope");
    builder_node(&f, "Exp", "h", "y");
    builder_end_function(&f);
    model_builder g = builder_function(&b, "own", "g", "a limit", "y a", "");
    pgy_onnx_node *n = builder_node(&g, "f", "a", "t");
    n->domain = "own";
    builder_attr_float(&g, n, "slope", 0.25f);
    n = builder_node(&g, "f", "t", "u");
    n->domain = "own";
    builder_attr_float(&g, n, "slope", 0.5f);
    builder_node(&g, "Clip", "u - limit", "y");
    builder_end_function(&g);
    return b;
}

static void test_passes__calls_give_way_to_bodies(void **state)
{
    (void)state;
    model_builder b = start_functions();
    scalar(&b, "h", 3);
    pgy_onnx_node *n = builder_node(&b, "g", "x h", "first same");
    n->domain = "own";
    n = builder_node(&b, "g", "same", "second -"); /* without a limit */
    n->domain = "own";
    builder_node(&b, "Sub", "first second", "y");
    expect_y(&b, "LeakyRelu Exp LeakyRelu Exp Clip Clip Sub");
}

static void test_passes__outputs_of_calls_keep_their_names(void **state)
{
    (void)state;
    model_builder b = start_functions();
    pgy_onnx_node *n = builder_node(&b, "g", "x", "y same");
    n->domain = "own";
    builder_output(&b, "same", PGY_F32, NULL);
    expect_y(&b, "LeakyRelu Exp LeakyRelu Exp Clip Identity");
}

static void test_passes__functions_with_branches(void **state)
{
    (void)state;
    model_builder b = start("3, 8");
    builder_opset(&b, "own", 1);
    model_builder f = builder_function(&b, "own", "f", "c v", "y", "slope");
    model_builder then = builder_subgraph(&b, "then"), other = builder_subgraph(&b, "else");
    builder_attr_ref(&then, builder_node(&then, "LeakyRelu", "v", "t"), "alpha", PGY_ATTR_FLOAT,
                     "slope");
    builder_output(&then, "t", PGY_F32, NULL);
    builder_node(&other, "Neg", "w", "e");
    builder_output(&other, "e", PGY_F32, NULL);
    builder_node(&f, "Exp", "v", "w");
    pgy_onnx_node *n = builder_node(&f, "If", "c", "y");
    builder_attr_graph(&f, n, "then_branch", &then);
    builder_attr_graph(&f, n, "else_branch", &other);
    builder_end_function(&f);
    scalar(&b, "zero", 0);
    n = builder_node(&b, "ReduceSum", "x", "s");
    builder_attr_int(&b, n, "keepdims", 0);
    builder_node(&b, "Greater", "s zero", "c");
    n = builder_node(&b, "f", "c x", "y");
    n->domain = "own";
    builder_attr_float(&b, n, "slope", 0.25f);
    expect_y(&b, "ReduceSum Greater Exp If");
}

/* ---- All of them ---------------------------------------------------------------------------- */

static void test_passes__subgraphs_are_rewritten_too(void **state)
{
    (void)state;
    model_builder b = start("3, 8");
    builder_input(&b, "c", PGY_F32, "");
    weights(&b, "w", "8, 5", 40);
    weights(&b, "b", "5", 5);
    model_builder then = builder_subgraph(&b, "then"), other = builder_subgraph(&b, "else");
    builder_node(&then, "MatMul", "x w", "m");
    builder_node(&then, "Add", "m b", "t");
    builder_output(&then, "t", PGY_F32, NULL);
    builder_node(&other, "MatMul", "h w", "e");
    builder_output(&other, "e", PGY_F32, NULL);
    builder_node(&b, "Neg", "x", "h");
    builder_attr_int(&b, builder_node(&b, "Cast", "c", "test"), "to", 9);
    pgy_onnx_node *n = builder_node(&b, "If", "test", "y");
    builder_attr_graph(&b, n, "then_branch", &then);
    builder_attr_graph(&b, n, "else_branch", &other);
    expect_y(&b, "Neg Cast If");
}

static void test_passes__each_can_be_switched_off(void **state)
{
    (void)state;
    model_builder b = start("3, 8");
    weights(&b, "w", "8, 5", 40);
    weights(&b, "b", "5", 5);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "Add", "m b", "y");
    setenv("POLYGRAPHY_PASSES", "-fuse_gelu,-fuse_matmul", 1);
    expect_y(&b, "MatMul Add");
    unsetenv("POLYGRAPHY_PASSES");
}

static void test_passes__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_move_transposes)) skip();
    test_passes__rows_of_channels_turn_beside_convolutions(state);
    test_passes__a_product_of_channels_is_a_convolution(state);
    test_passes__a_transpose_of_small_axes_is_a_view(state);
    refuse_allocations_of(&PASS_fuse_group_norm);
    test_passes__group_normalisation(state);
    refuse_allocations_of(&PASS_fuse_matmul);
    test_passes__what_stands_before_a_product(state);
    test_passes__gemm_between_reshapes(state);
    refuse_allocations_of(&PASS_fold_batch_norm);
    test_passes__batch_normalisation_goes_into_a_product(state);
    refuse_allocations_of(NULL);
}

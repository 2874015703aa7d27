/* SPDX-License-Identifier: Apache-2.0 */
/* Folding of what is beside convolutions and products into them: numbers, names, and what must
 * stay. Golden numbers are NumPy's, with every step in the type of the weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/transform.h>

#include "base/alloc.h"
#include "harness/fold_case.h"

/* ---- Helpers -------------------------------------------------------------------------------- */

/* x [N, 2, 3, 3] and a weight [2, 2, 1, 1]. */
static model_builder conv_model(const float *weight)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 2, 3, 3");
    builder_floats(&b, "w", "2, 2, 1, 1", weight);
    return b;
}

static void end(model_builder *b, const char *output)
{
    builder_output(b, output, PGY_F32, NULL);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

static void test_fold_channels__mul_then_add(void **state)
{
    (void)state;
    const float w[] = {1, 2, 3, 4}, c[] = {10, 20}, d[] = {1, -1};
    model_builder b = conv_model(w);
    builder_floats(&b, "c", "2, 1, 1", c);
    builder_floats(&b, "d", "1, 2, 1, 1", d);
    builder_node(&b, "Conv", "x w", "p");
    builder_node(&b, "Mul", "p c", "q");
    builder_node(&b, "Add", "d q", "y");
    builder_node(&b, "Relu", "y", "z");
    builder_output(&b, "y", PGY_F32, NULL);
    end(&b, "z");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "Conv Relu");
    expect_input(g, 0, 1, 16, (float[]){10, 20, 60, 80});
    expect_input(g, 0, 2, 8, d);
    assert_string_equal(g->nodes[0]->name, "n0");
    assert_string_equal(g->nodes[0]->inputs[1]->name, "w");
    assert_string_equal(g->nodes[0]->outputs[0]->name, "y");
    assert_int_equal(g->initializer_count, 2);
    pgy_graph_destroy(g);
}

static void test_fold_channels__div_then_sub(void **state)
{
    (void)state;
    const float w[] = {1, 2, 3, 4}, e[] = {5, 7}, c = 4, d[] = {1, -1};
    model_builder b = conv_model(w);
    builder_floats(&b, "e", "2", e);
    builder_floats(&b, "c", "", &c);
    builder_floats(&b, "d", "2, 1, 1", d);
    builder_node(&b, "Conv", "x w e", "p");
    builder_node(&b, "Div", "p c", "q");
    builder_node(&b, "Sub", "q d", "y");
    end(&b, "y");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "Conv");
    expect_input(g, 0, 1, 16, (float[]){0.25F, 0.5F, 0.75F, 1});
    expect_input(g, 0, 2, 8, (float[]){0.25F, 2.75F});
    assert_string_equal(g->nodes[0]->inputs[2]->name, "e");
    pgy_graph_destroy(g);
}

/* Rounded once instead of after every step, all of these would be other numbers. */
static void test_fold_channels__batch_norm_steps_are_rounded(void **state)
{
    (void)state;
    const float w[] = {1.94F, 0.51F, 1.8F, 0.44F}, g1[] = {1.22F, 0.9F}, b1[] = {1.33F, 0.49F},
                m[] = {0.46F, 1.59F}, v[] = {1.6F, 1.23F}, e[] = {2.03F, 1.35F};
    const float weight[] = {0x1.df0154p+0F, 0x1.f7b236p-2F, 0x1.75f05cp+0F, 0x1.6da11p-2F};
    const float shifts[2][2] = {{0x1.c5cd8cp-1F, -0x1.99bed4p-1F}, {0x1.6c1074p+1F, 0x1.2e537p-2F}};
    for (size_t biased = 0; biased < 2; biased++) {
        model_builder b = conv_model(w);
        builder_floats(&b, "e", "2", e);
        builder_floats(&b, "g", "2", g1);
        builder_floats(&b, "b", "2", b1);
        builder_floats(&b, "m", "2", m);
        builder_floats(&b, "v", "2", v);
        builder_node(&b, "Conv", biased ? "x w e" : "x w", "p");
        builder_node(&b, "BatchNormalization", "p g b m v", "y");
        end(&b, "y");
        pgy_graph *g = fold_with(&b, NULL);
        expect_nodes(g, "Conv");
        expect_input(g, 0, 1, sizeof weight, weight);
        expect_input(g, 0, 2, 8, shifts[biased]);
        pgy_graph_destroy(g);
    }
}

/* Channel o * groups: the second group's scales are the last two. */
static void test_fold_channels__transposed_groups(void **state)
{
    (void)state;
    const float w[] = {1, 2, 3, 4, 5, 6, 7, 8}, c[] = {10, 100, 1000, 10000};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 4, 3");
    builder_floats(&b, "w", "4, 2, 1", w);
    builder_floats(&b, "c", "4, 1", c);
    builder_attr_int(&b, builder_node(&b, "ConvTranspose", "x w", "p"), "group", 2);
    builder_node(&b, "Mul", "p c", "y");
    end(&b, "y");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "ConvTranspose");
    expect_input(g, 0, 1, 32, (float[]){10, 200, 30, 400, 5000, 60000, 7000, 80000});
    assert_int_equal(g->nodes[0]->input_count, 2);
    pgy_graph_destroy(g);
}

static void test_fold_channels__gemm_columns(void **state)
{
    (void)state;
    const float w[] = {1, 2, 3, 4}, c[] = {10, 100};
    const float wanted[2][4] = {{10, 200, 30, 400}, {10, 20, 300, 400}};
    for (int64_t turned = 0; turned < 2; turned++) {
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, "N, 2");
        builder_floats(&b, "w", "2, 2", w);
        builder_floats(&b, "c", "2", c);
        builder_attr_int(&b, builder_node(&b, "Gemm", "x w", "p"), "transB", turned);
        builder_node(&b, "Mul", "c p", "q");
        builder_node(&b, "Add", "q c", "y");
        end(&b, "y");
        pgy_graph *g = fold_with(&b, NULL);
        expect_nodes(g, "Gemm");
        expect_input(g, 0, 1, 16, wanted[turned]);
        expect_input(g, 0, 2, 8, c);
        pgy_graph_destroy(g);
    }
}

/* Behind a Reshape that takes the columns apart, numbers stand in the order of the columns. */
static void test_fold_channels__gemm_columns_taken_apart(void **state)
{
    (void)state;
    const float w[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, c[] = {10, 100}, e[6] = {0};
    const float d[] = {1, 2, 3, 4, 5, 6};
    const int64_t shape[] = {-1, 2, 3};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 2");
    builder_floats(&b, "w", "2, 6", w);
    builder_floats(&b, "e", "6", e);
    builder_floats(&b, "c", "1, 2, 1", c);
    builder_floats(&b, "d", "2, 3", d);
    builder_ints(&b, "shape", "3", shape);
    builder_node(&b, "Gemm", "x w e", "p");
    builder_node(&b, "Reshape", "p shape", "q");
    builder_node(&b, "Mul", "c q", "r");
    builder_node(&b, "Sub", "r d", "y");
    end(&b, "y");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "Gemm Reshape");
    expect_input(g, 0, 1, 48, (float[]){10, 20, 30, 400, 500, 600, 70, 80, 90, 1000, 1100, 1200});
    expect_input(g, 0, 2, 24, (float[]){-1, -2, -3, -4, -5, -6});
    assert_string_equal(g->nodes[1]->outputs[0]->name, "y");
    pgy_graph_destroy(g);
}

/* Numbers for rows, for parts of columns that go over the end of a row, and a divisor. */
static void test_fold_channels__gemm_rows_taken_apart_stay(void **state)
{
    (void)state;
    static const struct {
        const char *op, *constant, *inputs;
        int64_t sizes[3];
    } CASES[] = {
        {"Mul", "2, 1, 1", "q c", {2, 2, 3}},
        {"Mul", "4", "q c", {3, 1, 4}},
        {"Div", "2, 3", "c q", {-1, 2, 3}},
        {"Add", "2, 2, 3", "q c", {-1, 2, 3}},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char wanted[32];
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, "2, 2");
        builder_floats(&b, "w", "2, 6", NULL);
        builder_floats(&b, "c", CASES[i].constant, (float[]){2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5});
        builder_ints(&b, "shape", "3", CASES[i].sizes);
        builder_node(&b, "Gemm", "x w", "p");
        builder_node(&b, "Reshape", "p shape", "q");
        builder_node(&b, CASES[i].op, CASES[i].inputs, "y");
        end(&b, "y");
        snprintf(wanted, sizeof wanted, "Gemm Reshape %s", CASES[i].op);
        expect_folded(&b, wanted);
    }
}

static void add_halves(model_builder *b, const char *name, size_t rank, const uint16_t *values)
{
    const int64_t shape[] = {2, 1, 1, 1};
    pgy_tensor *t = NULL;
    if (pgy_tensor_create(&t, PGY_F16, rank, shape, NULL)) fail();
    memcpy(pgy_tensor_data(t), values, 4);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
}

static void test_fold_channels__float16(void **state)
{
    (void)state;
    const uint16_t w[] = {0x2fdf, 0xc491}, c[] = {0x3ecd, 0x34cd}, e[] = {0x2f0a, 0x429a};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F16, "1, 1, 2, 2");
    add_halves(&b, "w", 4, w);
    add_halves(&b, "c", 3, c);
    add_halves(&b, "e", 1, e);
    builder_node(&b, "Conv", "x w e", "p");
    builder_node(&b, "Mul", "p c", "y");
    builder_output(&b, "y", PGY_F16, NULL);
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "Conv");
    expect_input(g, 0, 1, 4, (uint16_t[]){0x32b1, 0xbd7b});
    expect_input(g, 0, 2, 4, (uint16_t[]){0x31fc, 0x3bec});
    pgy_graph_destroy(g);
}

/* A bias that others use stays for them. */
static void test_fold_channels__shared_bias(void **state)
{
    (void)state;
    const float w[] = {1, 2, 3, 4}, v[] = {5, 6, 7, 8}, e[] = {1, 2}, c = 3;
    model_builder b = conv_model(w);
    builder_floats(&b, "v", "2, 2, 1, 1", v);
    builder_floats(&b, "e", "2", e);
    builder_floats(&b, "c", "", &c);
    builder_node(&b, "Conv", "x w e", "p");
    builder_node(&b, "Conv", "p v e", "q");
    builder_node(&b, "Mul", "q c", "y");
    end(&b, "y");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "Conv Conv");
    expect_input(g, 0, 2, 8, e);
    expect_input(g, 1, 2, 8, (float[]){3, 6});
    pgy_graph_destroy(g);
}

/* The weight is of the outer graph, the convolution in a branch. */
static void test_fold_channels__branches(void **state)
{
    (void)state;
    const float w[] = {1, 2, 3, 4}, c = 3;
    model_builder b = conv_model(w);
    builder_input(&b, "on", PGY_BOOL, "");
    builder_floats(&b, "c", "", &c);
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Conv", "x w", "p");
    builder_node(&yes, "Mul", "p c", "q");
    end(&yes, "q");
    builder_node(&no, "Neg", "x", "r");
    end(&no, "r");
    pgy_onnx_node *n = builder_node(&b, "If", "on", "y");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    end(&b, "y");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g->nodes[0]->subgraphs[0], "Conv");
    expect_input(g->nodes[0]->subgraphs[0], 0, 1, 16, (float[]){3, 6, 9, 12});
    assert_string_equal(g->nodes[0]->subgraphs[0]->outputs[0]->name, "q");
    pgy_graph_destroy(g);
}

/* ---- Products and pads ---------------------------------------------------------------------- */

static void test_fold_channels__product_and_bias_are_gemm(void **state)
{
    (void)state;
    static const struct {
        const char *input, *bias, *sum, *nodes;
    } CASES[] = {
        {"N, 4", "3", "p c", "Gemm"},          {"N, 4", "1, 3", "c p", "Gemm"},
        {"N, 4", "2, 3", "p c", "MatMul Add"}, /* no bias */
        {"2, N, 4", "3", "p c", "MatMul Add"}, /* no matrix */
        {"N, 4", "3", "p p", "MatMul Add"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const float c[] = {1, 2, 3, 4, 5, 6};
        model_builder b = builder_start(13);
        builder_input(&b, "x", PGY_F32, CASES[i].input);
        builder_floats(&b, "w", "4, 3", NULL);
        builder_floats(&b, "c", CASES[i].bias, c);
        builder_node(&b, "MatMul", "x w", "p");
        builder_node(&b, "Add", CASES[i].sum, "y");
        end(&b, "y");
        expect_folded(&b, CASES[i].nodes);
    }
}

/* The bias is in the Gemm first, then it is scaled with the weights. */
static void test_fold_channels__gemm_takes_what_follows(void **state)
{
    (void)state;
    const float w[] = {1, 2, 3, 4}, c[] = {1, 2}, d = 10;
    model_builder b = builder_start(13);
    builder_input(&b, "x", PGY_F32, "N, 2");
    builder_floats(&b, "w", "2, 2", w);
    builder_floats(&b, "c", "2", c);
    builder_floats(&b, "d", "", &d);
    builder_node(&b, "MatMul", "x w", "p");
    builder_node(&b, "Add", "p c", "q");
    builder_node(&b, "Mul", "q d", "y");
    end(&b, "y");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "Gemm");
    expect_input(g, 0, 1, 16, (float[]){10, 20, 30, 40});
    expect_input(g, 0, 2, 8, (float[]){10, 20});
    pgy_graph_destroy(g);
}

static void test_fold_channels__pads_of_zeros(void **state)
{
    (void)state;
    const int64_t pads[] = {0, 0, 1, 2, 0, 0, 3, 4}, own[] = {1, 1, 1, 1};
    for (int one = 0; one < 2; one++) {
        const float value = (float)one;
        model_builder b = conv_model(NULL);
        builder_ints(&b, "pads", "8", pads);
        builder_floats(&b, "value", "", &value);
        builder_node(&b, "Pad", "x pads value", "p");
        builder_attr_ints(&b, builder_node(&b, "Conv", "p w", "y"), "pads", 4, own);
        end(&b, "y");
        pgy_graph *g = fold_with(&b, NULL);
        expect_nodes(g, one ? "Pad Conv" : "Conv");
        const pgy_onnx_attribute *a = NULL;
        const pgy_node *conv = g->nodes[g->node_count - 1];
        for (size_t i = 0; i < conv->attribute_count; i++)
            if (strcmp(conv->attributes[i]->name, "pads") == 0) a = conv->attributes[i];
        assert_non_null(a);
        assert_int_equal(a->int_count, 4);
        if (!one) assert_memory_equal(a->ints, ((int64_t[]){2, 3, 4, 5}), 32);
        pgy_graph_destroy(g);
    }
}

/* ---- What stays ----------------------------------------------------------------------------- */

typedef struct kept_case {
    const char *op, *inputs;    /* behind Conv "x w" -> "p" */
    const char *shape;          /* of constant c */
    const char *output, *other; /* of the graph; other: a second one, or NULL */
    const char *nodes;
} kept_case;

static void test_fold_channels__what_stays(void **state)
{
    (void)state;
    static const kept_case CASES[] = {
        {"Mul", "p c", "2, 1, 1", "y", NULL, "Conv"}, /* the measure of all others */
        {"Mul", "p c", "2, 1, 1", "y", "p", "Conv Mul"},
        {"Mul", "p p", "2, 1, 1", "y", NULL, "Conv Mul"},
        {"Mul", "p x", "2, 1, 1", "y", NULL, "Conv Mul"},
        {"Mul", "p c", "3", "y", NULL, "Conv Mul"},
        {"Mul", "p c", "2, 3, 3", "y", NULL, "Conv Mul"},
        {"Mul", "p c", "2, 2, 1, 1", "y", NULL, "Conv Mul"},
        {"Add", "p c", "1, 1, 1, 1, 1", "y", NULL, "Conv Add"},
        {"Sub", "c p", "2, 1, 1", "y", NULL, "Conv Sub"},
        {"Div", "c p", "2, 1, 1", "y", NULL, "Conv Div"},
        {"Pow", "p c", "2, 1, 1", "y", NULL, "Conv Pow"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const kept_case *k = &CASES[i];
        const float two[18] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
        model_builder b = conv_model(NULL);
        builder_floats(&b, "c", k->shape, two);
        builder_node(&b, "Conv", "x w", "p");
        builder_node(&b, k->op, k->inputs, "y");
        end(&b, k->output);
        if (k->other) end(&b, k->other);
        expect_folded(&b, k->nodes);
    }
}

static void test_fold_channels__shared_weights_stay(void **state)
{
    (void)state;
    const float c = 3;
    model_builder b = conv_model(NULL);
    builder_floats(&b, "c", "", &c);
    builder_node(&b, "Conv", "x w", "p");
    builder_node(&b, "Conv", "p w", "q");
    builder_node(&b, "Mul", "q c", "y");
    end(&b, "y");
    expect_folded(&b, "Conv Conv Mul");
}

static void test_fold_channels__inputs_and_outputs_stay(void **state)
{
    (void)state;
    const float c = 3;
    for (int as_input = 0; as_input < 2; as_input++) {
        model_builder b = conv_model(NULL);
        b.proto->ir_version = 8;
        builder_floats(&b, "c", "", &c);
        builder_node(&b, "Conv", "x w", "p");
        builder_node(&b, "Mul", "p c", "y");
        end(&b, "y");
        if (as_input)
            builder_input(&b, "w", PGY_F32, "2, 2, 1, 1"); /* a caller may replace it */
        else
            builder_output(&b, "w", PGY_F32, "2, 2, 1, 1");
        expect_folded(&b, "Conv Mul");
    }
}

static void test_fold_channels__training_stays(void **state)
{
    (void)state;
    model_builder b = conv_model(NULL);
    for (size_t i = 0; i < 4; i++)
        builder_floats(&b, (const char *[]){"g", "b", "m", "v"}[i], "2", NULL);
    builder_node(&b, "Conv", "x w", "p");
    pgy_onnx_node *n = builder_node(&b, "BatchNormalization", "p g b m v", "y mean variance");
    builder_attr_int(&b, n, "training_mode", 1);
    end(&b, "y");
    end(&b, "mean");
    expect_folded(&b, "Conv BatchNormalization");
}

/* Quantised weights must be seen as they are. */
static void test_fold_channels__quantised_weights_stay(void **state)
{
    (void)state;
    const float c = 3;
    const int64_t shape[] = {2, 2, 1, 1};
    model_builder b = builder_start(17);
    pgy_tensor *t = NULL;
    if (pgy_tensor_create(&t, PGY_I8, 4, shape, NULL)) fail();
    memset(pgy_tensor_data(t), 5, 4);
    builder_initializer(&b, "q", t);
    pgy_tensor_release(t);
    builder_input(&b, "x", PGY_F32, "1, 2, 3, 3");
    builder_floats(&b, "s", "", NULL);
    builder_floats(&b, "c", "", &c);
    builder_node(&b, "DequantizeLinear", "q s", "w");
    builder_node(&b, "Conv", "x w", "p");
    builder_node(&b, "Mul", "p c", "y");
    end(&b, "y");
    expect_folded(&b, "DequantizeLinear Conv Mul");
}

/* What is not finite would not come back: 0 * inf is none of the numbers of the model. */
static void test_fold_channels__infinite_results_stay(void **state)
{
    (void)state;
    const float huge[] = {3e38F, 1, 1, 1}, c[] = {2, 0};
    for (size_t i = 0; i < 2; i++) {
        model_builder b = conv_model(huge);
        builder_floats(&b, "c", "2, 1, 1", c);
        builder_node(&b, "Conv", "x w", "p");
        builder_node(&b, i ? "Div" : "Mul", "p c", "y");
        end(&b, "y");
        expect_folded(&b, i ? "Conv Div" : "Conv Mul");
    }
}

/* ---- Options -------------------------------------------------------------------------------- */

static void test_fold_channels__limits_and_option(void **state)
{
    (void)state;
    const struct {
        uint64_t growth, result;
        bool keep, folded;
    } cases[] = {
        {4, 16, false, true}, /* a bias of 8 bytes for the constant's 4 */
        {3, 16, false, false},
        {4, 7, false, false},
        {4, 16, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgy_fold_options o = pgy_fold_options_default();
        const float c = 3;
        model_builder b = conv_model(NULL);
        o.max_node_growth = cases[i].growth;
        o.max_result_bytes = cases[i].result;
        o.keep_separate = cases[i].keep;
        builder_floats(&b, "c", "", &c);
        builder_node(&b, "Conv", "x w", "p");
        builder_node(&b, "Add", "p c", "y");
        end(&b, "y");
        pgy_graph *g = fold_with(&b, &o);
        expect_nodes(g, cases[i].folded ? "Conv" : "Conv Add");
        pgy_graph_destroy(g);
    }
}

/* Every allocation may fail: the status says so or the work was done. */
static void test_fold_channels__refused_memory(void **state)
{
    (void)state;
    bool done = false;
    if (!mem_fail_nth(0)) skip();
    for (uint64_t n = 1; !done && n < 5000; n++) {
        pgy_error err = {0};
        const float c = 3;
        model_builder b = conv_model(NULL);
        builder_floats(&b, "c", "", &c);
        for (size_t i = 0; i < 4; i++)
            builder_floats(&b, (const char *[]){"g", "b", "m", "v"}[i], "2", NULL);
        builder_node(&b, "Conv", "x w", "p");
        builder_node(&b, "BatchNormalization", "p g b m v", "q");
        builder_node(&b, "Mul", "q c", "y");
        end(&b, "y");
        pgy_graph *g = import_graph(&b);
        mem_fail_nth(n);
        const pgy_status st = pgy_graph_fold_constants(g, NULL, NULL, &err);
        done = mem_fail_nth(0) && st == PGY_OK && g->node_count == 1;
        assert_true(st == PGY_OK || st == PGY_E_MEMORY);
        pgy_graph_destroy(g);
    }
    assert_true(done);
}

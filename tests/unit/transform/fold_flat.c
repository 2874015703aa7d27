/* SPDX-License-Identifier: Apache-2.0 */
/* Reshapes around elementwise nodes, which folding takes out, and what must stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/transform.h>

#include "harness/fold_case.h"

/* x [6, 4], which Gemm makes r; rows of it in a, [2, 3, 4]. `back` puts them together again. */
static model_builder start(void)
{
    const int64_t apart[] = {2, 3, 4}, back[] = {-1, 4};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "6, 4");
    builder_floats(&b, "w", "4, 4", NULL);
    builder_floats(&b, "v", "4, 4", NULL);
    builder_ints(&b, "apart", "3", apart);
    builder_ints(&b, "back", "2", back);
    builder_node(&b, "Gemm", "x w", "r");
    builder_node(&b, "Reshape", "r apart", "a");
    return b;
}

static void finish(model_builder *b, const char *rows)
{
    char inputs[32];
    snprintf(inputs, sizeof inputs, "%s back", rows);
    builder_node(b, "Reshape", inputs, "z");
    builder_node(b, "Gemm", "z v", "y");
    builder_output(b, "y", PGY_F32, NULL);
}

/* x times the sigmoid of x, with numbers for the last axis and a single one. */
static void test_fold_flat__activation(void **state)
{
    (void)state;
    const float c[] = {1, 2, 3, 4}, half = 0.5F;
    model_builder b = start();
    builder_floats(&b, "c", "1, 1, 4", c);
    builder_floats(&b, "half", "", &half);
    builder_node(&b, "Mul", "a half", "h");
    builder_node(&b, "Sigmoid", "h", "s");
    builder_node(&b, "Mul", "s a", "m");
    builder_node(&b, "Add", "c m", "t");
    finish(&b, "t");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "Gemm Mul Sigmoid Mul Add Gemm");
    const pgy_node *add = g->nodes[4];
    assert_int_equal(add->inputs[0]->rank, 1);
    assert_int_equal(add->inputs[0]->dims[0].value, 4);
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_graph_value_data(&t, add->inputs[0], NULL), PGY_OK);
    assert_memory_equal(pgy_tensor_data(t), c, sizeof c);
    pgy_tensor_release(t);
    assert_int_equal(g->nodes[2]->outputs[0]->rank, 2);
    pgy_graph_destroy(g);
}

/* Attributes stay, and so do the limits of Clip. */
static void test_fold_flat__attributes(void **state)
{
    (void)state;
    const float low = -1;
    model_builder b = start();
    builder_floats(&b, "low", "", &low);
    builder_attr_float(&b, builder_node(&b, "LeakyRelu", "a", "l"), "alpha", 0.25F);
    builder_node(&b, "Clip", "l low", "k");
    finish(&b, "k");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "Gemm LeakyRelu Clip Gemm");
    assert_int_equal(g->nodes[1]->attribute_count, 1);
    assert_true(g->nodes[1]->attributes[0]->f == 0.25F);
    assert_string_equal(g->nodes[2]->inputs[1]->name, "low");
    pgy_graph_destroy(g);
}

/* Two ends, of which each takes rows. */
static void test_fold_flat__two_ends(void **state)
{
    (void)state;
    model_builder b = start();
    builder_node(&b, "Tanh", "a", "t");
    builder_node(&b, "Reshape", "t back", "z1");
    builder_node(&b, "MatMul", "z1 w", "y1");
    builder_node(&b, "Exp", "t", "e");
    finish(&b, "e");
    builder_output(&b, "y1", PGY_F32, NULL);
    pgy_graph *g = fold_with(&b, NULL);
    assert_int_equal(g->node_count, 5);
    for (size_t i = 0; i < g->node_count; i++)
        assert_string_not_equal(g->nodes[i]->op_type, "Reshape");
    pgy_graph_destroy(g);
}

typedef struct kept_case {
    const char *op, *inputs, *constant; /* the shape of c */
    const char *other;                  /* a second output, or NULL */
    const char *nodes;
} kept_case;

static void test_fold_flat__what_stays(void **state)
{
    (void)state;
    static const kept_case CASES[] = {
        {"Mul", "a c", "4", NULL, "Gemm Mul Gemm"}, /* the measure of all others */
        {"Mul", "a c", "3, 1", NULL, "Gemm Reshape Mul Reshape Gemm"},
        {"Mul", "a c", "2, 3, 4", NULL, "Gemm Reshape Mul Reshape Gemm"},
        {"Mul", "a c", "4", "a", "Gemm Reshape Mul Reshape Gemm"},
        {"Mul", "a c", "4", "m", "Gemm Reshape Mul Reshape Gemm"},
        {"Mul", "a c", "4", "z", "Gemm Reshape Mul Reshape Gemm"},
        {"Softmax", "a", "4", NULL, "Gemm Reshape Softmax Reshape Gemm"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const kept_case *k = &CASES[i];
        float c[24];
        for (size_t e = 0; e < 24; e++) c[e] = (float)e - 7;
        model_builder b = start();
        builder_floats(&b, "c", k->constant, c);
        builder_node(&b, k->op, k->inputs, "m");
        builder_floats(&b, "u", "4, 4", NULL); /* so that c cannot go into w */
        builder_node(&b, "MatMul", "x w", "other");
        builder_output(&b, "other", PGY_F32, NULL);
        finish(&b, "m");
        if (k->other) builder_output(&b, k->other, PGY_F32, NULL);
        pgy_graph *g = fold_with(&b, NULL);
        char wanted[96];
        snprintf(wanted, sizeof wanted, "%s", k->nodes);
        char text[256] = "";
        for (size_t n = 0; n < g->node_count; n++)
            if (strcmp(g->nodes[n]->op_type, "MatMul") != 0)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? " " : "",
                         g->nodes[n]->op_type);
        assert_string_equal(text, wanted);
        pgy_graph_destroy(g);
    }
}

static void test_fold_flat__options(void **state)
{
    (void)state;
    pgy_fold_options o = pgy_fold_options_default();
    o.keep_separate = true;
    model_builder b = start();
    builder_node(&b, "Tanh", "a", "t");
    finish(&b, "t");
    pgy_graph *g = fold_with(&b, &o);
    expect_nodes(g, "Gemm Reshape Tanh Reshape Gemm");
    pgy_graph_destroy(g);
}

/* What takes the columns apart, not the rows. */
static void test_fold_flat__other_shapes_stay(void **state)
{
    (void)state;
    const int64_t apart[] = {6, 2, 2}, back[] = {6, 4};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "6, 4");
    builder_floats(&b, "w", "4, 4", NULL);
    builder_ints(&b, "apart", "3", apart);
    builder_ints(&b, "back", "2", back);
    builder_node(&b, "Reshape", "x apart", "a");
    builder_node(&b, "Tanh", "a", "t");
    builder_node(&b, "Reshape", "t back", "z");
    builder_node(&b, "Gemm", "z w", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    expect_folded(&b, "Reshape Tanh Reshape Gemm");
}

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
        {"Mul", "a c", "4", "z", "Gemm Mul Gemm"}, /* which is the rows, then */
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

/* a is split into p and q of these widths along an axis; p and q are made one by an operator, or
 * seen in another way. */
static pgy_graph *fold_split(int64_t axis, int64_t first, int64_t second, const char *op,
                             const int64_t *view, size_t view_rank)
{
    const int64_t sizes[] = {first, second};
    char rank[2] = {(char)('0' + view_rank), 0};
    model_builder b = start();
    builder_ints(&b, "sizes", "2", sizes);
    builder_ints(&b, "view", rank, view);
    builder_attr_int(&b, builder_node(&b, "Split", "a sizes", "p q"), "axis", axis);
    builder_node(&b, op, op[0] == 'M' ? "p q" : "p", "m");
    builder_node(&b, "Reshape", "m view", "u");
    builder_output(&b, "u", PGY_F32, NULL);
    if (op[0] != 'M') {
        builder_node(&b, "Reshape", "q view", "w2");
        builder_output(&b, "w2", PGY_F32, NULL);
    }
    return fold_with(&b, NULL);
}

static void expect_split(int64_t axis, int64_t first, int64_t second, const char *op,
                         const int64_t *view, size_t view_rank, const char *wanted)
{
    pgy_graph *g = fold_split(axis, first, second, op, view, view_rank);
    expect_nodes(g, wanted);
    pgy_graph_destroy(g);
}

static void test_fold_flat__splits_and_other_views(void **state)
{
    (void)state;
    const int64_t heads[] = {2, 3, 2, 1}, open[] = {-1}, kept[] = {0, 0, 2, 1}, three[] = {2, 9};
    const int64_t halves[] = {2, 6};
    for (int64_t axis = -1; axis <= 2; axis += 3) {
        pgy_graph *g = fold_split(axis, 2, 2, "Tanh", heads, 4);
        expect_nodes(g, "Gemm Split Tanh Reshape Reshape");
        const pgy_node *split = g->nodes[1];
        assert_int_equal(split->attribute_count, 1);
        assert_int_equal(split->attributes[0]->i, 1);
        assert_int_equal(split->outputs[1]->rank, 2);
        assert_int_equal(split->outputs[1]->dims[1].value, 2);
        assert_int_equal(g->outputs[0]->rank, 4);
        pgy_graph_destroy(g);
    }
    expect_split(2, 2, 2, "Mul", open, 1, "Gemm Split Mul Reshape");
    expect_split(2, 2, 2, "Mul", kept, 4, "Gemm Reshape Split Mul Reshape");
    expect_split(2, 3, 1, "Mul", three, 2, "Gemm Reshape Split Mul Reshape");
    expect_split(0, 1, 1, "Mul", halves, 2, "Gemm Reshape Split Mul Reshape");
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

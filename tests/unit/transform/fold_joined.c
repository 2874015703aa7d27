/* SPDX-License-Identifier: Apache-2.0 */
/* Products of one value that folding joins: weights, sizes, names, and what must stay apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/transform.h>

#include "harness/fold_case.h"

/* ---- Helpers -------------------------------------------------------------------------------- */

static const pgy_onnx_attribute *attribute(const pgy_node *n, const char *name)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (strcmp(n->attributes[i]->name, name) == 0) return n->attributes[i];
    fail_msg("no attribute %s", name);
    return NULL;
}

/* Inputs x, of this shape, and weights q [2, 2], k [2, 1], v [2, 2] with rows 1 2 | 5 | 7 8 and
 * 3 4 | 6 | 9 10. */
static model_builder start(int64_t opset, const char *shape)
{
    const float q[] = {1, 2, 3, 4}, k[] = {5, 6}, v[] = {7, 8, 9, 10};
    model_builder b = builder_start(opset);
    builder_input(&b, "x", PGY_F32, shape);
    builder_floats(&b, "q", "2, 2", q);
    builder_floats(&b, "k", "2, 1", k);
    builder_floats(&b, "v", "2, 2", v);
    return b;
}

static void product(model_builder *b, const char *op, const char *weight, const char *y)
{
    char inputs[32];
    snprintf(inputs, sizeof inputs, "x %s", weight);
    builder_node(b, op, inputs, y);
}

static void end(model_builder *b, const char *output)
{
    builder_output(b, output, PGY_F32, NULL);
}

static void three(model_builder *b, const char *op)
{
    product(b, op, "q", "y0");
    product(b, op, "k", "y1");
    product(b, op, "v", "y2");
    end(b, "y0");
    end(b, "y1");
    end(b, "y2");
}

/* ---- What is joined ------------------------------------------------------------------------- */

static void test_fold_joined__three_products(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"y0", "y1", "y2"};
    for (int64_t opset = 11; opset <= 18; opset += 7) {
        model_builder b = start(opset, "N, 3, 2");
        three(&b, "MatMul");
        pgy_graph *g = fold_with(&b, NULL);
        expect_nodes(g, "MatMul Split");
        expect_input(g, 0, 1, 40, (float[]){1, 2, 5, 7, 8, 3, 4, 6, 9, 10});
        assert_int_equal(g->nodes[0]->inputs[1]->dims[1].value, 5);
        assert_string_equal(g->nodes[0]->name, "n0 + n1 + n2");
        assert_int_equal(attribute(g->nodes[1], "axis")->i, 2);
        const int64_t sizes[] = {2, 1, 2};
        if (opset >= 13)
            expect_input(g, 1, 1, sizeof sizes, sizes);
        else
            assert_memory_equal(attribute(g->nodes[1], "split")->ints, sizes, sizeof sizes);
        for (size_t i = 0; i < 3; i++) assert_string_equal(g->nodes[1]->outputs[i]->name, NAMES[i]);
        assert_int_equal(g->initializer_count, opset >= 13 ? 2 : 1);
        pgy_graph_destroy(g);
    }
}

/* With biases two are enough; the third, which has none, stays. */
static void test_fold_joined__biases(void **state)
{
    (void)state;
    const float c[] = {11, 12}, d[] = {13};
    model_builder b = start(17, "N, 3, 2");
    builder_floats(&b, "c", "2", c);
    builder_floats(&b, "d", "1", d);
    product(&b, "MatMul", "q", "p0");
    product(&b, "MatMul", "k", "p1");
    product(&b, "MatMul", "v", "y2");
    builder_node(&b, "Add", "c p0", "y0");
    builder_node(&b, "Add", "p1 d", "y1");
    end(&b, "y0");
    end(&b, "y1");
    end(&b, "y2");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "MatMul MatMul Add Split");
    expect_input(g, 0, 1, 16, (float[]){7, 8, 9, 10});
    expect_input(g, 1, 1, 24, (float[]){1, 2, 5, 3, 4, 6});
    expect_input(g, 2, 1, 12, (float[]){11, 12, 13});
    pgy_graph_destroy(g);
}

/* Queries are scaled, in one case after a bias, by division in the other. */
static void test_fold_joined__scale(void **state)
{
    (void)state;
    const float c[] = {16, 32}, by[2] = {0.25F, 4};
    for (size_t i = 0; i < 2; i++) {
        model_builder b = start(17, "N, 3, 2");
        builder_floats(&b, "c", "2", c);
        builder_floats(&b, "d", "2", c);
        builder_floats(&b, "by", "", &by[i]);
        product(&b, "MatMul", "q", "p0");
        product(&b, "MatMul", "v", "p2");
        builder_node(&b, "Add", "p0 c", "s0");
        builder_node(&b, "Add", "p2 d", "y2");
        builder_node(&b, i ? "Div" : "Mul", "s0 by", "y0");
        end(&b, "y0");
        end(&b, "y2");
        pgy_graph *g = fold_with(&b, NULL);
        expect_nodes(g, "MatMul Add Split");
        expect_input(g, 0, 1, 32, (float[]){0.25F, 0.5F, 7, 8, 0.75F, 1, 9, 10});
        expect_input(g, 1, 1, 16, (float[]){4, 8, 16, 32});
        pgy_graph_destroy(g);
    }
}

static void test_fold_joined__gemm(void **state)
{
    (void)state;
    const float q[] = {1, 2}, k[] = {3, 4, 5, 6}, v[] = {7, 8}, c[] = {9}, d[] = {10, 11};
    for (int64_t turned = 0; turned < 2; turned++) {
        static const char *const NAMES[] = {"q c", "k d", "v e"};
        model_builder b = builder_start(13);
        builder_input(&b, "x", PGY_F32, "N, 2");
        builder_floats(&b, "q", turned ? "1, 2" : "2, 1", q);
        builder_floats(&b, "k", "2, 2", k);
        builder_floats(&b, "v", turned ? "1, 2" : "2, 1", v);
        builder_floats(&b, "c", "1", c);
        builder_floats(&b, "d", "2", d);
        builder_floats(&b, "e", "1", q);
        for (size_t i = 0; i < 3; i++) {
            char inputs[16], y[4];
            snprintf(inputs, sizeof inputs, "x %s", NAMES[i]);
            snprintf(y, sizeof y, "y%zu", i);
            builder_attr_int(&b, builder_node(&b, "Gemm", inputs, y), "transB", turned);
            end(&b, y);
        }
        pgy_graph *g = fold_with(&b, NULL);
        expect_nodes(g, "Gemm Split");
        expect_input(g, 0, 1, 32,
                     turned ? (float[]){1, 2, 3, 4, 5, 6, 7, 8}
                            : (float[]){1, 3, 4, 7, 2, 5, 6, 8});
        expect_input(g, 0, 2, 16, (float[]){9, 10, 11, 1});
        if (turned) assert_int_equal(attribute(g->nodes[0], "transB")->i, 1);
        pgy_graph_destroy(g);
    }
}

/* Large enough to be made only when the model is written. */
static void test_fold_joined__large_weights(void **state)
{
    (void)state;
    enum { DEPTH = 64, WIDTH = 256, ALL = 3 * WIDTH };
    static float w[3][DEPTH][WIDTH], wanted[DEPTH][ALL];
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 5, 64");
    for (size_t i = 0; i < 3; i++)
        for (size_t r = 0; r < DEPTH; r++)
            for (size_t c = 0; c < WIDTH; c++)
                wanted[r][i * WIDTH + c] = w[i][r][c] = (float)((i * DEPTH + r) * WIDTH + c);
    builder_floats(&b, "q", "64, 256", w[0][0]);
    builder_floats(&b, "k", "64, 256", w[1][0]);
    builder_floats(&b, "v", "64, 256", w[2][0]);
    three(&b, "MatMul");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g, "MatMul Split");
    expect_input(g, 0, 1, sizeof wanted, wanted);
    pgy_graph_destroy(g);
}

/* Weights of the outer graph, products in a branch. */
static void test_fold_joined__branches(void **state)
{
    (void)state;
    model_builder b = start(17, "N, 3, 2");
    builder_input(&b, "on", PGY_BOOL, "");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Neg", "x", "h");
    builder_node(&yes, "MatMul", "h q", "p0");
    builder_node(&yes, "MatMul", "h k", "p1");
    builder_node(&yes, "MatMul", "h v", "p2");
    builder_attr_int(&yes, builder_node(&yes, "Concat", "p0 p1 p2", "r"), "axis", 2);
    end(&yes, "r");
    builder_attr_int(&no, builder_node(&no, "Concat", "x x", "t"), "axis", 2);
    end(&no, "t");
    pgy_onnx_node *n = builder_node(&b, "If", "on", "y");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    end(&b, "y");
    pgy_graph *g = fold_with(&b, NULL);
    expect_nodes(g->nodes[0]->subgraphs[0], "Neg MatMul Split Concat");
    expect_input(g->nodes[0]->subgraphs[0], 1, 1, 40, (float[]){1, 2, 5, 7, 8, 3, 4, 6, 9, 10});
    pgy_graph_destroy(g);
}

/* ---- What stays ----------------------------------------------------------------------------- */

static void test_fold_joined__two_products_stay(void **state)
{
    (void)state;
    model_builder b = start(17, "N, 3, 2");
    product(&b, "MatMul", "q", "y0");
    product(&b, "MatMul", "k", "y1");
    end(&b, "y0");
    end(&b, "y1");
    expect_folded(&b, "MatMul MatMul");
}

/* Joined, they would all be computed and kept from the first on. */
static void test_fold_joined__many_products_stay(void **state)
{
    (void)state;
    model_builder b = start(17, "N, 3, 2");
    three(&b, "MatMul");
    builder_floats(&b, "w", "2, 1", NULL);
    builder_floats(&b, "u", "2, 3", NULL);
    product(&b, "MatMul", "w", "y3");
    product(&b, "MatMul", "u", "y4");
    end(&b, "y3");
    end(&b, "y4");
    expect_folded(&b, "MatMul MatMul MatMul MatMul MatMul");
}

static void test_fold_joined__shared_weights_stay(void **state)
{
    (void)state;
    model_builder b = start(17, "N, 3, 2");
    three(&b, "MatMul");
    builder_node(&b, "MatMul", "y0 v", "z");
    end(&b, "z");
    expect_folded(&b, "MatMul MatMul MatMul MatMul");
}

/* A weight that a caller may replace, one that is an output, and one for each row of a batch. */
static void test_fold_joined__other_weights_stay(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        model_builder b = start(17, "2, 3, 2");
        b.proto->ir_version = 8;
        builder_floats(&b, "w", "2, 2, 2", NULL);
        product(&b, "MatMul", "q", "y0");
        product(&b, "MatMul", "k", "y1");
        product(&b, "MatMul", i == 2 ? "w" : "v", "y2");
        end(&b, "y0");
        end(&b, "y1");
        end(&b, "y2");
        if (i == 0) builder_input(&b, "v", PGY_F32, "2, 2");
        if (i == 1) builder_output(&b, "v", PGY_F32, "2, 2");
        expect_folded(&b, "MatMul MatMul MatMul");
    }
}

/* ONNX Runtime joins these with what is before them; a factor above 1 could overflow. */
static void test_fold_joined__functions_stay_beside_products(void **state)
{
    (void)state;
    const float two = 2;
    for (size_t i = 0; i < 2; i++) {
        model_builder b = start(17, "N, 3, 2");
        builder_floats(&b, "two", "", &two);
        product(&b, "MatMul", "q", "p0");
        product(&b, "MatMul", "k", "y1");
        product(&b, "MatMul", "v", "y2");
        builder_node(&b, i ? "Mul" : "Sigmoid", i ? "p0 two" : "p0", "y0");
        end(&b, "y0");
        end(&b, "y1");
        end(&b, "y2");
        expect_folded(&b, i ? "MatMul MatMul MatMul Mul" : "MatMul MatMul MatMul Sigmoid");
    }
}

/* ONNX Runtime's sums would be other numbers. */
static void test_fold_joined__float64_stays(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 2};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F64, "N, 3, 2");
    for (size_t i = 0; i < 3; i++) {
        char w[4], y[4];
        pgy_tensor *t = NULL;
        snprintf(w, sizeof w, "w%zu", i);
        snprintf(y, sizeof y, "y%zu", i);
        if (pgy_tensor_create(&t, PGY_F64, 2, shape, NULL)) fail();
        for (size_t k = 0; k < 4; k++) ((double *)pgy_tensor_data(t))[k] = (double)(i + k);
        builder_initializer(&b, w, t);
        pgy_tensor_release(t);
        product(&b, "MatMul", w, y);
        builder_output(&b, y, PGY_F64, NULL);
    }
    expect_folded(&b, "MatMul MatMul MatMul");
}

static void test_fold_joined__options(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        pgy_fold_options o = pgy_fold_options_default();
        model_builder b = start(17, "N, 3, 2");
        three(&b, "MatMul");
        o.keep_separate = i == 0;
        o.max_result_bytes = i == 1 ? 39 : 40; /* the joined weight has 40 */
        pgy_graph *g = fold_with(&b, &o);
        expect_nodes(g, i == 2 ? "MatMul Split" : "MatMul MatMul MatMul");
        pgy_graph_destroy(g);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Models through the engine and through the reference: the same outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/context/context.h"
#include "evaluate/execute.h"
#include "harness/model_builder.h"

static void give(pgy_tensor_map *feed, const char *name, size_t rank, const int64_t *shape)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, rank, shape, NULL), PGY_OK);
    float *x = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        x[i] = (float)((i * 7919 + 13) % 101) / 50.0f - 1;
    assert_int_equal(pgy_tensor_map_adopt(feed, name, t, NULL), PGY_OK);
}

static void give_bool(pgy_tensor_map *feed, const char *name, bool value)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_BOOL, 0, NULL, NULL), PGY_OK);
    *(bool *)pgy_tensor_data(t) = value;
    assert_int_equal(pgy_tensor_map_adopt(feed, name, t, NULL), PGY_OK);
}

static void run_reference(pgy_model *model, const pgy_tensor_map *feed, pgy_tensor_map *out)
{
    pgy_graph *g = NULL;
    graph_plan plan = {0};
    const execute_limits limits = {0};
    pgy_error err = {0};
    assert_int_equal(pgy_graph_import(&g, model, &err), PGY_OK);
    assert_int_equal(plan_build(&plan, g, &err), PGY_OK);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_OK);
    assert_int_equal(execute_graph(&plan, g, feed, out, false, &limits, &err), PGY_OK);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
}

static void expect_same(const pgy_tensor_map *got, const pgy_tensor_map *wanted)
{
    assert_int_equal(pgy_tensor_map_count(got), pgy_tensor_map_count(wanted));
    for (size_t i = 0; i < pgy_tensor_map_count(wanted); i++) {
        assert_string_equal(pgy_tensor_map_name(got, i), pgy_tensor_map_name(wanted, i));
        const pgy_tensor *a = pgy_tensor_map_at(got, i), *b = pgy_tensor_map_at(wanted, i);
        assert_int_equal(pgy_tensor_dtype(a), pgy_tensor_dtype(b));
        assert_int_equal(pgy_tensor_rank(a), pgy_tensor_rank(b));
        assert_int_equal(pgy_tensor_count(a), pgy_tensor_count(b));
        if (pgy_tensor_dtype(a) != PGY_F32) {
            assert_memory_equal(pgy_tensor_data(a), pgy_tensor_data(b), pgy_tensor_size_bytes(a));
            continue;
        }
        const float *x = pgy_tensor_data(a), *y = pgy_tensor_data(b);
        for (size_t k = 0; k < pgy_tensor_count(a); k++)
            if (fabsf(x[k] - y[k]) > 1e-4f + 1e-4f * fabsf(y[k]))
                fail_msg("%s[%zu] is %g, not %g", pgy_tensor_map_name(got, i), k, (double)x[k],
                         (double)y[k]);
    }
}

/* Runs the model by both on the feed, twice by the engine. */
static void compare(context *s, pgy_model *model, pgy_tensor_map *feed)
{
    pgy_tensor_map *wanted = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_map_create(&wanted, NULL), PGY_OK);
    run_reference(model, feed, wanted);
    for (int i = 0; i < 2; i++) {
        pgy_tensor_map *got = NULL;
        assert_int_equal(pgy_tensor_map_create(&got, NULL), PGY_OK);
        if (context_run(s, feed, got, NULL, &err)) fail_msg("%s", err.text);
        expect_same(got, wanted);
        pgy_tensor_map_destroy(got);
    }
    pgy_tensor_map_destroy(wanted);
    pgy_tensor_map_destroy(feed);
}

static context *open(pgy_model *model, size_t threads)
{
    engine *e = NULL;
    context *s = NULL;
    pgy_error err = {0};
    if (engine_build(&e, model, NULL, &err)) fail_msg("%s", err.text);
    if (context_create(&s, e, threads, &err)) fail_msg("%s", err.text);
    engine_release(e);
    return s;
}

static pgy_tensor_map *new_feed(void)
{
    pgy_tensor_map *feed = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    return feed;
}

/* Outputs that are a view, an input, a weight, and what another node reads too. */
static pgy_model *views_and_outputs(void)
{
    static const int64_t flat[2] = {-1, 6};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 2, 3");
    builder_floats(&b, "w", "6, 4", NULL);
    builder_ints(&b, "shape", "2", flat);
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Reshape", "a shape", "r");
    builder_node(&b, "MatMul", "r w", "m");
    builder_node(&b, "Tanh", "m", "t");
    builder_node(&b, "Add", "m t", "s");
    builder_node(&b, "Identity", "x", "same");
    builder_output(&b, "r", PGY_F32, NULL);
    builder_output(&b, "s", PGY_F32, NULL);
    builder_output(&b, "m", PGY_F32, NULL);
    builder_output(&b, "same", PGY_F32, NULL);
    builder_output(&b, "w", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void compare_on_small(pgy_model *model)
{
    const int64_t shape[2] = {2, 3};
    context *s = open(model, 1);
    pgy_tensor_map *feed = new_feed();
    give(feed, "x", 2, shape);
    compare(s, model, feed);
    context_destroy(s);
    pgy_model_destroy(model);
}

static void test_context__an_output_that_is_listed_twice(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_node(&b, "Relu", "x", "y");
    builder_node(&b, "Neg", "x", "z");
    for (int i = 0; i < 3; i++) builder_output(&b, "y", PGY_F32, "2, 3");
    builder_output(&b, "z", PGY_F32, "2, 3");
    builder_output(&b, "y", PGY_F32, "2, 3");
    compare_on_small(builder_finish_bytes(&b));
}

/* No constant has any bytes. */
static void test_context__a_constant_without_elements(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_attr_int(&b, builder_node(&b, "Shape", "x", "y"), "start", 5);
    builder_output(&b, "y", PGY_I64, "0");
    compare_on_small(builder_finish_bytes(&b));
}

static void test_context__views_and_outputs_at_several_shapes(void **state)
{
    (void)state;
    pgy_model *model = views_and_outputs();
    for (size_t threads = 1; threads < 4; threads++) {
        context *s = open(model, threads);
        for (int64_t n = 0; n < 12; n++) { /* more than are kept */
            pgy_tensor_map *feed = new_feed();
            const int64_t shape[3] = {n % 10, 2, 3};
            give(feed, "x", 3, shape);
            compare(s, model, feed);
            assert_non_null(context_program(s));
        }
        context_destroy(s);
    }
    pgy_model_destroy(model);
}

/* The step before a view writes the output: steps are those of Softmax and LogSoftmax, and a copy
 * for a second output of the same elements. */
static void test_context__results_behind_views_are_not_copied(void **state)
{
    (void)state;
    for (uint32_t twice = 0; twice < 2; twice++) {
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, "4, 6");
        builder_ints(&b, "shape", "2", (const int64_t[]){3, 8});
        builder_ints(&b, "flat", "1", (const int64_t[]){24});
        builder_node(&b, "Softmax", "x", "s");
        builder_node(&b, "LogSoftmax", "s", "z");
        builder_node(&b, "Reshape", "s shape", "y");
        builder_node(&b, "Reshape", "s flat", "w");
        builder_output(&b, "z", PGY_F32, "4, 6");
        builder_output(&b, "y", PGY_F32, "3, 8");
        if (twice) builder_output(&b, "w", PGY_F32, "24");
        pgy_model *model = builder_finish_bytes(&b);
        context *s = open(model, 1);
        pgy_tensor_map *feed = new_feed();
        give(feed, "x", 2, (const int64_t[]){4, 6});
        compare(s, model, feed);
        assert_int_equal(context_program(s)->step_count, 2 + twice);
        context_destroy(s);
        pgy_model_destroy(model);
    }
}

static void test_context__branches_see_outer_values(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_input(&b, "c", PGY_BOOL, "");
    model_builder then = builder_subgraph(&b, "then"), other = builder_subgraph(&b, "else");
    builder_node(&then, "Exp", "x", "t");
    builder_output(&then, "t", PGY_F32, "3");
    builder_node(&other, "Neg", "h", "e");
    builder_output(&other, "e", PGY_F32, "3");
    builder_node(&b, "Sin", "x", "h");
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    builder_attr_graph(&b, n, "then_branch", &then);
    builder_attr_graph(&b, n, "else_branch", &other);
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    context *s = open(model, 2);
    for (int i = 0; i < 2; i++) {
        const int64_t shape[1] = {3};
        pgy_tensor_map *feed = new_feed();
        give(feed, "x", 1, shape);
        give_bool(feed, "c", i == 0);
        compare(s, model, feed);
    }
    context_destroy(s);
    pgy_model_destroy(model);
}

static void test_context__shapes_that_depend_on_data_are_interpreted(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3, 4");
    builder_node(&b, "Relu", "x", "r");
    builder_node(&b, "NonZero", "r", "n");
    builder_output(&b, "n", PGY_I64, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    context *s = open(model, 1);
    const int64_t shape[2] = {3, 4};
    pgy_tensor_map *feed = new_feed();
    give(feed, "x", 2, shape);
    compare(s, model, feed);
    assert_null(context_program(s));
    context_destroy(s);
    pgy_model_destroy(model);
}

/* A node with fewer outputs than its operator has: nobody writes behind the last one. */
static void test_context__recurrent_layers_with_one_output(void **state)
{
    static const char *const OPS[] = {"RNN", "GRU", "LSTM"};
    static const char *const ROWS[] = {"1, 20, 6", "1, 60, 6", "1, 80, 6"};
    static const char *const STATES[] = {"1, 20, 20", "1, 60, 20", "1, 80, 20"};
    static float weights[80 * 20];
    (void)state;
    for (size_t i = 0; i < 80 * 20; i++) weights[i] = (float)(i * 37 % 41) / 100 - 0.2f;
    for (int k = 0; k < 3; k++) {
        const int64_t shape[3] = {5, 2, 6};
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, "5, 2, 6");
        builder_floats(&b, "w", ROWS[k], weights);
        builder_floats(&b, "r", STATES[k], weights);
        builder_attr_int(&b, builder_node(&b, OPS[k], "x w r", "y"), "hidden_size", 20);
        builder_node(&b, "Relu", "y", "z");
        builder_node(&b, "Neg", "y", "n");
        builder_output(&b, "z", PGY_F32, NULL);
        builder_output(&b, "n", PGY_F32, NULL);
        pgy_model *model = builder_finish_bytes(&b);
        context *s = open(model, 1);
        pgy_tensor_map *feed = new_feed();
        give(feed, "x", 3, shape);
        compare(s, model, feed);
        context_destroy(s);
        pgy_model_destroy(model);
    }
}

static void test_context__a_pass_can_be_switched_off(void **state)
{
    (void)state;
    pgy_model *model = views_and_outputs();
    setenv("POLYGRAPHY_PASSES", "-fold", 1);
    context *s = open(model, 1);
    unsetenv("POLYGRAPHY_PASSES");
    const int64_t shape[3] = {2, 2, 3};
    pgy_tensor_map *feed = new_feed();
    give(feed, "x", 3, shape);
    compare(s, model, feed);
    context_destroy(s);
    pgy_model_destroy(model);
}

/* Indices that come with the data and name nothing: an error that names the node, no made-up value.
 */
static void expect_index_error(const char *op, const char *inputs, int64_t index,
                               const char *wanted)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3, 4");
    builder_input(&b, "i", PGY_I64, "2, 2");
    builder_input(&b, "u", PGY_F32, "2, 2");
    builder_node(&b, op, inputs, "y")->name = "pick";
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    context *s = open(model, 2);
    for (int round = 0; round < 2; round++) { /* good indices after bad ones run again */
        pgy_tensor_map *feed = new_feed(), *got = new_feed();
        const int64_t shape[2] = {3, 4}, two[2] = {2, 2};
        pgy_tensor *i = NULL;
        pgy_error err = {0};
        give(feed, "x", 2, shape);
        give(feed, "u", 2, two);
        assert_int_equal(pgy_tensor_create(&i, PGY_I64, 2, two, NULL), PGY_OK);
        if (round == 0) ((int64_t *)pgy_tensor_data(i))[3] = index;
        assert_int_equal(pgy_tensor_map_adopt(feed, "i", i, NULL), PGY_OK);
        const pgy_status st = context_run(s, feed, got, NULL, &err);
        assert_int_equal(st, round == 0 ? PGY_E_SHAPE : PGY_OK);
        if (round == 0) assert_non_null(strstr(err.text, wanted));
        pgy_tensor_map_destroy(got);
        pgy_tensor_map_destroy(feed);
    }
    context_destroy(s);
    pgy_model_destroy(model);
}

static void test_context__indices_out_of_range_are_errors(void **state)
{
    (void)state;
    static const char SOME[] = "'pick': an index is out of range";
    expect_index_error("Gather", "x i", 3, "'pick': index 3 is not in [-3, 3)");
    expect_index_error("Gather", "x i", -4, "'pick': index -4 is not in [-3, 3)");
    expect_index_error("GatherElements", "x i", 3, SOME);
    expect_index_error("GatherND", "x i", 4, SOME);
    expect_index_error("ScatterElements", "x i u", -4, SOME);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of tensors: peaks of small graphs that can be counted by hand, and of random ones that are
 * counted here step by step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/memory.h>

#include "harness/model_builder.h"

typedef struct measured {
    pgy_graph *graph;
    pgy_memory *memory;
} measured;

static measured measure(pgy_model *model, pgy_memory_options options)
{
    pgy_error err = {0};
    measured m = {0};
    options.size = sizeof options;
    pgy_status st = pgy_graph_import(&m.graph, model, &err);
    pgy_model_destroy(model);
    if (!st) st = pgy_memory_create(&m.memory, m.graph, &options, &err);
    if (st) fail_msg("%s", err.text);
    return m;
}

static void measured_deinit(measured *m)
{
    pgy_memory_destroy(m->memory);
    pgy_graph_destroy(m->graph);
}

/* x[4] -> Conv-like growth: Concat(x, x)[8] -> Relu[8] -> ReduceSum[1] */
static pgy_model *small_model(const char *shape)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, shape);
    builder_floats(&b, "w", "4", NULL);
    builder_node(&b, "Add", "x w", "a")->name = "add";
    pgy_onnx_node *n = builder_node(&b, "Concat", "a a", "c");
    n->name = "cat";
    builder_attr_int(&b, n, "axis", 0);
    builder_node(&b, "Relu", "c", "r")->name = "relu";
    builder_node(&b, "ReduceSum", "r", "y")->name = "sum";
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void expect_steps(const pgy_memory *m, size_t count, const uint64_t *wanted)
{
    assert_int_equal(pgy_memory_step_count(m), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pgy_memory_step_at(m, i)->live_bytes, wanted[i]);
}

static void test_memory__lives_of_a_chain(void **state)
{
    (void)state;
    /* x 16 bytes all the time; a 16, c 32, r 32, y 4 */
    const uint64_t wanted[] = {16 + 16, 16 + 16 + 32, 16 + 32 + 32, 16 + 32 + 4};
    measured m = measure(small_model("4"), (pgy_memory_options){0});
    const pgy_memory_summary *s = pgy_memory_summarize(m.memory);
    expect_steps(m.memory, 4, wanted);
    assert_int_equal(s->peak_bytes, 80);
    assert_int_equal(s->peak_step, 2);
    assert_int_equal(s->weight_bytes, 16);
    assert_int_equal(s->weight_count, 1);
    assert_int_equal(s->input_bytes, 16);
    assert_int_equal(s->output_bytes, 4);
    assert_int_equal(s->unknown_count, 0);
    const pgy_memory_tensor *t = pgy_memory_tensor_at(m.memory, 2);
    assert_string_equal(t->name, "c");
    assert_string_equal(t->producer, "cat");
    assert_string_equal(t->last_user, "relu");
    assert_true(t->first == 1 && t->last == 2 && t->size_bytes == 32);
    measured_deinit(&m);
}

static void test_memory__inputs_may_be_given_back(void **state)
{
    (void)state;
    const uint64_t wanted[] = {16 + 16, 16 + 32, 32 + 32, 32 + 4};
    measured m = measure(small_model("4"), (pgy_memory_options){.free_inputs = true});
    expect_steps(m.memory, 4, wanted);
    measured_deinit(&m);
}

static void test_memory__outputs_in_place(void **state)
{
    (void)state;
    /* relu takes c's memory; add may not take x's, which is the caller's */
    const uint64_t wanted[] = {16 + 16, 16 + 16 + 32, 16 + 32, 16 + 32 + 4};
    measured m = measure(small_model("4"), (pgy_memory_options){.in_place = true});
    expect_steps(m.memory, 4, wanted);
    assert_string_equal(pgy_memory_tensor_at(m.memory, 3)->shares_with, "c");
    measured_deinit(&m);
    const uint64_t freed[] = {16, 16 + 32, 32, 32 + 4};
    m = measure(small_model("4"), (pgy_memory_options){.in_place = true, .free_inputs = true});
    expect_steps(m.memory, 4, freed);
    measured_deinit(&m);
}

static void test_memory__in_place_waits_for_the_last_user(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Neg", "x", "a");
    builder_node(&b, "Relu", "a", "r"); /* a is needed after it */
    builder_node(&b, "Add", "a r", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    const uint64_t wanted[] = {32, 48, 48};
    measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){.in_place = true});
    expect_steps(m.memory, 3, wanted);
    measured_deinit(&m);
}

/* What a view shares lives until its last user. */
static void test_memory__views_keep_their_memory(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    const int64_t shape[] = {2, 2};
    builder_input(&b, "x", PGY_F32, "4");
    builder_ints(&b, "s", "2", shape);
    builder_node(&b, "Neg", "x", "a");
    builder_node(&b, "Reshape", "a s", "v");
    builder_node(&b, "Relu", "a", "r"); /* must not write over v */
    builder_node(&b, "Exp", "v", "e");
    builder_node(&b, "Concat", "e e", "y");
    builder_attr_int(&b, b.graph->nodes[4], "axis", 0);
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "r", PGY_F32, NULL);
    const uint64_t wanted[] = {32, 32, 48, 48, 16 + 16 + 16 + 32};
    measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){.in_place = true});
    expect_steps(m.memory, 5, wanted);
    measured_deinit(&m);
}

static void test_memory__unknown_sizes_are_told(void **state)
{
    (void)state;
    measured m = measure(small_model("N"), (pgy_memory_options){0});
    assert_true(pgy_memory_summarize(m.memory)->unknown_count >= 1);
    assert_string_equal(pgy_memory_unknown_at(m.memory, 0)->name, "x");
    assert_non_null(strstr(pgy_memory_unknown_at(m.memory, 0)->unknown_why, "'N'"));
    measured_deinit(&m);
}

static void test_memory__shapes_that_are_given(void **state)
{
    (void)state;
    const int64_t shape[] = {4};
    const pgy_tensor_info info = {.name = "x", .dtype = PGY_F32, .rank = 1, .shape = shape};
    const pgy_tensor_info wrong = {.name = "xx", .dtype = PGY_F32, .rank = 1, .shape = shape};
    pgy_metadata *given = NULL;
    assert_int_equal(pgy_metadata_create(&given, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_set(given, &info, NULL), PGY_OK);
    measured m = measure(small_model("N"), (pgy_memory_options){.inputs = given});
    assert_int_equal(pgy_memory_summarize(m.memory)->peak_bytes, 80);
    assert_int_equal(pgy_memory_summarize(m.memory)->unknown_count, 0);
    pgy_error err = {0};
    pgy_memory *none = NULL;
    assert_int_equal(pgy_metadata_set(given, &wrong, NULL), PGY_OK);
    const pgy_memory_options options = {.size = sizeof options, .inputs = given};
    assert_int_equal(pgy_memory_create(&none, m.graph, &options, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "did you mean 'x'"));
    pgy_metadata_destroy(given);
    measured_deinit(&m);
}

static void test_memory__subgraphs_count_at_their_node(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Neg", "x", "outer");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Exp", "outer", "e");
    builder_node(&yes, "Abs", "e", "r");
    builder_output(&yes, "r", PGY_F32, "4");
    builder_floats(&no, "k", "4", NULL);
    builder_node(&no, "Add", "outer k", "q");
    builder_output(&no, "q", PGY_F32, "4");
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_output(&b, "y", PGY_F32, "4");
    /* c 1, x 16, outer 16, y 16; inside at most e and r */
    const uint64_t wanted[] = {33, 1 + 16 + 16 + 16 + 32};
    measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){0});
    expect_steps(m.memory, 2, wanted);
    assert_int_equal(pgy_memory_step_at(m.memory, 1)->inner_bytes, 32);
    assert_int_equal(pgy_memory_summarize(m.memory)->weight_bytes, 16);
    measured_deinit(&m);
}

static void test_memory__order_that_cannot_be_run(void **state)
{
    (void)state;
    for (int sort = 0; sort < 2; sort++) {
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, "4");
        builder_node(&b, "Relu", "a", "y");
        builder_node(&b, "Neg", "x", "a");
        builder_output(&b, "y", PGY_F32, "4");
        measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){.sort = sort});
        assert_int_equal(pgy_memory_summarize(m.memory)->out_of_order, !sort);
        if (sort) assert_string_equal(pgy_memory_step_at(m.memory, 0)->op_type, "Neg");
        measured_deinit(&m);
    }
}

/* pair(x) = block(block(x)), block(x) = Relu(Concat(x, x) + w): as calls, or written out. */
static pgy_model *nested_model(bool calls)
{
    model_builder b = builder_start(17);
    builder_opset(&b, "own", 1);
    model_builder f = builder_function(&b, "own", "block", "x", "y", "side");
    pgy_onnx_node *cat = builder_node(&f, "Concat", "x x", "c");
    builder_attr_ref(&f, cat, "axis", PGY_ATTR_INT, "side");
    builder_node(&f, "Neg", "c", "n");
    builder_node(&f, "Add", "c n", "y");
    builder_end_function(&f);
    model_builder p = builder_function(&b, "own", "pair", "x", "z x2", "");
    for (int i = 0; i < 2; i++) {
        pgy_onnx_node *n = builder_node(&p, "block", i ? "x2" : "x", i ? "z" : "x2");
        n->domain = "own";
        builder_attr_int(&p, n, "side", i);
    }
    builder_end_function(&p);
    builder_input(&b, "x", PGY_F32, "4, 3");
    builder_node(&b, "Exp", "x", "e");
    if (calls) {
        builder_node(&b, "pair", "e", "y other")->domain = "own";
    } else {
        builder_attr_int(&b, builder_node(&b, "Concat", "e e", "c1"), "axis", 0);
        builder_node(&b, "Neg", "c1", "n1");
        builder_node(&b, "Add", "c1 n1", "other");
        builder_attr_int(&b, builder_node(&b, "Concat", "other other", "c2"), "axis", 1);
        builder_node(&b, "Neg", "c2", "n2");
        builder_node(&b, "Add", "c2 n2", "y");
    }
    builder_node(&b, "Relu", "other", "z");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "z", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void test_memory__functions_count_as_what_they_do(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        const pgy_memory_options options = {.in_place = in_place};
        measured m = measure(nested_model(true), options);
        measured flat = measure(nested_model(false), options);
        const size_t steps = pgy_memory_step_count(flat.memory);
        assert_int_equal(steps, 8);
        assert_int_equal(pgy_memory_step_count(m.memory), steps);
        for (size_t i = 0; i < steps; i++) {
            assert_int_equal(pgy_memory_step_at(m.memory, i)->live_bytes,
                             pgy_memory_step_at(flat.memory, i)->live_bytes);
            assert_string_equal(pgy_memory_step_at(m.memory, i)->op_type,
                                pgy_memory_step_at(flat.memory, i)->op_type);
        }
        assert_int_equal(pgy_memory_summarize(m.memory)->unknown_count, 0);
        assert_int_equal(pgy_memory_summarize(m.memory)->peak_bytes,
                         pgy_memory_summarize(flat.memory)->peak_bytes);
        /* The graph itself keeps its calls. */
        assert_int_equal(m.graph->node_count, 3);
        measured_deinit(&flat);
        measured_deinit(&m);
    }
}

/* Each node is inferred by the opset of the function it comes from. */
static void test_memory__functions_of_another_opset(void **state)
{
    (void)state;
    model_builder b = builder_start(11);
    builder_opset(&b, "own", 1);
    const int64_t axes[] = {0};
    model_builder f = builder_function(&b, "own", "f", "x", "y", "");
    builder_attr_ints(&f, builder_node(&f, "Squeeze", "x", "s"), "axes", 1, axes);
    builder_node(&f, "Neg", "s", "y");
    builder_end_function(&f);
    b.proto->opset_imports[0]->version = 17;
    builder_input(&b, "x", PGY_F32, "1, 4");
    builder_node(&b, "f", "x", "a")->domain = "own";
    builder_node(&b, "Relu", "a", "y");
    builder_output(&b, "y", PGY_F32, "4");
    const uint64_t wanted[] = {32, 48, 48};
    measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){0});
    expect_steps(m.memory, 3, wanted);
    assert_int_equal(pgy_memory_summarize(m.memory)->unknown_count, 0);
    measured_deinit(&m);
}

static void test_memory__sizes_of_data_count_with_their_most(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4, 3");
    builder_node(&b, "NonZero", "x", "where"); /* int64[2, <= 12] */
    builder_attr_int(&b, builder_node(&b, "Concat", "where where", "both"), "axis", 1);
    builder_node(&b, "Neg", "both", "y"); /* int64[2, <= 24] */
    builder_output(&b, "y", PGY_I64, NULL);
    const uint64_t wanted[] = {48 + 192, 48 + 192 + 384, 48 + 384 + 384};
    measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){0});
    const pgy_memory_summary *s = pgy_memory_summarize(m.memory);
    expect_steps(m.memory, 3, wanted);
    assert_int_equal(s->unknown_count, 0);
    assert_int_equal(s->bound_count, 3);
    const pgy_memory_tensor *t = pgy_memory_bound_at(m.memory, 0);
    assert_string_equal(t->name, "where");
    assert_true(t->is_bound && t->shape[1] == 12);
    assert_non_null(t->unknown_why);
    assert_null(pgy_memory_bound_at(m.memory, 3));
    measured_deinit(&m);
}

/* A graph with functions is measured on a copy, which has the same bounds and reasons. */
static void test_memory__sizes_of_data_have_their_most_beside_functions_too(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "own", 1);
    model_builder f = builder_function(&b, "own", "f", "x", "y", "");
    builder_node(&f, "Neg", "x", "y");
    builder_end_function(&f);
    builder_input(&b, "x", PGY_F32, "4, 3");
    builder_node(&b, "NonZero", "x", "where")->name = "find"; /* int64[2, <= 12] */
    builder_node(&b, "f", "where", "y")->domain = "own";
    builder_output(&b, "y", PGY_I64, NULL);
    const uint64_t wanted[] = {48 + 192, 48 + 192 + 192};
    measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){0});
    expect_steps(m.memory, 2, wanted);
    assert_int_equal(pgy_memory_summarize(m.memory)->unknown_count, 0);
    assert_int_equal(pgy_memory_summarize(m.memory)->bound_count, 2);
    assert_non_null(strstr(pgy_memory_bound_at(m.memory, 0)->unknown_why, "NonZero 'find'"));
    measured_deinit(&m);
}

/* Of branches that differ the larger one, and what a shape made of such a size says. */
static void test_memory__limits_of_branches_and_shapes(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "4");
    model_builder one = builder_subgraph(&b, "one"), two = builder_subgraph(&b, "two");
    builder_node(&one, "Neg", "x", "t");
    builder_output(&one, "t", PGY_F32, NULL);
    builder_attr_int(&two, builder_node(&two, "Concat", "x x", "e"), "axis", 0);
    builder_output(&two, "e", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&b, "If", "c", "some");
    builder_attr_graph(&b, n, "then_branch", &one);
    builder_attr_graph(&b, n, "else_branch", &two);
    builder_ints(&b, "pair", "1", (const int64_t[]){2});
    builder_node(&b, "Shape", "some", "length");
    builder_attr_int(&b, builder_node(&b, "Concat", "pair length", "shape"), "axis", 0);
    builder_node(&b, "Expand", "some shape", "y");
    builder_output(&b, "y", PGY_F32, "2, named");
    measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){0});
    assert_int_equal(pgy_memory_summarize(m.memory)->unknown_count, 0);
    const pgy_memory_tensor *some = pgy_memory_bound_at(m.memory, 0),
                            *y = pgy_memory_bound_at(m.memory, 1);
    assert_true(some && y && some->shape[0] == 8 && y->shape[0] == 2 && y->shape[1] == 8);
    measured_deinit(&m);
}

static void test_memory__texts_are_unknown(void **state)
{
    (void)state;
    model_builder b = builder_start(20);
    builder_input(&b, "x", PGY_STRING, "3");
    builder_node(&b, "Identity", "x", "y");
    builder_output(&b, "y", PGY_STRING, "3");
    measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){0});
    assert_int_equal(pgy_memory_summarize(m.memory)->unknown_count, 2);
    assert_int_equal(pgy_memory_summarize(m.memory)->peak_bytes, 0);
    measured_deinit(&m);
}

/* Random graphs of Concat nodes: what lives at a step is what was made before or at it and is used
 * at it or later. */
static void test_memory__random_graphs_counted_again(void **state)
{
    (void)state;
    enum { NODES = 30 };
    uint32_t seed = 1;
    for (int round = 0; round < 20; round++) {
        model_builder b = builder_start(17);
        size_t from[NODES][2], size[NODES + 1] = {8}, last[NODES + 1];
        builder_input(&b, "t0", PGY_F32, "2");
        for (size_t i = 0; i < NODES; i++) {
            char inputs[32], output[16];
            for (int k = 0; k < 2; k++) {
                seed = seed * 1664525 + 1013904223;
                const size_t reach = i < 4 ? i + 1 : 4;
                from[i][k] = i - (seed >> 16) % reach;
            }
            if (size[from[i][0]] > 1u << 16) from[i][0] = from[i][1] = 0;
            if (size[from[i][1]] > 1u << 16) from[i][1] = 0;
            size[i + 1] = size[from[i][0]] + size[from[i][1]];
            snprintf(inputs, sizeof inputs, "t%zu t%zu", from[i][0], from[i][1]);
            snprintf(output, sizeof output, "t%zu", i + 1);
            builder_attr_int(&b, builder_node(&b, "Concat", inputs, output), "axis", 0);
        }
        char name[16];
        snprintf(name, sizeof name, "t%d", NODES);
        builder_output(&b, name, PGY_F32, NULL);
        for (size_t v = 0; v <= NODES; v++) last[v] = v ? v - 1 : NODES - 1;
        for (size_t i = 0; i < NODES; i++)
            for (int k = 0; k < 2; k++)
                if (i > last[from[i][k]]) last[from[i][k]] = i;
        measured m = measure(builder_finish_bytes(&b), (pgy_memory_options){0});
        for (size_t i = 0; i < NODES; i++) {
            uint64_t live = 0;
            for (size_t v = 0; v <= NODES; v++)
                if ((v ? v - 1 : 0) <= i && i <= last[v]) live += size[v];
            assert_int_equal(pgy_memory_step_at(m.memory, i)->live_bytes, live);
        }
        measured_deinit(&m);
    }
}

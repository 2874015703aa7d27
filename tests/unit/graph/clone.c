/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/graph.h>

#include "base/alloc.h"
#include "graph/graph.h"
#include "harness/graph_case.h"

/* A function that is called in a branch, captures, a loop of unknown length, symbols, weights. */
static pgy_graph *rich_graph(void)
{
    model_builder b = builder_start(17);
    builder_opset(&b, "my", 1);
    model_builder f = builder_function(&b, "my", "Twice", "a", "c", "");
    builder_node(&f, "Add", "a a", "s");
    builder_node(&f, "Relu", "s", "c");
    builder_end_function(&f);
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_input(&b, "p", PGY_BOOL, "");
    builder_floats(&b, "w", "4, 3", NULL);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "NonZero", "m", "z");
    builder_node(&b, "Shape", "m", "shape");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_floats(&yes, "inner", "3", NULL);
    builder_node(&yes, "Add", "m inner", "sum");
    builder_node(&yes, "my:Twice", "sum", "y1");
    builder_output(&yes, "y1", PGY_F32, NULL);
    builder_node(&no, "Neg", "m", "y2");
    builder_output(&no, "y2", PGY_F32, NULL);
    pgy_onnx_node *choice = builder_node(&b, "If", "p", "y");
    builder_attr_graph(&b, choice, "then_branch", &yes);
    builder_attr_graph(&b, choice, "else_branch", &no);
    builder_node(&b, "my:Twice", "y", "t");
    builder_output(&b, "t", PGY_F32, NULL);
    builder_output(&b, "z", PGY_I64, NULL);
    builder_output(&b, "shape", PGY_I64, NULL);
    return import_graph(&b);
}

static void infer(pgy_graph *g)
{
    pgy_error err = {0};
    if (pgy_graph_infer_shapes(g, NULL, &err)) fail_msg("%s", err.text);
}

static pgy_graph *clone(const pgy_graph *g)
{
    pgy_error err = {0};
    pgy_graph *copy = NULL;
    if (graph_clone(&copy, g, &err)) fail_msg("%s", err.text);
    return copy;
}

static void *bytes_of(pgy_graph *g, size_t *size)
{
    pgy_error err = {0};
    pgy_model *model = NULL;
    void *data = NULL;
    if (pgy_graph_export(&model, g, &err)) fail_msg("%s", err.text);
    if (pgy_model_serialize(&data, size, model, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    return data;
}

static void expect_same_bytes(pgy_graph *a, pgy_graph *b)
{
    size_t a_size = 0, b_size = 0;
    void *x = bytes_of(a, &a_size), *y = bytes_of(b, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(x, y, a_size);
    pgy_text_free(x);
    pgy_text_free(y);
}

static void test_clone__exports_the_same_bytes(void **state)
{
    (void)state;
    pgy_graph *g = rich_graph();
    for (int round = 0; round < 2; round++) { /* as imported; with what inference found */
        pgy_graph *copy = clone(g);
        expect_same_bytes(g, copy);
        infer(g);
        infer(copy);
        expect_same_bytes(g, copy);
        pgy_graph_destroy(copy);
    }
    pgy_graph_destroy(g);
}

static void test_clone__knows_what_was_inferred(void **state)
{
    (void)state;
    pgy_graph *g = rich_graph();
    infer(g);
    pgy_graph *copy = clone(g);
    for (size_t i = 0; i < state_of(g)->level_count; i++) {
        const strmap *values = &level_of(state_of(g)->levels[i])->values;
        const pgy_graph *level = state_of(copy)->levels[i];
        assert_int_equal(level_of(level)->values.count, values->count);
        for (size_t k = 0; k < values->count; k++) {
            const pgy_value *v = values->entries[k].value;
            const pgy_value *twin = pgy_graph_find_value(level, v->name);
            assert_non_null(twin);
            assert_ptr_not_equal(twin, v);
            assert_ptr_equal(twin->graph, level);
            assert_int_equal(value_id(twin), value_id(v));
            assert_int_equal(twin->dtype, v->dtype);
            assert_int_equal(twin->rank, v->rank);
            assert_int_equal(twin->consumer_count, v->consumer_count);
            for (int32_t d = 0; d < v->rank; d++) {
                assert_int_equal(twin->dims[d].value, v->dims[d].value);
                if (v->dims[d].text) assert_string_equal(twin->dims[d].text, v->dims[d].text);
            }
            assert_int_equal(twin->producer != NULL, v->producer != NULL);
            if (v->producer) assert_int_equal(node_id(twin->producer), node_id(v->producer));
        }
    }
    pgy_graph_destroy(g);
    infer(copy); /* needs nothing of what is gone */
    assert_string_equal(pgy_graph_find_value(copy, "m")->dims[0].text, "N");
    pgy_graph_destroy(copy);
}

/* Names of sizes that nobody gave go on counting where the original was. */
static void test_clone__names_sizes_like_the_original(void **state)
{
    (void)state;
    pgy_graph *g = rich_graph();
    infer(g);
    pgy_graph *copy = clone(g);
    infer(g);
    infer(copy);
    assert_non_null(pgy_graph_find_value(g, "z")->dims[1].text);
    assert_string_equal(pgy_graph_find_value(g, "z")->dims[1].text,
                        pgy_graph_find_value(copy, "z")->dims[1].text);
    pgy_graph_destroy(g);
    pgy_graph_destroy(copy);
}

static void test_clone__edits_of_one_leave_the_other_alone(void **state)
{
    (void)state;
    pgy_error err = {0};
    size_t before_size = 0, after_size = 0;
    pgy_graph *g = rich_graph();
    infer(g);
    void *before = bytes_of(g, &before_size);
    pgy_graph *copy = clone(g);
    pgy_value *m = pgy_graph_find_value(copy, "m"), *made = value_create_unique(copy, "made", &err);
    pgy_node *n = NULL;
    assert_non_null(made);
    assert_int_equal(value_replace_uses(m, made, &err), PGY_OK);
    assert_int_equal(node_create(&n, copy, "Sigmoid", &m, 1, &made, 1, &err), PGY_OK);
    assert_int_equal(value_rename(pgy_graph_find_value(copy, "y"), "other", &err), PGY_OK);
    assert_int_equal(pgy_graph_sort(copy, &err), PGY_OK);
    infer(copy);
    assert_null(pgy_graph_find_value(g, "made"));
    assert_int_equal(pgy_graph_find_value(g, "m")->consumer_count, 4);
    assert_int_equal(m->consumer_count, 1);
    void *after = bytes_of(g, &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    pgy_text_free(before);
    pgy_text_free(after);
    pgy_graph_destroy(g);
    assert_string_equal(n->op_type, "Sigmoid");
    pgy_graph_destroy(copy);
}

/* What a branch takes from around it is the copy's own. */
static void test_clone__captures_and_functions_are_its_own(void **state)
{
    (void)state;
    pgy_graph *g = rich_graph();
    infer(g);
    pgy_graph *copy = clone(g);
    const pgy_node *choice = pgy_graph_find_value(copy, "y")->producer;
    const node_box *box = node_box_of(choice);
    assert_int_equal(choice->subgraph_count, 2);
    assert_ptr_equal(choice->subgraphs[0]->parent, copy);
    assert_ptr_equal(level_of(choice->subgraphs[0])->owner, choice);
    assert_int_equal(box->captured_count, 1);
    assert_ptr_equal(box->captured[0], pgy_graph_find_value(copy, "m"));
    const graph_function *f = node_box_of(pgy_graph_find_value(copy, "t")->producer)->function;
    assert_non_null(f);
    assert_ptr_equal(state_of(f->body), state_of(copy));
    assert_ptr_equal(f, node_box_of(choice->subgraphs[0]->nodes[1])->function);
    pgy_graph_destroy(copy);
    pgy_graph_destroy(g);
}

static void test_clone__of_a_clone(void **state)
{
    (void)state;
    pgy_graph *g = rich_graph();
    infer(g);
    pgy_graph *copy = clone(g), *again = clone(copy);
    expect_same_bytes(g, again);
    pgy_graph_destroy(copy);
    infer(again);
    pgy_graph_destroy(again);
    pgy_graph_destroy(g);
}

static void test_clone__survives_failing_allocations(void **state)
{
    (void)state;
    pgy_graph *g = rich_graph();
    infer(g);
    for (uint64_t n = 1;; n++) {
        pgy_error err = {0};
        pgy_graph *copy = NULL;
        if (!mem_fail_nth(n)) break;
        const pgy_status st = graph_clone(&copy, g, &err);
        mem_fail_nth(0);
        if (!st) {
            expect_same_bytes(g, copy);
            pgy_graph_destroy(copy);
            break;
        }
        assert_int_equal(st, PGY_E_MEMORY);
        assert_null(copy);
    }
    pgy_graph_destroy(g);
}

static void test_clone__takes_a_whole_graph_only(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_graph *g = rich_graph(), *copy = NULL;
    const pgy_node *choice = pgy_graph_find_value(g, "y")->producer;
    assert_int_equal(graph_clone(&copy, choice->subgraphs[0], &err), PGY_E_ARGUMENT);
    assert_null(copy);
    pgy_graph_destroy(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"
#include "graph_text.h"

static pgy_status replace(pgy_gs_graph *g, const char *op, const char *inputs, const char *outputs)
{
    pgy_gs_tensor *in[TEXT_NAMES], *out[TEXT_NAMES];
    pgy_gs_node_spec spec = {.op = op, .name = op, .inputs = in, .outputs = out};
    pgy_gs_node *n = NULL;
    pgy_error err = {0};
    spec.input_count = text_list(in, g, inputs);
    spec.output_count = text_list(out, g, outputs);
    pgy_status st = pgy_gs_replace_region(&n, g, &spec, &err);
    if (!st) assert_string_equal(n->op, op);
    assert_edges(g);
    return st;
}

/* Min and Max become Clip (case 9). */
static pgy_gs_graph *clip_graph(void)
{
    pgy_gs_graph *g = text_graph();
    text_node(g, "Mul", "mul", "x w", "m");
    text_node(g, "Min", "min", "m hi", "a");
    text_node(g, "Max", "max", "a lo", "y");
    text_io(g, "x w hi lo", "y");
    return g;
}

static void test_region__stretch_becomes_one_node(void **state)
{
    (void)state;
    pgy_gs_graph *g = clip_graph();
    assert_int_equal(replace(g, "Clip", "m lo hi", "y"), PGY_OK);
    assert_nodes(g, "mul Clip");
    assert_node(g, "Clip", "Clip(m, lo, hi -> y)");
    assert_int_equal(pgy_gs_find_tensor(g, "m")->consumer_count, 1);
    assert_int_equal(pgy_gs_find_tensor(g, "y")->producer_count, 1);
    assert_null(pgy_gs_find_tensor(g, "a"));
    pgy_gs_destroy(g);
}

static void test_region__what_others_need_stays(void **state)
{
    (void)state;
    pgy_gs_graph *g = clip_graph();
    text_node(g, "Relu", "reader", "m", "r");
    text_node(g, "Relu", "inside", "a", "i");
    text_io(g, "x w hi lo", "y r i");
    assert_int_equal(replace(g, "Clip", "m lo hi", "y"), PGY_OK);
    assert_nodes(g, "mul min reader inside Clip");
    assert_node(g, "reader", "Relu(m -> r)");
    assert_node(g, "inside", "Relu(a -> i)");
    pgy_gs_destroy(g);
}

static void test_region__graph_output_inside_stays(void **state)
{
    (void)state;
    pgy_gs_graph *g = clip_graph();
    text_io(g, "x w hi lo", "y a");
    assert_int_equal(replace(g, "Clip", "m lo hi", "y"), PGY_OK);
    assert_nodes(g, "mul min Clip");
    pgy_gs_destroy(g);
}

static void test_region__other_outputs_of_a_maker_keep_their_places(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Custom", "three", "x", "a b c");
    text_io(g, "x", "a b c");
    assert_int_equal(replace(g, "Relu", "x", "b"), PGY_OK);
    assert_node(g, "three", "Custom(x -> a, -, c)");
    assert_node(g, "Relu", "Relu(x -> b)");
    pgy_gs_destroy(g);
}

static void test_region__several_outputs_and_a_branch(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Split", "split", "x", "s0 s1");
    text_node(g, "Relu", "left", "s0", "y0");
    pgy_gs_node *choice = text_node(g, "If", "right", "c", "y1");
    text_node(text_subgraph(choice, "then_branch"), "Relu", "inner", "s1", "i");
    text_io(g, "x c", "y0 y1");
    assert_int_equal(replace(g, "Two", "x c", "y0 y1"), PGY_OK);
    assert_nodes(g, "Two");
    pgy_gs_destroy(g);
}

static void test_region__tensor_of_another_graph_changes_nothing(void **state)
{
    (void)state;
    pgy_gs_graph *g = clip_graph(), *other = clip_graph();
    pgy_error err = {0};
    pgy_gs_tensor *in = pgy_gs_find_tensor(g, "m"), *out = pgy_gs_find_tensor(other, "y");
    pgy_gs_node_spec spec = {
        .op = "Clip", .inputs = &in, .input_count = 1, .outputs = &out, .output_count = 1};
    assert_int_equal(pgy_gs_replace_region(NULL, g, &spec, &err), PGY_E_ARGUMENT);
    assert_nodes(g, "mul min max");
    assert_node(g, "max", "Max(a, lo -> y)");
    assert_int_equal(in->consumer_count, 1);
    pgy_gs_destroy(g);
    pgy_gs_destroy(other);
}

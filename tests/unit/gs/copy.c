/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_text.h"
#include "harness/model_builder.h"

static pgy_gs_graph *copy_of(const pgy_gs_graph *g)
{
    pgy_error err = {0};
    pgy_gs_graph *copy = NULL;
    assert_int_equal(pgy_gs_copy(&copy, g, &err), PGY_OK);
    assert_edges(copy);
    return copy;
}

/* x, t -> If{then: Add(t, w) -> r} -> y */
static pgy_gs_graph *sample(void)
{
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *w = NULL;
    pgy_tensor *values = NULL;
    const pgy_gs_attr axis = pgy_gs_attr_int("axis", 3);
    text_node(g, "Op", "make", "x", "t");
    pgy_gs_node *n = text_node(g, "If", "if", "x", "y");
    pgy_gs_graph *branch = text_subgraph(n, "then_branch");
    assert_int_equal(pgy_tensor_create(&values, PGY_F32, 0, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_constant(&w, g, "w", values, &err), PGY_OK);
    pgy_gs_node *add = text_node(branch, "Add", "add", "t", "r");
    assert_int_equal(pgy_gs_set_input(add, 1, w, &err), PGY_OK);
    text_io(branch, "", "r");
    text_io(g, "x", "y");
    assert_int_equal(pgy_gs_set_attr(pgy_gs_find_node(g, "make"), &axis, &err), PGY_OK);
    pgy_tensor_release(values);
    return g;
}

static void test_copy__is_equal_and_its_own(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = sample(), *copy = copy_of(g);
    assert_true(pgy_gs_graph_equal(g, copy));
    pgy_gs_graph *branch = copy->nodes[1]->attributes[0].graphs[0];
    assert_ptr_equal(branch->parent, copy);
    assert_ptr_equal(branch->nodes[0]->inputs[0], copy->nodes[0]->outputs[0]);
    assert_ptr_equal(
        branch->nodes[0]->inputs[1]->stored,
        pgy_gs_find_node(g->nodes[1]->attributes[0].graphs[0], "add")->inputs[1]->stored);

    assert_int_equal(pgy_gs_set_op(branch->nodes[0], "Sub", &err), PGY_OK);
    assert_int_equal(pgy_gs_rename(branch->nodes[0]->inputs[0], "renamed", &err), PGY_OK);
    assert_node(g, "make", "Op(x -> t)");
    assert_node(copy, "make", "Op(x -> renamed)");
    assert_false(pgy_gs_graph_equal(g, copy));
    assert_string_equal(g->nodes[1]->attributes[0].graphs[0]->nodes[0]->op, "Add");
    pgy_gs_destroy(g);
    assert_node(copy, "if", "If(x -> y)"); /* outlives the original */
    pgy_gs_destroy(copy);
}

/* What the original loses: producer, kinds of types, the counter of names. */
static void test_copy__keeps_every_field(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_floats(&b, "unused", "2", NULL);
    b.proto->producer_name = "maker";
    b.proto->producer_version = "7";
    b.proto->doc_string = "about";
    pgy_model *m = builder_finish_bytes(&b), *out = NULL;
    pgy_gs_graph *g = NULL;
    assert_int_equal(pgy_gs_import(&g, m, &err), PGY_OK);
    g->inputs[0]->type_kind = PGY_VALUE_SEQUENCE;
    assert_int_equal(pgy_gs_function(&(pgy_gs_graph *){NULL}, g, "Fn", NULL, &err), PGY_OK);
    const pgy_gs_operand output = pgy_gs_name_operand("o");
    const pgy_gs_layer_spec spec = {.op = "Op", .outputs = &output, .output_count = 1};
    assert_int_equal(pgy_gs_layer(NULL, g, &spec, &err), PGY_OK);

    pgy_gs_graph *copy = copy_of(g);
    pgy_gs_node *n = NULL;
    assert_string_equal(copy->producer_name, "maker");
    assert_string_equal(copy->producer_version, "7");
    assert_int_equal(copy->inputs[0]->type_kind, PGY_VALUE_SEQUENCE);
    assert_int_equal(copy->opset, 17);
    assert_int_equal(copy->function_count, 1);
    assert_ptr_not_equal(copy->functions[0], g->functions[0]);
    assert_int_equal(pgy_gs_layer(&n, copy, &spec, &err), PGY_OK);
    assert_string_equal(n->name, "onnx_graphsurgeon_node_3");
    copy->inputs[0]->type_kind = PGY_VALUE_TENSOR;
    assert_int_equal(pgy_gs_export(&out, copy, NULL, &err), PGY_OK);
    assert_string_equal(pgy_model_proto(out)->doc_string, "about");
    assert_int_equal(pgy_model_proto(out)->graph->initializer_count, 1);
    pgy_model_destroy(out);
    pgy_gs_destroy(copy);
    pgy_gs_destroy(g);
    pgy_model_destroy(m);
}

static void test_copy__a_subgraph_becomes_a_graph(void **state)
{
    (void)state;
    pgy_gs_graph *g = sample();
    pgy_gs_graph *copy = copy_of(g->nodes[1]->attributes[0].graphs[0]);
    assert_null(copy->parent);
    assert_nodes(copy, "add");
    assert_node(copy, "add", "Add(t, w -> r)");
    assert_int_equal(copy->nodes[0]->inputs[0]->producer_count, 0);
    pgy_gs_destroy(copy);
    pgy_gs_destroy(g);
}

/* ---- Equality -------------------------------------------------------------------------------- */

static void test_copy__nodes_differ_by_what_they_are_made_of(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = sample(), *copy = copy_of(g);
    pgy_gs_node *a = g->nodes[0], *b = copy->nodes[0];
    const pgy_gs_attr four = pgy_gs_attr_int("axis", 4), three = pgy_gs_attr_int("axis", 3),
                      real = pgy_gs_attr_float("axis", 3), more = pgy_gs_attr_text("more", "x");
    assert_true(pgy_gs_node_equal(a, b));
    assert_int_equal(pgy_gs_set_attr(b, &four, &err), PGY_OK);
    assert_false(pgy_gs_node_equal(a, b));
    assert_int_equal(pgy_gs_set_attr(b, &real, &err), PGY_OK);
    assert_false(pgy_gs_node_equal(a, b));
    assert_int_equal(pgy_gs_set_attr(b, &three, &err), PGY_OK);
    assert_true(pgy_gs_node_equal(a, b));
    assert_int_equal(pgy_gs_set_attr(b, &more, &err), PGY_OK);
    assert_false(pgy_gs_node_equal(a, b));
    assert_true(pgy_gs_remove_attr(b, "more"));
    assert_false(pgy_gs_remove_attr(b, "more"));
    assert_true(pgy_gs_node_equal(a, b));
    assert_int_equal(pgy_gs_set_domain(b, "my", &err), PGY_OK);
    assert_false(pgy_gs_node_equal(a, b));
    assert_int_equal(pgy_gs_set_domain(b, "", &err), PGY_OK);
    pgy_gs_tensor *swapped[] = {pgy_gs_find_tensor(copy, "y")};
    assert_int_equal(pgy_gs_set_inputs(b, swapped, 1, &err), PGY_OK);
    assert_false(pgy_gs_node_equal(a, b));
    assert_int_equal(pgy_gs_attr_as_int(a, "axis", 9), 3);
    assert_int_equal(pgy_gs_attr_as_int(a, "none", 9), 9);
    assert_true(pgy_gs_attr_as_float(a, "axis", 0.5f) == 0.5f);
    pgy_gs_destroy(copy);
    pgy_gs_destroy(g);
}

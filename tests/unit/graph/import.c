/* SPDX-License-Identifier: Apache-2.0 */
/* Import: links between values and nodes, scopes of subgraphs, and what malformed graphs say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/graph.h>

#include "harness/graph_case.h"

static void expect_refusal(model_builder *b, const char *text)
{
    pgy_error err = {0};
    pgy_graph *g = NULL;
    pgy_model *model = builder_finish_bytes(b);
    assert_int_equal(pgy_graph_import(&g, model, &err), PGY_E_FORMAT);
    assert_null(g);
    if (!strstr(err.text, text)) fail_msg("'%s' does not contain '%s'", err.text, text);
    pgy_model_destroy(model);
}

static void test_import__links(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "MatMul", "x w", "y");
    builder_node(&b, "Add", "y y", "z");
    builder_output(&b, "z", PGY_F32, "N, 4");
    pgy_graph *g = import_graph(&b);
    assert_int_equal(g->input_count, 1);
    assert_int_equal(g->initializer_count, 1);
    pgy_value *x = pgy_graph_find_value(g, "x"), *y = pgy_graph_find_value(g, "y"),
              *z = g->outputs[0];
    assert_true(x->is_input && !x->is_output);
    assert_int_equal(x->dims[0].value, -1);
    assert_string_equal(x->dims[0].text, "N");
    assert_int_equal(x->dims[1].value, 3);
    assert_int_equal(y->consumer_count, 2);
    assert_ptr_equal(y->consumers[0], y->consumers[1]);
    assert_ptr_equal(y->producer, pgy_graph_find_node(g, "n0"));
    assert_ptr_equal(z->producer, g->nodes[1]);
    assert_true(z->is_output);
    assert_int_equal(z->rank, 2);
    assert_int_equal(pgy_graph_opset(g, "ai.onnx"), 17);
    assert_int_equal(pgy_graph_opset(g, "com.example"), 0);
    assert_null(pgy_graph_find_value(g, "nothing"));
    pgy_tensor *w = NULL;
    assert_int_equal(pgy_graph_value_data(&w, pgy_graph_find_value(g, "w"), NULL), PGY_OK);
    assert_int_equal(pgy_tensor_count(w), 12);
    pgy_tensor_release(w);
    assert_int_equal(pgy_graph_value_data(&w, y, NULL), PGY_E_NOT_FOUND);
    pgy_graph_destroy(g);
}

static void test_import__input_with_a_weight_is_not_asked_for(void **state)
{
    (void)state;
    model_builder b = builder_start(9);
    builder_input(&b, "x", PGY_F32, "2");
    builder_input(&b, "w", PGY_F32, "2");
    builder_floats(&b, "w", "2", NULL);
    builder_node(&b, "Add", "x w", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = import_graph(&b);
    assert_int_equal(g->input_count, 1);
    assert_string_equal(g->inputs[0]->name, "x");
    pgy_graph_destroy(g);
}

static void test_import__subgraphs_see_outer_values(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "2");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Neg", "late", "a");
    builder_output(&yes, "a", PGY_F32, NULL);
    builder_node(&no, "Abs", "x", "a2");
    builder_output(&no, "a2", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_node(&b, "Relu", "x", "late");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = import_graph(&b);
    pgy_node *node = g->nodes[0];
    assert_int_equal(node->subgraph_count, 2);
    assert_string_equal(node->subgraph_names[0], "then_branch");
    pgy_graph *then = node->subgraphs[0];
    assert_ptr_equal(then->parent, g);
    assert_ptr_equal(then->nodes[0]->inputs[0], pgy_graph_find_value(g, "late"));
    assert_null(pgy_graph_find_value(then, "late"));
    assert_int_equal(pgy_graph_find_value(g, "x")->consumer_count, 2);
    /* The If needs "late", so it must move behind the Relu. */
    assert_int_equal(pgy_graph_sort(g, NULL), PGY_OK);
    assert_string_equal(g->nodes[0]->op_type, "Relu");
    assert_int_equal(g->nodes[1]->index, 1);
    pgy_graph_destroy(g);
}

static void test_import__undefined_input(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_node(&b, "Relu", "ghost", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    expect_refusal(&b, "Relu 'n0': nothing defines input 'ghost'");
}

static void test_import__undefined_output(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_output(&b, "ghost", PGY_F32, NULL);
    expect_refusal(&b, "output 'ghost'");
}

static void test_import__defined_twice(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "x", "y");
    builder_node(&b, "Abs", "x", "y");
    expect_refusal(&b,
                   "Abs 'n1': output 'y' is already defined by another node, input or initializer");
    b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_input(&b, "x", PGY_F32, "2");
    expect_refusal(&b, "defines value 'x' twice");
    b = builder_start(17);
    builder_floats(&b, "w", "2", NULL);
    builder_floats(&b, "w", "2", NULL);
    expect_refusal(&b, "two initializers named 'w'");
}

static void test_import__bad_element_type(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    b.graph->inputs[0]->type->tensor_type->elem_type = 999;
    expect_refusal(&b, "value 'x' has the unknown element type 999");
}

static void test_import__no_graph(void **state)
{
    (void)state;
    pgy_graph *g = NULL;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    b.proto->graph = NULL;
    pgy_model *model = builder_finish(&b);
    assert_int_equal(pgy_graph_import(&g, model, &err), PGY_E_FORMAT);
    pgy_model_destroy(model);
    assert_int_equal(pgy_graph_import(&g, NULL, &err), PGY_E_ARGUMENT);
    pgy_graph_destroy(NULL);
}

static void add_sparse(model_builder *b, const int64_t *indices, int64_t rank)
{
    const float values[] = {5, 7};
    const int64_t dims[] = {2, 3};
    pgy_onnx_sparse_tensor *sparse = pgy_model_alloc(b->model, 1, sizeof *sparse);
    pgy_onnx_sparse_tensor **list = pgy_model_alloc(b->model, 1, sizeof *list);
    int64_t *shape = pgy_model_alloc(b->model, 2, sizeof *shape);
    assert_true(sparse && list && shape);
    memcpy(shape, dims, sizeof dims);
    builder_floats(b, "w", "2", values);
    builder_ints(b, "w_indices", rank == 1 ? "2" : "2, 2", indices);
    sparse->values = b->graph->initializers[0];
    sparse->indices = b->graph->initializers[1];
    sparse->dims = shape;
    sparse->dim_count = 2;
    list[0] = sparse;
    b->graph->initializer_count = 0;
    b->graph->sparse_initializers = list;
    b->graph->sparse_initializer_count = 1;
    builder_node(b, "Relu", "w", "y");
    builder_output(b, "y", PGY_F32, NULL);
}

static void test_import__sparse_weights_become_dense(void **state)
{
    (void)state;
    const int64_t linear[] = {1, 5}, rows[] = {0, 1, 1, 2}, outside[] = {1, 6};
    const float wanted[] = {0, 5, 0, 0, 0, 7};
    for (int form = 0; form < 2; form++) {
        model_builder b = builder_start(17);
        add_sparse(&b, form ? rows : linear, form ? 2 : 1);
        pgy_graph *g = import_graph(&b);
        pgy_tensor *t = NULL;
        assert_int_equal(pgy_graph_value_data(&t, pgy_graph_find_value(g, "w"), NULL), PGY_OK);
        assert_int_equal(pgy_tensor_count(t), 6);
        assert_memory_equal(pgy_tensor_data(t), wanted, sizeof wanted);
        pgy_tensor_release(t);
        assert_int_equal(pgy_graph_infer_shapes(g, NULL, NULL), PGY_OK);
        assert_int_equal(g->outputs[0]->rank, 2);
        assert_int_equal(g->outputs[0]->dims[1].value, 3);
        pgy_graph_destroy(g);
    }
    model_builder b = builder_start(17);
    add_sparse(&b, outside, 1);
    pgy_graph *g = import_graph(&b);
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_graph_value_data(&t, pgy_graph_find_value(g, "w"), &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "'w'"));
    pgy_graph_destroy(g);
}

static void test_import__constants_of_every_form(void **state)
{
    (void)state;
    const int64_t list[] = {4, -1};
    pgy_tensor *t = NULL;
    model_builder b = builder_start(17);
    builder_attr_int(&b, builder_node(&b, "Constant", "", "i"), "value_int", 9);
    builder_attr_ints(&b, builder_node(&b, "Constant", "", "l"), "value_ints", 2, list);
    builder_attr_float(&b, builder_node(&b, "Constant", "", "f"), "value_float", 0.5f);
    builder_output(&b, "i", PGY_I64, "");
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_value_data(&t, pgy_graph_find_value(g, "i"), NULL), PGY_OK);
    assert_int_equal(*(const int64_t *)pgy_tensor_data(t), 9);
    pgy_tensor_release(t);
    assert_int_equal(pgy_graph_value_data(&t, pgy_graph_find_value(g, "l"), NULL), PGY_OK);
    assert_memory_equal(pgy_tensor_data(t), list, sizeof list);
    pgy_tensor_release(t);
    assert_int_equal(pgy_graph_value_data(&t, pgy_graph_find_value(g, "f"), NULL), PGY_OK);
    assert_int_equal(pgy_tensor_dtype(t), PGY_F32);
    assert_float_equal(*(const float *)pgy_tensor_data(t), 0.5, 0);
    pgy_tensor_release(t);
    pgy_graph_destroy(g);
}

static void test_import__sequence_types(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "s", PGY_F32, "2");
    pgy_onnx_type *outer = pgy_model_alloc(b.model, 1, sizeof *outer);
    pgy_onnx_elem_type *sequence = pgy_model_alloc(b.model, 1, sizeof *sequence);
    assert_true(outer && sequence);
    outer->denotation = "";
    outer->sequence_type = sequence;
    sequence->elem_type = b.graph->inputs[0]->type;
    b.graph->inputs[0]->type = outer;
    builder_output(&b, "s", PGY_DTYPE_NONE, NULL);
    pgy_graph *g = import_graph(&b);
    assert_int_equal(g->inputs[0]->kind, PGY_VALUE_SEQUENCE);
    assert_int_equal(g->inputs[0]->dtype, PGY_DTYPE_NONE);
    assert_int_equal(g->inputs[0]->rank, -1);
    pgy_graph_destroy(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_text.h"

static pgy_gs_node *layer(pgy_gs_graph *g, const pgy_gs_layer_spec *spec)
{
    pgy_gs_node *n = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_layer(&n, g, spec, &err), PGY_OK);
    return n;
}

static void test_layer__each_element_takes_the_next_number(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    const int64_t shape[] = {2}, ints[] = {1, 2};
    const float floats[] = {1, 2};
    pgy_tensor *array = NULL, *values = NULL;
    assert_int_equal(pgy_tensor_create(&array, PGY_F32, 1, shape, &err), PGY_OK);
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(text_tensor(g, "x")),
                                     pgy_gs_array_operand(array),
                                     pgy_gs_ints_operand(ints, 2),
                                     pgy_gs_floats_operand(floats, 2),
                                     pgy_gs_int_operand(3),
                                     pgy_gs_float_operand(2.5f),
                                     pgy_gs_name_operand("named"),
                                     pgy_gs_omitted_operand()};
    const pgy_gs_operand outputs[] = {pgy_gs_name_operand("a"), pgy_gs_name_operand("b")};
    pgy_gs_node *n = layer(
        g,
        &(pgy_gs_layer_spec){
            .op = "Op", .inputs = inputs, .input_count = 8, .outputs = outputs, .output_count = 2});
    assert_string_equal(n->name, "onnx_graphsurgeon_node_8");
    assert_tensors(n->inputs, n->input_count,
                   "x, onnx_graphsurgeon_constant_0, onnx_graphsurgeon_lst_constant_1, "
                   "onnx_graphsurgeon_lst_constant_2, onnx_graphsurgeon_lst_constant_3, "
                   "onnx_graphsurgeon_lst_constant_4, named_5, -");
    assert_tensors(n->outputs, n->output_count, "a_6, b_7");
    const pgy_dtype dtypes[] = {PGY_F32, PGY_F32, PGY_I64, PGY_F32, PGY_I64, PGY_F32};
    const int ranks[] = {-1, 1, 1, 1, 0, 0};
    for (size_t i = 1; i < 6; i++) {
        assert_int_equal(n->inputs[i]->dtype, dtypes[i]);
        assert_int_equal(n->inputs[i]->rank, ranks[i]);
    }
    assert_int_equal(pgy_gs_values(&values, n->inputs[5], &err), PGY_OK);
    assert_true(*(const float *)pgy_tensor_data(values) == 2.5f);
    pgy_tensor_release(values);

    n = layer(g,
              &(pgy_gs_layer_spec){.op = "Op", .name = "n", .outputs = outputs, .output_count = 1});
    assert_string_equal(n->name, "n");
    assert_tensors(n->outputs, n->output_count, "a_9");
    pgy_tensor_release(array);
    pgy_gs_destroy(g);
}

static void test_layer__a_number_that_is_taken_is_skipped(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Op", "onnx_graphsurgeon_node_3", "y_0", "z");
    const pgy_gs_operand input = pgy_gs_tensor_operand(pgy_gs_find_tensor(g, "y_0"));
    const pgy_gs_operand output = pgy_gs_name_operand("y");
    const pgy_gs_layer_spec spec = {
        .op = "Relu", .inputs = &input, .input_count = 1, .outputs = &output, .output_count = 1};
    pgy_gs_node *n = layer(g, &spec);
    assert_tensors(n->outputs, n->output_count, "y_1");
    assert_string_equal(n->name, "onnx_graphsurgeon_node_2");
    n = layer(g, &spec);
    assert_tensors(n->outputs, n->output_count, "y_3");
    assert_string_equal(n->name, "onnx_graphsurgeon_node_4");
    pgy_gs_destroy(g);
}

/* Names of one call count among each other, though nothing holds the tensors yet. */
static void test_layer__a_given_tensor_takes_its_name_within_the_call(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    const pgy_gs_operand input = pgy_gs_tensor_operand(text_tensor(g, "y_0"));
    const pgy_gs_operand output = pgy_gs_name_operand("y");
    const pgy_gs_node *n = layer(g, &(pgy_gs_layer_spec){.op = "Relu",
                                                         .inputs = &input,
                                                         .input_count = 1,
                                                         .outputs = &output,
                                                         .output_count = 1});
    assert_tensors(n->outputs, n->output_count, "y_1");
    pgy_gs_destroy(g);
}

static void test_layer__numbers_are_no_outputs(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = NULL;
    const pgy_gs_operand output = pgy_gs_int_operand(1), nameless = pgy_gs_name_operand("");
    pgy_gs_layer_spec spec = {.op = "Op", .outputs = &output, .output_count = 1};
    assert_int_equal(pgy_gs_layer(&n, g, &spec, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "output 0 of layer 'Op' must be a tensor or a name");
    spec.outputs = &nameless;
    assert_int_equal(pgy_gs_layer(&n, g, &spec, &err), PGY_E_ARGUMENT);
    assert_int_equal(g->node_count, 0);
    pgy_gs_destroy(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_text.h"

/* Fn(fi) -> fo float32 [1, 2], fo2; needs alpha, beta is 1 by default. */
static pgy_gs_graph *with_function(pgy_gs_graph **f)
{
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    const pgy_dim dims[] = {{1, NULL}, {2, NULL}};
    const pgy_gs_attr one = pgy_gs_attr_float("beta", 1);
    assert_int_equal(pgy_gs_function(f, g, "Fn", NULL, &err), PGY_OK);
    text_node(*f, "Op", "body", "fi", "fo fo2");
    text_io(*f, "fi", "fo fo2");
    assert_int_equal(pgy_gs_set_type((*f)->outputs[0], PGY_F32, 2, dims, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_type((*f)->outputs[1], PGY_DTYPE_NONE, -1, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_add_parameter(*f, "alpha", NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_add_parameter(*f, "beta", &one, &err), PGY_OK);
    return g;
}

static void test_function__a_call_takes_names_and_types_of_its_outputs(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *f, *g = with_function(&f);
    pgy_gs_node *n = NULL;
    const pgy_gs_operand x = pgy_gs_tensor_operand(text_tensor(g, "x"));
    const pgy_gs_attr alpha = pgy_gs_attr_float("alpha", 2);
    pgy_gs_call call = {.inputs = &x, .input_count = 1, .attrs = &alpha, .attr_count = 1};
    assert_int_equal(pgy_gs_invoke(&n, g, "Fn", &call, &err), PGY_OK);
    assert_string_equal(n->op, "Fn");
    assert_string_equal(n->domain, "onnx_graphsurgeon");
    assert_string_equal(n->name, "onnx_graphsurgeon_node_2");
    assert_tensors(n->outputs, n->output_count, "fo_0, fo2_1");
    assert_int_equal(n->outputs[0]->dtype, PGY_F32);
    assert_int_equal(n->outputs[0]->rank, 2);
    assert_int_equal(n->outputs[0]->dims[1].value, 2);
    assert_int_equal(n->outputs[1]->dtype, PGY_DTYPE_NONE);
    assert_int_equal(n->outputs[1]->rank, -1);

    const pgy_gs_operand names[] = {pgy_gs_name_operand("own"),
                                    pgy_gs_tensor_operand(text_tensor(g, "given"))};
    call.outputs = names;
    call.output_count = 2;
    assert_int_equal(pgy_gs_invoke(&n, g, "Fn", &call, &err), PGY_OK);
    assert_tensors(n->outputs, n->output_count, "own_3, given");
    assert_int_equal(n->outputs[0]->rank, 2);
    assert_int_equal(n->outputs[1]->dtype, PGY_F32); /* as it was */
    pgy_gs_destroy(g);
}

static void count_warnings(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    (void)text;
    (void)size_bytes;
    if (severity == PGY_LOG_WARNING) ++*(int *)user;
}

static void test_function__calls_that_do_not_fit_warn(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *f, *g = with_function(&f);
    pgy_gs_node *n = NULL;
    int warnings = 0;
    const pgy_gs_operand out = pgy_gs_tensor_operand(text_tensor(g, "t"));
    const pgy_gs_call call = {.outputs = &out, .output_count = 1};
    pgy_log_set_sink(count_warnings, &warnings);
    const pgy_status st = pgy_gs_invoke(&n, g, "Fn", &call, &err);
    pgy_log_set_sink(NULL, NULL);
    assert_int_equal(st, PGY_OK);
    assert_int_equal(warnings, 3); /* inputs, outputs, alpha */
    pgy_gs_destroy(g);
}

static void test_function__identity_is_domain_and_name(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *f, *g = with_function(&f), *other = NULL;
    assert_int_equal(pgy_gs_function(&other, g, "Fn", NULL, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_function(&other, g, "Fn", "my.domain", &err), PGY_OK);
    assert_ptr_equal(pgy_gs_find_function(g, "onnx_graphsurgeon", "Fn", ""), f);
    assert_ptr_equal(pgy_gs_find_function(other, "my.domain", "Fn", NULL), other);
    assert_null(pgy_gs_find_function(g, "my.domain", "Fn", "v2"));
    assert_int_equal(g->function_count, 2);
    assert_int_equal(f->function_count, 2);
    assert_int_equal(pgy_gs_add_parameter(f, "beta", NULL, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_add_parameter(g, "beta", NULL, &err), PGY_E_ARGUMENT);
    pgy_gs_destroy(g);
}

/* Weights of a body are Constant nodes in front; parameters are in two lists. */
static void test_function__is_written_with_its_constants_as_nodes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *f, *g = with_function(&f);
    pgy_gs_node *n = NULL;
    pgy_model *m = NULL;
    pgy_tensor *values = NULL;
    pgy_gs_tensor *w = NULL;
    const pgy_gs_operand x = pgy_gs_tensor_operand(text_tensor(g, "x"));
    const pgy_gs_call call = {.inputs = &x, .input_count = 1};
    assert_int_equal(pgy_tensor_create(&values, PGY_F32, 0, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_constant(&w, f, "w", values, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_input(f->nodes[0], 1, w, &err), PGY_OK);
    assert_int_equal(pgy_gs_invoke(&n, g, "Fn", &call, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_graph_inputs(g, n->inputs, 1, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_graph_outputs(g, n->outputs, 1, &err), PGY_OK);
    assert_int_equal(pgy_gs_export(&m, g, NULL, &err), PGY_OK);
    const pgy_onnx_model *p = pgy_model_proto(m);
    assert_int_equal(p->ir_version, 8);
    assert_int_equal(pgy_model_opset(p, "onnx_graphsurgeon"), 1);
    assert_int_equal(p->function_count, 1);
    const pgy_onnx_function *to = p->functions[0];
    assert_string_equal(to->domain, "onnx_graphsurgeon");
    assert_int_equal(to->node_count, 2);
    assert_string_equal(to->nodes[0]->op_type, "Constant");
    assert_string_equal(to->nodes[0]->outputs[0], "w");
    assert_string_equal(to->nodes[1]->inputs[1], "w");
    assert_int_equal(to->attribute_count, 1);
    assert_string_equal(to->attributes[0], "alpha");
    assert_int_equal(to->attribute_proto_count, 1);
    assert_true(to->attribute_protos[0]->f == 1);
    assert_int_equal(to->opset_imports[0]->version, 11);
    assert_int_equal(f->node_count, 1); /* the graph itself is as it was */
    pgy_tensor_release(values);
    pgy_model_destroy(m);
    pgy_gs_destroy(g);
}

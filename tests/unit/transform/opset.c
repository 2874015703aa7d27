/* SPDX-License-Identifier: Apache-2.0 */
/* Other opset versions: what becomes of single nodes, and that a graph stays whole on failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/transform.h>

#include "harness/graph_case.h"
#include "transform/normalise.h"

/* Converted, exported and read again. */
static pgy_graph *convert(model_builder *b, int64_t version)
{
    pgy_error err = {0};
    pgy_graph *g = import_graph(b);
    pgy_model *model = NULL;
    if (pgy_graph_convert_opset(g, version, NULL, &err)) fail_msg("%s", err.text);
    if (pgy_graph_export(&model, g, &err)) fail_msg("%s", err.text);
    pgy_graph_destroy(g);
    g = NULL;
    if (pgy_graph_import(&g, model, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    assert_int_equal(pgy_graph_opset(g, ""), version);
    return g;
}

static pgy_node *maker_of(const pgy_graph *g, const char *value)
{
    const pgy_value *v = pgy_graph_find_value(g, value);
    assert_non_null(v);
    assert_non_null(v->producer);
    return v->producer;
}

static const pgy_onnx_attribute *attribute(const pgy_node *n, const char *name)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (strcmp(n->attributes[i]->name, name) == 0) return n->attributes[i];
    return NULL;
}

static size_t count_of(const pgy_graph *g, const char *op_type)
{
    size_t count = 0;
    for (size_t i = 0; i < g->node_count; i++) count += strcmp(g->nodes[i]->op_type, op_type) == 0;
    return count;
}

static pgy_tensor *constant_of(pgy_value *v)
{
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    assert_non_null(v);
    if (pgy_graph_value_data(&t, v, &err)) fail_msg("%s", err.text);
    return t;
}

/* ---- Upward --------------------------------------------------------------------------------- */

static void test_opset__clip_bounds_become_inputs(void **state)
{
    (void)state;
    model_builder b = builder_start(7);
    builder_input(&b, "x", PGY_F16, "N, 4");
    pgy_onnx_node *clip = builder_node(&b, "Clip", "x", "y");
    builder_attr_float(&b, clip, "max", 6);
    builder_output(&b, "y", PGY_F16, "N, 4");
    pgy_graph *g = convert(&b, 28);
    const pgy_node *n = maker_of(g, "y");
    assert_int_equal(n->input_count, 3);
    assert_int_equal(n->attribute_count, 0);
    assert_null(n->inputs[1]);
    pgy_tensor *max = constant_of(n->inputs[2]);
    assert_int_equal(pgy_tensor_dtype(max), PGY_F16);
    assert_int_equal(pgy_tensor_rank(max), 0);
    assert_int_equal(*(const uint16_t *)pgy_tensor_data(max), 0x4600);
    pgy_tensor_release(max);
    pgy_graph_destroy(g);
}

static void test_opset__softmax_of_a_matrix_keeps_its_meaning(void **state)
{
    (void)state;
    model_builder b = builder_start(11);
    builder_input(&b, "x", PGY_F32, "N, 3, 4");
    builder_node(&b, "Softmax", "x", "y"); /* axis 1: the 12 elements of each row */
    builder_output(&b, "y", PGY_F32, "N, 3, 4");
    pgy_graph *g = convert(&b, 13);
    assert_string_equal(maker_of(g, "y")->op_type, "Reshape");
    assert_int_equal(count_of(g, "Flatten"), 1);
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->op_type, "Softmax") == 0)
            assert_int_equal(attribute(g->nodes[i], "axis")->i, -1);
    pgy_graph_destroy(g);
}

static void test_opset__upsample_becomes_resize(void **state)
{
    (void)state;
    const float scales[] = {1, 1, 2, 2};
    model_builder b = builder_start(9);
    builder_input(&b, "x", PGY_F32, "1, 3, 8, 8");
    builder_floats(&b, "s", "4", scales);
    builder_node(&b, "Upsample", "x s", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = convert(&b, 19);
    const pgy_node *n = maker_of(g, "y");
    assert_string_equal(n->op_type, "Resize");
    assert_null(n->inputs[1]);
    assert_string_equal(n->inputs[2]->name, "s");
    const pgy_onnx_attribute *mode = attribute(n, "coordinate_transformation_mode");
    assert_memory_equal(mode->s.data, "asymmetric", mode->s.size);
    pgy_graph_destroy(g);
}

static void test_opset__parameters_of_functions_are_passed_on(void **state)
{
    (void)state;
    model_builder b = builder_start(12);
    builder_opset(&b, "local", 1);
    model_builder f = builder_function(&b, "local", "Sum2", "a", "r", "over");
    builder_attr_ref(&f, builder_node(&f, "ReduceSum", "a", "r"), "axes", PGY_ATTR_INTS, "over");
    builder_end_function(&f);
    builder_input(&b, "x", PGY_F32, "2, 3");
    pgy_onnx_node *call = builder_node(&b, "Sum2", "x", "y");
    call->domain = "local";
    const int64_t axes[] = {1};
    builder_attr_ints(&b, call, "over", 1, axes);
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = convert(&b, 18);
    const pgy_onnx_function *proto = pgy_model_proto(g->model)->functions[0];
    assert_int_equal(proto->opset_imports[0]->version, 18);
    assert_int_equal(proto->node_count, 2);
    assert_string_equal(proto->nodes[0]->op_type, "Constant");
    assert_string_equal(proto->nodes[0]->attributes[0]->name, "value_ints");
    assert_string_equal(proto->nodes[0]->attributes[0]->ref_attr_name, "over");
    assert_int_equal(proto->nodes[1]->input_count, 2);
    pgy_graph_destroy(g);
}

static void test_opset__subgraphs_and_the_format_version_follow(void **state)
{
    (void)state;
    const int64_t axes[] = {0};
    model_builder b = builder_start(11);
    b.proto->ir_version = 4;
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "1, 3");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_attr_ints(&yes, builder_node(&yes, "Squeeze", "x", "a"), "axes", 1, axes);
    builder_output(&yes, "a", PGY_F32, "3");
    builder_attr_ints(&no, builder_node(&no, "ReduceMax", "x", "d"), "axes", 1, axes);
    builder_output(&no, "d", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = convert(&b, 18);
    assert_int_equal(pgy_model_proto(g->model)->ir_version, 8);
    const pgy_node *made = maker_of(g, "y");
    assert_int_equal(maker_of(made->subgraphs[0], "a")->input_count, 2);
    assert_int_equal(maker_of(made->subgraphs[1], "d")->input_count, 2);
    pgy_graph_destroy(g);
}

/* ---- Downward ------------------------------------------------------------------------------- */

static void test_opset__layer_normalization_is_spelled_out(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4, 8");
    builder_floats(&b, "s", "8", NULL);
    builder_floats(&b, "t", "8", NULL);
    builder_node(&b, "LayerNormalization", "x s t", "y");
    builder_output(&b, "y", PGY_F32, "N, 4, 8");
    pgy_graph *g = convert(&b, 9);
    assert_int_equal(count_of(g, "LayerNormalization"), 0);
    assert_int_equal(count_of(g, "ReduceMean"), 2);
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->op_type, "ReduceMean") == 0)
            assert_int_equal(attribute(g->nodes[i], "axes")->ints[0], 2);
    assert_string_equal(maker_of(g, "y")->op_type, "Add");
    pgy_graph_destroy(g);
}

static model_builder computed_axes(void)
{
    model_builder b = builder_start(18);
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_input(&b, "axes", PGY_I64, "1");
    builder_node(&b, "ReduceMax", "x axes", "m");
    builder_node(&b, "BitwiseNot", "axes", "n");
    builder_node(&b, "Mish", "m", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "n", PGY_I64, "1");
    return b;
}

static void test_opset__all_that_cannot_be_expressed_is_listed(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_opset_report report = {0};
    model_builder b = computed_axes();
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_convert_opset(g, 17, &report, &err), PGY_E_UNSUPPORTED);
    assert_int_equal(report.from, 18);
    assert_int_equal(report.to, 17);
    assert_int_equal(report.impossible_count, 2);
    assert_string_equal(report.impossible[0].op_type, "ReduceMax");
    assert_string_equal(report.impossible[0].node, "n0");
    assert_non_null(strstr(report.impossible[0].reason, "'axes' is not constant"));
    assert_string_equal(report.impossible[1].op_type, "BitwiseNot");
    assert_string_equal(report.impossible[1].reason, "BitwiseNot was introduced in opset 18");
    assert_non_null(strstr(err.text, "ReduceMax 'n0' cannot be expressed in opset 17"));
    pgy_graph_destroy(g);
}

static void test_opset__a_failure_leaves_the_graph_as_it_was(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = computed_axes();
    pgy_graph *g = import_graph(&b);
    pgy_model *model = NULL;
    void *before = NULL, *after = NULL;
    size_t size_before = 0, size_after = 0;
    assert_int_equal(pgy_model_serialize(&before, &size_before, g->model, &err), PGY_OK);
    assert_int_equal(pgy_graph_convert_opset(g, 17, NULL, &err), PGY_E_UNSUPPORTED);
    assert_int_equal(pgy_graph_export(&model, g, &err), PGY_OK);
    assert_int_equal(pgy_model_serialize(&after, &size_after, model, &err), PGY_OK);
    assert_int_equal(size_after, size_before);
    assert_memory_equal(after, before, size_before);
    pgy_text_free(before);
    pgy_text_free(after);
    pgy_model_destroy(model);
    pgy_graph_destroy(g);
}

static void test_opset__types_of_the_older_version_are_judged(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(14);
    builder_input(&b, "x", PGY_BF16, "2");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_BF16, "2");
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_convert_opset(g, 12, NULL, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "bfloat16"));
    assert_int_equal(pgy_graph_convert_opset(g, 13, NULL, &err), PGY_OK);
    pgy_graph_destroy(g);
}

/* y = Reshape(x, Concat(Gather(Shape(x), 0), rest)) with allowzero, down to opset 13. */
static pgy_status reshape_down(const char *input, int64_t place, int64_t rest, pgy_error *err)
{
    model_builder b = builder_start(14);
    builder_input(&b, "x", PGY_F32, input);
    builder_ints(&b, "place", "1", &place);
    builder_ints(&b, "rest", "1", &rest);
    builder_node(&b, "Shape", "x", "s");
    builder_node(&b, "Gather", "s place", "n");
    builder_attr_int(&b, builder_node(&b, "Concat", "n rest", "shape"), "axis", 0);
    builder_attr_int(&b, builder_node(&b, "Reshape", "x shape", "y"), "allowzero", 1);
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = import_graph(&b);
    const pgy_status st = pgy_graph_convert_opset(g, 13, NULL, err);
    if (!st) assert_null(attribute(maker_of(g, "y"), "allowzero"));
    pgy_graph_destroy(g);
    return st;
}

static void test_opset__reshape_loses_allowzero_where_no_size_differs(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_equal(reshape_down("2, 3, 4", 0, 12, &err), PGY_OK);
    assert_int_equal(reshape_down("N, 3, 4", 0, 12, &err),
                     PGY_OK); /* N of axis 0 is copied there */
    assert_int_equal(reshape_down("N, 3, 4", 1, -1, &err), PGY_OK);
    assert_int_not_equal(reshape_down("4, N, 4", 1, -1, &err), PGY_OK);
    assert_non_null(strstr(err.text, "element 0 of the shape, 'N', may be 0"));
    assert_int_not_equal(reshape_down("N, 3, 4", 0, 0, &err), PGY_OK);
    assert_non_null(strstr(err.text, "element 1 of the shape, '0', may be 0"));
}

static void test_opset__versions_out_of_range_are_refused(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(13);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_convert_opset(g, 6, NULL, &err), PGY_E_UNSUPPORTED);
    assert_int_equal(pgy_graph_convert_opset(g, 29, NULL, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "7 to 28"));
    assert_int_equal(pgy_graph_convert_opset(g, 13, NULL, &err), PGY_OK);
    pgy_graph_destroy(g);
}

static void test_opset__inferred_types_do_not_stay(void **state)
{
    (void)state;
    model_builder b = builder_start(13);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_node(&b, "Relu", "x", "r");
    builder_node(&b, "HardSwish", "r", "y");
    b.proto->opset_imports[0]->version = 14;
    builder_output(&b, "y", PGY_F32, "2, 3");
    pgy_graph *g = convert(&b, 13);
    assert_int_equal(pgy_model_proto(g->model)->graph->value_info_count, 0);
    assert_int_equal(count_of(g, "HardSigmoid"), 1);
    pgy_graph_destroy(g);
}

/* ---- The internal form ---------------------------------------------------------------------- */

static void test_opset__the_normal_form_is_of_the_newest_opset(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(9);
    builder_input(&b, "x", PGY_F32, "2, 3, 4");
    builder_node(&b, "LogSoftmax", "x", "y");
    builder_output(&b, "y", PGY_F32, "2, 3, 4");
    pgy_graph *g = import_graph(&b);
    if (graph_normalise(g, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_graph_opset(g, ""), 28);
    assert_string_equal(maker_of(g, "y")->op_type, "Reshape");
    pgy_graph_destroy(g);
}

static void test_opset__a_node_that_several_replace_counts_once(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_opset_report report;
    model_builder b = builder_start(9);
    builder_input(&b, "x", PGY_F32, "2, 3, 4");
    builder_node(&b, "LogSoftmax", "x", "t");
    builder_node(&b, "Relu", "t", "u");
    builder_node(&b, "LogSoftmax", "u", "y");
    builder_output(&b, "y", PGY_F32, "2, 3, 4");
    pgy_graph *g = import_graph(&b);
    if (pgy_graph_convert_opset(g, 13, &report, &err)) fail_msg("%s", err.text);
    assert_true(g->node_count > 3);
    assert_int_equal(report.changed_count, 2);
    pgy_graph_destroy(g);
}

/* On the way to opset 8 ScatterElements becomes Scatter, which came with opset 9. */
static void test_opset__an_obstacle_has_the_name_of_the_node_in_the_model(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_opset_report report;
    model_builder b = builder_start(11);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_input(&b, "i", PGY_I64, "1, 3");
    builder_input(&b, "u", PGY_F32, "1, 3");
    pgy_onnx_node *n = builder_node(&b, "ScatterElements", "x i u", "y");
    n->name = "place";
    builder_output(&b, "y", PGY_F32, "2, 3");
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_convert_opset(g, 8, &report, &err), PGY_E_UNSUPPORTED);
    assert_int_equal(report.impossible_count, 1);
    assert_string_equal(report.impossible[0].node, "place");
    assert_string_equal(report.impossible[0].op_type, "ScatterElements");
    pgy_graph_destroy(g);
}

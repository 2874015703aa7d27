/* SPDX-License-Identifier: Apache-2.0 */
/* Selecting outputs; the export keeps what did not change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/graph.h>

#include "harness/model_builder.h"

static pgy_graph *import(pgy_model *model)
{
    pgy_error err = {0};
    pgy_graph *g = NULL;
    const pgy_status st = pgy_graph_import(&g, model, &err);
    pgy_model_destroy(model);
    if (st) fail_msg("%s", err.text);
    return g;
}

static pgy_graph *sample(void)
{
    model_builder b = builder_start(17);
    pgy_tensor *t = NULL;
    const int64_t shape[] = {2};
    builder_input(&b, "x", PGY_F32, "2");
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, shape, NULL), PGY_OK);
    builder_attr_tensor(&b, builder_node(&b, "Constant", "", "k"), "value", t);
    pgy_tensor_release(t);
    builder_node(&b, "Add", "x k", "a0");
    builder_node(&b, "Relu", "a0", "b0");
    builder_node(&b, "Relu", "b0", "b1");
    builder_node(&b, "Dropout", "b1 n", "top -");
    const float n = 0.5f;
    builder_floats(&b, "n", "", &n);
    builder_value(&b, "b0", PGY_F32, "2");
    builder_output(&b, "top", PGY_F32, "2");
    return import(builder_finish_bytes(&b));
}

static void expect_outputs(const pgy_graph *g, const char *wanted)
{
    char text[256] = "";
    for (size_t i = 0; i < g->output_count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, g->outputs[i]->name);
        assert_true(g->outputs[i]->is_output);
    }
    assert_string_equal(text, wanted);
}

static void select_and_expect(pgy_output_selection s, const char *wanted)
{
    pgy_error err = {0};
    pgy_graph *g = sample();
    s.size = sizeof s;
    if (pgy_graph_select_outputs(g, &s, &err)) fail_msg("%s", err.text);
    expect_outputs(g, wanted);
    pgy_graph_destroy(g);
}

static void refuse(pgy_output_selection s, const char *text)
{
    pgy_error err = {0};
    pgy_graph *g = sample();
    s.size = sizeof s;
    assert_int_equal(pgy_graph_select_outputs(g, &s, &err), PGY_E_NOT_FOUND);
    if (!strstr(err.text, text)) fail_msg("'%s' does not contain '%s'", err.text, text);
    expect_outputs(g, "top");
    pgy_graph_destroy(g);
}

static void test_outputs__names_in_order_without_duplicates(void **state)
{
    (void)state;
    const char *const names[] = {"b1", "a0", "b1", "x"};
    select_and_expect((pgy_output_selection){.names = names, .name_count = 4}, "b1 a0 x");
}

static void test_outputs__wildcards_leave_out_constants_and_inputs(void **state)
{
    (void)state;
    const char *const names[] = {"b?", "*"};
    select_and_expect((pgy_output_selection){.names = names, .name_count = 2}, "b0 b1 a0 top");
    const char *const set[] = {"[!b]*"};
    select_and_expect((pgy_output_selection){.names = set, .name_count = 1}, "a0 top");
}

static void test_outputs__mark_all(void **state)
{
    (void)state;
    const char *const not [] = {"b*", "top"};
    select_and_expect((pgy_output_selection){.mark_all = true}, "a0 b0 b1 top");
    select_and_expect((pgy_output_selection){.mark_all = true, .exclude = not, .exclude_count = 2},
                      "a0");
}

static void test_outputs__operators_in_any_case(void **state)
{
    (void)state;
    const char *const names[] = {"top"}, *const types[] = {"RELU"};
    select_and_expect((pgy_output_selection){.op_types = types, .op_type_count = 1}, "b0 b1");
    select_and_expect(
        (pgy_output_selection){
            .names = names, .name_count = 1, .op_types = types, .op_type_count = 1},
        "top b0 b1");
}

static void test_outputs__kept_when_nothing_is_asked(void **state)
{
    (void)state;
    select_and_expect((pgy_output_selection){0}, "top");
}

static void test_outputs__missing(void **state)
{
    (void)state;
    const char *const names[] = {"b0", "ghost", "spook"}, *const none[] = {"zz*"},
                      *const close[] = {"top", "tap", "b"};
    refuse((pgy_output_selection){.names = names, .name_count = 3},
           "['ghost', 'spook']. Available: ['k', 'a0'");
    refuse((pgy_output_selection){.names = none, .name_count = 1}, "No outputs were selected.");
    refuse((pgy_output_selection){.names = close, .name_count = 3},
           "['tap', 'b']; did you mean 'top', 'a0'? Available: ['k', 'a0'");
    refuse((pgy_output_selection){.exclude = close, .exclude_count = 3}, "['tap', 'b']; did you");
}

static void test_outputs__unknown_operators_choose_nothing(void **state)
{
    (void)state;
    const char *const names[] = {"b1"}, *const types[] = {"Relux"};
    select_and_expect((pgy_output_selection){.op_types = types, .op_type_count = 1}, "top");
    select_and_expect(
        (pgy_output_selection){
            .names = names, .name_count = 1, .op_types = types, .op_type_count = 1},
        "b1");
}

static void test_outputs__exported(void **state)
{
    (void)state;
    const char *const names[] = {"b0", "a0"};
    const pgy_output_selection s = {.size = sizeof s, .names = names, .name_count = 2};
    pgy_graph *g = sample();
    pgy_model *model = NULL;
    const pgy_onnx_node *before = g->nodes[1]->proto;
    assert_int_equal(pgy_graph_select_outputs(g, &s, NULL), PGY_OK);
    assert_int_equal(pgy_graph_export(&model, g, NULL), PGY_OK);
    const pgy_onnx_graph *proto = pgy_model_proto(model)->graph;
    assert_ptr_equal(proto->nodes[1], before); /* not rebuilt */
    assert_int_equal(proto->output_count, 2);
    assert_string_equal(proto->outputs[0]->name, "b0");
    assert_int_equal(proto->outputs[0]->type->tensor_type->shape->dims[0]->dim_value, 2);
    assert_string_equal(proto->outputs[1]->name, "a0");
    assert_null(proto->outputs[1]->type); /* nobody said */
    pgy_graph_destroy(g);
    g = import(model);
    expect_outputs(g, "b0 a0");
    pgy_graph_destroy(g);
}

static void test_outputs__unchanged_graph_exports_its_bytes(void **state)
{
    (void)state;
    void *first = NULL, *second = NULL;
    size_t first_size, second_size;
    pgy_graph *g = sample();
    pgy_model *model = NULL;
    assert_int_equal(pgy_model_serialize(&first, &first_size, g->model, NULL), PGY_OK);
    assert_int_equal(pgy_graph_sort(g, NULL), PGY_OK);
    assert_int_equal(pgy_graph_export(&model, g, NULL), PGY_OK);
    pgy_graph_destroy(g);
    assert_int_equal(pgy_model_serialize(&second, &second_size, model, NULL), PGY_OK);
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
    pgy_text_free(first);
    pgy_text_free(second);
    pgy_model_destroy(model);
}

static void test_outputs__inferred_types_are_exported(void **state)
{
    (void)state;
    pgy_graph *g = sample();
    pgy_model *model = NULL;
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, NULL), PGY_OK);
    assert_int_equal(pgy_graph_export(&model, g, NULL), PGY_OK);
    pgy_graph_destroy(g);
    g = import(model);
    const pgy_value *v = pgy_graph_find_value(g, "b1");
    assert_non_null(v->info);
    assert_int_equal(v->dtype, PGY_F32);
    assert_int_equal(v->dims[0].value, 2);
    pgy_graph_destroy(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_text.h"
#include "harness/model_builder.h"

static pgy_gs_graph *imported(pgy_model *m)
{
    pgy_error err = {0};
    pgy_gs_graph *g = NULL;
    if (pgy_gs_import(&g, m, &err)) fail_msg("%s", err.text);
    assert_edges(g);
    return g;
}

static pgy_model *exported(pgy_gs_graph *g)
{
    pgy_error err = {0};
    pgy_model *m = NULL;
    if (pgy_gs_export(&m, g, NULL, &err)) fail_msg("%s", err.text);
    return m;
}

/* Builds, imports, and drops the model: the graph keeps what it needs. */
static pgy_gs_graph *import_built(model_builder *b)
{
    pgy_model *m = builder_finish_bytes(b);
    pgy_gs_graph *g = imported(m);
    pgy_model_destroy(m);
    return g;
}

/* Exports, serializes and reads again what a file would hold. */
static pgy_model *written(pgy_gs_graph *g)
{
    pgy_error err = {0};
    pgy_model *m = exported(g), *back = NULL;
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(pgy_model_serialize(&bytes, &size, m, &err), PGY_OK);
    assert_int_equal(pgy_model_parse(&back, bytes, size, false, NULL, &err), PGY_OK);
    pgy_text_free(bytes);
    pgy_model_destroy(m);
    return back;
}

static void assert_same_bytes(pgy_model *a, pgy_model *b)
{
    pgy_error err = {0};
    void *x = NULL, *y = NULL;
    size_t x_size = 0, y_size = 0;
    assert_int_equal(pgy_model_serialize(&x, &x_size, a, &err), PGY_OK);
    assert_int_equal(pgy_model_serialize(&y, &y_size, b, &err), PGY_OK);
    assert_int_equal(x_size, y_size);
    assert_memory_equal(x, y, x_size);
    pgy_text_free(x);
    pgy_text_free(y);
}

static pgy_model *load(const char *name)
{
    pgy_error err = {0};
    pgy_model *m = NULL;
    char path[512];
    snprintf(path, sizeof path, TEST_SOURCE_DIR "/tests/data/onnx/%s.onnx", name);
    if (pgy_model_load(&m, path, NULL, &err)) fail_msg("%s", err.text);
    return m;
}

static const char *const FILES[] = {
    "attributes", "every_element_type", "external", "function",     "quantization",
    "sparse",     "subgraph_if_loop",   "types",    "unusual_bytes"};
enum { FILE_COUNT = sizeof FILES / sizeof FILES[0] };

/* ---- What is not touched --------------------------------------------------------------------- */

static void test_import_export__unchanged_documents_keep_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        pgy_error err = {0};
        pgy_model *m = load(FILES[i]);
        pgy_gs_graph *g = imported(m), *copy = NULL;
        pgy_model *out = exported(g);
        assert_same_bytes(m, out);
        pgy_model_destroy(out);
        assert_int_equal(pgy_gs_copy(&copy, g, &err), PGY_OK);
        pgy_gs_destroy(g);
        out = exported(copy);
        assert_same_bytes(m, out);
        pgy_model_destroy(out);
        pgy_gs_destroy(copy);
        pgy_model_destroy(m);
    }
}

static bool is_kept(const pgy_onnx_message *from, pgy_onnx_message *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->raw.size == from->raw.size &&
            memcmp(list[i]->raw.data, from->raw.data, from->raw.size) == 0)
            return true;
    return false;
}

static void assert_all_kept(const void *from, size_t from_count, const void *to, size_t to_count)
{
    pgy_onnx_message *const *list = from;
    for (size_t i = 0; i < from_count; i++) assert_true(is_kept(list[i], to, to_count));
}

/* Defects 9 and 16: what an edit does not touch is written with all that was in it. */
static void test_import_export__an_edit_keeps_everything_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        pgy_model *m = load(FILES[i]);
        pgy_gs_graph *g = imported(m);
        const pgy_onnx_model *from = pgy_model_proto(m);
        text_node(g, "Identity", "new", "", "");
        pgy_model *out = strcmp(FILES[i], "external") == 0 ? exported(g) : written(g);
        const pgy_onnx_model *to = pgy_model_proto(out);
        const pgy_onnx_graph *a = from->graph, *b = to->graph;
        assert_int_equal(b->node_count, a->node_count + 1);
        assert_all_kept(a->nodes, a->node_count, b->nodes, b->node_count);
        assert_all_kept(a->initializers, a->initializer_count, b->initializers,
                        b->initializer_count);
        assert_all_kept(a->sparse_initializers, a->sparse_initializer_count, b->sparse_initializers,
                        b->sparse_initializer_count);
        assert_all_kept(a->inputs, a->input_count, b->inputs, b->input_count);
        assert_all_kept(a->outputs, a->output_count, b->outputs, b->output_count);
        assert_all_kept(a->value_infos, a->value_info_count, b->value_infos, b->value_info_count);
        assert_all_kept(a->quantization_annotations, a->quantization_annotation_count,
                        b->quantization_annotations, b->quantization_annotation_count);
        assert_all_kept(a->metadata_props, a->metadata_prop_count, b->metadata_props,
                        b->metadata_prop_count);
        assert_all_kept(from->metadata_props, from->metadata_prop_count, to->metadata_props,
                        to->metadata_prop_count);
        assert_all_kept(from->functions, from->function_count, to->functions, to->function_count);
        assert_int_equal(to->message.unknown_count, from->message.unknown_count);
        assert_int_equal(to->model_version, from->model_version);
        assert_string_equal(to->domain, from->domain);
        assert_string_equal(to->doc_string, from->doc_string);
        assert_string_equal(b->doc_string, a->doc_string);
        pgy_model_destroy(out);
        pgy_gs_destroy(g);
        pgy_model_destroy(m);
    }
}

/* A node that is edited keeps its doc string, its other attributes, its device. */
static void test_import_export__an_edited_node_keeps_the_rest(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *m = load("attributes");
    pgy_gs_graph *g = imported(m);
    const size_t count = g->nodes[0]->attribute_count;
    const pgy_gs_attr i = pgy_gs_attr_int("i", 5);
    assert_int_equal(pgy_gs_set_node_name(g->nodes[0], "renamed", &err), PGY_OK);
    assert_int_equal(pgy_gs_set_attr(g->nodes[0], &i, &err), PGY_OK);
    pgy_model *out = written(g);
    const pgy_onnx_node *a = pgy_model_proto(m)->graph->nodes[0];
    const pgy_onnx_node *b = pgy_model_proto(out)->graph->nodes[0];
    assert_string_equal(b->name, "renamed");
    assert_string_equal(b->doc_string, a->doc_string);
    assert_int_equal(b->attribute_count, count);
    for (size_t k = 0; k < count; k++) {
        const bool changed = strcmp(a->attributes[k]->name, "i") == 0;
        assert_string_equal(b->attributes[k]->name, a->attributes[k]->name);
        if (changed)
            assert_int_equal(b->attributes[k]->i, 5);
        else
            assert_all_kept(&a->attributes[k], 1, &b->attributes[k], 1);
    }
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
    pgy_model_destroy(m);
}

/* Only names are changed: neither bytes nor places of weights are looked at. */
static void test_import_export__renamed_weights_keep_their_records(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model_load_options options = {.size = sizeof options, .ignore_external_data = true};
    pgy_model *m = NULL;
    assert_int_equal(
        pgy_model_load(&m, TEST_SOURCE_DIR "/tests/data/onnx/external.onnx", &options, &err),
        PGY_OK);
    pgy_gs_graph *g = imported(m);
    pgy_gs_tensor_list list = {0};
    assert_int_equal(pgy_gs_tensors(&list, g, true, &err), PGY_OK);
    size_t renamed = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (list.items[i]->kind != PGY_GS_CONSTANT) continue;
        char name[64];
        snprintf(name, sizeof name, "renamed_%zu", renamed++);
        assert_int_equal(pgy_gs_rename(list.items[i], name, &err), PGY_OK);
    }
    pgy_gs_tensor_list_free(&list);
    assert_true(renamed > 0);
    pgy_model *out = exported(g);
    const pgy_onnx_graph *to = pgy_model_proto(out)->graph;
    for (size_t i = 0; i < to->initializer_count; i++) {
        const pgy_onnx_tensor *t = to->initializers[i];
        if (strncmp(t->name, "renamed_", 8) != 0 || !t->data_location) continue;
        assert_true(t->external_data_count > 0);
        assert_int_equal(t->raw_data.size, 0);
        renamed = 0;
    }
    assert_int_equal(renamed, 0); /* at least one was external */
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
    pgy_model_destroy(m);
}

/* ---- What is read ---------------------------------------------------------------------------- */

static void test_import_export__weights_are_no_inputs(void **state)
{
    (void)state;
    model_builder b = builder_start(8);
    b.proto->ir_version = 3;
    builder_input(&b, "w", PGY_F32, "2");
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "w", "2", NULL);
    builder_floats(&b, "unused", "2", NULL);
    b.graph->inputs[0]->doc_string = "about w";
    builder_node(&b, "Add", "x w", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_gs_graph *g = import_built(&b);
    assert_tensors(g->inputs, g->input_count, "x");
    assert_int_equal(pgy_gs_find_tensor(g, "w")->kind, PGY_GS_CONSTANT);
    text_node(g, "Identity", "new", "y", "");
    /* Written as IR 3 wants it. */
    pgy_model *out = written(g);
    const pgy_onnx_model *to = pgy_model_proto(out);
    assert_int_equal(to->ir_version, 3);
    assert_int_equal(to->graph->input_count, 3);
    assert_string_equal(to->graph->inputs[0]->name, "x");
    assert_string_equal(to->graph->inputs[1]->name, "w");
    assert_string_equal(to->graph->inputs[1]->doc_string, "about w");
    assert_string_equal(to->graph->inputs[2]->name, "unused");
    assert_int_equal(to->graph->value_info_count, 0);
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
}

static void test_import_export__value_infos_add_what_is_missing(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, ?, 3");
    builder_value(&b, "t", PGY_F16, "2");
    builder_value(&b, "y", PGY_F32, "4, 5");
    builder_value(&b, "unused", PGY_I64, "");
    builder_node(&b, "Op", "x - x", "t - u");
    builder_node(&b, "Op", "t", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_gs_graph *g = import_built(&b);
    const pgy_gs_node *n = g->nodes[0];
    char *text = pgy_gs_tensor_text(g->inputs[0]);
    assert_string_equal(text, "Variable (x): (shape=['N', None, 3], dtype=float32)");
    pgy_text_free(text);
    assert_int_equal(pgy_gs_find_tensor(g, "t")->dtype, PGY_F16);
    assert_int_equal(pgy_gs_find_tensor(g, "u")->rank, -1);
    assert_int_equal(g->outputs[0]->rank, 2);
    assert_null(pgy_gs_find_tensor(g, "unused"));
    assert_ptr_not_equal(n->inputs[1], n->outputs[1]);
    assert_int_equal(g->inputs[0]->consumer_count, 2);

    text_node(g, "Identity", "new", "y", "");
    pgy_model *out = written(g);
    const pgy_onnx_graph *to = pgy_model_proto(out)->graph;
    assert_int_equal(to->outputs[0]->type->tensor_type->shape->dim_count, 2);
    assert_int_equal(to->value_info_count, 2);
    assert_string_equal(to->value_infos[0]->name, "t");
    assert_string_equal(to->value_infos[1]->name, "unused");
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
}

/* Inputs of nodes are looked up outwards, their outputs and those of graphs are not. */
static void test_import_export__subgraphs_read_outwards(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "w", "2", NULL);
    model_builder sub = builder_subgraph(&b, "then");
    builder_node(&sub, "Add", "late w", "s");
    builder_node(&sub, "Mul", "s x", "late_own");
    builder_output(&sub, "late_own", PGY_F32, NULL);
    model_builder other = builder_subgraph(&b, "else");
    builder_floats(&other, "x", "2", NULL); /* hides the outer one */
    builder_node(&other, "Identity", "x", "e");
    builder_output(&other, "e", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    builder_attr_graph(&b, n, "then_branch", &sub);
    builder_attr_graph(&b, n, "else_branch", &other);
    builder_node(&b, "Relu", "x", "late");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_gs_graph *g = import_built(&b);
    pgy_gs_graph *then = g->nodes[0]->attributes[0].graphs[0];
    pgy_gs_graph *otherwise = g->nodes[0]->attributes[1].graphs[0];
    assert_ptr_equal(then->parent, g);
    assert_ptr_equal(then->nodes[0]->inputs[0], g->nodes[1]->outputs[0]);
    assert_ptr_equal(then->nodes[0]->inputs[1], pgy_gs_find_tensor(then, "w"));
    assert_ptr_equal(then->nodes[1]->inputs[1], g->inputs[1]);
    assert_ptr_not_equal(otherwise->nodes[0]->inputs[0], g->inputs[1]);
    assert_int_equal(otherwise->nodes[0]->inputs[0]->kind, PGY_GS_CONSTANT);
    assert_int_equal(then->opset, 17);

    /* The weight that only a branch reads stays where it was, once. */
    assert_int_equal(pgy_gs_set_node_name(then->nodes[0], "changed", &err), PGY_OK);
    pgy_model *out = written(g);
    const pgy_onnx_graph *to = pgy_model_proto(out)->graph;
    assert_int_equal(to->initializer_count, 1);
    assert_string_equal(to->initializers[0]->name, "w");
    assert_int_equal(to->nodes[0]->attributes[0]->g->initializer_count, 0);
    assert_int_equal(to->nodes[0]->attributes[0]->g->value_info_count, 0);
    assert_string_equal(to->nodes[0]->attributes[0]->g->nodes[0]->name, "changed");
    assert_int_equal(to->nodes[0]->attributes[1]->g->initializer_count, 1);
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
}

/* ---- What is written ------------------------------------------------------------------------- */

/* Case 1: a model from nothing. */
static void test_import_export__a_new_model(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    const pgy_dim in[] = {{-1, "B"}, {3, NULL}, {64, NULL}, {64, NULL}};
    const int64_t ones[] = {1, 1};
    const pgy_gs_attr strides = pgy_gs_attr_ints("strides", ones, 2);
    pgy_tensor *values = NULL;
    assert_int_equal(pgy_tensor_create(&values, PGY_F32, 1, ones, &err), PGY_OK);
    pgy_gs_node *conv = text_node(g, "Conv", "myConv", "tensor0 constant0", "tensor1");
    text_node(g, "Relu", "myRelu", "tensor1", "tensor2");
    text_io(g, "tensor0", "tensor2");
    assert_int_equal(pgy_gs_set_attr(conv, &strides, &err), PGY_OK);
    assert_int_equal(pgy_gs_to_constant(conv->inputs[1], values, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_type(conv->inputs[0], PGY_F32, 4, in, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_type(conv->outputs[0], PGY_F32, 0, NULL, &err), PGY_OK);
    pgy_model *out = written(g);
    const pgy_onnx_model *to = pgy_model_proto(out);
    assert_string_equal(to->graph->name, "onnx_graphsurgeon_graph");
    assert_int_equal(pgy_model_opset(to, ""), 11);
    assert_int_equal(to->ir_version, 6);
    assert_int_equal(to->opset_import_count, 1);
    assert_int_equal(to->graph->nodes[0]->attributes[0]->int_count, 2);
    assert_int_equal(to->graph->nodes[0]->attributes[0]->type, PGY_ATTR_INTS);
    const pgy_onnx_shape *shape = to->graph->inputs[0]->type->tensor_type->shape;
    assert_string_equal(shape->dims[0]->dim_param, "B");
    assert_int_equal(shape->dims[1]->dim_value, 3);
    assert_null(to->graph->outputs[0]->type->tensor_type->shape); /* unknown, no scalar */
    assert_int_equal(to->graph->value_info_count, 1);
    assert_non_null(to->graph->value_infos[0]->type->tensor_type->shape);
    assert_int_equal(to->graph->value_infos[0]->type->tensor_type->shape->dim_count, 0);
    assert_int_equal(to->graph->initializer_count, 1);
    assert_string_equal(to->graph->initializers[0]->name, "constant0");
    assert_int_equal(to->graph->initializers[0]->raw_data.size, 4);
    pgy_tensor_release(values);
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
}

static void test_import_export__interfaces_need_types(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *out = NULL;
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = text_node(g, "Op", "n", "x", "y");
    const pgy_gs_export_options lax = {.size = sizeof lax, .no_type_check = true};
    const pgy_dim three = {3, NULL};
    text_io(g, "x", "y");
    assert_int_equal(pgy_gs_set_type(n->outputs[0], PGY_DTYPE_NONE, -1, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_export(&out, g, NULL, &err), PGY_E_TYPE);
    assert_string_equal(err.text, "graph input or output 'y' has no element type");
    assert_null(out);
    assert_int_equal(pgy_gs_export(&out, g, &lax, &err), PGY_OK);
    assert_null(pgy_model_proto(out)->graph->outputs[0]->type);
    pgy_model_destroy(out);
    out = NULL;
    assert_int_equal(pgy_gs_set_type(n->outputs[0], PGY_F32, -1, NULL, &err), PGY_OK);
    pgy_gs_node *inner = text_node(g, "Op", "inner", "y", "z");
    assert_int_equal(pgy_gs_set_type(inner->outputs[0], PGY_DTYPE_NONE, 1, &three, &err), PGY_OK);
    assert_int_equal(pgy_gs_export(&out, g, NULL, &err), PGY_E_TYPE);
    assert_non_null(strstr(err.text, "'z' has no element type"));
    pgy_gs_destroy(g);
}

static void test_import_export__circles_are_named(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *out = NULL;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Op", "one", "b", "a");
    text_node(g, "Op", "two", "a", "b");
    assert_int_equal(pgy_gs_export(&out, g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "one"));
    assert_non_null(strstr(err.text, "two"));
    pgy_gs_destroy(g);
}

/* Defect 10, and domains that nobody imported. */
static void test_import_export__opsets(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(12);
    b.proto->ir_version = 7;
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_gs_graph *g = import_built(&b);
    assert_int_equal(g->opset, 12);
    assert_int_equal(pgy_gs_set_opset(g, 14, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_import(g, "com.example", 3, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_opset(g, 0, &err), PGY_E_ARGUMENT);
    pgy_gs_node *n = text_node(g, "Op", "custom", "y", "");
    pgy_gs_node *other = text_node(g, "Op", "standard", "y", "");
    assert_int_equal(pgy_gs_set_domain(n, "my.domain", &err), PGY_OK);
    assert_int_equal(pgy_gs_set_domain(other, "ai.onnx", &err), PGY_OK);
    pgy_model *out = written(g);
    const pgy_onnx_model *to = pgy_model_proto(out);
    assert_int_equal(to->opset_import_count, 3);
    assert_int_equal(pgy_model_opset(to, ""), 14);
    assert_int_equal(pgy_model_opset(to, "com.example"), 3);
    assert_int_equal(pgy_model_opset(to, "my.domain"), 1);
    assert_int_equal(to->ir_version, 7);
    pgy_model_destroy(out);

    assert_int_equal(pgy_gs_set_import(g, "com.example", 0, &err), PGY_OK);
    pgy_gs_set_ir_version(g, 10);
    out = written(g);
    assert_int_equal(pgy_model_opset(pgy_model_proto(out), "com.example"), 0);
    assert_int_equal(pgy_model_proto(out)->ir_version, 10);
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
}

/* Each change of an opset looks at every level once, however deep the levels lie: looking for the
 * root of each of them anew takes minutes here. */
static void test_import_export__opsets_of_deep_levels(void **state)
{
    enum { DEPTH = 8000, LEAVES = 8000, CHANGES = 1000 };
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = NULL, *f = NULL, *inner = NULL, *of_f = NULL;
    assert_int_equal(pgy_gs_create(&g, &err), PGY_OK);
    assert_int_equal(pgy_gs_function(&f, g, "F", "d", &err), PGY_OK);
    assert_int_equal(pgy_gs_subgraph(&of_f, f, "inner", &err), PGY_OK);
    pgy_gs_graph *deep = g;
    for (size_t i = 0; i < DEPTH; i++)
        assert_int_equal(pgy_gs_subgraph(&deep, deep, "deep", &err), PGY_OK);
    for (size_t i = 0; i < LEAVES; i++)
        assert_int_equal(pgy_gs_subgraph(&inner, deep, "leaf", &err), PGY_OK);
    for (size_t i = 0; i < CHANGES; i++)
        assert_int_equal(pgy_gs_set_opset(i % 2 ? g : inner, (int64_t)(12 + i % 4), &err), PGY_OK);
    assert_int_equal(pgy_gs_set_opset(deep, 17, &err), PGY_OK);
    assert_int_equal(g->opset, 17);
    assert_int_equal(inner->opset, 17);
    assert_int_equal(inner->imports[0].version, 17);
    assert_int_equal(f->opset, 11);
    assert_int_equal(of_f->opset, 11);
    pgy_gs_destroy(g);
}

/* A branch keeps its parent when its node goes; then the level around it is put inside it. */
static void test_import_export__opsets_of_levels_taken_out(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = NULL;
    assert_int_equal(pgy_gs_create(&g, &err), PGY_OK);
    pgy_gs_node *outer = text_node(g, "If", "outer", "", "y");
    pgy_gs_graph *branch = text_subgraph(outer, "then_branch");
    pgy_gs_node *n = text_node(branch, "If", "inner", "", "z");
    pgy_gs_graph *leaf = text_subgraph(n, "then_branch");
    pgy_gs_remove_node(n);
    assert_int_equal(pgy_gs_place_node(outer, leaf, 0, &err), PGY_OK);
    assert_ptr_equal(branch->parent, leaf);
    assert_ptr_equal(leaf->parent, g);
    assert_int_equal(pgy_gs_set_opset(branch, 13, &err), PGY_OK);
    assert_int_equal(leaf->opset, 13);
    assert_int_equal(pgy_gs_place_node(n, branch, 0, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_place_node(n, g, 0, &err), PGY_OK);
    assert_ptr_equal(leaf->parent, g);
    pgy_gs_destroy(g);
}

/* Defects 15, 17 and 18: values of narrow types are written in their own types, packed. */
static void test_import_export__narrow_types(void **state)
{
    (void)state;
    static const struct {
        pgy_dtype dtype;
        int onnx;
        size_t size;
        uint8_t bytes[8];
        int64_t ir;
    } CASES[] = {
        {PGY_BF16, 16, 8, {0x00, 0x3F, 0x00, 0x3F, 0x00, 0x3F, 0x00, 0x3F}, 6},
        {PGY_F8E4M3FN, 17, 4, {0x30, 0x30, 0x30, 0x30}, 9},
        {PGY_F8E4M3FNUZ, 18, 4, {0x38, 0x38, 0x38, 0x38}, 9},
        {PGY_F4E2M1, 23, 2, {0x01, 0x02}, 11},
        {PGY_F6E2M3, 27, 3, {0x01, 0xF2, 0xFD}, 14},
        {PGY_I4, 22, 2, {0x21, 0x43}, 10},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        pgy_error err = {0};
        pgy_gs_graph *g = text_graph();
        pgy_tensor *values = NULL, *back = NULL;
        pgy_gs_tensor *w = NULL;
        const int64_t shape[] = {4};
        assert_int_equal(pgy_tensor_create(&values, CASES[i].dtype, 1, shape, &err), PGY_OK);
        assert_int_equal(pgy_tensor_size_bytes(values), CASES[i].size);
        memcpy(pgy_tensor_data(values), CASES[i].bytes, CASES[i].size);
        assert_int_equal(pgy_gs_constant(&w, g, "w", values, &err), PGY_OK);
        pgy_gs_node *n = text_node(g, "Op", "n", "x", "y");
        assert_int_equal(pgy_gs_set_input(n, 1, w, &err), PGY_OK);
        text_io(g, "x", "y");
        pgy_model *out = written(g);
        const pgy_onnx_model *to = pgy_model_proto(out);
        assert_int_equal(to->ir_version, CASES[i].ir);
        assert_int_equal(to->graph->initializers[0]->data_type, CASES[i].onnx);
        assert_int_equal(to->graph->initializers[0]->raw_data.size, CASES[i].size);
        assert_memory_equal(to->graph->initializers[0]->raw_data.data, CASES[i].bytes,
                            CASES[i].size);
        /* Read, and written again. */
        pgy_gs_graph *again = imported(out);
        pgy_gs_tensor *t = pgy_gs_find_tensor(again, "w");
        assert_int_equal(pgy_gs_values(&back, t, &err), PGY_OK);
        assert_int_equal(pgy_gs_to_constant(t, back, &err), PGY_OK);
        pgy_model *second = written(again);
        assert_int_equal(pgy_model_proto(second)->graph->initializers[0]->data_type, CASES[i].onnx);
        assert_memory_equal(pgy_model_proto(second)->graph->initializers[0]->raw_data.data,
                            CASES[i].bytes, CASES[i].size);
        pgy_tensor_release(back);
        pgy_tensor_release(values);
        pgy_model_destroy(second);
        pgy_model_destroy(out);
        pgy_gs_destroy(again);
        pgy_gs_destroy(g);
    }
}

/* An unused weight gives way to a new tensor of its name. */
static void test_import_export__names_of_unused_weights_can_be_taken(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "unused", "2", NULL);
    builder_floats(&b, "other", "2", NULL);
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_gs_graph *g = import_built(&b);
    text_node(g, "Identity", "n", "y", "unused");
    pgy_model *out = written(g);
    const pgy_onnx_graph *to = pgy_model_proto(out)->graph;
    assert_int_equal(to->initializer_count, 1);
    assert_string_equal(to->initializers[0]->name, "other");
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
}

/* The same model twice, the second time after more edits: the first is not touched. */
static void test_import_export__a_written_model_is_done_with(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *m = load("subgraph_if_loop");
    pgy_gs_graph *g = imported(m);
    assert_int_equal(pgy_gs_set_node_name(g->nodes[0], "first", &err), PGY_OK);
    pgy_model *first = exported(g), *before = written(g);
    assert_int_equal(pgy_gs_set_node_name(g->nodes[0], "second", &err), PGY_OK);
    assert_int_equal(pgy_gs_rename(g->nodes[0]->outputs[0], "elsewhere", &err), PGY_OK);
    pgy_gs_destroy(g);
    pgy_model_destroy(m);
    assert_same_bytes(first, before);
    pgy_model_destroy(first);
    pgy_model_destroy(before);
}

/* ---- Types ----------------------------------------------------------------------------------- */

static void test_import_export__types_that_are_no_tensors(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *m = load("types");
    pgy_gs_graph *g = imported(m);
    static const pgy_value_kind KINDS[] = {PGY_VALUE_SEQUENCE, PGY_VALUE_MAP, PGY_VALUE_OPTIONAL,
                                           PGY_VALUE_SPARSE, PGY_VALUE_TENSOR};
    static const char *const NAMES[] = {"a", "b", "c", "d", "e"};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(g->inputs[i]->type_kind, KINDS[i]);
        assert_int_equal(pgy_gs_rename(g->inputs[i], NAMES[i], &err), PGY_OK);
    }
    assert_int_equal(g->inputs[0]->dtype, PGY_I64);
    assert_int_equal(g->inputs[3]->rank, 2);
    assert_int_equal(g->inputs[4]->rank, -1);
    pgy_model *out = written(g);
    pgy_onnx_value_info *const *from = pgy_model_proto(m)->graph->inputs;
    pgy_onnx_value_info *const *to = pgy_model_proto(out)->graph->inputs;
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(to[i]->name, NAMES[i]);
        assert_all_kept(&from[i]->type, 1, &to[i]->type, 1);
    }
    pgy_model_destroy(out);

    const pgy_dim three = {3, NULL};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pgy_gs_set_type(g->inputs[i], PGY_F16, i == 3 ? 1 : -1, &three, &err),
                         PGY_OK);
    out = written(g);
    to = pgy_model_proto(out)->graph->inputs;
    assert_int_equal(to[0]->type->sequence_type->elem_type->tensor_type->elem_type, 10);
    assert_int_equal(to[1]->type->tensor_type->elem_type, 10);
    assert_int_equal(to[2]->type->optional_type->elem_type->tensor_type->elem_type, 10);
    assert_int_equal(to[3]->type->sparse_tensor_type->elem_type, 10);
    assert_int_equal(to[3]->type->sparse_tensor_type->shape->dim_count, 1);
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
    pgy_model_destroy(m);
}

/* A new shape keeps what else was said of the tensor. */
static void test_import_export__a_new_type_keeps_words(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_onnx_value_info *info = b.graph->inputs[0];
    pgy_onnx_string_entry entry = {.key = "k", .value = "v"}, *entries[] = {&entry};
    info->doc_string = "words";
    info->metadata_props = entries;
    info->metadata_prop_count = 1;
    info->type->denotation = "IMAGE";
    info->type->tensor_type->shape->dims[0]->denotation = "BATCH";
    pgy_gs_graph *g = import_built(&b);
    const pgy_dim dims[] = {{8, NULL}, {-1, "M"}};
    assert_int_equal(pgy_gs_set_type(g->inputs[0], PGY_F16, 2, dims, &err), PGY_OK);
    pgy_model *out = written(g);
    const pgy_onnx_value_info *to = pgy_model_proto(out)->graph->inputs[0];
    assert_string_equal(to->doc_string, "words");
    assert_string_equal(to->metadata_props[0]->value, "v");
    assert_string_equal(to->type->denotation, "IMAGE");
    assert_int_equal(to->type->tensor_type->elem_type, 10);
    const pgy_onnx_shape *shape = to->type->tensor_type->shape;
    assert_string_equal(shape->dims[0]->denotation, "BATCH");
    assert_int_equal(shape->dims[0]->dim_value, 8);
    assert_string_equal(shape->dims[1]->dim_param, "M");
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
}

/* ---- Warnings and versions ------------------------------------------------------------------- */

static void count_warnings(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    (void)text;
    (void)size_bytes;
    if (severity == PGY_LOG_WARNING) ++*(int *)user;
}

static void test_import_export__two_nodes_of_one_name_warn(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_model *out = NULL;
    int warnings = 0;
    text_node(g, "Op", "same", "x", "y");
    text_node(g, "Op", "same", "y", "z");
    text_node(g, "Op", "", "x", "v");
    text_node(g, "Op", "", "x", "w");
    text_io(g, "x", "z");
    pgy_log_set_sink(count_warnings, &warnings);
    const pgy_status st = pgy_gs_export(&out, g, NULL, &err);
    pgy_log_set_sink(NULL, NULL);
    assert_int_equal(st, PGY_OK);
    assert_int_equal(warnings, 1);
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
}

/* An imported version stays unless something new needs a later one; a given one stays. */
static void test_import_export__ir_versions(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *f = NULL;
    model_builder b = builder_start(13);
    b.proto->ir_version = 5;
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_gs_graph *g = import_built(&b);
    assert_int_equal(pgy_gs_set_name(g, "renamed", &err), PGY_OK);
    pgy_model *out = written(g);
    assert_int_equal(pgy_model_proto(out)->ir_version, 5);
    assert_string_equal(pgy_model_proto(out)->graph->name, "renamed");
    pgy_model_destroy(out);
    assert_int_equal(pgy_gs_function(&f, g, "Fn", NULL, &err), PGY_OK);
    out = written(g);
    assert_int_equal(pgy_model_proto(out)->ir_version, 8);
    pgy_model_destroy(out);
    pgy_gs_set_ir_version(g, 6);
    out = written(g);
    assert_int_equal(pgy_model_proto(out)->ir_version, 6);
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
}

/* One subgraph in two attributes: an edit of it is written in both. */
static void test_import_export__a_shared_subgraph(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *m = load("subgraph_if_loop");
    pgy_gs_graph *g = imported(m), *branch = NULL;
    for (size_t i = 0; i < g->node_count && !branch; i++)
        if (g->nodes[i]->attributes[0].graph_count) branch = g->nodes[i]->attributes[0].graphs[0];
    assert_non_null(branch);
    pgy_gs_node *n = text_node(g, "If", "second", "c", "again");
    const pgy_gs_attr a = pgy_gs_attr_graph("then_branch", branch);
    assert_int_equal(pgy_gs_set_attr(n, &a, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_op(branch->nodes[0], "Changed", &err), PGY_OK);
    pgy_model *out = written(g);
    const pgy_onnx_graph *to = pgy_model_proto(out)->graph;
    size_t changed = 0;
    for (size_t i = 0; i < to->node_count; i++)
        for (size_t k = 0; k < to->nodes[i]->attribute_count; k++) {
            const pgy_onnx_graph *inner = to->nodes[i]->attributes[k]->g;
            changed += inner && strcmp(inner->nodes[0]->op_type, "Changed") == 0;
        }
    assert_int_equal(changed, 2);
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
    pgy_model_destroy(m);
}

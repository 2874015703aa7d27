/* SPDX-License-Identifier: Apache-2.0 */
/* What is written: the same bytes where nothing changed, and what a reader finds of a tree that a
 * caller built. */
#include "onnx_test.h"

#include <sys/stat.h>

#include "onnx/model_write.h"

static const char *const MODELS[] = {
    "attributes.onnx",       "every_element_type.onnx",
    "external.onnx",         "function.onnx",
    "quantization.onnx",     "sparse.onnx",
    "subgraph_if_loop.onnx", "types.onnx",
    "unusual_bytes.onnx",
};
enum { MODEL_COUNT = sizeof(MODELS) / sizeof(MODELS[0]) };

static void test_model_write__unchanged_model_is_identical(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        if (strcmp(MODELS[i], "external.onnx") == 0)
            continue; /* goes to another folder: see external.c */
        str original = {0};
        void *memory = NULL;
        size_t size = 0;
        pgy_model *m = load(MODELS[i]);
        const char *path = scratch(MODELS[i]);
        OK(pgy_model_save(m, path, NULL, &test_err));
        assert_same_file(pgy_model_path(m), path);
        original = contents(path);
        OK(pgy_model_serialize(&memory, &size, m, &test_err));
        assert_int_equal(size, original.size);
        assert_memory_equal(memory, original.data, size);
        assert_int_equal(pgy_model_size_bytes(m), size);
        pgy_text_free(memory);
        str_deinit(&original);
        pgy_model_destroy(m);
    }
    scratch_remove();
}

/* Encoding from fields gives what protobuf wrote: same order, same packing, same presence. */
static void test_model_write__fields_encode_as_protobuf_does(void **state)
{
    (void)state;
    const encode_options rebuild = {.rebuild = true};
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        if (strcmp(MODELS[i], "unusual_bytes.onnx") == 0) continue;
        void *memory = NULL;
        size_t size = 0;
        pgy_model *m = load(MODELS[i]);
        str original = contents(pgy_model_path(m));
        OK(model_encode(&memory, &size, m, &rebuild, &test_err));
        assert_int_equal(size, original.size);
        assert_memory_equal(memory, original.data, size);
        mem_free(memory);
        str_deinit(&original);
        pgy_model_destroy(m);
    }
}

static void test_model_write__unknown_fields_survive_encoding(void **state)
{
    (void)state;
    const encode_options rebuild = {.rebuild = true};
    void *memory = NULL;
    size_t size = 0;
    pgy_model *m = load("unusual_bytes.onnx"), *again = NULL;
    OK(model_encode(&memory, &size, m, &rebuild, &test_err));
    OK(pgy_model_parse(&again, memory, size, true, NULL, &test_err));
    const pgy_onnx_message *a = &pgy_model_proto(m)->message, *b = &pgy_model_proto(again)->message;
    assert_int_equal(b->unknown_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(a->unknown[i].size, b->unknown[i].size);
        assert_memory_equal(a->unknown[i].data, b->unknown[i].data, a->unknown[i].size);
    }
    assert_int_equal(pgy_model_proto(again)->graph->message.unknown_count, 1);
    assert_int_equal(pgy_model_proto(again)->graph->nodes[0]->message.unknown_count, 2);
    assert_int_equal(initializer(again, "w")->float_data.size, 16);
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    mem_free(memory);
}

/* ---- Models built by a caller --------------------------------------------------------------- */

#define NEW(type) ((type *)pgy_model_alloc(m, 1, sizeof(type)))

/* A list of one. */
static void *list_of(pgy_model *m, void *item)
{
    void **items = pgy_model_alloc(m, 1, sizeof(*items));
    items[0] = item;
    return items;
}

static pgy_onnx_attribute *new_attribute(pgy_model *m, const char *name, int type)
{
    pgy_onnx_attribute *a = NEW(pgy_onnx_attribute);
    a->name = pgy_model_strdup(m, name);
    a->type = type;
    return a;
}

static pgy_onnx_value_info *new_value(pgy_model *m, const char *name)
{
    pgy_onnx_value_info *v = NEW(pgy_onnx_value_info);
    pgy_onnx_dim *d = NEW(pgy_onnx_dim);
    v->name = name;
    v->type = NEW(pgy_onnx_type);
    v->type->tensor_type = NEW(pgy_onnx_tensor_type);
    v->type->tensor_type->elem_type = 1;
    v->type->tensor_type->shape = NEW(pgy_onnx_shape);
    d->message.present = 1 << 1; /* dim_value, which is 0 */
    v->type->tensor_type->shape->dims = list_of(m, d);
    v->type->tensor_type->shape->dim_count = 1;
    return v;
}

static pgy_model *built_model(void)
{
    pgy_model *m = NULL;
    pgy_tensor *t = NULL;
    pgy_onnx_tensor *w = NULL;
    const int64_t shape[] = {3};
    OK(pgy_model_create(&m, &test_err));
    OK(pgy_tensor_create(&t, PGY_F32, 1, shape, &test_err));
    for (int i = 0; i < 3; i++) ((float *)pgy_tensor_data(t))[i] = (float)i;
    OK(pgy_model_tensor(&w, m, "w", t, &test_err));
    pgy_tensor_release(t);

    pgy_onnx_model *p = NEW(pgy_onnx_model);
    pgy_onnx_opset *opset = NEW(pgy_onnx_opset);
    pgy_onnx_node *node = NEW(pgy_onnx_node);
    const char **inputs = pgy_model_alloc(m, 2, sizeof(*inputs));
    pgy_onnx_attribute **attributes = pgy_model_alloc(m, 3, sizeof(*attributes));
    attributes[0] = new_attribute(m, "axis", PGY_ATTR_INT);
    attributes[1] = new_attribute(m, "alpha", PGY_ATTR_FLOAT);
    attributes[2] = new_attribute(m, "ints", PGY_ATTR_INTS);
    inputs[0] = "x";
    inputs[1] = "w";
    node->op_type = "Softmax";
    node->inputs = inputs;
    node->input_count = 2;
    node->attributes = attributes;
    node->attribute_count = 3;
    opset->version = 17;
    p->ir_version = 8;
    p->opset_imports = list_of(m, opset);
    p->opset_import_count = 1;
    p->graph = NEW(pgy_onnx_graph);
    p->graph->nodes = list_of(m, node);
    p->graph->node_count = 1;
    p->graph->initializers = list_of(m, w);
    p->graph->initializer_count = 1;
    p->graph->inputs = list_of(m, new_value(m, "x"));
    p->graph->input_count = 1;
    pgy_model_set_proto(m, p);
    return m;
}

static void test_model_write__built_model(void **state)
{
    (void)state;
    const char *path = scratch("built.onnx");
    pgy_model *m = built_model(), *again = NULL;
    assert_string_equal(pgy_model_proto(m)->producer_name, ""); /* filled in */
    OK(pgy_model_save(m, path, NULL, &test_err));
    pgy_model_destroy(m);
    OK(pgy_model_load(&again, path, NULL, &test_err));
    const pgy_onnx_graph *g = pgy_model_proto(again)->graph;
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_model_opset(pgy_model_proto(again), NULL), 17);
    assert_int_equal(g->nodes[0]->input_count, 2);
    assert_string_equal(g->nodes[0]->op_type, "Softmax");
    assert_true(pgy_onnx_node_attribute(g->nodes[0], "axis")->message.present >> 3 & 1);
    assert_true(pgy_onnx_node_attribute(g->nodes[0], "alpha")->message.present >> 2 & 1);
    const pgy_onnx_dim *d = g->inputs[0]->type->tensor_type->shape->dims[0];
    assert_int_equal(d->message.present, 1 << 1);
    OK(pgy_onnx_tensor_load(&t, again, g->initializers[0], &test_err));
    assert_true(((float *)pgy_tensor_data(t))[2] == 2.0f);
    pgy_tensor_release(t);
    pgy_model_destroy(again);
    scratch_remove();
}

static void test_model_write__built_twice_is_the_same(void **state)
{
    (void)state;
    const char *first = scratch("a.onnx"), *second = scratch("b.onnx");
    pgy_model *m = built_model(), *again = NULL;
    OK(pgy_model_save(m, first, NULL, &test_err));
    OK(pgy_model_load(&again, first, NULL, &test_err));
    OK(pgy_model_save(again, second, NULL, &test_err));
    assert_same_file(first, second);
    pgy_model_destroy(m);
    pgy_model_destroy(again);
    scratch_remove();
}

static void test_model_write__messages_of_another_model(void **state)
{
    (void)state;
    pgy_model *source = load("unusual_bytes.onnx"), *m = NULL, *again = NULL;
    void *memory = NULL;
    size_t size = 0;
    OK(pgy_model_create(&m, &test_err));
    OK(pgy_model_keep(m, source, &test_err));
    OK(pgy_model_keep(m, source, &test_err));
    pgy_onnx_model *p = NEW(pgy_onnx_model);
    *p = *pgy_model_proto(source);
    p->message.raw = (pgy_bytes){NULL, 0};
    p->producer_name = "changed";
    pgy_model_set_proto(m, p);
    pgy_model_destroy(source); /* m has it */
    OK(pgy_model_serialize(&memory, &size, m, &test_err));
    OK(pgy_model_parse(&again, memory, size, false, NULL, &test_err));
    pgy_text_free(memory);
    assert_string_equal(pgy_model_proto(again)->producer_name, "changed");
    const pgy_bytes a = p->graph->message.raw, b = pgy_model_proto(again)->graph->message.raw;
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size); /* copied, though its encoding is unusual */
    pgy_model_destroy(again);
    pgy_model_destroy(m);
}

static void test_model_write__strings(void **state)
{
    (void)state;
    pgy_model *m = NULL;
    pgy_tensor *t = NULL, *back = NULL;
    pgy_onnx_tensor *p = NULL;
    const int64_t shape[] = {2};
    OK(pgy_model_create(&m, &test_err));
    OK(pgy_tensor_create(&t, PGY_STRING, 1, shape, &test_err));
    OK(pgy_tensor_set_string(t, 1, "a\0b", 3, &test_err));
    OK(pgy_model_tensor(&p, m, "names", t, &test_err));
    assert_int_equal(p->data_type, 8);
    assert_int_equal(p->string_count, 2);
    assert_int_equal(p->raw_data.size, 0);
    OK(pgy_onnx_tensor_load(&back, m, p, &test_err));
    assert_int_equal(((pgy_string *)pgy_tensor_data(back))[1].size, 3);
    pgy_tensor_release(t);
    pgy_tensor_release(back);
    pgy_model_destroy(m);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void test_model_write__over_its_own_file(void **state)
{
    (void)state;
    const char *path = scratch("net.onnx");
    pgy_model *m = load("attributes.onnx"), *own = NULL;
    OK(pgy_model_save(m, path, NULL, &test_err));
    OK(pgy_model_load(&own, path, NULL, &test_err));
    OK(pgy_model_save(own, path, NULL, &test_err));
    assert_same_file(pgy_model_path(m), path);
    assert_string_equal(pgy_model_proto(own)->graph->nodes[0]->name, "all"); /* still readable */
    pgy_model_destroy(own);
    pgy_model_destroy(m);
    scratch_remove();
}

static void test_model_write__unwritable(void **state)
{
    (void)state;
    pgy_model *m = load("types.onnx"), *empty = NULL;
    assert_int_not_equal(pgy_model_save(m, "/proc/none/net.onnx", NULL, &test_err), PGY_OK);
    assert_non_null(strstr(test_err.text, "/proc/none"));
    FAILS(pgy_model_save(m, "", NULL, &test_err), PGY_E_ARGUMENT, "path");
    OK(pgy_model_create(&empty, &test_err));
    FAILS(pgy_model_save(empty, scratch("x.onnx"), NULL, &test_err), PGY_E_ARGUMENT,
          "the model is empty");
    pgy_model_destroy(empty);
    pgy_model_destroy(m);
    scratch_remove();
}

static void test_model_write__folders_are_made(void **state)
{
    (void)state;
    pgy_model *m = load("types.onnx");
    const char *path = scratch("a/b/net.onnx");
    OK(pgy_model_save(m, path, NULL, &test_err));
    assert_same_file(pgy_model_path(m), path);
    pgy_model_destroy(m);
    scratch_remove();
}

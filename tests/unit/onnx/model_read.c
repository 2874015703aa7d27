/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader sees of the models of tests/data/onnx (their contents are in make_onnx_models.py)
 * and of bytes that writers may produce but seldom do. */
#include "onnx_test.h"

static void test_model_read__model_and_graph(void **state)
{
    (void)state;
    pgy_model *m = load("subgraph_if_loop.onnx");
    const pgy_onnx_model *p = pgy_model_proto(m);
    assert_int_equal(p->ir_version, 8);
    assert_string_equal(p->producer_name, "make_onnx_models");
    assert_string_equal(p->domain, "");
    assert_string_equal(p->graph->name, "g");
    assert_int_equal(p->graph->node_count, 2);
    assert_int_equal(p->graph->input_count, 2);
    assert_string_equal(p->graph->outputs[0]->name, "z");
    assert_true(str_ends_with(pgy_model_path(m), "tests/data/onnx/subgraph_if_loop.onnx"));
    assert_true(str_ends_with(pgy_model_external_data_dir(m), "tests/data/onnx"));
    assert_false(pgy_model_has_external_data(m));
    pgy_model_destroy(m);
}

static void test_model_read__subgraphs(void **state)
{
    (void)state;
    pgy_model *m = load("subgraph_if_loop.onnx");
    const pgy_onnx_node *branch = pgy_model_proto(m)->graph->nodes[0],
                        *loop = pgy_model_proto(m)->graph->nodes[1];
    assert_string_equal(branch->op_type, "If");
    const pgy_onnx_attribute *then = pgy_onnx_node_attribute(branch, "then_branch");
    assert_int_equal(pgy_onnx_attribute_kind(then), PGY_ATTR_GRAPH);
    assert_string_equal(then->g->nodes[0]->op_type, "Add");
    assert_string_equal(then->g->initializers[0]->name, "one");
    assert_string_equal(loop->inputs[1], "");
    assert_string_equal(pgy_onnx_node_attribute(loop, "body")->g->nodes[1]->outputs[0], "v_out");
    assert_null(pgy_onnx_node_attribute(loop, "nothing"));
    pgy_model_destroy(m);
}

static void test_model_read__functions(void **state)
{
    (void)state;
    pgy_model *m = load("function.onnx");
    const pgy_onnx_model *p = pgy_model_proto(m);
    assert_int_equal(p->function_count, 1);
    const pgy_onnx_function *f = p->functions[0];
    assert_string_equal(f->name, "Slope");
    assert_string_equal(f->domain, "my.domain");
    assert_string_equal(f->doc_string, "a function with a default");
    assert_string_equal(f->attributes[0], "kind");
    assert_string_equal(f->attribute_protos[0]->name, "slope");
    assert_true(f->attribute_protos[0]->f == 0.25f);
    assert_string_equal(f->nodes[0]->attributes[0]->ref_attr_name, "slope");
    assert_int_equal(f->opset_imports[0]->version, 17);
    pgy_model_destroy(m);
}

static void test_model_read__opsets(void **state)
{
    (void)state;
    pgy_model *m = load("function.onnx");
    const pgy_onnx_model *p = pgy_model_proto(m);
    assert_int_equal(pgy_model_opset(p, ""), 17);
    assert_int_equal(pgy_model_opset(p, "ai.onnx"), 17);
    assert_int_equal(pgy_model_opset(p, "my.domain"), 1);
    assert_int_equal(pgy_model_opset(p, "com.microsoft"), 0);
    pgy_model_destroy(m);
}

static void test_model_read__sparse_initializer(void **state)
{
    (void)state;
    pgy_model *m = load("sparse.onnx");
    const pgy_onnx_sparse_tensor *s = pgy_model_proto(m)->graph->sparse_initializers[0];
    pgy_tensor *indices = NULL;
    assert_string_equal(s->values->name, "w");
    assert_int_equal(s->dim_count, 2);
    assert_int_equal(s->dims[1], 4);
    OK(pgy_onnx_tensor_load(&indices, m, s->indices, &test_err));
    assert_int_equal(((int64_t *)pgy_tensor_data(indices))[1], 7);
    pgy_tensor_release(indices);
    pgy_model_destroy(m);
}

static void test_model_read__quantization_and_metadata(void **state)
{
    (void)state;
    pgy_model *m = load("quantization.onnx");
    const pgy_onnx_model *p = pgy_model_proto(m);
    const pgy_onnx_quant_annotation *a = p->graph->quantization_annotations[0];
    assert_string_equal(a->tensor_name, "y");
    assert_int_equal(a->quant_parameter_tensor_name_count, 2);
    assert_string_equal(a->quant_parameter_tensor_names[1]->key, "ZERO_POINT_TENSOR");
    assert_string_equal(a->quant_parameter_tensor_names[1]->value, "zero");
    assert_string_equal(p->metadata_props[0]->value, "nobody");
    assert_string_equal(p->graph->metadata_props[0]->value, "");
    pgy_model_destroy(m);
}

static void test_model_read__every_attribute_kind(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        pgy_onnx_attribute_type kind;
    } KINDS[] = {
        {"f", PGY_ATTR_FLOAT},
        {"i", PGY_ATTR_INT},
        {"s", PGY_ATTR_STRING},
        {"t", PGY_ATTR_TENSOR},
        {"g", PGY_ATTR_GRAPH},
        {"floats", PGY_ATTR_FLOATS},
        {"ints", PGY_ATTR_INTS},
        {"strings", PGY_ATTR_STRINGS},
        {"tensors", PGY_ATTR_TENSORS},
        {"graphs", PGY_ATTR_GRAPHS},
        {"sparse_tensor", PGY_ATTR_SPARSE_TENSOR},
        {"sparse_tensors", PGY_ATTR_SPARSE_TENSORS},
        {"type_proto", PGY_ATTR_TYPE_PROTO},
        {"type_protos", PGY_ATTR_TYPE_PROTOS},
    };
    pgy_model *m = load("attributes.onnx");
    const pgy_onnx_node *n = pgy_model_proto(m)->graph->nodes[0];
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        const pgy_onnx_attribute *a = pgy_onnx_node_attribute(n, KINDS[i].name);
        assert_int_equal(a->type, KINDS[i].kind);
        pgy_onnx_attribute untyped = *a;
        untyped.type = 0;
        assert_int_equal(pgy_onnx_attribute_kind(&untyped), KINDS[i].kind);
    }
    assert_int_equal(pgy_onnx_node_attribute(n, "i")->i, -7);
    assert_memory_equal(pgy_onnx_node_attribute(n, "s")->s.data, "text", 4);
    assert_true(pgy_onnx_node_attribute(n, "floats")->floats[1] == -2.0f);
    assert_int_equal(pgy_onnx_node_attribute(n, "ints")->ints[1], -2);
    assert_memory_equal(pgy_onnx_node_attribute(n, "strings")->strings[1].data, "b", 1);
    assert_int_equal(pgy_onnx_node_attribute(n, "graphs")->graph_count, 2);
    assert_true(pgy_onnx_node_attribute(n, "i_zero")->message.present >> 3 & 1);
    assert_true(pgy_onnx_node_attribute(n, "s_empty")->message.present >> 4 & 1);
    pgy_model_destroy(m);
}

static void test_model_read__value_infos(void **state)
{
    (void)state;
    pgy_model *m = load("types.onnx");
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    pgy_tensor_info info;
    static const struct {
        pgy_form form;
        pgy_dtype dtype;
        int32_t rank;
    } WANTED[] = {{PGY_FORM_SEQUENCE, PGY_I64, -1},
                  {PGY_FORM_MAP, PGY_F32, -1},
                  {PGY_FORM_OPTIONAL, PGY_F64, 3}};
    for (size_t i = 0; i < 3; i++) { /* of what is in them */
        OK(pgy_onnx_value_info_describe(&info, m, g->inputs[i], &test_err));
        assert_int_equal(info.form, WANTED[i].form);
        assert_int_equal(info.dtype, WANTED[i].dtype);
        assert_int_equal(info.rank, WANTED[i].rank);
    }
    OK(pgy_onnx_value_info_describe(&info, m, g->inputs[3], &test_err));
    assert_int_equal(info.dtype, PGY_F32);
    assert_int_equal(info.shape[1], 6);
    OK(pgy_onnx_value_info_describe(&info, m, g->inputs[4], &test_err));
    assert_int_equal(info.dtype, PGY_F32);
    assert_int_equal(info.rank, -1);
    OK(pgy_onnx_value_info_describe(&info, m, g->inputs[5], &test_err));
    assert_int_equal(info.rank, 0);
    OK(pgy_onnx_value_info_describe(&info, m, g->inputs[6], &test_err));
    const int64_t wanted[] = {-1, 0, -1, 4};
    assert_string_equal(info.name, "mixed");
    assert_int_equal(info.rank, 4);
    assert_memory_equal(info.shape, wanted, sizeof(wanted));
    assert_string_equal(info.dim_names[0], "N");
    assert_null(info.dim_names[1]);
    assert_null(info.dim_names[2]);
    pgy_model_destroy(m);
}

/* The model holds each type twice: as onnx.helper stores values in typed fields, and as raw data of
 * the same. */
static void test_model_read__every_element_type(void **state)
{
    (void)state;
    pgy_model *m = load("every_element_type.onnx");
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    size_t pairs = 0;
    for (size_t i = 0; i + 1 < g->initializer_count; i++) {
        pgy_tensor *typed = NULL, *raw = NULL;
        const pgy_onnx_tensor *t = g->initializers[i];
        if (strncmp(t->name, "typed_", 6) != 0 || strcmp(t->name, "typed_STRING") == 0) continue;
        assert_string_equal(g->initializers[i + 1]->name + 4, t->name + 6);
        assert_int_equal(t->raw_data.size, 0);
        OK(pgy_onnx_tensor_load(&typed, m, t, &test_err));
        OK(pgy_onnx_tensor_load(&raw, m, g->initializers[i + 1], &test_err));
        assert_int_equal(pgy_tensor_dtype(typed), pgy_tensor_dtype(raw));
        assert_int_equal(pgy_tensor_size_bytes(typed), pgy_tensor_size_bytes(raw));
        assert_memory_equal(pgy_tensor_data(typed), pgy_tensor_data(raw),
                            pgy_tensor_size_bytes(raw));
        pgy_tensor_release(typed);
        pgy_tensor_release(raw);
        pairs++;
    }
    assert_int_equal(pairs, 25);
    pgy_model_destroy(m);
}

static void test_model_read__element_values(void **state)
{
    (void)state;
    pgy_model *m = load("every_element_type.onnx");
    pgy_tensor *f16 = NULL, *u4 = NULL, *text = NULL;
    OK(pgy_onnx_tensor_load(&f16, m, initializer(m, "typed_FLOAT16"), &test_err));
    const uint16_t wanted[] = {0x0000, 0x3C00, 0x4000};
    assert_memory_equal(pgy_tensor_data(f16), wanted, sizeof(wanted));
    OK(pgy_onnx_tensor_load(&u4, m, initializer(m, "typed_UINT4"), &test_err));
    const uint8_t nibbles[] = {0x10, 0x02};
    assert_memory_equal(pgy_tensor_data(u4), nibbles, sizeof(nibbles));
    OK(pgy_onnx_tensor_load(&text, m, initializer(m, "typed_STRING"), &test_err));
    const pgy_string *items = pgy_tensor_data(text);
    assert_int_equal(items[1].size, 2);
    assert_memory_equal(items[1].data, "bc", 2);
    pgy_tensor_release(f16);
    pgy_tensor_release(u4);
    pgy_tensor_release(text);
    pgy_model_destroy(m);
}

static void test_model_read__tensor_outlives_model(void **state)
{
    (void)state;
    pgy_model *m = load("every_element_type.onnx");
    pgy_tensor *t = NULL;
    OK(pgy_onnx_tensor_load(&t, m, initializer(m, "raw_INT8"), &test_err));
    pgy_model_destroy(m);
    assert_int_equal(((int8_t *)pgy_tensor_data(t))[2], 2);
    pgy_tensor_release(t);
}

static void test_model_read__tensor_info(void **state)
{
    (void)state;
    pgy_model *m = load("external.onnx");
    pgy_tensor_info info;
    OK(pgy_onnx_tensor_info(&info, initializer(m, "w"), &test_err));
    assert_string_equal(info.name, "w");
    assert_int_equal(info.dtype, PGY_F32);
    assert_int_equal(info.rank, 2);
    assert_int_equal(info.shape[0], 20);
    assert_int_equal(info.shape[1], 30);
    pgy_model_destroy(m);
}

static void test_model_read__unusual_bytes(void **state)
{
    (void)state;
    pgy_model *m = load("unusual_bytes.onnx");
    const pgy_onnx_model *p = pgy_model_proto(m);
    const pgy_onnx_tensor *w = initializer(m, "w");
    pgy_tensor *t = NULL;
    assert_int_equal(p->message.unknown_count, 2);
    assert_int_equal(p->graph->message.unknown_count, 1); /* a group */
    assert_int_equal(p->graph->message.unknown[0].size, 6);
    const pgy_onnx_attribute *a = p->graph->nodes[0]->attributes[0];
    const int64_t ints[] = {1, 300, 7};
    assert_int_equal(a->int_count, 3);
    assert_memory_equal(a->ints, ints, sizeof(ints));
    OK(pgy_onnx_tensor_load(&t, m, w, &test_err));
    const float floats[] = {1, 2, 3, 4};
    assert_int_equal(pgy_tensor_rank(t), 2);
    assert_memory_equal(pgy_tensor_data(t), floats, sizeof(floats));
    pgy_tensor_release(t);
    pgy_model_destroy(m);
}

/* Protobuf merges a message that comes twice: lists are joined, the last single value stays. */
static void test_model_read__message_given_twice(void **state)
{
    (void)state;
    str first = {0}, second = {0}, node = {0}, bytes = {0};
    put_text(&node, 4, "Relu");
    put_message(&first, 1, &node);
    put_text(&first, 2, "one");
    put_text(&node, 4, "Abs");
    put_message(&second, 1, &node);
    put_text(&second, 2, "two");
    put_int(&bytes, 1, 8);
    put_message(&bytes, 7, &first);
    put_message(&bytes, 7, &second);
    pgy_model *m = parse(&bytes);
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    assert_int_equal(g->node_count, 2);
    assert_string_equal(g->nodes[1]->op_type, "Abs");
    assert_string_equal(g->name, "two");
    pgy_model_destroy(m);
}

static void test_model_read__last_of_exclusive_fields_counts(void **state)
{
    (void)state;
    str dim = {0}, shape = {0}, tensor = {0}, type = {0}, value = {0}, graph = {0};
    put_int(&dim, 1, 5);
    put_text(&dim, 2, "N");
    put_message(&shape, 1, &dim);
    put_int(&tensor, 1, 1);
    put_message(&tensor, 2, &shape);
    put_block(&type, 4, "", 0); /* a sequence first, then a tensor */
    put_message(&type, 1, &tensor);
    put_text(&value, 1, "x");
    put_message(&value, 2, &type);
    put_message(&graph, 11, &value);
    str bytes = model_of(&graph);
    pgy_model *m = parse(&bytes);
    const pgy_onnx_type *read = pgy_model_proto(m)->graph->inputs[0]->type;
    assert_null(read->sequence_type);
    const pgy_onnx_dim *d = read->tensor_type->shape->dims[0];
    assert_string_equal(d->dim_param, "N");
    assert_int_equal(d->dim_value, 0);
    assert_int_equal(d->message.present, 1 << 2);
    pgy_model_destroy(m);
}

static void test_model_read__negative_int32_is_sign_extended(void **state)
{
    (void)state;
    str t = {0};
    put_int(&t, 1, 2);
    put_int(&t, 2, 6); /* INT32 */
    put_int(&t, 5, UINT64_MAX);
    put_int(&t, 5, 0xFFFFFFFE); /* a writer that cut the sign off */
    str bytes = model_of_tensor(&t);
    pgy_model *m = parse(&bytes);
    const pgy_onnx_tensor *p = pgy_model_proto(m)->graph->initializers[0];
    assert_int_equal(p->int32_data[0], -1);
    assert_int_equal(p->int32_data[1], -2);
    pgy_model_destroy(m);
}

static void test_model_read__memory_kept_by_caller(void **state)
{
    (void)state;
    str t = {0};
    pgy_model *m = NULL;
    put_int(&t, 1, 3);
    put_int(&t, 2, 2); /* UINT8 */
    put_block(&t, 9, "abc", 3);
    str bytes = model_of_tensor(&t);
    OK(pgy_model_parse(&m, bytes.data, bytes.size, true, NULL, &test_err));
    const char *raw = pgy_model_proto(m)->graph->initializers[0]->raw_data.data;
    assert_true(raw > bytes.data && raw < bytes.data + bytes.size);
    assert_string_equal(pgy_model_path(m), "");
    pgy_model_destroy(m);
    str_deinit(&bytes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are broken, by accident or on purpose: each gives one clear line, and none anything
 * worse. */
#include "onnx_test.h"

static void test_hostile__empty_file(void **state)
{
    (void)state;
    pgy_model *m = NULL;
    const char *path = scratch("empty.onnx");
    OK(file_write_all(path, "", 0, &test_err));
    FAILS(pgy_model_load(&m, path, NULL, &test_err), PGY_E_FORMAT,
          "empty.onnx: not an ONNX model: the file is empty");
    assert_null(m);
    scratch_remove();
}

static void test_hostile__no_file(void **state)
{
    (void)state;
    pgy_model *m = NULL;
    FAILS(pgy_model_load(&m, "/nonexistent/net.onnx", NULL, &test_err), PGY_E_NOT_FOUND,
          "/nonexistent/net.onnx");
    FAILS(pgy_model_load(&m, "", NULL, &test_err), PGY_E_ARGUMENT, "path");
}

static void test_hostile__other_files(void **state)
{
    (void)state;
    static const char *const FILES[] = {"hello world, this is text\n", "{\"nodes\": [1, 2]}",
                                        "PK\3\4\24\0\0\0", "\x93NUMPY\1\0v\0"};
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        str bytes = {0};
        str_append(&bytes, FILES[i]);
        FAILS(try_parse(&bytes), PGY_E_FORMAT, "not an ONNX model: ");
    }
}

static void test_hostile__no_graph(void **state)
{
    (void)state;
    str bytes = {0};
    put_int(&bytes, 1, 8);
    FAILS(try_parse(&bytes), PGY_E_FORMAT, "not an ONNX model: it has no graph");
    put_int(&bytes, 7, 1); /* the graph's number with another type is an unknown field */
    FAILS(try_parse(&bytes), PGY_E_FORMAT, "not an ONNX model: it has no graph");
}

static void test_hostile__truncated(void **state)
{
    (void)state;
    pgy_model *m = NULL;
    const char *path = scratch("net.onnx");
    str whole = contents(DATA_PATH "subgraph_if_loop.onnx");
    OK(file_write_all(path, whole.data, 200, &test_err));
    FAILS(pgy_model_load(&m, path, NULL, &test_err), PGY_E_FORMAT,
          "net.onnx: field 7 at byte 20 claims 416 bytes, but 177 remain");
    str_deinit(&whole);
    scratch_remove();
}

/* Every prefix either fails or, where it ends between fields, has a graph. */
static void test_hostile__every_prefix(void **state)
{
    (void)state;
    str whole = contents(DATA_PATH "attributes.onnx");
    for (size_t n = 0; n < whole.size; n++) {
        pgy_model *m = NULL;
        char *exact = mem_alloc(n); /* so that a sanitizer sees the end */
        memcpy(exact, whole.data, n);
        if (!pgy_model_parse(&m, exact, n, true, NULL, &test_err))
            assert_non_null(pgy_model_proto(m)->graph);
        else
            assert_true(strstr(test_err.text, "byte") ||
                        str_starts_with(test_err.text, "not an ONNX model: "));
        pgy_model_destroy(m);
        mem_free(exact);
    }
    str_deinit(&whole);
}

static void load_all_tensors(pgy_model *m)
{
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    for (size_t i = 0; i < g->initializer_count; i++) {
        pgy_tensor *t = NULL;
        if (pgy_onnx_tensor_load(&t, m, g->initializers[i], &test_err))
            assert_true(strlen(test_err.text) > 0);
        pgy_tensor_release(t);
    }
}

/* Bytes changed at random: what still loads must also be writable, identically. */
static void test_hostile__changed_bytes(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"attributes.onnx", "every_element_type.onnx", "types.onnx"};
    uint32_t seed = 1;
    size_t loaded = 0;
    for (int round = 0; round < 3000; round++) {
        str path = {0};
        str_printf(&path, "%s%s", DATA_PATH, NAMES[round % 3]);
        str bytes = contents(str_text(&path));
        pgy_model *m = NULL;
        for (int i = 0; i < 1 + round % 3; i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes.data[(seed >> 8) % bytes.size] = (char)(seed >> 3);
        }
        if (!pgy_model_parse(&m, bytes.data, bytes.size, true, NULL, &test_err)) {
            void *again = NULL;
            size_t size = 0;
            load_all_tensors(m);
            loaded++;
            if (!pgy_model_serialize(&again, &size, m, &test_err) &&
                !pgy_model_has_external_data(m)) {
                assert_int_equal(size, bytes.size);
                assert_memory_equal(again, bytes.data, size);
            }
            pgy_text_free(again);
        }
        pgy_model_destroy(m);
        str_deinit(&bytes);
        str_deinit(&path);
    }
    assert_true(loaded > 300);
}

static void hear(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    (void)severity;
    str_append_n(user, text, size_bytes);
}

static void test_hostile__text_that_is_not_utf8(void **state)
{
    (void)state;
    str attribute = {0}, node = {0}, graph = {0};
    put_message(&graph, 1, &node);
    put_block(&attribute, 1, "ab\xC3", 3);
    put_message(&node, 5, &attribute);
    put_message(&graph, 1, &node);
    str bytes = model_of(&graph);
    str log = {0};
    pgy_log_set_sink(hear, &log);
    assert_int_equal(try_parse(&bytes), PGY_OK);
    pgy_log_set_sink(NULL, NULL);
    assert_non_null(strstr(str_text(&log), "not UTF-8, first at byte 14 of the file: 'ab\\xc3'"));
    str_deinit(&log);
}

static void test_hostile__utf8_borders(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
    } CASES[] = {
        {"plain ascii, long enough", true},
        {"\xC3\xA9t\xC3\xA9", true},
        {"\xE2\x82\xAC", true},
        {"\xF0\x9F\x98\x80", true},
        {"\xF4\x8F\xBF\xBF", true},
        {"\xC0\x80", false},
        {"\xC1\xBF", false},
        {"\xE0\x9F\xBF", false},
        {"\xED\xA0\x80", false},
        {"\xF0\x8F\xBF\xBF", false},
        {"\xF4\x90\x80\x80", false},
        {"\xF8\x88\x80\x80\x80", false},
        {"\x80", false},
        {"abcdefgh\xFF", false},
        {"\xE2\x82", false},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        str graph = {0};
        put_text(&graph, 2, CASES[i].text);
        str bytes = model_of(&graph);
        str log = {0};
        pgy_log_set_sink(hear, &log);
        assert_int_equal(try_parse(&bytes), PGY_OK);
        pgy_log_set_sink(NULL, NULL);
        assert_int_equal(log.size == 0, CASES[i].good);
        str_deinit(&log);
    }
}

static void test_hostile__nul_in_text(void **state)
{
    (void)state;
    str graph = {0}, value = {0};
    put_block(&value, 1, "a\0b", 3);
    put_message(&graph, 11, &value);
    str bytes = model_of(&graph);
    FAILS(try_parse(&bytes), PGY_E_FORMAT,
          "graph.input[0].name: a text holds a NUL byte, at byte 9 of the file");
}

/* A graph in an attribute in a node in a graph, and so on. */
static str nested_graphs(int levels)
{
    str graph = {0};
    for (int i = 0; i < levels; i++) {
        str attribute = {0}, node = {0};
        put_message(&attribute, 6, &graph);
        put_message(&node, 5, &attribute);
        graph = (str){0};
        put_message(&graph, 1, &node);
    }
    return model_of(&graph);
}

static void test_hostile__deep_nesting(void **state)
{
    (void)state;
    str fine = nested_graphs(32), deep = nested_graphs(34), absurd = nested_graphs(4000);
    OK(try_parse(&fine));
    FAILS(try_parse(&deep), PGY_E_FORMAT, "messages are nested more than 100 deep");
    FAILS(try_parse(&absurd), PGY_E_FORMAT, "messages are nested more than 100 deep");
}

static void test_hostile__packed_run_of_wrong_size(void **state)
{
    (void)state;
    str t = {0};
    put_block(&t, 4, "12345", 5);
    str bytes = model_of_tensor(&t);
    FAILS(try_parse(&bytes), PGY_E_FORMAT,
          "graph.initializer[0]: float_data at byte 6: its size, 5 bytes, is not a multiple of 4");
}

static void test_hostile__broken_packed_varint(void **state)
{
    (void)state;
    str t = {0};
    put_block(&t, 7, "\x01\x80", 2);
    str bytes = model_of_tensor(&t);
    FAILS(try_parse(&bytes), PGY_E_FORMAT, "graph.initializer[0].int64_data");
}

/* Fields of one tensor and what reading its elements says. */
typedef struct tensor_case {
    int64_t dims[2];
    int data_type;
    size_t raw_size;
    const char *message;
} tensor_case;

static void test_hostile__tensors(void **state)
{
    (void)state;
    static const tensor_case CASES[] = {
        {{2, 3}, 1, 23, "tensor 'w'"},
        {{2, -1}, 1, 4, "tensor 'w'"},
        {{INT64_MAX, 2}, 1, 4, "tensor 'w'"},
        {{(int64_t)1 << 40, (int64_t)1 << 20}, 1, 4, "tensor 'w'"},
        {{1, 1}, 0, 4, "tensor 'w': element type 0 is unknown"},
        {{1, 1}, 99, 4, "tensor 'w': element type 99 is unknown"},
        {{2, 2}, 8, 4, "tensor 'w'"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        str t = {0};
        char raw[32] = {0};
        pgy_tensor *out = NULL;
        put_int(&t, 1, (uint64_t)CASES[i].dims[0]);
        put_int(&t, 1, (uint64_t)CASES[i].dims[1]);
        put_int(&t, 2, (uint64_t)CASES[i].data_type);
        put_text(&t, 8, "w");
        put_block(&t, 9, raw, CASES[i].raw_size);
        str bytes = model_of_tensor(&t);
        pgy_model *m = parse(&bytes);
        const pgy_status st = pgy_onnx_tensor_load(&out, m, initializer(m, "w"), &test_err);
        assert_null(out);
        FAILS(st, PGY_E_FORMAT, CASES[i].message);
        pgy_model_destroy(m);
    }
}

static void test_hostile__too_many_dimensions(void **state)
{
    (void)state;
    str t = {0};
    pgy_tensor *out = NULL;
    pgy_tensor_info info;
    for (int i = 0; i < 65; i++) put_int(&t, 1, 1);
    put_int(&t, 2, 1);
    put_text(&t, 8, "w");
    put_block(&t, 9, "1234", 4);
    str bytes = model_of_tensor(&t);
    pgy_model *m = parse(&bytes);
    assert_int_not_equal(pgy_onnx_tensor_load(&out, m, initializer(m, "w"), &test_err), PGY_OK);
    FAILS(pgy_onnx_tensor_info(&info, initializer(m, "w"), &test_err), PGY_E_FORMAT,
          "tensor 'w': rank 65");
    pgy_model_destroy(m);
}

static void test_hostile__segments(void **state)
{
    (void)state;
    str t = {0}, segment = {0};
    pgy_tensor *out = NULL;
    put_int(&segment, 2, 4);
    put_int(&t, 2, 1);
    put_message(&t, 3, &segment);
    put_text(&t, 8, "w");
    str bytes = model_of_tensor(&t);
    pgy_model *m = parse(&bytes);
    FAILS(pgy_onnx_tensor_load(&out, m, initializer(m, "w"), &test_err), PGY_E_UNSUPPORTED,
          "tensor 'w': its data is split into segments");
    pgy_model_destroy(m);
}

static void test_hostile__unknown_element_type_of_a_value(void **state)
{
    (void)state;
    str tensor = {0}, type = {0}, value = {0}, graph = {0};
    pgy_tensor_info info;
    put_int(&tensor, 1, 99);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, "x");
    put_message(&value, 2, &type);
    put_message(&graph, 11, &value);
    str bytes = model_of(&graph);
    pgy_model *m = parse(&bytes);
    FAILS(pgy_onnx_value_info_describe(&info, m, pgy_model_proto(m)->graph->inputs[0], &test_err),
          PGY_E_FORMAT, "value 'x': element type 99 is unknown");
    pgy_model_destroy(m);
}

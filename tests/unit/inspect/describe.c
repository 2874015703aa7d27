/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions as JSON: what a program finds in them. The texts are those of tests/cli. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/capability.h>
#include <polygraphy/describe.h>
#include <polygraphy/diff.h>
#include <polygraphy/memory.h>

#include "base/json.h"
#include "harness/model_builder.h"

static pgy_model *small_model(const char *op)
{
    model_builder b = builder_start(17), then = builder_subgraph(&b, "then");
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_floats(&b, "w", "4", NULL);
    builder_node(&b, "Add", "x w", "a")->name = "add";
    pgy_onnx_node *n = builder_node(&b, op, "a", "y");
    n->name = "last";
    builder_attr_float(&b, n, "alpha", 0.5f);
    builder_node(&then, "Identity", "a", "inner");
    builder_attr_graph(&b, n, "body", &then);
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

typedef struct parsed {
    char *text;
    arena memory;
    json_value *root;
} parsed;

static void parse(parsed *p)
{
    pgy_error err = {0};
    if (json_parse(&p->root, p->text, strlen(p->text), &p->memory, &err)) fail_msg("%s", err.text);
}

static void parsed_deinit(parsed *p)
{
    pgy_text_free(p->text);
    arena_deinit(&p->memory);
}

static void expect_text(const json_value *object, const char *key, const char *wanted)
{
    const json_value *v = json_get(object, key);
    assert_non_null(v);
    assert_true(span_equals(v->raw, wanted));
}

static void test_describe__a_model_as_json(void **state)
{
    (void)state;
    pgy_model *model = small_model("Elu");
    parsed p = {0};
    assert_int_equal(pgy_model_json(&p.text, model, NULL), PGY_OK);
    parse(&p);
    const json_value *graph = json_get(p.root, "graph");
    const json_value *input = json_at(json_get(graph, "inputs"), 0);
    expect_text(input, "name", "x");
    expect_text(input, "dtype", "float32");
    assert_true(span_equals(json_at(json_get(input, "shape"), 0)->raw, "N"));
    assert_int_equal(json_at(json_get(input, "shape"), 1)->integer, 4);
    expect_text(json_at(json_get(graph, "initializers"), 0), "name", "w");
    assert_int_equal(json_get(graph, "nodes")->count, 2);
    const json_value *last = json_at(json_get(graph, "nodes"), 1);
    expect_text(last, "op_type", "Elu");
    assert_true(json_get(json_get(last, "attributes"), "alpha")->real == 0.5);
    const json_value *body = json_get(json_get(last, "attributes"), "body");
    expect_text(json_at(json_get(body, "nodes"), 0), "op_type", "Identity");
    assert_int_equal(json_get(json_get(p.root, "opsets"), "ai.onnx")->integer, 17);
    parsed_deinit(&p);
    pgy_model_destroy(model);
}

static void test_describe__differences_as_json(void **state)
{
    (void)state;
    pgy_model *before = small_model("Elu"), *after = small_model("Celu");
    pgy_diff *diff = NULL;
    parsed p = {0};
    const pgy_diff_report_options o = {.size = sizeof o, .before = "a.onnx"};
    assert_int_equal(pgy_diff_create(&diff, before, after, NULL, NULL), PGY_OK);
    assert_false(pgy_diff_is_equal(diff, false));
    assert_int_equal(pgy_diff_json(&p.text, diff, &o, NULL), PGY_OK);
    parse(&p);
    assert_false(json_get(p.root, "equal")->boolean);
    expect_text(json_get(p.root, "before"), "path", "a.onnx");
    expect_text(json_get(p.root, "after"), "path", "after");
    assert_int_equal(json_get(p.root, "differences")->count, pgy_diff_count(diff));
    parsed_deinit(&p);
    pgy_diff_destroy(diff);
    pgy_model_destroy(after);
    pgy_model_destroy(before);
}

static void test_describe__parts_that_cannot_run(void **state)
{
    (void)state;
    pgy_model *model = small_model("Unheard");
    pgy_graph *graph = NULL;
    const pgy_unsupported *rows = NULL;
    const pgy_capability_part *parts = NULL;
    size_t row_count = 0, part_count = 0;
    parsed p = {0};
    assert_int_equal(pgy_graph_import(&graph, model, NULL), PGY_OK);
    assert_int_equal(pgy_graph_capability(&rows, &row_count, graph, NULL), PGY_OK);
    assert_int_equal(pgy_graph_partition(&parts, &part_count, graph, rows, row_count, NULL),
                     PGY_OK);
    assert_int_equal(part_count, 2);
    assert_true(parts[0].supported && !parts[1].supported);
    assert_int_equal(parts[1].first, 1);
    assert_int_equal(parts[1].end, 2);
    assert_int_equal(pgy_capability_json(&p.text, rows, row_count, parts, part_count, NULL),
                     PGY_OK);
    parse(&p);
    expect_text(json_at(json_get(p.root, "unsupported"), 0), "node", "last");
    assert_true(json_get(json_at(json_get(p.root, "parts"), 0), "supported")->boolean);
    parsed_deinit(&p);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
}

static void test_describe__trt_layers(void **state)
{
    (void)state;
    assert_string_equal(pgy_trt_layer_of("Conv"), "CONVOLUTION");
    assert_string_equal(pgy_trt_layer_of("Unheard"), "PLUGIN_V3");
    assert_string_equal(pgy_trt_layer_of("Co"), "PLUGIN_V3"); /* a part of a name is no name */
    assert_null(pgy_trt_layer_at(pgy_trt_layer_count()));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Checks without a runtime, and the summary of parameters and operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/graph.h>

#include "harness/model_builder.h"

static const pgy_finding *findings;
static size_t finding_count;

static pgy_graph *check(model_builder *b)
{
    pgy_error err = {0};
    pgy_graph *g = NULL;
    pgy_model *model = builder_finish_bytes(b);
    if (pgy_graph_import(&g, model, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    if (pgy_graph_check(&findings, &finding_count, g, &err)) fail_msg("%s", err.text);
    return g;
}

static void expect(pgy_severity severity, const char *node, const char *text)
{
    for (size_t i = 0; i < finding_count; i++)
        if (findings[i].severity == severity && strcmp(findings[i].node, node) == 0 &&
            strstr(findings[i].message, text))
            return;
    for (size_t i = 0; i < finding_count; i++)
        print_error("%d %s %s\n", (int)findings[i].severity, findings[i].node, findings[i].message);
    fail_msg("no finding '%s' about '%s'", text, node);
}

static void test_check__a_sound_model_has_no_findings(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_attr_int(&b, builder_node(&b, "Softmax", "x", "y"), "axis", -1);
    builder_output(&b, "y", PGY_F32, "N, 3");
    pgy_graph *g = check(&b);
    assert_int_equal(finding_count, 0);
    pgy_graph_destroy(g);
}

static void test_check__one_failure_does_not_hide_the_next(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "com.example", 1);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_input(&b, "u", PGY_F32, "5");
    builder_floats(&b, "w", "4, 4", NULL);
    builder_node(&b, "MatMul", "x w", "a");
    builder_node(&b, "NoSuchOp", "x", "b");
    builder_node(&b, "com.example:Custom", "x", "c");
    builder_attr_int(&b, builder_node(&b, "Relu", "x", "d"), "slope", 1);
    builder_node(&b, "Relu", "x x", "e");
    builder_node(&b, "org.none:Thing", "x", "f");
    builder_node(&b, "Abs", "x", "h")->name = "n0";
    builder_node(&b, "Neg", "x", "unused");
    const char *const outputs[] = {"a", "b", "c", "d", "e", "f", "h"};
    for (size_t i = 0; i < 7; i++) builder_output(&b, outputs[i], PGY_DTYPE_NONE, NULL);
    pgy_graph *g = check(&b);
    expect(PGY_LOG_ERROR, "n0", "Duplicate node name");
    expect(PGY_LOG_ERROR, "n0", "3");
    expect(PGY_LOG_ERROR, "n1", "NoSuchOp is not a known operator of domain 'ai.onnx' in opset 17");
    expect(PGY_LOG_WARNING, "n2", "Custom is not a known operator");
    expect(PGY_LOG_ERROR, "n3", "Unrecognized attribute: 'slope' for operator Relu");
    expect(PGY_LOG_ERROR, "n4", "has 2 inputs, but takes at most 1");
    expect(PGY_LOG_WARNING, "n5", "No opset import for domain 'org.none'");
    expect(PGY_LOG_INFO, "n7", "Does not affect outputs, can be removed.");
    expect(PGY_LOG_INFO, "", "Input: 'u' does not affect outputs, can be removed.");
    pgy_graph_destroy(g);
}

static void test_check__order_and_cycles(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "a", "y");
    builder_node(&b, "Neg", "x", "a");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = check(&b);
    expect(PGY_LOG_ERROR, "n0", "not in topological order: input 'a'");
    pgy_graph_destroy(g);
    b = builder_start(17);
    builder_node(&b, "Relu", "y", "x");
    builder_node(&b, "Neg", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    g = check(&b);
    expect(PGY_LOG_ERROR, "", "cycle");
    pgy_graph_destroy(g);
}

static void test_check__contradicting_declaration(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, "3");
    pgy_graph *g = check(&b);
    assert_int_equal(finding_count, 1);
    expect(PGY_LOG_ERROR, "n0", "Output 'y' is (2,), but the model declares (3,)");
    pgy_graph_destroy(g);
}

static void test_check__no_nodes(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_output(&b, "x", PGY_F32, "2");
    pgy_graph *g = check(&b);
    expect(PGY_LOG_WARNING, "", "no nodes");
    pgy_graph_destroy(g);
}

static const pgy_op_summary *row(const pgy_op_summary *rows, size_t count, const char *op_type)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].op_type, op_type) == 0) return &rows[i];
    fail_msg("no row %s", op_type);
    return NULL;
}

static void test_check__summary_counts_each_weight_once(void **state)
{
    (void)state;
    const pgy_op_summary *rows = NULL;
    size_t count = 0;
    pgy_graph *g = NULL;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 8");
    builder_floats(&b, "w", "8, 8", NULL);
    builder_floats(&b, "bias", "8", NULL);
    builder_node(&b, "MatMul", "x w", "a");
    builder_node(&b, "MatMul", "a w", "b");
    builder_node(&b, "Add", "b bias", "c");
    builder_node(&b, "com.example:Custom", "c", "d");
    builder_output(&b, "d", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(pgy_graph_import(&g, model, NULL), PGY_OK);
    pgy_model_destroy(model);
    assert_int_equal(pgy_graph_summarize(&rows, &count, g, NULL, NULL), PGY_OK);
    assert_int_equal(count, 3);
    assert_string_equal(rows[0].op_type, "MatMul");
    assert_int_equal(rows[0].node_count, 2);
    assert_int_equal(rows[0].parameter_count, 64);
    assert_int_equal(rows[0].parameter_bytes, 256);
    assert_float_equal(rows[0].flops, 2 * (2 * 2 * 8 * 8), 0);
    assert_int_equal(row(rows, count, "Add")->parameter_count, 8);
    assert_float_equal(row(rows, count, "Add")->flops, 16, 0);
    assert_true(row(rows, count, "Custom")->flops < 0);
    pgy_graph_destroy(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Checks without a runtime, and the summary of parameters and operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <polygraphy/graph.h>

#include "base/alloc.h"
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

static void expect_code(const char *code, const char *path, const char *text)
{
    for (size_t i = 0; i < finding_count; i++)
        if (strcmp(findings[i].code, code) == 0 && strcmp(findings[i].path, path) == 0 &&
            strstr(findings[i].message, text))
            return;
    for (size_t i = 0; i < finding_count; i++)
        print_error("%s %s %s\n", findings[i].code, findings[i].path, findings[i].message);
    fail_msg("no finding %s '%s' at '%s'", code, text, path);
}

static void refuse_code(const char *code)
{
    for (size_t i = 0; i < finding_count; i++)
        if (strcmp(findings[i].code, code) == 0)
            fail_msg("%s at '%s': %s", code, findings[i].path, findings[i].message);
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
    expect_code("cycle", "n0", "depends on its own output through 'n1'");
    pgy_graph_destroy(g);
}

/* Checks a model that cannot be imported. */
static pgy_model *check_broken(model_builder *b)
{
    pgy_error err = {0};
    pgy_graph *g = NULL;
    pgy_model *model = builder_finish_bytes(b);
    assert_int_equal(pgy_graph_import(&g, model, &err), PGY_E_FORMAT);
    if (pgy_model_check(&findings, &finding_count, model, &err)) fail_msg("%s", err.text);
    return model;
}

static void test_check__all_that_keeps_a_model_from_being_a_graph(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "w", "2", NULL);
    builder_floats(&b, "w", "2", NULL);
    builder_node(&b, "Add", "x nowhere", "a");
    builder_node(&b, "Mul", "a w", "a");
    builder_node(&b, "Neg", "gone", "w")->name = "";
    builder_node(&b, "Neg", "d", "c")->name = "round";
    builder_node(&b, "Neg", "c", "d");
    builder_output(&b, "a", PGY_F32, "2");
    builder_output(&b, "lost", PGY_F32, "2");
    pgy_model *model = check_broken(&b);
    expect_code("duplicate-value", "x", "graph 'test' has two inputs named 'x'");
    expect_code("duplicate-value", "w", "graph 'test' has two initializers named 'w'");
    expect_code("undefined-input", "n0", "Input 'nowhere' is not defined in graph 'test'");
    expect_code("duplicate-value", "n1", "Output 'a' is defined already in graph 'test'");
    expect_code("duplicate-value", "Neg_2", "Output 'w' is defined already");
    expect_code("undefined-input", "Neg_2", "'gone'");
    expect_code("cycle", "round", "through 'n4'");
    expect_code("undefined-output", "lost", "Nothing computes output 'lost' of graph 'test'");
    assert_int_equal(finding_count, 8);
    pgy_model_destroy(model);
}

static void test_check__broken_subgraphs_and_functions(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    for (int i = 0; i < 2; i++) {
        model_builder f = builder_function(&b, "local", "F", "a", "c", "");
        builder_node(&f, "Relu", i ? "void" : "a", "b");
        builder_end_function(&f);
    }
    builder_input(&b, "x", PGY_F32, "2");
    builder_input(&b, "flag", PGY_BOOL, "");
    model_builder then = builder_subgraph(&b, "then"), other = builder_subgraph(&b, "else");
    builder_node(&then, "Add", "y nothing", "t");
    builder_output(&then, "t", PGY_F32, "2");
    builder_output(&other, "e", PGY_F32, "2");
    pgy_onnx_node *branch = builder_node(&b, "If", "flag", "y");
    branch->name = "choose";
    builder_attr_graph(&b, branch, "then_branch", &then);
    builder_attr_graph(&b, branch, "else_branch", &other);
    builder_output(&b, "y", PGY_F32, "2");
    pgy_model *model = check_broken(&b);
    expect_code("undefined-input", "choose/then_branch/n0", "'nothing'");
    expect_code("undefined-output", "choose/else_branch/e", "'e' of graph 'else'");
    expect_code("cycle", "choose", "through 'choose'");
    expect_code("duplicate-function", "F", "'F' of domain 'local'");
    expect_code("undefined-output", "F:body/c", "'c' of function 'F'");
    expect_code("undefined-input", "F:body/n0", "'void'");
    assert_int_equal(finding_count, 6);
    pgy_model_destroy(model);
}

static void test_check__types_that_do_not_exist(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "w", "2", NULL);
    builder_node(&b, "Add", "x w", "a");
    builder_output(&b, "a", PGY_F32, "2");
    ((pgy_onnx_tensor_type *)b.graph->inputs[0]->type->tensor_type)->elem_type = 99;
    ((pgy_onnx_tensor_type *)b.graph->outputs[0]->type->tensor_type)->elem_type = 98;
    pgy_model *model = check_broken(&b);
    expect_code("invalid-type", "x", "99");
    expect_code("invalid-type", "a", "98");
    assert_int_equal(finding_count, 2);
    pgy_model_destroy(model);
}

static void test_check__a_model_that_imports_has_a_sound_structure(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "a", "y"); /* order does not matter here */
    builder_node(&b, "Neg", "x", "a");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(pgy_model_check(&findings, &finding_count, model, NULL), PGY_OK);
    assert_int_equal(finding_count, 0);
    pgy_model_destroy(model);
}

static void test_check__a_function_that_is_broken(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    model_builder f = builder_function(&b, "local", "F", "a", "c", "");
    builder_node(&f, "Add", "a one", "b");
    builder_node(&f, "Add", "b two", "b");
    builder_node(&f, "Neg", "b", "c");
    builder_end_function(&f);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "local:F", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = check(&b);
    expect_code("undefined-input", "F:body/n0", "'one' is not defined in function 'F'");
    expect_code("undefined-input", "F:body/n1", "'two'");
    expect_code("duplicate-value", "F:body/n1", "'b'");
    refuse_code("function-body");
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

/* If(flag) with a branch that `fill` makes, and one that negates x; both give `out`. */
static pgy_graph *check_branch(void (*fill)(model_builder *branch))
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_input(&b, "flag", PGY_BOOL, "");
    model_builder then = builder_subgraph(&b, "then"), other = builder_subgraph(&b, "else");
    fill(&then);
    builder_node(&other, "Neg", "x", "e");
    builder_output(&other, "e", PGY_F32, "2");
    pgy_onnx_node *branch = builder_node(&b, "If", "flag", "y");
    branch->name = "choose";
    builder_attr_graph(&b, branch, "then_branch", &then);
    builder_attr_graph(&b, branch, "else_branch", &other);
    builder_node(&b, "Abs", "x", "late")->name = "later";
    builder_output(&b, "y", PGY_F32, "2");
    builder_output(&b, "late", PGY_F32, "2");
    return check(&b);
}

static void shadow(model_builder *b)
{
    builder_node(b, "Relu", "x", "late");
    builder_output(b, "late", PGY_F32, "2");
}

static void use_later(model_builder *b)
{
    builder_node(b, "Relu", "late", "t")->name = "";
    builder_output(b, "t", PGY_F32, "2");
}

static void fail_inside(model_builder *b)
{
    builder_ints(b, "k", "3", NULL);
    builder_node(b, "Add", "x k", "t")->name = "";
    builder_node(b, "Neg", "x", "nobody");
    builder_output(b, "t", PGY_F32, "2");
}

static void test_check__subgraphs_have_paths(void **state)
{
    (void)state;
    pgy_graph *g = check_branch(shadow);
    expect_code("shadowed-value", "choose/then_branch/n0", "'late'");
    pgy_graph_destroy(g);
    g = check_branch(use_later);
    expect_code("subgraph-reference", "choose", "'late', which a later node computes");
    pgy_graph_destroy(g);
    g = check_branch(fail_inside);
    expect_code("input-type", "choose/then_branch/Add_0", "input 1 'B' is int64");
    expect_code("unused-node", "choose/then_branch/n1", "can be removed");
    pgy_graph_destroy(g);
}

/* An If with n, float32, in the branches; the other side is of type `other`. */
static pgy_graph *check_branches(pgy_dtype other, bool weight)
{
    model_builder b = builder_start(17);
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "2");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Abs", "x", "t");
    builder_output(&yes, "t", PGY_F32, "2");
    if (weight)
        builder_floats(&no, "e", "2", NULL);
    else
        builder_attr_int(&b, builder_node(&no, "Cast", "x", "e"), "to",
                         pgy_dtype_describe(other)->onnx);
    builder_output(&no, "e", other, "2");
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    n->name = "choice";
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_output(&b, "y", PGY_F32, "2");
    return check(&b);
}

static void test_check__types_of_branches(void **state)
{
    (void)state;
    pgy_graph *g = check_branches(PGY_F32, false);
    refuse_code("declared-type");
    refuse_code("input-type");
    pgy_graph_destroy(g);
    g = check_branches(PGY_F16, false);
    expect(PGY_LOG_ERROR, "choice", "float32 in the then_branch and float16 in the else");
    pgy_graph_destroy(g);
    g = check_branches(PGY_F16, true); /* no node makes it */
    expect_code("declared-type", "choice/else_branch/e", "is float32, but graph 'no' declares f");
    pgy_graph_destroy(g);
}

static void test_check__types_that_bodies_declare_for_their_inputs(void **state)
{
    (void)state;
    model_builder b = builder_start(17), body = builder_subgraph(&b, "body");
    const int64_t three[] = {3};
    builder_input(&b, "x", PGY_F32, "2");
    builder_ints(&b, "trips", "", three);
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "s", PGY_F16, "2");
    builder_node(&body, "Identity", "go", "go2");
    builder_node(&body, "Neg", "s", "s2");
    builder_output(&body, "go2", PGY_BOOL, "");
    builder_output(&body, "s2", PGY_F32, "2");
    pgy_onnx_node *n = builder_node(&b, "Loop", "trips - x", "y");
    n->name = "loop";
    builder_attr_graph(&b, n, "body", &body);
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = check(&b);
    expect_code("declared-type", "loop/body/s", "is float32, but graph 'body' declares float16");
    pgy_graph_destroy(g);
}

static void test_check__weights(void **state)
{
    (void)state;
    const float large[] = {1, -65520, 65519}, scales[] = {0.5f, 0}, wild[] = {NAN, 1, INFINITY};
    const int64_t wide[] = {1, INT64_MAX, INT64_C(1) << 31};
    model_builder b = builder_start(17);
    builder_floats(&b, "large", "3", large);
    builder_floats(&b, "scales", "2", scales);
    builder_floats(&b, "wild", "3", wild);
    builder_ints(&b, "wide", "3", wide);
    builder_floats(&b, "spare", "1", NULL);
    builder_input(&b, "x", PGY_F32, "4, 2");
    builder_attr_int(&b, builder_node(&b, "Cast", "large", "a"), "to", 10);
    builder_attr_int(&b, builder_node(&b, "Cast", "large", "c"), "to", 11);
    builder_node(&b, "QuantizeLinear", "x scales", "q");
    builder_output(&b, "a", PGY_F16, "3");
    builder_output(&b, "c", PGY_F64, "3");
    builder_output(&b, "q", PGY_U8, "4, 2");
    builder_output(&b, "wild", PGY_F32, "3");
    builder_output(&b, "wide", PGY_I64, "3");
    pgy_graph *g = check(&b);
    expect_code("half-overflow", "n0", "'large' holds 65520, which is infinite as float16");
    expect_code("quantization-scale", "n2", "1 of 2");
    expect_code("weight-not-finite", "wild", "2 of 3");
    expect_code("wide-integer", "wide", "1 of 3");
    expect_code("unused-initializer", "spare", "can be removed");
    assert_int_equal(finding_count, 5);
    pgy_graph_destroy(g);
}

/* They are looked at in pieces, of which the last is short. */
static void test_check__large_weights(void **state)
{
    (void)state;
    enum { COUNT = 150001 };
    float *values = mem_calloc(COUNT, sizeof *values);
    int64_t *wide = mem_calloc(COUNT, sizeof *wide);
    values[0] = values[65536] = NAN;
    values[COUNT - 1] = -INFINITY;
    values[COUNT - 2] = -70000;
    values[99999] = 80000;
    wide[0] = wide[32768] = wide[COUNT - 1] = INT64_MIN + 1;
    model_builder b = builder_start(17);
    builder_floats(&b, "w", "150001", values);
    builder_ints(&b, "i", "150001", wide);
    builder_attr_int(&b, builder_node(&b, "Cast", "w", "a"), "to", 10);
    builder_output(&b, "a", PGY_F16, "150001");
    builder_output(&b, "i", PGY_I64, "150001");
    pgy_graph *g = check(&b);
    expect_code("half-overflow", "n0", "'w' holds 80000, which is infinite as float16");
    expect_code("weight-not-finite", "w", "3 of 150001");
    expect_code("wide-integer", "i", "3 of 150001");
    assert_int_equal(finding_count, 3);
    pgy_graph_destroy(g);
    mem_free(values);
    mem_free(wide);
}

static void test_check__types_follow_the_opset(void **state)
{
    (void)state;
    for (int64_t opset = 13; opset <= 14; opset++) {
        model_builder b = builder_start(opset);
        builder_input(&b, "x", PGY_U8, "2");
        builder_node(&b, "Add", "x x", "y");
        builder_output(&b, "y", PGY_U8, "2");
        pgy_graph *g = check(&b);
        if (opset == 13)
            expect_code("input-type", "n0", "input 0 'A' is uint8, but opset 13 allows");
        else
            refuse_code("input-type");
        pgy_graph_destroy(g);
    }
}

static void test_check__attribute_values_and_omitted_inputs(void **state)
{
    (void)state;
    const int64_t strides[] = {1, 0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, NULL);
    builder_floats(&b, "w", "1, 1, 3, 3", NULL);
    builder_attr_ints(&b, builder_node(&b, "Conv", "x w", "a"), "strides", 2, strides);
    builder_attr_string(&b, builder_node(&b, "Conv", "x w", "b"), "auto_pad", "SAME");
    builder_node(&b, "Add", "- x", "c");
    builder_attr_int(&b, builder_node(&b, "Cast", "x", "d"), "to", 99);
    const char *const outputs[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < 4; i++) builder_output(&b, outputs[i], PGY_F32, NULL);
    pgy_graph *g = check(&b);
    expect_code("attribute-value", "n0", "attribute 'strides' is 0, but must be at least 1");
    expect_code("attribute-value", "n1",
                "attribute 'auto_pad' is 'SAME', but must be one of: NOTSET SAME_UPPER");
    expect_code("missing-input", "n2", "input 0 'A' is required, but omitted");
    expect(PGY_LOG_ERROR, "n3", "99");
    expect_code("incomplete-declaration", "a", "Output 'a' is declared without shape");
    pgy_graph_destroy(g);
}

static void test_check__functions(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    builder_opset(&b, "nobody", 3);
    model_builder f = builder_function(&b, "local", "F", "a", "c", "alpha");
    builder_attr_ref(&f, builder_node(&f, "LeakyRelu", "a", "b"), "alpha", PGY_ATTR_FLOAT, "beta");
    builder_node(&f, "NoSuchOp", "b", "c")->name = "";
    builder_end_function(&f);
    model_builder unused = builder_function(&b, "local", "G", "a", "c", "");
    builder_node(&unused, "Relu", "a", "c");
    builder_end_function(&unused);
    builder_input(&b, "x", PGY_F32, "2");
    builder_attr_float(&b, builder_node(&b, "local:F", "x", "y"), "alpha", 1);
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = check(&b);
    expect_code("attribute-reference", "F:body/n0",
                "refers to attribute 'beta', which function 'F'");
    expect_code("unknown-operator", "F:body/NoSuchOp_1", "NoSuchOp is not a known operator");
    expect_code("unused-function", "G", "never called");
    expect_code("unused-opset-import", "", "'nobody'");
    pgy_graph_destroy(g);
}

static void test_check__versions(void **state)
{
    (void)state;
    model_builder b = builder_start(21);
    b.proto->ir_version = 8;
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = check(&b);
    expect_code("ir-version-old", "", "Opset 21 needs IR version 10, but the model has 8");
    pgy_graph_destroy(g);
    b = builder_start(99);
    b.proto->ir_version = 77;
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    g = check(&b);
    expect_code("ir-version-unknown", "", "77");
    expect_code("opset-unknown", "", "Opset 99");
    pgy_graph_destroy(g);
}

static void test_check__rules_are_documented(void **state)
{
    (void)state;
    const pgy_check_rule *rules;
    const size_t count = pgy_check_rule_list(&rules);
    FILE *f = fopen(TEST_SOURCE_DIR "/docs/checker.md", "rb");
    char line[512];
    static char page[1 << 16];
    assert_non_null(f);
    assert_true(fread(page, 1, sizeof page - 1, f) > 0);
    fclose(f);
    size_t rows = 0;
    for (const char *p = page; (p = strstr(p, "\n| `")); p++) rows++;
    assert_int_equal(rows, count);
    for (size_t i = 0; i < count; i++) {
        snprintf(line, sizeof line, "| `%s` | %s | %s |\n", rules[i].code,
                 rules[i].severity == PGY_LOG_ERROR     ? "error"
                 : rules[i].severity == PGY_LOG_WARNING ? "warning"
                                                        : "info",
                 rules[i].text);
        if (!strstr(page, line)) fail_msg("docs/checker.md lacks: %s", line);
        if (i) assert_true(strcmp(rules[i - 1].code, rules[i].code) < 0);
    }
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

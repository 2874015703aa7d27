/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine makes of models that are not what their opset says: unknown operators are errors
 * when it is built, those and types of newer versions are taken with a warning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <polygraphy/capability.h>

#include "engine/build/engine.h"
#include "harness/model_builder.h"

/* ---- Unknown operators ---------------------------------------------------------------------- */

static void expect_unknown(model_builder *b, const char *node)
{
    engine *e = NULL;
    pgy_error err = {0};
    pgy_model *model = builder_finish_bytes(b);
    assert_int_equal(engine_build(&e, model, NULL, &err), PGY_E_UNSUPPORTED);
    if (!strstr(err.text, "Op: Frob") || !strstr(err.text, node)) fail_msg("%s", err.text);
    assert_null(e);
    pgy_model_destroy(model);
}

static void test_import__unknown_operators(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "mine", 1);
    builder_input(&b, "x", PGY_F32, "3");
    builder_node(&b, "Relu", "x", "r");
    builder_node(&b, "mine:Frob", "r", "y");
    builder_output(&b, "y", PGY_F32, "3");
    expect_unknown(&b, "Node: n1");
}

static void test_import__unknown_operators_in_branches(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_input(&b, "c", PGY_BOOL, "");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Relu", "x", "p");
    builder_output(&yes, "p", PGY_F32, "3");
    builder_node(&no, "Relu", "x", "o");
    builder_node(&no, "Frob", "o", "q");
    builder_output(&no, "q", PGY_F32, "3");
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_output(&b, "y", PGY_F32, "3");
    expect_unknown(&b, "Node: n1");
}

static void test_import__unknown_operators_in_functions(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    model_builder f = builder_function(&b, "local", "F", "a", "c", "");
    builder_node(&f, "Relu", "a", "b");
    builder_node(&f, "Frob", "b", "c");
    builder_end_function(&f);
    builder_input(&b, "x", PGY_F32, "3");
    builder_node(&b, "local:F", "x", "y");
    builder_output(&b, "y", PGY_F32, "3");
    expect_unknown(&b, "Node: n1");
}

/* ---- Nodes of newer versions ---------------------------------------------------------------- */

static char warnings[4096];

static void listen(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    (void)user;
    if (severity == PGY_LOG_WARNING && strlen(warnings) + size_bytes + 2 < sizeof warnings) {
        strncat(warnings, text, size_bytes);
        strcat(warnings, "\n");
    }
}

/* Builds it; the warnings are left. */
static pgy_status build(model_builder *b, pgy_error *err)
{
    engine *e = NULL;
    pgy_model *model = builder_finish_bytes(b);
    warnings[0] = 0;
    pgy_log_set_sink(listen, NULL);
    const pgy_status st = engine_build(&e, model, NULL, err);
    pgy_log_set_sink(NULL, NULL);
    engine_release(e);
    pgy_model_destroy(model);
    return st;
}

/* float32 in and out, and bfloat16 between, as PyTorch exports it. */
static model_builder half_model(int64_t opset, const char *op_type)
{
    model_builder b = builder_start(opset);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_attr_int(&b, builder_node(&b, "Cast", "x", "h"), "to", 16);
    builder_node(&b, op_type, "h", "p");
    builder_node(&b, op_type, "p", "q");
    builder_attr_int(&b, builder_node(&b, "Cast", "q", "y"), "to", 1);
    builder_output(&b, "y", PGY_F32, "2, 3");
    return b;
}

static void test_import__types_of_a_newer_version(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = half_model(18, "Softplus");
    if (build(&b, &err)) fail_msg("%s", err.text);
    const char *said =
        strstr(warnings, "Softplus 'n1': input 0 'X' is bfloat16, but opset 18 allows "
                         "float16, float32, float64. It runs as in opset 22");
    assert_non_null(said);
    assert_null(strstr(said + 1, "Softplus"));
}

/* Before opset 7, where the registry begins, operators broadcast in another way. */
static void test_import__older_opsets_take_no_newer_operator(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(6);
    builder_input(&b, "x", PGY_F32, "2, 3, 3");
    builder_input(&b, "slope", PGY_F32, "3");
    builder_node(&b, "PRelu", "x slope", "y");
    builder_output(&b, "y", PGY_F32, "2, 3, 3");
    assert_int_equal(build(&b, &err), PGY_E_UNSUPPORTED);
    assert_null(strstr(warnings, "PRelu"));
}

/* Softmax computes something else since opset 13. */
static void test_import__types_of_another_definition(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = half_model(11, "Softmax");
    assert_int_equal(build(&b, &err), PGY_E_TYPE);
    assert_non_null(strstr(err.text, "is bfloat16, but opset 11 allows"));
}

static void test_import__types_that_no_version_has(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(18);
    builder_input(&b, "x", PGY_I32, "3");
    builder_node(&b, "Softplus", "x", "y");
    builder_output(&b, "y", PGY_I32, "3");
    assert_int_equal(build(&b, &err), PGY_E_TYPE);
    assert_non_null(strstr(err.text, "Softplus 'n0': input 0 'X' is int32, but opset 18 allows"));
    assert_null(strstr(warnings, "Softplus"));
}

static void test_import__operator_of_a_newer_opset(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(13);
    builder_input(&b, "x", PGY_F32, "3");
    builder_node(&b, "Gelu", "x", "h");
    builder_node(&b, "Gelu", "h", "y");
    builder_output(&b, "y", PGY_F32, "3");
    if (build(&b, &err)) fail_msg("%s", err.text);
    const char *said =
        strstr(warnings, "Gelu 'n0': opset 13 has no Gelu; it runs as in opset 20, the first with");
    assert_non_null(said);
    assert_null(strstr(said + 1, "Gelu 'n1'"));
}

/* Who does not ask for it gets the opset that the model imports. */
static void test_import__inference_goes_by_the_opset(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_graph *g = NULL;
    model_builder b = half_model(18, "Softplus");
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(pgy_graph_import(&g, model, NULL), PGY_OK);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_E_TYPE);
    pgy_graph_destroy(g);
    pgy_model_destroy(model);
}

/* Its answer does not change what others say of the graph. */
static void test_import__capability_goes_by_the_engine(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_graph *g = NULL;
    const pgy_unsupported *items = NULL;
    size_t count = 1;
    model_builder b = half_model(18, "Softplus");
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(pgy_graph_import(&g, model, NULL), PGY_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_E_TYPE);
        assert_int_equal(pgy_graph_capability(&items, &count, g, &err), PGY_OK);
        assert_int_equal(count, 0);
    }
    pgy_graph_destroy(g);
    pgy_model_destroy(model);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding: values, shape arithmetic, branches, loops, functions, sequences, limits, and
 * what must stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/transform.h>

#include "base/alloc.h"
#include "harness/fold_case.h"

/* ---- Helpers -------------------------------------------------------------------------------- */

static pgy_graph *fold(model_builder *b)
{
    return fold_with(b, NULL);
}

/* The elements of a weight as text: "int64[2] 3 4". */
static void expect_weight(const pgy_graph *g, const char *name, const char *wanted)
{
    char text[256];
    pgy_error err = {0};
    pgy_tensor *t = NULL, *wide = NULL;
    pgy_value *v = pgy_graph_find_value(g, name);
    if (!v || !v->initializer) fail_msg("'%s' is no weight", name);
    if (pgy_graph_value_data(&t, v, &err)) fail_msg("%s", err.text);
    if (pgy_tensor_cast(&wide, pgy_tensor_view(t), PGY_F64, &err)) fail_msg("%s", err.text);
    size_t n = (size_t)snprintf(text, sizeof text, "%s[", pgy_dtype_name(pgy_tensor_dtype(t)));
    for (size_t i = 0; i < pgy_tensor_rank(t); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, i ? ",%lld" : "%lld",
                              (long long)pgy_tensor_shape(t)[i]);
    n += (size_t)snprintf(text + n, sizeof text - n, "]");
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " %.9g",
                              ((const double *)pgy_tensor_data(wide))[i]);
    assert_string_equal(text, wanted);
    pgy_tensor_release(wide);
    pgy_tensor_release(t);
}

/* x + (a + b), with a + b = {2, 4, 6}. */
static model_builder sum_model(void)
{
    const float a[] = {1, 2, 3};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_floats(&b, "a", "3", a);
    builder_floats(&b, "b", "3", a);
    builder_node(&b, "Add", "a b", "c");
    builder_node(&b, "Add", "x c", "y");
    builder_output(&b, "y", PGY_F32, "2, 3");
    return b;
}

/* ---- Values --------------------------------------------------------------------------------- */

/* What is computed when it is written: beyond a megabyte. */
static void test_fold__large_weights_are_cast_and_turned(void **state)
{
    (void)state;
    enum { ROWS = 700, COLUMNS = 800 };
    pgy_error err = {0};
    pgy_tensor *floats = NULL, *half = NULL, *t = NULL;
    const int64_t shape[] = {ROWS, COLUMNS};
    model_builder b = builder_start(17);
    assert_int_equal(pgy_tensor_create(&floats, PGY_F32, 2, shape, &err), PGY_OK);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        ((float *)pgy_tensor_data(floats))[i] = (float)(i % 2039);
    assert_int_equal(pgy_tensor_cast(&half, pgy_tensor_view(floats), PGY_F16, &err), PGY_OK);
    builder_input(&b, "x", PGY_F32, "2, 800");
    builder_input(&b, "z", PGY_F32, "2, 700");
    builder_initializer(&b, "h", half);
    builder_attr_int(&b, builder_node(&b, "Cast", "h", "c"), "to", 1);
    builder_node(&b, "Transpose", "c", "w");
    builder_node(&b, "MatMul", "x w", "y");
    builder_node(&b, "MatMul", "z c", "u");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "u", PGY_F32, NULL);
    pgy_graph *g = fold(&b);
    expect_nodes(g, "MatMul MatMul");
    for (int turned = 0; turned < 2; turned++) {
        if (pgy_graph_value_data(&t, pgy_graph_find_value(g, turned ? "w" : "c"), &err))
            fail_msg("%s", err.text);
        assert_int_equal(pgy_tensor_dtype(t), PGY_F32);
        assert_int_equal(pgy_tensor_shape(t)[0], turned ? COLUMNS : ROWS);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            const int at = turned ? i % ROWS * COLUMNS + i / ROWS : i;
            if (((float *)pgy_tensor_data(t))[i] != (float)(at % 2039))
                fail_msg("element %d of %s", i, turned ? "w" : "c");
        }
        pgy_tensor_release(t);
    }
    pgy_graph_destroy(g);
    pgy_tensor_release(half);
    pgy_tensor_release(floats);
}

static void test_fold__constants_are_computed(void **state)
{
    (void)state;
    model_builder b = sum_model();
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Add");
    expect_weight(g, "c", "float32[3] 2 4 6");
    assert_int_equal(g->initializer_count, 1);
    assert_string_equal(g->outputs[0]->name, "y");
    pgy_graph_destroy(g);
}

/* 1e8 + 1 - 1e8 is 0 in float32: every node rounds to its declared type. */
static void test_fold__rounds_after_every_node(void **state)
{
    (void)state;
    const float big = 1e8f;
    model_builder b = builder_start(17);
    builder_floats(&b, "big", "", &big);
    builder_floats(&b, "one", "", NULL);
    builder_node(&b, "Add", "big one", "t");
    builder_node(&b, "Sub", "t big", "y");
    builder_output(&b, "y", PGY_F32, "");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "");
    expect_weight(g, "y", "float32[] 0");
    pgy_graph_destroy(g);
}

static void test_fold__integers_are_exact(void **state)
{
    (void)state;
    const int64_t v = (INT64_C(1) << 62) + 1, one = 1;
    model_builder b = builder_start(17);
    builder_ints(&b, "v", "1", &v);
    builder_ints(&b, "one", "1", &one);
    builder_node(&b, "Add", "v one", "s");
    builder_node(&b, "Sub", "s v", "y");
    builder_output(&b, "y", PGY_I64, "1");
    pgy_graph *g = fold(&b);
    expect_weight(g, "y", "int64[1] 1");
    pgy_graph_destroy(g);
}

static void test_fold__sequences_that_end_in_tensors(void **state)
{
    (void)state;
    const int64_t at = 1;
    const float a[] = {1, 2}, c[] = {3, 4};
    model_builder b = builder_start(17);
    builder_floats(&b, "a", "2", a);
    builder_floats(&b, "c", "2", c);
    builder_ints(&b, "at", "", &at);
    builder_node(&b, "SequenceConstruct", "a c", "s");
    builder_node(&b, "SequenceAt", "s at", "y");
    builder_node(&b, "SequenceLength", "s", "n");
    builder_output(&b, "y", PGY_F32, "2");
    builder_output(&b, "n", PGY_I64, "");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "");
    expect_weight(g, "y", "float32[2] 3 4");
    expect_weight(g, "n", "int64[] 2");
    pgy_graph_destroy(g);
}

/* The sequence itself is needed, so it is made of what was computed for it. */
static void test_fold__a_needed_sequence_stays(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "i", PGY_I64, "");
    builder_floats(&b, "a", "2", NULL);
    builder_node(&b, "Neg", "a", "m");
    builder_node(&b, "SequenceConstruct", "a m", "s");
    builder_node(&b, "SequenceAt", "s i", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "SequenceConstruct SequenceAt");
    expect_weight(g, "m", "float32[2] -1 -1");
    pgy_graph_destroy(g);
}

static void test_fold__views_share_the_weight(void **state)
{
    (void)state;
    const int64_t shape[] = {3, 2};
    const float w[] = {1, 2, 3, 4, 5, 6};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 2");
    builder_floats(&b, "w", "2, 3", w);
    builder_ints(&b, "s", "2", shape);
    builder_node(&b, "Reshape", "w s", "r");
    builder_node(&b, "Transpose", "r", "t");
    builder_node(&b, "MatMul", "x t", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = fold(&b);
    expect_nodes(g, "MatMul");
    expect_weight(g, "t", "float32[2,3] 1 3 5 2 4 6");
    pgy_graph_destroy(g);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static void shape_model(model_builder *b)
{
    const int64_t axis = 1;
    *b = builder_start(17);
    builder_input(b, "x", PGY_F32, "N, 5");
    builder_ints(b, "axis", "1", &axis);
    builder_node(b, "Shape", "x", "s");
    builder_node(b, "Gather", "s axis", "y");
    builder_output(b, "y", PGY_I64, "1");
}

static void test_fold__known_elements_of_dynamic_shapes(void **state)
{
    (void)state;
    model_builder b;
    shape_model(&b);
    pgy_graph *g = fold(&b);
    expect_nodes(g, "");
    expect_weight(g, "y", "int64[1] 5");
    pgy_graph_destroy(g);
}

static void test_fold__shapes_can_be_kept(void **state)
{
    (void)state;
    model_builder b;
    shape_model(&b);
    pgy_fold_options o = pgy_fold_options_default();
    o.keep_shapes = true;
    pgy_graph *g = fold_with(&b, &o);
    expect_nodes(g, "Shape Gather");
    pgy_graph_destroy(g);
}

/* Reshape(x, [Shape(x)[0], Shape(x)[1], 2, 4]) needs no arithmetic: [0, 0, 2, 4]. */
static void test_fold__copied_sizes_need_no_arithmetic(void **state)
{
    (void)state;
    const int64_t zero = 0, one = 1, two = 2, rest[] = {2, 4};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "B, S, 8");
    builder_ints(&b, "zero", "1", &zero);
    builder_ints(&b, "one", "1", &one);
    builder_ints(&b, "two", "1", &two);
    builder_ints(&b, "rest", "2", rest);
    builder_node(&b, "Shape", "x", "s");
    builder_node(&b, "Slice", "s zero one zero", "b");
    builder_node(&b, "Slice", "s one two zero", "l");
    builder_node(&b, "Concat", "b l rest", "shape");
    builder_attr_int(&b, b.graph->nodes[3] ? (pgy_onnx_node *)b.graph->nodes[3] : NULL, "axis", 0);
    builder_node(&b, "Reshape", "x shape", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Reshape");
    expect_weight(g, g->nodes[0]->inputs[1]->name, "int64[4] 0 0 2 4");
    pgy_graph_destroy(g);
}

/* ---- Cleaning ------------------------------------------------------------------------------- */

static void test_fold__nodes_that_change_nothing_go(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 3}, perm[] = {1, 0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_ints(&b, "shape", "2", shape);
    builder_attr_int(&b, builder_node(&b, "Cast", "x", "a"), "to", 1);
    builder_node(&b, "Reshape", "a shape", "b");
    builder_node(&b, "Dropout", "b", "c");
    builder_attr_ints(&b, builder_node(&b, "Transpose", "c", "d"), "perm", 2, perm);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "d", "e"), "perm", 2, perm);
    builder_node(&b, "Relu", "e", "f");
    builder_node(&b, "Identity", "f", "y");
    builder_output(&b, "y", PGY_F32, "2, 3");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Relu");
    assert_string_equal(g->nodes[0]->inputs[0]->name, "x");
    assert_string_equal(g->nodes[0]->outputs[0]->name, "y");
    pgy_graph_destroy(g);
}

static void test_fold__a_passed_on_input_keeps_its_identity(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Identity", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Identity");
    pgy_graph_destroy(g);
}

static void test_fold__equal_parts_are_one(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_floats(&b, "a", "3", NULL);
    builder_floats(&b, "b", "3", NULL);
    builder_node(&b, "Add", "x a", "p");
    builder_node(&b, "Add", "x b", "q");
    builder_node(&b, "Mul", "p q", "y");
    builder_node(&b, "Neg", "x", "unused");
    builder_output(&b, "y", PGY_F32, "2, 3");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Add Mul");
    assert_int_equal(g->initializer_count, 1);
    assert_ptr_equal(g->nodes[1]->inputs[0], g->nodes[1]->inputs[1]);
    pgy_graph_destroy(g);
}

/* ---- Branches, loops, functions ------------------------------------------------------------- */

static model_builder if_model(const bool *condition)
{
    model_builder b = builder_start(17);
    pgy_tensor *t = NULL;
    if (pgy_tensor_create(&t, PGY_BOOL, 0, NULL, NULL)) fail();
    *(bool *)pgy_tensor_data(t) = *condition;
    builder_input(&b, "x", PGY_F32, "2");
    builder_initializer(&b, "c", t);
    pgy_tensor_release(t);
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_floats(&yes, "w", "2", NULL);
    builder_node(&yes, "Add", "x w", "t");
    builder_node(&yes, "Relu", "t", "u");
    builder_output(&yes, "u", PGY_F32, NULL);
    builder_node(&no, "Neg", "x", "t");
    builder_output(&no, "t", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&b, "If", "c", "r");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_node(&b, "Abs", "r", "t2");
    builder_output(&b, "r", PGY_F32, "2");
    builder_output(&b, "t2", PGY_F32, "2");
    return b;
}

static void test_fold__if_gives_way_to_its_branch(void **state)
{
    (void)state;
    const bool yes = true, no = false;
    model_builder b = if_model(&yes);
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Add Relu Abs");
    assert_string_equal(g->nodes[1]->outputs[0]->name, "r");
    expect_weight(g, "w", "float32[2] 1 1");
    pgy_graph_destroy(g);
    b = if_model(&no);
    g = fold(&b);
    expect_nodes(g, "Neg Abs");
    assert_string_equal(g->nodes[0]->outputs[0]->name, "r");
    assert_int_equal(g->initializer_count, 0);
    pgy_graph_destroy(g);
}

/* v = v + v, as often as the first of `inputs` says. */
static void add_doubling_loop(model_builder *b, const char *inputs, const char *output)
{
    model_builder body = builder_subgraph(b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "v", PGY_F32, "1");
    builder_node(&body, "Identity", "go", "go_on");
    builder_node(&body, "Add", "v v", "w");
    builder_output(&body, "go_on", PGY_BOOL, "");
    builder_output(&body, "w", PGY_F32, "1");
    builder_attr_graph(b, builder_node(b, "Loop", inputs, output), "body", &body);
    builder_output(b, output, PGY_F32, "1");
}

static void test_fold__loop_with_constant_inputs(void **state)
{
    (void)state;
    const int64_t count = 5;
    model_builder b = builder_start(17);
    builder_ints(&b, "n", "", &count);
    builder_floats(&b, "v0", "1", NULL);
    add_doubling_loop(&b, "n - v0", "y");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "");
    expect_weight(g, "y", "float32[1] 32");
    pgy_graph_destroy(g);
}

/* What would run for years stays after its share of the steps, and the rest is folded. */
static void test_fold__an_endless_loop_stays(void **state)
{
    (void)state;
    const int64_t endless = INT64_MAX, count = 5;
    model_builder b = builder_start(17);
    builder_ints(&b, "m", "", &endless);
    builder_ints(&b, "n", "", &count);
    builder_floats(&b, "v0", "1", NULL);
    add_doubling_loop(&b, "m - v0", "p");
    add_doubling_loop(&b, "n - v0", "y");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Loop");
    expect_weight(g, "y", "float32[1] 32");
    pgy_graph_destroy(g);
}

/* A folding that comes later has the same limit of steps, and gives the same reason. */
static void test_fold__an_endless_loop_is_refused_again(void **state)
{
    (void)state;
    const int64_t endless = INT64_MAX;
    pgy_fold_report first, second;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_ints(&b, "m", "", &endless);
    builder_floats(&b, "v0", "1", NULL);
    add_doubling_loop(&b, "m - v0", "p");
    pgy_graph *g = import_graph(&b);
    if (pgy_graph_fold_constants(g, NULL, &first, &err)) fail_msg("%s", err.text);
    if (pgy_graph_fold_constants(g, NULL, &second, &err)) fail_msg("%s", err.text);
    assert_int_equal(first.refused_count, 1);
    assert_non_null(strstr(first.refused[0].reason, "limit of 131072 nodes"));
    assert_int_equal(second.refused_count, 1);
    assert_string_equal(second.refused[0].reason, first.refused[0].reason);
    pgy_graph_destroy(g);
}

/* f(x) = x * (1 + 1): the sum is folded in the body, and a call with a constant altogether. */
static void test_fold__functions(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "my", 1);
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "w", "2", NULL);
    model_builder f = builder_function(&b, "my", "Twice", "a", "c", "");
    builder_attr_float(&f, builder_node(&f, "Constant", "", "one"), "value_float", 1);
    builder_node(&f, "Add", "one one", "two");
    builder_node(&f, "Mul", "a two", "c");
    builder_end_function(&f);
    builder_node(&b, "Twice", "x", "p")->domain = "my";
    builder_node(&b, "Twice", "w", "q")->domain = "my";
    builder_node(&b, "Add", "p q", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Twice Add");
    expect_weight(g, "q", "float32[2] 2 2");
    const pgy_onnx_function *body = pgy_model_proto(g->model)->functions[0];
    assert_int_equal(body->node_count, 2);
    assert_string_equal(body->nodes[0]->op_type, "Constant");
    assert_string_equal(body->nodes[1]->op_type, "Mul");
    pgy_graph_destroy(g);
}

static void test_fold__what_is_not_called_any_more_goes(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "my", 1);
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "w", "2", NULL);
    const char *const names[] = {"Folded", "Used", "Below"};
    for (size_t i = 0; i < 3; i++) {
        model_builder f = builder_function(&b, "my", names[i], "a", "c", "");
        builder_node(&f, i == 1 ? "my:Below" : "Neg", "a", "c");
        builder_end_function(&f);
    }
    builder_opset(&b, "custom", 1);
    builder_opset(&b, "nobody", 1);
    builder_node(&b, "my:Folded", "w", "p");
    builder_node(&b, "my:Used", "x", "q");
    builder_node(&b, "custom:Thing", "q", "r");
    builder_node(&b, "Add", "p r", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = fold(&b);
    const pgy_onnx_model *m = pgy_model_proto(g->model);
    expect_nodes(g, "Used Thing Add");
    assert_int_equal(m->function_count, 2);
    assert_string_equal(m->functions[0]->name, "Used");
    assert_string_equal(m->functions[1]->name, "Below");
    for (size_t i = 0; i < m->opset_import_count; i++)
        assert_string_not_equal(m->opset_imports[i]->domain, "nobody");
    assert_int_equal(pgy_model_opset(m, "custom"), 1);
    assert_int_equal(pgy_model_opset(m, "my"), 1);
    assert_int_equal(pgy_model_opset(m, ""), 17);
    pgy_graph_destroy(g);
}

static void test_fold__nothing_goes_from_a_model_without_constants(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "nobody", 1);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Neg", "x", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = fold(&b);
    assert_int_equal(pgy_model_opset(pgy_model_proto(g->model), "nobody"), 1);
    pgy_graph_destroy(g);
}

static void concat(model_builder *b, const char *inputs, const char *output, int64_t axis)
{
    builder_attr_int(b, builder_node(b, "Concat", inputs, output), "axis", axis);
}

static void test_fold__concat_of_concat(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_input(&b, "z", PGY_F32, "N, 3");
    builder_input(&b, "w", PGY_F32, "N, 6");
    concat(&b, "x z", "a", 1);
    concat(&b, "z a x", "p", 1);
    concat(&b, "x z", "c", 1);
    concat(&b, "c w", "q", 0); /* another axis */
    builder_output(&b, "p", PGY_F32, NULL);
    builder_output(&b, "q", PGY_F32, NULL);
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Concat Concat Concat");
    const pgy_node *n = pgy_graph_find_value(g, "p")->producer;
    assert_int_equal(n->input_count, 4);
    const char *const inputs[] = {"z", "x", "z", "x"};
    for (size_t i = 0; i < 4; i++) assert_string_equal(n->inputs[i]->name, inputs[i]);
    pgy_graph_destroy(g);
}

/* A Concat that several use goes if all of them can take its inputs; long lists are not made. */
static void test_fold__concat_of_shared_concats(void **state)
{
    (void)state;
    for (int other = 0; other < 2; other++) {
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, "N, 3");
        builder_input(&b, "z", PGY_F32, "N, 3");
        concat(&b, "x z", "a", 1);
        concat(&b, "x a", "p", 1);
        concat(&b, "a z", "q", 1);
        if (other) builder_node(&b, "Relu", "a", "r");
        for (int i = 0; i < 2 + other; i++)
            builder_output(&b, (const char *[]){"p", "q", "r"}[i], PGY_F32, NULL);
        pgy_graph *g = fold(&b);
        expect_nodes(g, other ? "Concat Concat Concat Relu" : "Concat Concat");
        pgy_graph_destroy(g);
    }
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    char from[8] = "x", pair[20], to[8];
    for (int i = 0; i < 20; i++) { /* doubled each time */
        snprintf(pair, sizeof pair, "%s %s", from, from);
        snprintf(to, sizeof to, "v%d", i);
        concat(&b, pair, to, 1);
        memcpy(from, to, sizeof from);
    }
    builder_output(&b, from, PGY_F32, NULL);
    pgy_graph *g = fold(&b);
    assert_true(g->node_count > 1);
    for (size_t i = 0; i < g->node_count; i++) assert_true(g->nodes[i]->input_count <= 64);
    pgy_graph_destroy(g);
}

/* Slices x of 10, 10 twice; bounds are the starts, ends, axes and steps of both. */
static pgy_graph *slice_twice(const int64_t bounds[2][4], bool twice)
{
    static const char *const NAMES[2][4] = {{"s1", "e1", "a1", "t1"}, {"s2", "e2", "a2", "t2"}};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "10, 10");
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) builder_ints(&b, NAMES[i][k], "1", &bounds[i][k]);
    builder_node(&b, "Slice", "x s1 e1 a1 t1", "a");
    builder_node(&b, "Slice", "a s2 e2 a2 t2", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    if (twice) builder_output(&b, "a", PGY_F32, NULL);
    return fold(&b);
}

static void expect_bounds(const pgy_graph *g, const char *const *wanted)
{
    const pgy_node *n = pgy_graph_find_value(g, "y")->producer;
    expect_nodes(g, "Slice");
    assert_string_equal(n->inputs[0]->name, "x");
    for (size_t i = 0; i < 4; i++) expect_weight(g, n->inputs[i + 1]->name, wanted[i]);
}

static void test_fold__slice_of_slice(void **state)
{
    (void)state;
    const int64_t one_axis[2][4] = {{2, 9, 1, 1}, {3, INT64_MAX, -1, 1}};
    pgy_graph *g = slice_twice(one_axis, false);
    expect_bounds(g, (const char *const[]){"int64[1] 5", "int64[1] 9", "int64[1] 1", "int64[1] 1"});
    pgy_graph_destroy(g);
    const int64_t shorter[2][4] = {{2, 9, 0, 1}, {1, 4, 0, 1}};
    g = slice_twice(shorter, false);
    expect_bounds(g, (const char *const[]){"int64[1] 3", "int64[1] 6", "int64[1] 0", "int64[1] 1"});
    pgy_graph_destroy(g);
    const int64_t two_axes[2][4] = {{-1, -4, 1, -1}, {-6, -2, 0, 2}};
    g = slice_twice(two_axes, false);
    expect_bounds(g, (const char *const[]){"int64[2] -1 -6", "int64[2] -4 -2", "int64[2] 1 0",
                                           "int64[2] -1 2"});
    pgy_graph_destroy(g);
    const int64_t backwards[2][4] = {{2, 9, 1, 1}, {-3, 9, 1, 1}};
    g = slice_twice(backwards, false);
    expect_nodes(g, "Slice Slice");
    pgy_graph_destroy(g);
    g = slice_twice(shorter, true);
    expect_nodes(g, "Slice Slice");
    pgy_graph_destroy(g);
}

/* Every other row, of which every other column, as in windows that are merged: the rows go. */
static void test_fold__slices_of_a_shared_slice(void **state)
{
    (void)state;
    const int64_t zero = 0, one = 1, two = 2, end = INT64_MAX;
    for (int other = 0; other < 2; other++) {
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, "10, 10");
        builder_ints(&b, "zero", "1", &zero);
        builder_ints(&b, "one", "1", &one);
        builder_ints(&b, "two", "1", &two);
        builder_ints(&b, "end", "1", &end);
        builder_node(&b, "Slice", "x zero end zero two", "a");
        builder_node(&b, "Slice", "a zero end one two", "y");
        builder_node(&b, "Slice", "a one end one two", "z");
        if (other) builder_node(&b, "Relu", "a", "r");
        for (int i = 0; i < 2 + other; i++)
            builder_output(&b, (const char *[]){"y", "z", "r"}[i], PGY_F32, NULL);
        pgy_graph *g = fold(&b);
        expect_nodes(g, other ? "Slice Slice Slice Relu" : "Slice Slice");
        for (size_t i = 0; !other && i < 2; i++)
            assert_string_equal(g->nodes[i]->inputs[0]->name, "x");
        pgy_graph_destroy(g);
    }
}

/* ---- What stays ----------------------------------------------------------------------------- */

static void test_fold__random_unknown_and_quantised_stay(void **state)
{
    (void)state;
    const int64_t shape[] = {2};
    model_builder b = builder_start(17);
    builder_opset(&b, "other", 1);
    builder_floats(&b, "w", "2", NULL);
    builder_floats(&b, "scale", "", NULL);
    builder_attr_ints(&b, builder_node(&b, "RandomNormal", "", "r"), "shape", 1, shape);
    builder_node(&b, "Mystery", "w", "m")->domain = "other";
    builder_node(&b, "QuantizeLinear", "w scale", "q");
    builder_node(&b, "DequantizeLinear", "q scale", "d");
    builder_output(&b, "r", PGY_F32, "2");
    builder_output(&b, "m", PGY_F32, "2");
    builder_output(&b, "d", PGY_F32, "2");
    pgy_graph *g = fold(&b);
    expect_nodes(g, "RandomNormal Mystery QuantizeLinear DequantizeLinear");
    pgy_graph_destroy(g);
}

/* A weight that is an input is a default that a caller may replace. */
static void test_fold__defaults_of_inputs_are_no_constants(void **state)
{
    (void)state;
    model_builder b = sum_model();
    builder_input(&b, "b", PGY_F32, "3");
    b.proto->ir_version = 8;
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Add Add");
    pgy_graph_destroy(g);
}

static void test_fold__failing_nodes_are_listed(void **state)
{
    (void)state;
    const int64_t at = 7;
    pgy_error err = {0};
    pgy_fold_report report = {0};
    model_builder b = sum_model();
    builder_ints(&b, "at", "", &at);
    builder_node(&b, "Gather", "a at", "bad");
    builder_output(&b, "bad", PGY_F32, "");
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_fold_constants(g, NULL, &report, &err), PGY_OK);
    expect_nodes(g, "Add Gather");
    assert_int_equal(report.refused_count, 1);
    assert_string_equal(report.refused[0].op_type, "Gather");
    assert_non_null(strstr(report.refused[0].reason, "7"));
    pgy_graph_destroy(g);
}

/* A Transpose that moves only axes of size 1 is no more than a Reshape. */
static void test_fold__transposes_that_move_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        int64_t perm[4];
        const char *nodes;
    } CASES[] = {
        {"1, N, 4, 1", {1, 0, 3, 2}, "Reshape Relu"},
        {"1, N, 4, 1", {2, 1, 0, 3}, "Transpose Reshape Relu"},
        {"M, N, 4, 1", {1, 0, 3, 2}, "Transpose Reshape Relu"}, /* M may be larger than 1 */
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const int64_t flat = -1;
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, CASES[i].shape);
        builder_ints(&b, "flat", "1", &flat);
        builder_attr_ints(&b, builder_node(&b, "Transpose", "x", "t"), "perm", 4, CASES[i].perm);
        builder_node(&b, "Reshape", "t flat", "r");
        builder_node(&b, "Relu", "r", "y");
        builder_output(&b, "y", PGY_F32, NULL);
        pgy_graph *g = fold(&b);
        expect_nodes(g, CASES[i].nodes);
        pgy_graph_destroy(g);
    }
}

/* Behind a Reshape that nothing else uses it is a part of that; otherwise both stay. */
static void test_fold__transposes_behind_reshapes(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        const int64_t shape[] = {2, 1, 6}, perm[] = {1, 0, 2};
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, "3, 4");
        builder_ints(&b, "shape", "3", shape);
        builder_node(&b, "Reshape", "x shape", "r");
        builder_attr_ints(&b, builder_node(&b, "Transpose", "r", "y"), "perm", 3, perm);
        builder_output(&b, "y", PGY_F32, NULL);
        if (shared) builder_output(&b, "r", PGY_F32, NULL);
        pgy_graph *g = fold(&b);
        expect_nodes(g, shared ? "Reshape Transpose" : "Reshape");
        pgy_graph_destroy(g);
    }
}

/* Reshape(x, [Shape(x)[0], 2, -1]): inference knows what the -1 is, so none is needed. */
static void test_fold__reshapes_with_an_open_size(void **state)
{
    (void)state;
    const int64_t two = 2, open = -1;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 8");
    builder_ints(&b, "two", "1", &two);
    builder_ints(&b, "open", "1", &open);
    pgy_onnx_node *n = builder_node(&b, "Shape", "x", "s");
    builder_attr_int(&b, n, "end", 1);
    builder_attr_int(&b, builder_node(&b, "Concat", "s two open", "shape"), "axis", 0);
    builder_node(&b, "Reshape", "x shape", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Reshape");
    pgy_graph_destroy(g);
}

/* Sizes are no -1, so the comparison is known though N is not. */
static void test_fold__comparisons_of_sizes(void **state)
{
    (void)state;
    const int64_t open = -1, one = 1;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 8");
    builder_ints(&b, "open", "1", &open);
    builder_ints(&b, "one", "1", &one);
    builder_floats(&b, "w", "1", NULL);
    builder_attr_int(&b, builder_node(&b, "Shape", "x", "s"), "end", 1);
    builder_node(&b, "Equal", "s open", "is_open");
    builder_node(&b, "Where", "is_open one s", "shape");
    builder_node(&b, "Expand", "w shape", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = fold(&b);
    expect_nodes(g, "Shape Expand");
    pgy_graph_destroy(g);
}

/* ---- Limits --------------------------------------------------------------------------------- */

static pgy_graph *expand_model(pgy_fold_report *report, const pgy_fold_options *o)
{
    const int64_t shape[] = {100};
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "100");
    builder_ints(&b, "shape", "1", shape);
    builder_floats(&b, "one", "1", NULL);
    builder_node(&b, "Expand", "one shape", "e");
    builder_node(&b, "Add", "x e", "y");
    builder_output(&b, "y", PGY_F32, "100");
    pgy_graph *g = import_graph(&b);
    if (pgy_graph_fold_constants(g, o, report, &err)) fail_msg("%s", err.text);
    return g;
}

static void test_fold__limits(void **state)
{
    (void)state;
    /* 400 bytes come for the 4 of `one` and the 8 of `shape`. */
    const struct {
        uint64_t node, total, result;
        bool folded;
        const char *reason;
    } cases[] = {
        {388, 388, 400, true, NULL},
        {387, 388, 400, false, "388 bytes larger, more than the limit of 387 for one node"},
        {388, 387, 400, false, "388 bytes larger, more than the limit of 387 in total"},
        {388, 388, 399, false, "400 bytes, more than the limit of 399"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgy_fold_report report = {0};
        pgy_fold_options o = pgy_fold_options_default();
        o.max_node_growth = cases[i].node;
        o.max_total_growth = cases[i].total;
        o.max_result_bytes = cases[i].result;
        pgy_graph *g = expand_model(&report, &o);
        expect_nodes(g, cases[i].folded ? "Add" : "Expand Add");
        assert_int_equal(report.refused_count, !cases[i].folded);
        if (!cases[i].folded) {
            assert_string_equal(report.refused[0].node, "n0");
            assert_string_equal(report.refused[0].op_type, "Expand");
            assert_non_null(strstr(report.refused[0].reason, cases[i].reason));
        }
        pgy_graph_destroy(g);
    }
}

/* x times the transposed w of these bytes, which something else may need, too. */
static pgy_graph *fold_tied(size_t bytes, const char *other, const pgy_fold_options *o)
{
    const int64_t first[] = {0, 2};
    char shape[32];
    snprintf(shape, sizeof shape, "%zu, 64", bytes / 256);
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3, 64");
    builder_input(&b, "ids", PGY_I64, "5");
    builder_floats(&b, "w", shape, NULL);
    builder_ints(&b, "first", "2", first);
    const int64_t perm[] = {1, 0};
    builder_attr_ints(&b, builder_node(&b, "Transpose", "w", "t"), "perm", 2, perm);
    builder_node(&b, "MatMul", "x t", "y");
    if (strcmp(other, "Gather") == 0) builder_node(&b, other, "w ids", "z");
    if (strcmp(other, "constant") == 0) builder_node(&b, "Gather", "w first", "z");
    if (strcmp(other, "Transpose") == 0) {
        builder_attr_ints(&b, builder_node(&b, other, "w", "t2"), "perm", 2, perm);
        builder_node(&b, "MatMul", "x t2", "z");
    }
    if (strcmp(other, "Mul") == 0) {
        builder_node(&b, "Gather", "w ids", "z");
        builder_node(&b, other, "t t", "square");
        builder_node(&b, "MatMul", "x square", "y2");
        builder_output(&b, "y2", PGY_F32, NULL);
    }
    builder_output(&b, "y", PGY_F32, NULL);
    if (*other) builder_output(&b, "z", PGY_F32, NULL);
    return fold_with(&b, o);
}

static void expect_tied(size_t bytes, const char *other, const pgy_fold_options *o,
                        const char *wanted)
{
    pgy_graph *g = fold_tied(bytes, other, o);
    expect_nodes(g, wanted);
    pgy_graph_destroy(g);
}

static void test_fold__weights_are_not_stored_twice(void **state)
{
    (void)state;
    enum { SMALL = 1 << 20, LARGE = SMALL + 256 };
    pgy_fold_options o = pgy_fold_options_default();
    o.max_copy_bytes = UINT64_MAX;
    expect_tied(LARGE, "Gather", NULL, "Transpose MatMul Gather");
    expect_tied(LARGE, "Gather", &o, "MatMul Gather");
    expect_tied(SMALL, "Gather", NULL, "MatMul Gather");
    expect_tied(LARGE, "", NULL, "MatMul");
    expect_tied(LARGE, "constant", NULL, "MatMul");
    expect_tied(LARGE, "Transpose", NULL, "MatMul MatMul");
    expect_tied(LARGE, "Mul", NULL, "MatMul Gather MatMul");
}

static void test_fold__report_and_passes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_fold_report report = {0};
    model_builder b = sum_model();
    pgy_fold_options o = pgy_fold_options_default();
    o.passes = 1;
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_fold_constants(g, &o, &report, &err), PGY_OK);
    assert_int_equal(report.passes, 1);
    assert_int_equal(report.nodes_before, 2);
    assert_int_equal(report.nodes_after, 1);
    assert_int_equal(report.weight_bytes_before, 24);
    assert_int_equal(report.weight_bytes_after, 12);
    assert_int_equal(pgy_graph_fold_constants(NULL, &o, &report, &err), PGY_E_ARGUMENT);
    pgy_graph_destroy(g);
}

/* Every allocation may fail: nothing is lost, and the status says so or the work was done. */
static void test_fold__refused_memory(void **state)
{
    (void)state;
    const bool yes = true;
    bool done = false;
    if (!mem_fail_nth(0)) skip();
    for (uint64_t n = 1; !done && n < 5000; n++) {
        pgy_error err = {0};
        model_builder b = if_model(&yes);
        pgy_graph *g = import_graph(&b);
        mem_fail_nth(n);
        const pgy_status st = pgy_graph_fold_constants(g, NULL, NULL, &err);
        done = mem_fail_nth(0) && st == PGY_OK && g->node_count == 3;
        assert_true(st == PGY_OK || st == PGY_E_MEMORY);
        pgy_graph_destroy(g);
    }
    assert_true(done);
}

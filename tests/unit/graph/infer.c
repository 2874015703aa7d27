/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: symbols, arithmetic on shapes, merging with declarations, subgraphs, functions,
 * reasons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/graph.h>

#include "harness/graph_case.h"

static pgy_graph *infer(model_builder *b)
{
    pgy_error err = {0};
    pgy_graph *g = import_graph(b);
    if (pgy_graph_infer_shapes(g, NULL, &err)) fail_msg("%s", err.text);
    return g;
}

/* "float32[N, 4]"; "?" for what is not known. */
static void expect(const pgy_graph *g, const char *name, const char *wanted)
{
    char text[256];
    const pgy_value *v = pgy_graph_find_value(g, name);
    assert_non_null(v);
    int n = snprintf(text, sizeof text, "%s", v->dtype ? pgy_dtype_name(v->dtype) : "?");
    n += snprintf(text + n, sizeof text - (size_t)n, v->rank < 0 ? "?" : "[");
    for (int32_t i = 0; i < v->rank; i++) {
        const pgy_dim d = v->dims[i];
        if (i) n += snprintf(text + n, sizeof text - (size_t)n, ", ");
        if (d.value >= 0)
            n += snprintf(text + n, sizeof text - (size_t)n, "%lld", (long long)d.value);
        else
            n += snprintf(text + n, sizeof text - (size_t)n, "%s", d.text ? d.text : "?");
    }
    if (v->rank >= 0) snprintf(text + n, sizeof text - (size_t)n, "]");
    assert_string_equal(text, wanted);
}

static void test_infer__symbols_go_through(void **state)
{
    (void)state;
    const int64_t pads[] = {1, 1, 1, 1}, strides[] = {2, 2};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3, H, W");
    builder_floats(&b, "w", "8, 3, 3, 3", NULL);
    pgy_onnx_node *conv = builder_node(&b, "Conv", "x w", "c");
    builder_attr_ints(&b, conv, "pads", 4, pads);
    builder_attr_ints(&b, conv, "strides", 2, strides);
    builder_node(&b, "Relu", "c", "r");
    builder_node(&b, "GlobalAveragePool", "r", "p");
    builder_node(&b, "Flatten", "p", "f");
    builder_output(&b, "f", PGY_F32, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "c", "float32[N, 8, floor((H + 1)/2), floor((W + 1)/2)]");
    expect(g, "r", "float32[N, 8, floor((H + 1)/2), floor((W + 1)/2)]");
    expect(g, "f", "float32[N, 8]");
    assert_null(pgy_graph_find_value(g, "f")->unknown_why);
    pgy_graph_destroy(g);
}

/* Reshape(x, Concat(Shape(x)[0], -1)): the usual flattening of exporters. */
static void test_infer__shape_arithmetic_is_exact(void **state)
{
    (void)state;
    const int64_t zero = 0, minus = -1, axis0 = 0;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4, 5");
    builder_ints(&b, "zero", "", &zero);
    builder_ints(&b, "minus", "1", &minus);
    builder_ints(&b, "axes", "1", &axis0);
    builder_node(&b, "Shape", "x", "s");
    builder_node(&b, "Gather", "s zero", "n");
    builder_node(&b, "Unsqueeze", "n axes", "n1");
    builder_attr_int(&b, builder_node(&b, "Concat", "n1 minus", "target"), "axis", 0);
    builder_node(&b, "Reshape", "x target", "y");
    builder_node(&b, "Add", "n n", "twice");
    builder_node(&b, "ConstantOfShape", "n1", "z");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "s", "int64[3]");
    expect(g, "y", "float32[N, 20]");
    expect(g, "z", "float32[N]");
    pgy_graph_destroy(g);
}

static void test_infer__constants_are_computed(void **state)
{
    (void)state;
    const int64_t a[] = {2, 3}, c[] = {3, -1};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4, 9");
    builder_ints(&b, "a", "2", a);
    builder_ints(&b, "c", "2", c);
    builder_node(&b, "Mul", "a c", "m"); /* 6, -3 */
    builder_node(&b, "Abs", "m", "shape");
    builder_node(&b, "ConstantOfShape", "shape", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "y", "float32[6, 3]");
    pgy_graph_destroy(g);
}

static void test_infer__inputs_can_be_replaced(void **state)
{
    (void)state;
    pgy_metadata *m = NULL;
    const int64_t shape[] = {7, -1};
    const char *const names[] = {NULL, "K"};
    const pgy_tensor_info info = {.name = "x", .rank = 2, .shape = shape, .dim_names = names};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_node(&b, "Transpose", "x", "y");
    builder_output(&b, "y", PGY_F32, "3, N");
    pgy_graph *g = infer(&b);
    expect(g, "y", "float32[3, N]");
    assert_int_equal(pgy_metadata_create(&m, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_set(m, &info, NULL), PGY_OK);
    const pgy_infer_options options = {.size = sizeof options, .inputs = m};
    assert_int_equal(pgy_graph_infer_shapes(g, &options, NULL), PGY_OK);
    expect(g, "x", "float32[7, K]");
    expect(g, "y", "float32[3, 7]"); /* the file says that K is 3 there */
    pgy_metadata_destroy(m);
    pgy_graph_destroy(g);
}

static void test_infer__declared_fills_in_what_is_not_computed(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "com.example", 1);
    builder_input(&b, "x", PGY_F32, "N");
    builder_node(&b, "com.example:Mystery", "x", "a b");
    builder_value(&b, "a", PGY_F16, "N, 2");
    builder_node(&b, "Relu", "a", "c");
    builder_node(&b, "Relu", "b", "d");
    builder_output(&b, "c", PGY_F16, NULL);
    builder_output(&b, "d", PGY_DTYPE_NONE, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "c", "float16[N, 2]");
    expect(g, "d", "??");
    const pgy_value *d = pgy_graph_find_value(g, "d");
    assert_non_null(strstr(d->unknown_why, "Mystery 'n0'"));
    assert_non_null(strstr(d->unknown_why, "com.example"));
    assert_null(pgy_graph_find_value(g, "c")->unknown_why);
    pgy_graph_destroy(g);
}

static void test_infer__reason_of_an_input(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "?, 3");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "y", "float32[unk__0, 3]");
    assert_string_equal(pgy_graph_find_value(g, "y")->unknown_why,
                        "the size of a dimension of input 'x' is unknown");
    pgy_graph_destroy(g);
}

/* Sizes that only data tell are called alike where they are equal, and not as the model calls
 * others. */
static void test_infer__names_of_unknown_sizes(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "unk__0, 3");
    builder_node(&b, "NonZero", "x", "places");
    builder_node(&b, "Transpose", "places", "rows");
    builder_node(&b, "GatherND", "x rows", "values");
    builder_node(&b, "Unique", "values", "distinct first");
    builder_node(&b, "Concat", "values values", "twice");
    builder_attr_int(&b, b.graph->nodes[b.graph->node_count - 1], "axis", 0);
    builder_output(&b, "distinct", PGY_F32, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "places", "int64[2, unk__1]");
    expect(g, "rows", "int64[unk__1, 2]");
    expect(g, "values", "float32[unk__1]");
    expect(g, "twice", "float32[2*unk__1]");
    expect(g, "distinct", "float32[unk__2]");
    assert_string_equal(pgy_graph_find_value(g, "twice")->unknown_why,
                        "NonZero 'n0': it depends on the values of the input");
    pgy_graph_destroy(g);
}

/* The reason names the node that lost a size, also where it comes by way of a known shape. */
static void test_infer__reason_through_a_shape(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_node(&b, "NonZero", "x", "places");
    builder_node(&b, "Shape", "places", "shape");
    builder_node(&b, "ConstantOfShape", "shape", "zeros");
    builder_output(&b, "zeros", PGY_F32, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "zeros", "float32[2, unk__0]");
    assert_string_equal(pgy_graph_find_value(g, "zeros")->unknown_why,
                        "NonZero 'n0': it depends on the values of the input");
    pgy_graph_destroy(g);
}

/* Single precision is exact for sizes times small fractions of a power of two. */
static void test_infer__resize_by_a_fraction(void **state)
{
    (void)state;
    const float scales[] = {1, 1.5f, 0.625f, 0.6f};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, H, W, D");
    builder_floats(&b, "scales", "4", scales);
    builder_node(&b, "Resize", "x - scales", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "y", "float32[1, H + floor(H/2), floor((5*W)/8), unk__0]");
    pgy_graph_destroy(g);
}

static void contradicting_model(model_builder *b)
{
    *b = builder_start(17);
    builder_input(b, "x", PGY_F32, "2, 3");
    builder_node(b, "Relu", "x", "y");
    builder_output(b, "y", PGY_F32, "2, 4");
}

static void test_infer__contradiction_with_a_declaration(void **state)
{
    (void)state;
    pgy_error err = {0};
    const pgy_infer_options strict = {.size = sizeof strict, .strict = true};
    model_builder b;
    contradicting_model(&b);
    pgy_graph *g = infer(&b);
    expect(g, "y", "float32[2, 3]"); /* the computed one wins */
    assert_int_equal(pgy_graph_infer_shapes(g, &strict, &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "Relu 'n0'"));
    assert_non_null(strstr(err.text, "(2, 3)"));
    assert_non_null(strstr(err.text, "(2, 4)"));
    pgy_graph_destroy(g);
}

static void test_infer__node_that_cannot_work(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_input(&b, "y", PGY_F32, "4, 3");
    builder_node(&b, "Add", "x y", "z");
    builder_output(&b, "z", PGY_F32, NULL);
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "Add 'n0'"));
    assert_non_null(strstr(err.text, "(2, 3) and (4, 3)"));
    pgy_graph_destroy(g);
    b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_input(&b, "y", PGY_F16, "2");
    builder_node(&b, "MatMul", "x y", "z");
    builder_output(&b, "z", PGY_F32, NULL);
    g = import_graph(&b);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_E_TYPE);
    pgy_graph_destroy(g);
    b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "x x", "z");
    builder_output(&b, "z", PGY_F32, NULL);
    g = import_graph(&b);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "Relu 'n0': the node has 2 inputs, but takes at most 1"));
    pgy_graph_destroy(g);
}

static void test_infer__functions_per_call(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    model_builder body = builder_function(&b, "local", "Join", "p q", "r", "where");
    builder_attr_ref(&body, builder_node(&body, "Concat", "p q", "j"), "axis", PGY_ATTR_INT,
                     "where");
    builder_node(&body, "Relu", "j", "r");
    builder_end_function(&body);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_attr_int(&b, builder_node(&b, "local:Join", "x x", "y"), "where", 1);
    builder_attr_int(&b, builder_node(&b, "local:Join", "y y", "z"), "where", 0);
    builder_output(&b, "z", PGY_F32, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "y", "float32[N, 6]");
    expect(g, "z", "float32[2*N, 6]");
    pgy_graph_destroy(g);
}

static void test_infer__function_failures_name_the_call(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    model_builder body = builder_function(&b, "local", "Join", "p q", "r", "where");
    builder_attr_ref(&body, builder_node(&body, "Concat", "p q", "r"), "axis", PGY_ATTR_INT,
                     "where");
    builder_end_function(&body);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_node(&b, "local:Join", "x x", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "Join 'n0'"));
    assert_non_null(strstr(err.text, "'where'"));
    pgy_graph_destroy(g);
}

/* 2^40 calls when expanded: refused rather than walked. */
static void test_infer__function_bomb(void **state)
{
    (void)state;
    pgy_error err = {0};
    char name[16], inner[32];
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "F%d", i);
        snprintf(inner, sizeof inner, i ? "local:F%d" : "Relu", i - 1);
        model_builder body = builder_function(&b, "local", name, "p", "r", "");
        builder_node(&body, inner, "p", "h");
        builder_node(&body, inner, "h", "r");
        builder_end_function(&body);
    }
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "local:F29", "x", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "expand to more nodes than"));
    pgy_graph_destroy(g);
}

/* A list that starts empty and grows in a loop holds what is put into it. */
static void test_infer__list_grown_in_a_loop(void **state)
{
    (void)state;
    const int64_t five = 5;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 16");
    builder_ints(&b, "five", "", &five);
    builder_node(&b, "SequenceEmpty", "", "empty");
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "list", PGY_DTYPE_NONE, NULL);
    builder_node(&body, "Identity", "go", "on");
    pgy_onnx_node *row = builder_node(&body, "Gather", "x i", "row");
    builder_attr_int(&body, row, "axis", 0);
    builder_node(&body, "SequenceInsert", "list row", "longer");
    builder_output(&body, "on", PGY_BOOL, NULL);
    builder_output(&body, "longer", PGY_DTYPE_NONE, NULL);
    builder_attr_graph(&b, builder_node(&b, "Loop", "five - empty", "rows"), "body", &body);
    pgy_onnx_node *join = builder_node(&b, "ConcatFromSequence", "rows", "y");
    builder_attr_int(&b, join, "axis", 0);
    builder_attr_int(&b, join, "new_axis", 1);
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = infer(&b);
    expect(g, "y", "float32[unk__0, 16]");
    pgy_graph_destroy(g);
}

static void if_model(model_builder *b, const bool *constant, const char *else_op)
{
    *b = builder_start(17);
    builder_input(b, "x", PGY_F32, "N, 3");
    if (constant) {
        pgy_tensor *t = NULL;
        assert_int_equal(pgy_tensor_create(&t, PGY_BOOL, 0, NULL, NULL), PGY_OK);
        *(uint8_t *)pgy_tensor_data(t) = *constant;
        builder_initializer(b, "c", t);
        pgy_tensor_release(t);
    } else {
        builder_input(b, "c", PGY_BOOL, "");
    }
    model_builder yes = builder_subgraph(b, "yes"), no = builder_subgraph(b, "no");
    builder_node(&yes, "Relu", "x", "t");
    builder_output(&yes, "t", PGY_F32, NULL);
    builder_node(&no, else_op, "x", "e");
    builder_output(&no, "e", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(b, "If", "c", "y");
    builder_attr_graph(b, n, "then_branch", &yes);
    builder_attr_graph(b, n, "else_branch", &no);
    builder_output(b, "y", PGY_F32, NULL);
}

static void test_infer__if_merges_its_branches(void **state)
{
    (void)state;
    const bool no = false;
    model_builder b;
    if_model(&b, NULL, "Abs");
    pgy_graph *g = infer(&b);
    expect(g, "y", "float32[N, 3]");
    expect(g->nodes[0]->subgraphs[0], "t", "float32[N, 3]");
    pgy_graph_destroy(g);
    if_model(&b, NULL, "Transpose");
    g = infer(&b);
    expect(g, "y", "float32[unk__0, unk__1]");
    assert_non_null(strstr(pgy_graph_find_value(g, "y")->unknown_why, "If 'n0'"));
    pgy_graph_destroy(g);
    if_model(&b, &no, "Transpose");
    g = infer(&b);
    expect(g, "y", "float32[3, N]");
    pgy_graph_destroy(g);
}

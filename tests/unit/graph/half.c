/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion to 16 bits: types inside change, types at the border stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/graph.h>

#include "harness/model_builder.h"

static pgy_graph *convert_to(model_builder *b, const pgy_half_options *options)
{
    pgy_error err = {0};
    pgy_graph *g = NULL;
    pgy_model *model = builder_finish_bytes(b), *half = NULL;
    if (pgy_graph_import(&g, model, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    if (pgy_graph_convert_half(g, options, &err)) fail_msg("%s", err.text);
    if (pgy_graph_export(&half, g, &err)) fail_msg("%s", err.text);
    pgy_graph_destroy(g);
    g = NULL;
    const pgy_infer_options strict = {.size = sizeof strict, .strict = true};
    if (pgy_graph_import(&g, half, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(half);
    if (pgy_graph_infer_shapes(g, &strict, &err)) fail_msg("%s", err.text);
    return g;
}

static pgy_graph *convert(model_builder *b)
{
    return convert_to(b, NULL);
}

static pgy_dtype type_of(const pgy_graph *g, const char *name)
{
    const pgy_value *v = pgy_graph_find_value(g, name);
    assert_non_null(v);
    return v->dtype;
}

static void test_half__border_stays_float32(void **state)
{
    (void)state;
    const float w[] = {0.1f, 1e6f, -1e9f, 3e-8f};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_input(&b, "ids", PGY_I64, "N");
    builder_floats(&b, "w", "4", w);
    builder_node(&b, "Mul", "x w", "m");
    builder_node(&b, "Relu", "m", "y");
    builder_node(&b, "Neg", "y", "z");
    builder_attr_int(&b, builder_node(&b, "Cast", "ids", "f"), "to", 1);
    builder_output(&b, "y", PGY_F32, "N, 4");
    builder_output(&b, "z", PGY_F32, "N, 4");
    builder_output(&b, "f", PGY_F32, "N");
    builder_output(&b, "ids", PGY_I64, "N");
    pgy_graph *g = convert(&b);
    assert_int_equal(type_of(g, "x"), PGY_F32);
    assert_int_equal(type_of(g, "y"), PGY_F32);
    assert_int_equal(type_of(g, "z"), PGY_F32);
    assert_int_equal(type_of(g, "f"), PGY_F32);
    assert_int_equal(type_of(g, "ids"), PGY_I64);
    assert_int_equal(type_of(g, "m"), PGY_F16);
    assert_int_equal(type_of(g, "w"), PGY_F16);
    assert_string_equal(g->outputs[0]->name, "y");
    assert_string_equal(g->outputs[0]->producer->op_type, "Cast");
    /* Neg reads the float16 value, not the one cast back. */
    assert_int_equal(pgy_graph_find_value(g, "z")->producer->inputs[0]->producer->inputs[0]->dtype,
                     PGY_F16);
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_graph_value_data(&t, pgy_graph_find_value(g, "w"), NULL), PGY_OK);
    const uint16_t wanted[] = {0x2e66, 0x7bff, 0xfbff,
                               0x0001}; /* numpy.float16 of 0.1, +-65504, 6e-8 */
    assert_memory_equal(pgy_tensor_data(t), wanted, sizeof wanted);
    pgy_tensor_release(t);
    pgy_graph_destroy(g);
}

static void test_half__sensitive_operators_stay_wide(void **state)
{
    (void)state;
    const float scales[] = {1, 1, 1.3333334f, 2};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 1, 30, 4");
    builder_floats(&b, "scales", "4", scales);
    builder_node(&b, "Relu", "x", "r");
    builder_node(&b, "Resize", "r - scales", "big");
    builder_node(&b, "Neg", "big", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = convert(&b);
    assert_int_equal(type_of(g, "scales"), PGY_F32);
    assert_int_equal(type_of(g, "r"), PGY_F16);
    assert_int_equal(type_of(g, "big"), PGY_F16);
    assert_int_equal(pgy_graph_find_value(g, "y")->dims[2].value, 40);
    pgy_graph_destroy(g);
}

static void test_half__constants_and_subgraphs(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "2");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_attr_float(&yes, builder_node(&yes, "Constant", "", "k"), "value_float", 0.5f);
    builder_node(&yes, "Mul", "x k", "t");
    builder_output(&yes, "t", PGY_F32, "2");
    builder_node(&no, "Abs", "x", "e");
    builder_output(&no, "e", PGY_F32, "2");
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = convert(&b);
    pgy_node *branch = NULL;
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->op_type, "If") == 0) branch = g->nodes[i];
    assert_non_null(branch);
    assert_int_equal(branch->outputs[0]->dtype, PGY_F16);
    assert_int_equal(type_of(branch->subgraphs[0], "k"), PGY_F16);
    assert_int_equal(type_of(branch->subgraphs[1], "e"), PGY_F16);
    assert_int_equal(type_of(g, "y"), PGY_F32);
    pgy_graph_destroy(g);
}

static void test_half__bfloat16(void **state)
{
    (void)state;
    const float w[] = {0.1f, 3.4e38f, -1e9f};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_floats(&b, "w", "3", w);
    builder_node(&b, "Mul", "x w", "m");
    builder_node(&b, "Relu", "m", "y");
    builder_output(&b, "y", PGY_F32, "3");
    pgy_half_options o = pgy_half_options_default();
    o.dtype = PGY_BF16;
    pgy_graph *g = convert_to(&b, &o);
    assert_int_equal(type_of(g, "m"), PGY_BF16);
    assert_int_equal(type_of(g, "y"), PGY_F32);
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_graph_value_data(&t, pgy_graph_find_value(g, "w"), NULL), PGY_OK);
    const uint16_t wanted[] = {0x3dcd, 0x7f7f, 0xce6e};
    assert_memory_equal(pgy_tensor_data(t), wanted, sizeof wanted);
    pgy_tensor_release(t);
    pgy_graph_destroy(g);
}

static void test_half__operators_without_the_type_stay_wide(void **state)
{
    (void)state;
    model_builder b = builder_start(13); /* bfloat16 Conv came with opset 22 */
    builder_input(&b, "x", PGY_F32, "1, 1, 4, 4");
    const float w[] = {1};
    builder_floats(&b, "w", "1, 1, 1, 1", w);
    builder_node(&b, "Neg", "x", "n");
    builder_node(&b, "Conv", "n w", "c");
    builder_node(&b, "Neg", "c", "y");
    builder_output(&b, "y", PGY_F32, "1, 1, 4, 4");
    pgy_half_options o = pgy_half_options_default();
    o.dtype = PGY_BF16;
    pgy_graph *g = convert_to(&b, &o);
    assert_int_equal(type_of(g, "n"), PGY_BF16);
    assert_int_equal(type_of(g, "w"), PGY_F32);
    assert_int_equal(type_of(g, "c"), PGY_BF16);
    pgy_graph_destroy(g);
}

static void test_half__named_nodes_stay_wide(void **state)
{
    (void)state;
    const char *const keep[] = {"head/*", "Exp"};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Neg", "x", "a")->name = "body/neg";
    builder_node(&b, "Sqrt", "a", "b")->name = "head/sqrt";
    builder_node(&b, "Exp", "b", "y");
    builder_output(&b, "y", PGY_F32, "4");
    pgy_half_options o = pgy_half_options_default();
    o.keep = keep;
    o.keep_count = 2;
    pgy_graph *g = convert_to(&b, &o);
    assert_int_equal(type_of(g, "a"), PGY_F16);
    assert_int_equal(pgy_graph_find_node(g, "head/sqrt")->outputs[0]->dtype, PGY_F32);
    assert_int_equal(pgy_graph_find_node(g, "head/sqrt")->inputs[0]->dtype, PGY_F32);
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->op_type, "Exp") == 0)
            assert_ptr_equal(g->nodes[i]->inputs[0], /* no rounding between nodes that stay */
                             pgy_graph_find_node(g, "head/sqrt")->outputs[0]);
    pgy_graph_destroy(g);
}

static void test_half__what_cannot_be(void **state)
{
    (void)state;
    const char *const keep[] = {"nothing"};
    pgy_half_options o = pgy_half_options_default();
    pgy_error err = {0};
    pgy_graph *g = NULL;
    model_builder b = builder_start(11);
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Neg", "x", "y");
    builder_output(&b, "y", PGY_F32, "4");
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(pgy_graph_import(&g, model, &err), PGY_OK);
    o.dtype = PGY_BF16;
    assert_int_equal(pgy_graph_convert_half(g, &o, &err), PGY_E_UNSUPPORTED);
    o.dtype = PGY_F64;
    assert_int_equal(pgy_graph_convert_half(g, &o, &err), PGY_E_ARGUMENT);
    o.dtype = PGY_F16;
    o.keep = keep;
    o.keep_count = 1;
    assert_int_equal(pgy_graph_convert_half(g, &o, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "'nothing'"));
    pgy_graph_destroy(g);
    pgy_model_destroy(model);
}

static void test_half__sequences_keep_their_type(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Neg", "x", "n");
    builder_node(&b, "SequenceConstruct", "n", "s");
    builder_attr_int(&b, builder_node(&b, "ConcatFromSequence", "s", "c"), "axis", 0);
    builder_node(&b, "Abs", "c", "y");
    builder_output(&b, "y", PGY_F32, "4");
    pgy_graph *g = convert(&b);
    assert_int_equal(type_of(g, "c"), PGY_F16);
    assert_string_equal(pgy_graph_find_value(g, "s")->producer->inputs[0]->producer->op_type,
                        "Cast");
    assert_int_equal(pgy_graph_find_value(g, "s")->producer->inputs[0]->dtype, PGY_F32);
    pgy_graph_destroy(g);
}

/* scale(x) = x * 0.5 ^ n, twice(x) = scale(x) + its own constant */
static model_builder start_functions(void)
{
    model_builder b = builder_start(17);
    builder_opset(&b, "own", 1);
    model_builder f = builder_function(&b, "own", "scale", "x", "y", "by");
    builder_attr_ref(&f, builder_node(&f, "Constant", "", "k"), "value_float", PGY_ATTR_FLOAT,
                     "by");
    builder_node(&f, "Mul", "x k", "m")->name = "mul";
    builder_node(&f, "Softmax", "m", "y")->name = "soft";
    builder_end_function(&f);
    model_builder g = builder_function(&b, "own", "twice", "x", "y", "");
    pgy_onnx_node *inner = builder_node(&g, "scale", "x", "s");
    inner->domain = "own";
    inner->name = "inner";
    builder_attr_float(&g, inner, "by", 0.5f);
    builder_attr_float(&g, builder_node(&g, "Constant", "", "c"), "value_float", 3);
    builder_node(&g, "Add", "s c", "y");
    builder_end_function(&g);
    builder_input(&b, "x", PGY_F32, "2, 4");
    pgy_onnx_node *one = builder_node(&b, "twice", "x", "a"),
                  *two = builder_node(&b, "twice", "a", "y");
    one->domain = two->domain = "own";
    one->name = "one";
    two->name = "two";
    builder_output(&b, "y", PGY_F32, "2, 4");
    return b;
}

static size_t count_nodes(const pgy_graph *g, const char *op, pgy_dtype dtype)
{
    size_t count = 0;
    for (size_t i = 0; i < g->node_count; i++)
        count += strcmp(g->nodes[i]->op_type, op) == 0 && g->nodes[i]->outputs[0]->dtype == dtype;
    return count;
}

static void test_half__functions_are_converted_inside(void **state)
{
    (void)state;
    model_builder b = start_functions();
    pgy_graph *g = convert(&b);
    assert_int_equal(count_nodes(g, "twice", PGY_F32) + count_nodes(g, "scale", PGY_F32), 0);
    assert_int_equal(count_nodes(g, "Mul", PGY_F16), 2);
    assert_int_equal(count_nodes(g, "Softmax", PGY_F16), 2);
    assert_int_equal(count_nodes(g, "Add", PGY_F16), 2);
    assert_int_equal(count_nodes(g, "Cast", PGY_F16), 1);
    assert_int_equal(count_nodes(g, "Cast", PGY_F32), 1);
    assert_int_equal(pgy_model_proto(g->model)->function_count, 0);
    assert_int_equal(type_of(g, "a"), PGY_F16);
    assert_int_equal(type_of(g, "y"), PGY_F32);
    assert_non_null(pgy_graph_find_node(g, "one/inner/mul"));
    pgy_graph_destroy(g);
}

static void test_half__functions_may_be_kept(void **state)
{
    (void)state;
    model_builder b = start_functions();
    const char *const inside[] = {"one/inner/*"}, *const call[] = {"two"}, *const fn[] = {"scale"};
    pgy_half_options o = pgy_half_options_default();
    o.keep = inside;
    o.keep_count = 1;
    pgy_graph *g = convert_to(&b, &o);
    assert_int_equal(count_nodes(g, "Softmax", PGY_F32), 1);
    assert_int_equal(count_nodes(g, "Softmax", PGY_F16), 1);
    pgy_graph_destroy(g);
    b = start_functions();
    o.keep = call;
    g = convert_to(&b, &o);
    assert_int_equal(count_nodes(g, "twice", PGY_F32), 1);
    assert_int_equal(count_nodes(g, "Softmax", PGY_F16), 1);
    pgy_graph_destroy(g);
    b = start_functions();
    o.keep = fn;
    g = convert_to(&b, &o);
    assert_int_equal(count_nodes(g, "scale", PGY_F32), 2);
    assert_int_equal(count_nodes(g, "Add", PGY_F16), 2);
    pgy_graph_destroy(g);
}

/* Types of outputs that only an attribute, or its default, tells: convert() infers strictly. */
static void test_half__types_of_generators_follow(void **state)
{
    (void)state;
    const int64_t four[] = {4};
    model_builder b = builder_start(20);
    builder_input(&b, "x", PGY_F32, "4");
    builder_ints(&b, "shape", "1", four);
    builder_ints(&b, "size", "", four);
    builder_node(&b, "ConstantOfShape", "shape", "zeros");
    builder_node(&b, "HannWindow", "size", "window");
    builder_attr_ints(&b, builder_node(&b, "RandomNormal", "", "noise"), "shape", 1, four);
    builder_node(&b, "Sum", "x zeros window noise", "y");
    builder_output(&b, "y", PGY_F32, "4");
    pgy_graph *g = convert(&b);
    assert_int_equal(type_of(g, "zeros"), PGY_F16);
    assert_int_equal(type_of(g, "window"), PGY_F16);
    assert_int_equal(type_of(g, "noise"), PGY_F16);
    assert_string_equal(pgy_graph_find_value(g, "zeros")->producer->op_type, "ConstantOfShape");
    pgy_graph_destroy(g);
}

static void test_half__operators_that_give_float32_stay(void **state)
{
    (void)state;
    model_builder b = builder_start(26);
    builder_input(&b, "x", PGY_F32, "2, 4");
    builder_floats(&b, "w", "4", NULL);
    builder_node(&b, "Neg", "x", "n");
    builder_node(&b, "LayerNormalization", "n w", "l mean"); /* the mean is float32 */
    builder_attr_int(&b, builder_node(&b, "BitCast", "n", "bits"), "to", 6);
    builder_attr_int(&b, builder_node(&b, "Cast", "bits", "f"), "to", 1);
    builder_node(&b, "Sum", "l mean f", "y");
    builder_output(&b, "y", PGY_F32, "2, 4");
    pgy_half_options o = pgy_half_options_default();
    o.dtype = PGY_BF16;
    pgy_graph *g = convert_to(&b, &o);
    assert_int_equal(type_of(g, "w"), PGY_F32);
    assert_int_equal(type_of(g, "mean"), PGY_BF16);
    assert_string_equal(pgy_graph_find_value(g, "mean")->producer->op_type, "Cast");
    assert_int_equal(pgy_graph_find_value(g, "bits")->producer->inputs[0]->dtype, PGY_F32);
    pgy_graph_destroy(g);
}

static void test_half__a_float32_output_is_read_in_16_bits(void **state)
{
    (void)state;
    const int64_t axis[] = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_ints(&b, "axis", "", axis);
    builder_node(&b, "CumSum", "x axis", "y"); /* stays, and what it gives is an output */
    builder_node(&b, "Neg", "y", "n");
    builder_node(&b, "Abs", "n", "z");
    builder_output(&b, "y", PGY_F32, "4");
    builder_output(&b, "z", PGY_F32, "4");
    pgy_graph *g = convert(&b);
    assert_int_equal(type_of(g, "y"), PGY_F32);
    assert_int_equal(type_of(g, "n"), PGY_F16);
    assert_string_equal(pgy_graph_find_value(g, "n")->producer->inputs[0]->producer->op_type,
                        "Cast");
    pgy_graph_destroy(g);
}

/* Branches that only use values of the graph around them, and one that is a weight. */
static void test_half__types_that_branches_declare_follow(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Neg", "x", "n");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Abs", "n", "t");
    builder_output(&yes, "t", PGY_F32, "2");
    builder_floats(&no, "e", "2", NULL);
    builder_output(&no, "e", PGY_F32, "2");
    pgy_onnx_node *n = builder_node(&b, "If", "c", "i");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_node(&b, "Neg", "i", "y");
    builder_output(&b, "y", PGY_F32, "2");
    pgy_graph *g = convert(&b);
    const pgy_node *branch = pgy_graph_find_value(g, "i")->producer;
    for (size_t k = 0; k < 2; k++) {
        const pgy_onnx_graph *stored = branch->subgraphs[k]->proto;
        assert_int_equal(stored->outputs[0]->type->tensor_type->elem_type, 10);
    }
    assert_int_equal(type_of(branch->subgraphs[1], "e"), PGY_F16);
    pgy_graph_destroy(g);
}

/* number guards a division of a by its norm; `u` reads number, too. */
static pgy_graph *convert_guarded(int64_t opset, float number, const pgy_half_options *o)
{
    model_builder b = builder_start(opset);
    builder_input(&b, "x", PGY_F32, "3, 4");
    builder_node(&b, "Neg", "x", "a");
    pgy_onnx_node *norm = builder_node(&b, "ReduceL2", "a", "l");
    builder_attr_ints(&b, norm, "axes", 1, (const int64_t[]){1});
    if (opset < 11) {
        builder_attr_float(&b, builder_node(&b, "Clip", "l", "g"), "min", number);
        builder_node(&b, "Neg", "a", "u");
    } else {
        builder_floats(&b, "number", "", &number);
        builder_node(&b, "Clip", "l number", "g");
        builder_node(&b, "Mul", "a number", "u");
    }
    builder_node(&b, "Sqrt", "g", "q");
    builder_node(&b, "Div", "u q", "d");
    builder_node(&b, "Neg", "d", "y");
    builder_output(&b, "y", PGY_F32, "3, 4");
    return convert_to(&b, o);
}

static void expect_guarded(int64_t opset, float number, const pgy_half_options *o, bool guarded)
{
    pgy_graph *g = convert_guarded(opset, number, o);
    const pgy_dtype wide = guarded ? PGY_F32 : o->dtype;
    const pgy_node *last = pgy_graph_find_value(g, "y")->producer;
    const pgy_node *divides = NULL;
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->op_type, "Div") == 0) divides = g->nodes[i];
    assert_non_null(divides);
    assert_int_equal(divides->outputs[0]->dtype, wide);
    assert_string_equal(divides->inputs[1]->producer->op_type, "Sqrt"); /* not a Cast */
    const pgy_node *clip = divides->inputs[1]->producer->inputs[0]->producer;
    assert_string_equal(clip->op_type, "Clip");
    if (opset >= 11) {
        assert_int_equal(clip->inputs[1]->dtype, wide);
        assert_int_equal(type_of(g, "u"), o->dtype);
    }
    assert_int_equal(last->inputs[0]->dtype, o->dtype); /* the Neg, and a Cast behind it */
    pgy_graph_destroy(g);
}

/* What 16 bits would make 0 where it is to keep a divisor from it stays as it is, on its way. */
static void test_half__numbers_guard_divisions(void **state)
{
    (void)state;
    pgy_half_options o = pgy_half_options_default();
    expect_guarded(17, 1e-12f, &o, true);
    expect_guarded(9, 1e-12f, &o, true);
    expect_guarded(17, 1e-4f, &o, false);
    o.dtype = PGY_BF16;
    expect_guarded(17, 1e-41f, &o, true);
    expect_guarded(17, 1e-12f, &o, false);
}

/* A number that is chosen where another is smaller: both the choice and the number are float32, and
 * the constant is read as it was by what is not. */
static void test_half__chosen_numbers_guard(void **state)
{
    (void)state;
    const float number = 1e-10f;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_floats(&b, "number", "", &number);
    builder_node(&b, "Abs", "x", "a");
    builder_node(&b, "Less", "a number", "small");
    builder_node(&b, "Where", "small number a", "g");
    builder_node(&b, "Log", "g", "l");
    builder_node(&b, "Mul", "l number", "m");
    builder_node(&b, "Neg", "m", "y");
    builder_output(&b, "y", PGY_F32, "4");
    pgy_graph *g = convert(&b);
    const pgy_value *bound = pgy_graph_find_value(g, "small")->producer->inputs[1];
    assert_string_equal(bound->name, "number");
    assert_int_equal(bound->dtype, PGY_F32);
    assert_int_equal(type_of(g, "g"), PGY_F32);
    const pgy_node *factor = pgy_graph_find_value(g, "m")->producer->inputs[1]->producer;
    assert_int_equal(type_of(g, "m"), PGY_F16);
    assert_string_equal(factor->op_type, "Cast");
    assert_string_equal(factor->inputs[0]->name, "number");
    pgy_graph_destroy(g);
}

/* p / (1 - p): 1 - 1e-4 would be 1. */
static void test_half__bounds_stay_apart_from_poles(void **state)
{
    (void)state;
    const float low = 1e-4f, high = 1 - 1e-4f, one = 1;
    model_builder b = builder_start(17);
    builder_input(&b, "p", PGY_F32, "4");
    builder_floats(&b, "low", "", &low);
    builder_floats(&b, "high", "", &high);
    builder_floats(&b, "one", "", &one);
    builder_node(&b, "Neg", "p", "n");
    builder_node(&b, "Clip", "n low high", "c");
    builder_node(&b, "Sub", "one c", "s");
    builder_node(&b, "Div", "c s", "d");
    builder_node(&b, "Log", "d", "l");
    builder_node(&b, "Neg", "l", "y");
    builder_output(&b, "y", PGY_F32, "4");
    pgy_graph *g = convert(&b);
    assert_int_equal(type_of(g, "n"), PGY_F16);
    assert_int_equal(type_of(g, "high"), PGY_F32);
    assert_int_equal(type_of(g, "d"), PGY_F32); /* 1e4 there; the logarithm is in range again */
    assert_string_equal(pgy_graph_find_value(g, "l")->producer->op_type, "Cast");
    pgy_graph_destroy(g);
}

/* Of normalisations, those whose definition keeps their epsilon in float32 lose nothing. */
static void test_half__epsilons_guard(void **state)
{
    (void)state;
    const float ones[4] = {1, 1, 1, 1};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 4, 4");
    builder_floats(&b, "w", "4", ones);
    builder_node(&b, "Neg", "x", "n");
    builder_attr_float(&b, builder_node(&b, "LayerNormalization", "n w", "l"), "epsilon", 1e-12f);
    builder_attr_float(&b, builder_node(&b, "InstanceNormalization", "l w w", "i"), "epsilon",
                       1e-12f);
    builder_attr_float(&b, builder_node(&b, "InstanceNormalization", "i w w", "y"), "epsilon",
                       1e-4f);
    builder_output(&b, "y", PGY_F32, "1, 4, 4");
    pgy_graph *g = convert(&b);
    size_t narrow = 0, wide = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        const bool norm = strstr(g->nodes[i]->op_type, "Normalization") != NULL;
        narrow += norm && g->nodes[i]->outputs[0]->dtype == PGY_F16;
        wide += norm && g->nodes[i]->outputs[0]->dtype == PGY_F32;
    }
    assert_int_equal(narrow, 2);
    assert_int_equal(wide, 1);
    assert_int_equal(pgy_graph_find_value(g, "l")->dtype, PGY_F16);
    pgy_graph_destroy(g);
}

static float narrow_float(const pgy_graph *g, const char *name, pgy_dtype type)
{
    pgy_tensor *t = NULL, *wide = NULL;
    assert_int_equal(pgy_graph_value_data(&t, pgy_graph_find_value(g, name), NULL), PGY_OK);
    assert_int_equal(pgy_tensor_dtype(t), type);
    assert_int_equal(pgy_tensor_cast(&wide, pgy_tensor_view(t), PGY_F32, NULL), PGY_OK);
    const float first = *(const float *)pgy_tensor_data(wide);
    pgy_tensor_release(t);
    pgy_tensor_release(wide);
    return first;
}

/* What is added before a Softmax stays finite, and so do sums with it: stored, or flowing in. */
static void masks_survive(pgy_dtype type, float limit)
{
    const float low[] = {-3.4028235e38f};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_input(&b, "given", PGY_F32, "4");
    builder_floats(&b, "low", "1", low);
    builder_floats(&b, "other", "1", low);
    builder_node(&b, "Add", "x low", "a");
    builder_node(&b, "Add", "a given", "m");
    builder_node(&b, "Softmax", "m", "p");
    builder_node(&b, "Mul", "p other", "y"); /* no mask: it is clamped to the largest number */
    builder_output(&b, "y", PGY_F32, "4");
    pgy_half_options o = pgy_half_options_default();
    o.dtype = type;
    pgy_graph *g = convert_to(&b, &o);
    assert_true(narrow_float(g, "low", type) == -limit / 4);
    assert_true(narrow_float(g, "other", type) == -limit);
    const pgy_node *cast = pgy_graph_find_value(g, "m")->producer->inputs[1]->producer;
    assert_string_equal(cast->op_type, "Cast");
    assert_string_equal(cast->inputs[0]->producer->op_type, "Clip");
    assert_string_equal(cast->inputs[0]->producer->inputs[0]->name, "given");
    assert_string_equal(
        pgy_graph_find_value(g, "a")->producer->inputs[0]->producer->inputs[0]->name,
        "x_limited"); /* scores that flow in pass the same way */
    pgy_graph_destroy(g);
}

static void test_half__masks_survive(void **state)
{
    (void)state;
    masks_survive(PGY_F16, 65504.0f);
    masks_survive(PGY_BF16, 0x1.fep127f);
}

/* 3241 is no number of float16: arithmetic that computes a size stays float32. */
static void test_half__sizes_stay_exact(void **state)
{
    (void)state;
    const float step[] = {320};
    const int64_t at[] = {1};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, n");
    builder_ints(&b, "at", "1", at);
    builder_floats(&b, "step", "1", step);
    builder_node(&b, "Shape", "x", "shape");
    builder_node(&b, "Gather", "shape at", "length");
    builder_attr_int(&b, builder_node(&b, "Cast", "length", "wide"), "to", 1);
    builder_node(&b, "Div", "wide step", "frames");
    builder_node(&b, "Ceil", "frames", "whole");
    builder_attr_int(&b, builder_node(&b, "Cast", "whole", "count"), "to", 7);
    builder_node(&b, "ConstantOfShape", "count", "zeros");
    builder_node(&b, "Div", "x step", "scaled"); /* no size: 16-bit, with the same constant */
    builder_output(&b, "zeros", PGY_F32, NULL);
    builder_output(&b, "scaled", PGY_F32, NULL);
    pgy_graph *g = convert(&b);
    assert_int_equal(type_of(g, "wide"), PGY_F32);
    assert_int_equal(type_of(g, "frames"), PGY_F32);
    assert_int_equal(type_of(g, "whole"), PGY_F32);
    assert_int_equal(pgy_graph_find_value(g, "frames")->producer->inputs[1]->dtype, PGY_F32);
    const pgy_node *cast = pgy_graph_find_value(g, "scaled")->producer;
    assert_int_equal(cast->inputs[0]->producer->inputs[0]->dtype, PGY_F16);
    pgy_graph_destroy(g);
}

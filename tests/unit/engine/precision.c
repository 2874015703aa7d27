/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs before and after: the nodes that a wish for another type leads to, inputs and outputs that
 * keep theirs, results that agree by the reference, and wishes that cannot be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "engine/context/calibration_run.h"
#include "engine/precision/precision.h"
#include "evaluate/execute.h"
#include "harness/model_builder.h"

static const pgy_build_config FP16 = {.size = sizeof FP16, .fp16 = true};
static const pgy_build_config BF16 = {.size = sizeof BF16, .bf16 = true};

static float number(size_t i)
{
    return (float)((i * 7919 + 13) % 101) / 50.0f - 1;
}

/* ---- Models --------------------------------------------------------------------------------- */

static void weights(model_builder *b, const char *name, const char *shape, size_t count)
{
    float values[512];
    assert_true(count <= 512);
    for (size_t i = 0; i < count; i++) values[i] = number(i + (size_t)name[0]);
    builder_floats(b, name, shape, values);
}

/* conv1 - relu1 - pool - conv2 + shortcut - relu2 - mean - flatten - fc - softmax */
static model_builder residual(void)
{
    static const int64_t one[4] = {1, 1, 1, 1}, two[2] = {2, 2};
    model_builder b = builder_start(22);
    builder_input(&b, "x", PGY_F32, "N, 2, 6, 6");
    weights(&b, "w1", "4, 2, 3, 3", 72);
    weights(&b, "b1", "4", 4);
    weights(&b, "w2", "4, 4, 3, 3", 144);
    weights(&b, "w3", "5, 4", 20);
    builder_attr_ints(&b, builder_node(&b, "Conv", "x w1 b1", "c1"), "pads", 4, one);
    builder_node(&b, "Relu", "c1", "r1");
    pgy_onnx_node *pool = builder_node(&b, "MaxPool", "r1", "p");
    builder_attr_ints(&b, pool, "kernel_shape", 2, two);
    builder_attr_ints(&b, pool, "strides", 2, two);
    builder_attr_ints(&b, builder_node(&b, "Conv", "p w2", "c2"), "pads", 4, one);
    builder_node(&b, "Add", "c2 p", "s");
    builder_node(&b, "Relu", "s", "r2");
    builder_node(&b, "GlobalAveragePool", "r2", "g");
    builder_node(&b, "Flatten", "g", "f");
    builder_attr_int(&b, builder_node(&b, "Gemm", "f w3", "y"), "transB", 1);
    builder_node(&b, "Softmax", "y", "z");
    builder_output(&b, "y", PGY_F32, "N, 5");
    builder_output(&b, "z", PGY_F32, "N, 5");
    return b;
}

/* ---- Checking ------------------------------------------------------------------------------- */

static pgy_graph *import_model(pgy_model *model)
{
    pgy_graph *g = NULL;
    pgy_error err = {0};
    if (pgy_graph_import(&g, model, &err)) fail_msg("%s", err.text);
    if (pgy_graph_infer_shapes(g, NULL, &err)) fail_msg("%s", err.text);
    return g;
}

static pgy_graph *import(model_builder *b)
{
    pgy_model *model = builder_finish_bytes(b);
    pgy_graph *g = import_model(model);
    pgy_model_destroy(model);
    return g;
}

static pgy_tensor_map *feed_for(const pgy_graph *g, size_t seed)
{
    pgy_tensor_map *feed = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    for (size_t i = 0; i < g->input_count; i++) {
        const pgy_value *v = g->inputs[i];
        int64_t shape[PGY_MAX_RANK];
        pgy_tensor *wide = NULL, *t = NULL;
        for (int32_t d = 0; d < v->rank; d++)
            shape[d] = v->dims[d].value < 0 ? 2 : v->dims[d].value;
        assert_int_equal(pgy_tensor_create(&wide, PGY_F32, (size_t)v->rank, shape, NULL), PGY_OK);
        for (size_t k = 0; k < pgy_tensor_count(wide); k++)
            ((float *)pgy_tensor_data(wide))[k] = 2 * number(k + 31 * i + 7 * seed);
        assert_int_equal(pgy_tensor_cast(&t, pgy_tensor_view(wide), v->dtype, NULL), PGY_OK);
        assert_int_equal(pgy_tensor_map_adopt(feed, v->name, t, NULL), PGY_OK);
        pgy_tensor_release(wide);
    }
    return feed;
}

static pgy_tensor_map *execute(pgy_graph *g, const pgy_tensor_map *feed)
{
    graph_plan plan = {0};
    const execute_limits limits = {0};
    pgy_error err = {0};
    pgy_tensor_map *out = NULL;
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    if (plan_build(&plan, g, &err)) fail_msg("%s", err.text);
    if (execute_graph(&plan, g, feed, out, true, &limits, &err)) fail_msg("%s", err.text);
    graph_plan_deinit(&plan);
    return out;
}

static void expect_near(const pgy_tensor_map *got, const pgy_tensor_map *wanted, double share)
{
    assert_int_equal(pgy_tensor_map_count(got), pgy_tensor_map_count(wanted));
    for (size_t i = 0; i < pgy_tensor_map_count(wanted); i++) {
        assert_string_equal(pgy_tensor_map_name(got, i), pgy_tensor_map_name(wanted, i));
        pgy_tensor *a = NULL, *b = NULL;
        double error = 0, size = 0;
        assert_int_equal(
            pgy_tensor_cast(&a, pgy_tensor_view(pgy_tensor_map_at(got, i)), PGY_F64, NULL), PGY_OK);
        assert_int_equal(
            pgy_tensor_cast(&b, pgy_tensor_view(pgy_tensor_map_at(wanted, i)), PGY_F64, NULL),
            PGY_OK);
        assert_int_equal(pgy_tensor_count(a), pgy_tensor_count(b));
        for (size_t k = 0; k < pgy_tensor_count(a); k++) {
            error += pow(op_f64(a)[k] - op_f64(b)[k], 2);
            size += pow(op_f64(b)[k], 2);
        }
        if (!(error <= share * share * size))
            fail_msg("%s is off by %g of its size", pgy_tensor_map_name(wanted, i),
                     sqrt(error / size));
        pgy_tensor_release(a);
        pgy_tensor_release(b);
    }
}

static void expect_sound(pgy_graph *g)
{
    const pgy_finding *found = NULL;
    size_t count = 0;
    pgy_error err = {0};
    if (pgy_graph_check(&found, &count, g, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++)
        if (found[i].severity >= PGY_LOG_ERROR) fail_msg("%s: %s", found[i].node, found[i].message);
}

static void apply(pgy_graph *g, const pgy_build_config *config)
{
    pgy_error err = {0};
    if (precision_apply(g, config, &CALIBRATION_ENGINES, &err)) fail_msg("%s", err.text);
    expect_sound(g);
}

static size_t count_of(const pgy_graph *g, const char *op)
{
    size_t count = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        count += strcmp(g->nodes[i]->op_type, op) == 0;
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++)
            count += count_of(g->nodes[i]->subgraphs[k], op);
    }
    return count;
}

static pgy_dtype type_of(const pgy_graph *g, const char *value)
{
    const pgy_value *v = pgy_graph_find_value(g, value);
    if (!v) fail_msg("there is no '%s'", value);
    return v->dtype;
}

/* Input and output types stay, and the results are near. */
static pgy_graph *expect_close_model(pgy_model *model, const pgy_build_config *config, double share)
{
    pgy_graph *before = import_model(model), *after = import_model(model);
    apply(after, config);
    for (size_t i = 0; i < before->input_count; i++)
        assert_int_equal(after->inputs[i]->dtype, before->inputs[i]->dtype);
    for (size_t i = 0; i < before->output_count; i++)
        assert_int_equal(after->outputs[i]->dtype, before->outputs[i]->dtype);
    pgy_tensor_map *feed = feed_for(before, 0), *wanted = execute(before, feed);
    pgy_tensor_map *got = execute(after, feed);
    expect_near(got, wanted, share);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(wanted);
    pgy_tensor_map_destroy(got);
    pgy_graph_destroy(before);
    return after;
}

static pgy_graph *expect_close(model_builder b, const pgy_build_config *config, double share)
{
    pgy_model *model = builder_finish_bytes(&b);
    pgy_graph *g = expect_close_model(model, config, share);
    pgy_model_destroy(model);
    return g;
}

/* ---- 16-bit floats -------------------------------------------------------------------------- */

static void test_precision__nothing_asked_for(void **state)
{
    (void)state;
    static const pgy_build_config none = {.size = sizeof none};
    pgy_graph *g = expect_close(residual(), &none, 1e-9);
    assert_int_equal(count_of(g, "Cast"), 0);
    assert_int_equal(g->node_count, 10);
    pgy_graph_destroy(g);
}

static void test_precision__float16(void **state)
{
    (void)state;
    pgy_graph *g = expect_close(residual(), &FP16, 4e-3);
    /* What comes in, what goes out, and the Softmax that ends the model. */
    assert_int_equal(count_of(g, "Cast"), 2);
    assert_int_equal(type_of(g, "x"), PGY_F32);
    assert_int_equal(type_of(g, "c1"), PGY_F16);
    assert_int_equal(type_of(g, "s"), PGY_F16);
    assert_int_equal(type_of(g, "f"), PGY_F16);
    assert_int_equal(type_of(g, "y"), PGY_F32);
    assert_int_equal(type_of(g, "w1_f16"), PGY_F16);
    pgy_graph_destroy(g);
}

/* Functions that fusion has made operators of another domain are layers like others. */
static void test_precision__fused_functions(void **state)
{
    (void)state;
    static const float half = 0.5f, one = 1, root = 1.41421356f;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 2, 6, 6");
    weights(&b, "w", "4, 2, 3, 3", 72);
    weights(&b, "v", "5, 4, 1, 1", 20);
    builder_floats(&b, "half", "", &half);
    builder_floats(&b, "one", "", &one);
    builder_floats(&b, "root", "", &root);
    builder_node(&b, "Conv", "x w", "c");
    builder_node(&b, "Sigmoid", "c", "s");
    builder_node(&b, "Mul", "c s", "silu");
    builder_node(&b, "Div", "silu root", "d");
    builder_node(&b, "Erf", "d", "e");
    builder_node(&b, "Add", "e one", "a");
    builder_node(&b, "Mul", "silu a", "m");
    builder_node(&b, "Mul", "m half", "gelu");
    builder_node(&b, "Conv", "gelu v", "y");
    builder_output(&b, "y", PGY_F32, "1, 5, 4, 4");
    pgy_graph *g = expect_close(b, &FP16, 4e-3);
    assert_int_equal(count_of(g, "Cast"), 2);
    assert_int_equal(count_of(g, "QuickGelu"), 1);
    assert_int_equal(count_of(g, "Gelu"), 1);
    assert_int_equal(type_of(g, "silu"), PGY_F16);
    assert_int_equal(type_of(g, "gelu"), PGY_F16);
    pgy_graph_destroy(g);
}

static void test_precision__bfloat16(void **state)
{
    (void)state;
    pgy_graph *g = expect_close(residual(), &BF16, 3e-2);
    assert_int_equal(type_of(g, "c2"), PGY_BF16);
    assert_int_equal(count_of(g, "Cast"), 2);
    pgy_graph_destroy(g);
}

static model_builder large_weight(void)
{
    static const float large[2] = {1e6f, 1};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "big", "2", large);
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Mul", "a big", "m");
    builder_node(&b, "Sigmoid", "m", "y");
    builder_node(&b, "Relu", "y", "z");
    builder_output(&b, "z", PGY_F32, "2");
    return b;
}

/* A layer whose weight does not fit stays; with bfloat16 permitted it takes that. */
static void test_precision__weights_beyond_float16(void **state)
{
    (void)state;
    static const pgy_build_config both = {.size = sizeof both, .fp16 = true, .bf16 = true};
    pgy_graph *g = expect_close(large_weight(), &FP16, 4e-3);
    assert_int_equal(type_of(g, "a"), PGY_F16);
    assert_int_equal(type_of(g, "m"), PGY_F32);
    assert_int_equal(type_of(g, "big"), PGY_F32);
    pgy_graph_destroy(g);
    g = expect_close(large_weight(), &both, 2e-2);
    assert_int_equal(type_of(g, "a"), PGY_F16);
    assert_int_equal(type_of(g, "m"), PGY_BF16);
    assert_int_equal(type_of(g, "y"), PGY_F16);
    pgy_graph_destroy(g);
}

/* Rows of 0, of ordinary and of small numbers, in 16 bits. */
static model_builder start_rows(int64_t opset, const float *number)
{
    static const float factors[3] = {0, 1, 1e-3f};
    model_builder b = builder_start(opset);
    builder_input(&b, "x", PGY_F32, "3, 4");
    builder_floats(&b, "factors", "3, 1", factors);
    builder_floats(&b, "number", "", number);
    builder_node(&b, "Mul", "x factors", "a");
    return b;
}

static pgy_graph *end_rows(model_builder b, const pgy_build_config *config)
{
    builder_node(&b, "Neg", "r", "n");
    builder_node(&b, "Abs", "n", "y");
    builder_output(&b, "y", PGY_F32, "3, 4");
    pgy_graph *g = expect_close(b, config, 4e-2);
    assert_int_equal(type_of(g, "n"), config->fp16 ? PGY_F16 : PGY_BF16);
    return g;
}

static model_builder normalise(float number, const char *divides)
{
    static const int64_t size[2] = {3, 4};
    model_builder b = start_rows(17, &number);
    builder_ints(&b, "size", "2", size);
    pgy_onnx_node *norm = builder_node(&b, "ReduceL2", "a", "l");
    builder_attr_ints(&b, norm, "axes", 1, (const int64_t[]){1});
    builder_node(&b, divides, "l number", "g");
    builder_node(&b, "Expand", "g size", "e");
    builder_node(&b, "Div", "a e", "r");
    return b;
}

/* A number that float16 holds as 0 keeps divisors from 0 all the same. */
static void test_precision__numbers_guard_divisions(void **state)
{
    (void)state;
    static const char *const guards[] = {"Clip", "Max", "Add"};
    for (size_t i = 0; i < 3; i++) {
        pgy_graph *g = end_rows(normalise(1e-12f, guards[i]), &FP16);
        assert_int_equal(type_of(g, "a"), PGY_F16);
        assert_int_equal(type_of(g, "g"), PGY_F32);
        assert_int_equal(type_of(g, "e"), PGY_F32);
        pgy_graph_destroy(g);
        g = end_rows(normalise(1e-12f, guards[i]), &BF16); /* which holds it */
        assert_int_equal(type_of(g, "e"), PGY_BF16);
        pgy_graph_destroy(g);
        g = end_rows(normalise(1e-41f, guards[i]), &BF16);
        assert_int_equal(type_of(g, "e"), PGY_F32);
        pgy_graph_destroy(g);
        g = end_rows(normalise(1e-3f, guards[i]), &FP16);
        assert_int_equal(type_of(g, "e"), PGY_F16);
        pgy_graph_destroy(g);
    }
}

/* 0 * (1 / 1e-6) is 0 in float16, too, although 1e6 is beyond it. */
static void test_precision__inverses_stay_in_range(void **state)
{
    (void)state;
    static const float number = 1e-6f;
    model_builder b = start_rows(17, &number);
    pgy_onnx_node *sum = builder_node(&b, "ReduceL1", "a", "s");
    builder_attr_ints(&b, sum, "axes", 1, (const int64_t[]){1});
    builder_node(&b, "Add", "s number", "g");
    builder_node(&b, "Reciprocal", "g", "i");
    builder_node(&b, "Mul", "a i", "p");
    builder_node(&b, "Tanh", "p", "r");
    pgy_graph *g = end_rows(b, &FP16);
    assert_int_equal(type_of(g, "g"), PGY_F32);
    assert_int_equal(type_of(g, "p"), PGY_F32);
    assert_int_equal(type_of(g, "r"), PGY_F16);
    assert_int_equal(count_of(g, "Clip"), 1); /* of what Tanh reads */
    pgy_graph_destroy(g);
}

/* Where attention must not look, any large number does. */
static void test_precision__masks_fit(void **state)
{
    (void)state;
    static const float mask[4] = {0, -3.4028235e38f, 0, -3.4028235e38f};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3, 4");
    builder_floats(&b, "mask", "4", mask);
    builder_node(&b, "Add", "x mask", "s");
    builder_node(&b, "Softmax", "s", "p");
    builder_node(&b, "Neg", "p", "n");
    builder_node(&b, "Abs", "n", "y");
    builder_output(&b, "y", PGY_F32, "3, 4");
    pgy_graph *g = expect_close(b, &FP16, 4e-3);
    assert_int_equal(type_of(g, "s"), PGY_F16);
    pgy_graph_destroy(g);
}

static void expect_masks(const pgy_build_config *config, const char *weight, float limit)
{
    static const float low = -3.4028235e38f;
    static const int64_t start = 0, end = 4;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3, 4");
    builder_input(&b, "given", PGY_F32, "3, 4");
    builder_floats(&b, "low", "1", &low);
    builder_ints(&b, "start", "1", &start);
    builder_ints(&b, "end", "1", &end);
    builder_node(&b, "Slice", "given start end start", "m");
    builder_node(&b, "Add", "x low", "s");
    builder_node(&b, "Add", "s m", "t");
    builder_node(&b, "Softmax", "t", "p");
    builder_node(&b, "Neg", "p", "n");
    builder_node(&b, "Abs", "n", "y");
    builder_output(&b, "y", PGY_F32, "3, 4");
    pgy_graph *g = expect_close(b, config, 1e-1);
    pgy_value *v = pgy_graph_find_value(g, weight);
    pgy_tensor *t = NULL, *wide = NULL;
    assert_non_null(v);
    assert_int_equal(pgy_graph_value_data(&t, v, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_cast(&wide, pgy_tensor_view(t), PGY_F32, NULL), PGY_OK);
    assert_true(*(const float *)pgy_tensor_data(wide) == -limit / 4);
    assert_int_equal(count_of(g, "Clip"), 2); /* of what flows in, for it leads to a Softmax */
    pgy_tensor_release(t);
    pgy_tensor_release(wide);
    pgy_graph_destroy(g);
}

/* Neither a stored mask nor one that flows in becomes -Inf, nor do sums with it. */
static void test_precision__masks_stay_finite(void **state)
{
    (void)state;
    expect_masks(&FP16, "low_f16", 65504.0f);
    expect_masks(&BF16, "low_bf16", 0x1.fep127f);
}

/* Sizes are computed in float32: 2049 is no float16. */
static void test_precision__shape_arithmetic_is_exact(void **state)
{
    (void)state;
    static const float half = 0.5f;
    static const int64_t zero = 0;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_floats(&b, "half", "1", &half);
    builder_ints(&b, "first", "1", &zero);
    builder_node(&b, "Relu", "x", "r");
    builder_node(&b, "Shape", "r", "shape");
    builder_node(&b, "Gather", "shape first", "n");
    builder_attr_int(&b, builder_node(&b, "Cast", "n", "nf"), "to", 1);
    builder_node(&b, "Mul", "nf half", "h");
    builder_node(&b, "Add", "h half", "k");
    builder_attr_int(&b, builder_node(&b, "Cast", "k", "end"), "to", 7);
    builder_node(&b, "Slice", "r first end", "part");
    builder_node(&b, "Neg", "part", "y");
    builder_output(&b, "y", PGY_F32, "K, 4");
    pgy_graph *g = expect_close(b, &FP16, 4e-3);
    assert_int_equal(type_of(g, "h"), PGY_F32);
    assert_int_equal(type_of(g, "k"), PGY_F32);
    assert_int_equal(type_of(g, "part"), PGY_F16);
    pgy_graph_destroy(g);
}

/* Between layers in float32, elements are moved without rounding them. */
static void test_precision__moves_in_float32(void **state)
{
    (void)state;
    static const int64_t flat[1] = {-1}, shape[2] = {-1, 4};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4");
    weights(&b, "w", "4, 4", 16);
    builder_ints(&b, "flat", "1", flat);
    builder_ints(&b, "shape", "2", shape);
    builder_node(&b, "Reshape", "x flat", "alone");
    builder_node(&b, "Exp", "alone", "y");
    builder_node(&b, "Reshape", "x shape", "square");
    builder_node(&b, "MatMul", "square w", "m");
    builder_node(&b, "Transpose", "m", "moved");
    builder_node(&b, "Exp", "moved", "z");
    builder_output(&b, "y", PGY_F32, "M");
    builder_output(&b, "z", PGY_F32, "4, N");
    pgy_graph *g = expect_close(b, &FP16, 4e-3);
    assert_int_equal(type_of(g, "alone"), PGY_F32);
    assert_int_equal(type_of(g, "square"), PGY_F16);
    assert_int_equal(type_of(g, "moved"), PGY_F16); /* its input is float16 already */
    pgy_graph_destroy(g);
}

/* Casts lie at the borders of bodies; a value from outside is cast once, outside. */
static void test_precision__bodies(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_input(&b, "c", PGY_F32, "");
    weights(&b, "w", "3, 3", 9);
    builder_node(&b, "Relu", "x", "r");
    builder_attr_int(&b, builder_node(&b, "Cast", "c", "cond"), "to", 9);
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "MatMul", "r w", "m");
    builder_output(&yes, "m", PGY_F32, "2, 3");
    builder_node(&no, "Neg", "r", "n");
    builder_node(&no, "Abs", "n", "a");
    builder_output(&no, "a", PGY_F32, "2, 3");
    pgy_onnx_node *branch = builder_node(&b, "If", "cond", "y");
    builder_attr_graph(&b, branch, "then_branch", &yes);
    builder_attr_graph(&b, branch, "else_branch", &no);
    builder_node(&b, "Tanh", "y", "z");
    builder_node(&b, "Neg", "z", "out");
    builder_output(&b, "out", PGY_F32, "2, 3");
    pgy_graph *g = expect_close(b, &FP16, 4e-3);
    assert_int_equal(type_of(g, "r"), PGY_F16);
    assert_int_equal(type_of(g, "y"), PGY_F32);
    assert_int_equal(type_of(g, "z"), PGY_F16);
    const pgy_node *made = pgy_graph_find_value(g, "y")->producer;
    assert_int_equal(count_of(made->subgraphs[0], "Cast"), 1);
    assert_int_equal(count_of(made->subgraphs[1], "Cast"), 1);
    pgy_graph_destroy(g);
}

/* ---- Types of layers ------------------------------------------------------------------------ */

static void name_nodes(model_builder *b)
{
    for (size_t i = 0; i < b->graph->node_count; i++)
        b->graph->nodes[i]->name = b->graph->nodes[i]->outputs[0];
}

static void test_precision__single_layers(void **state)
{
    (void)state;
    static const pgy_type_choice choices[] = {{"c*", PGY_F16}, {"c1", PGY_F32}, {"s", PGY_BF16}};
    const pgy_build_config config = {
        .size = sizeof config, .layer_types = choices, .layer_type_count = 3};
    model_builder b = residual();
    name_nodes(&b);
    pgy_graph *g = expect_close(b, &config, 3e-2);
    assert_int_equal(type_of(g, "c1"), PGY_F32);
    assert_int_equal(type_of(g, "c2"), PGY_F16);
    assert_int_equal(type_of(g, "s"), PGY_BF16);
    assert_int_equal(type_of(g, "r2"), PGY_F32);
    pgy_graph_destroy(g);
}

static void test_precision__exempted_layers(void **state)
{
    (void)state;
    static const pgy_type_choice choices[] = {{"c2", PGY_F32}};
    const pgy_build_config config = {
        .size = sizeof config, .fp16 = true, .layer_types = choices, .layer_type_count = 1};
    model_builder b = residual();
    name_nodes(&b);
    pgy_graph *g = expect_close(b, &config, 4e-3);
    assert_int_equal(type_of(g, "c1"), PGY_F16);
    assert_int_equal(type_of(g, "c2"), PGY_F32);
    assert_int_equal(type_of(g, "s"), PGY_F16);
    pgy_graph_destroy(g);
}

/* In a model of float16 a layer can be made wide, too; what is float32 already is no failure. */
static void test_precision__float32_in_float16(void **state)
{
    (void)state;
    static const pgy_type_choice choices[] = {{"m", PGY_F32}, {"k", PGY_F32}};
    const pgy_build_config config = {.size = sizeof config,
                                     .constraints = PGY_CONSTRAINTS_OBEY,
                                     .layer_types = choices,
                                     .layer_type_count = 2};
    pgy_tensor *w = NULL;
    const int64_t shape[2] = {3, 3};
    assert_int_equal(pgy_tensor_create(&w, PGY_F16, 2, shape, NULL), PGY_OK);
    for (size_t i = 0; i < 9; i++) ((uint16_t *)pgy_tensor_data(w))[i] = (uint16_t)(0x3c00 + i);
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_initializer(&b, "w", w);
    pgy_tensor_release(w);
    builder_attr_int(&b, builder_node(&b, "Cast", "x", "h"), "to", 10);
    builder_node(&b, "MatMul", "h w", "m");
    builder_node(&b, "Tanh", "m", "t");
    builder_attr_int(&b, builder_node(&b, "Cast", "t", "y"), "to", 1);
    builder_attr_int(&b, builder_node(&b, "Cast", "x", "k"), "to", 7);
    builder_output(&b, "y", PGY_F32, "2, 3");
    builder_output(&b, "k", PGY_I64, "2, 3");
    name_nodes(&b);
    pgy_graph *g = expect_close(b, &config, 4e-3);
    assert_int_equal(type_of(g, "m"), PGY_F32);
    assert_int_equal(type_of(g, "w_f32"), PGY_F32);
    assert_int_equal(type_of(g, "t"), PGY_F16);
    pgy_graph_destroy(g);
}

static void test_precision__what_cannot_be_obeyed(void **state)
{
    (void)state;
    static const pgy_type_choice choices[] = {{"k", PGY_F16}};
    pgy_build_config config = {.size = sizeof config,
                               .constraints = PGY_CONSTRAINTS_OBEY,
                               .layer_types = choices,
                               .layer_type_count = 1};
    for (int obey = 0; obey < 2; obey++) {
        model_builder b = builder_start(17);
        pgy_error err = {0};
        builder_input(&b, "x", PGY_F32, "3");
        builder_attr_int(&b, builder_node(&b, "Cast", "x", "k"), "to", 7);
        builder_output(&b, "k", PGY_I64, "3");
        name_nodes(&b);
        config.constraints = obey ? PGY_CONSTRAINTS_OBEY : PGY_CONSTRAINTS_PREFER;
        pgy_graph *g = import(&b);
        assert_int_equal(precision_apply(g, &config, &CALIBRATION_ENGINES, &err),
                         obey ? PGY_E_UNSUPPORTED : PGY_OK);
        if (obey)
            assert_non_null(
                strstr(err.text, "layer 'k' (Cast) cannot compute in the requested type float16"));
        pgy_graph_destroy(g);
    }
}

/* A wish that would make a guarded divisor 0 is refused; bfloat16 can be had. */
static void test_precision__guards_cannot_be_narrow(void **state)
{
    (void)state;
    static const pgy_dtype types[] = {PGY_F16, PGY_BF16};
    for (size_t i = 0; i < 2; i++) {
        const pgy_type_choice choices[] = {{"e", types[i]}};
        const pgy_build_config config = {.size = sizeof config,
                                         .constraints = PGY_CONSTRAINTS_OBEY,
                                         .layer_types = choices,
                                         .layer_type_count = 1};
        model_builder b = normalise(1e-12f, "Clip");
        pgy_error err = {0};
        builder_output(&b, "r", PGY_F32, "3, 4");
        name_nodes(&b);
        pgy_graph *g = import(&b);
        assert_int_equal(precision_apply(g, &config, &CALIBRATION_ENGINES, &err),
                         i ? PGY_OK : PGY_E_UNSUPPORTED);
        if (!i)
            assert_non_null(strstr(
                err.text, "layer 'e' (Expand) cannot compute in the requested type float16"));
        pgy_graph_destroy(g);
    }
}

/* ---- int8 ----------------------------------------------------------------------------------- */

static pgy_data_loader *data_for(const pgy_graph *g)
{
    pgy_tensor_map *maps[2] = {feed_for(g, 0), feed_for(g, 1)};
    pgy_data_loader *data = NULL;
    assert_int_equal(pgy_list_loader_create(&data, (const pgy_tensor_map *const *)maps, 2, NULL),
                     PGY_OK);
    for (size_t i = 0; i < 2; i++) pgy_tensor_map_destroy(maps[i]);
    return data;
}

static pgy_graph *quantize(model_builder b, pgy_build_config *config, pgy_calibration *calibration,
                           double share)
{
    pgy_model *model = builder_finish_bytes(&b);
    pgy_graph *g = import_model(model);
    calibration->data = data_for(g);
    config->calibration = calibration;
    pgy_graph *after = expect_close_model(model, config, share);
    pgy_data_loader_destroy(calibration->data);
    calibration->data = NULL;
    pgy_graph_destroy(g);
    pgy_model_destroy(model);
    return after;
}

static void test_precision__int8(void **state)
{
    (void)state;
    pgy_build_config config = {.size = sizeof config, .int8 = true};
    pgy_calibration calibration = {.size = sizeof calibration, .kind = PGY_CALIBRATOR_MIN_MAX};
    pgy_graph *g = quantize(residual(), &config, &calibration, 0.05);
    /* One pair for each of x, r1, p, c2, r2, g, f; a weight's DequantizeLinear for each of three.
     */
    assert_int_equal(count_of(g, "QuantizeLinear"), 7);
    assert_int_equal(count_of(g, "DequantizeLinear"), 10);
    assert_int_equal(type_of(g, "w1_quantized"), PGY_I8);
    assert_int_equal(type_of(g, "x_quantized"), PGY_I8);
    assert_null(pgy_graph_find_value(g, "y_quantized"));
    /* What only moves keeps its scale: Flatten behind the mean, MaxPool behind the first layer. */
    float scales[4];
    static const char *const NAMES[] = {"r1_scale", "p_scale", "g_scale", "f_scale"};
    for (size_t i = 0; i < 4; i++) {
        pgy_tensor *t = NULL;
        assert_int_equal(pgy_graph_value_data(&t, pgy_graph_find_value(g, NAMES[i]), NULL), PGY_OK);
        scales[i] = *(float *)pgy_tensor_data(t);
        pgy_tensor_release(t);
    }
    assert_true(scales[0] == scales[1] && scales[2] == scales[3] && scales[0] != scales[2]);
    pgy_graph_destroy(g);
}

/* A function between int8 layers is one too, even if it is written out in two nodes; so is the
 * product of two such tensors. At the end of the model it stays in float. */
static void test_precision__functions_between_int8_layers(void **state)
{
    (void)state;
    pgy_build_config config = {.size = sizeof config, .int8 = true};
    pgy_calibration calibration = {.size = sizeof calibration, .kind = PGY_CALIBRATOR_MIN_MAX};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 2, 4, 4");
    weights(&b, "v", "3, 2, 1, 1", 6);
    weights(&b, "w", "3, 3, 1, 1", 9);
    builder_node(&b, "Conv", "x v", "c1");
    builder_node(&b, "Sigmoid", "c1", "g");
    builder_node(&b, "Mul", "c1 g", "a");
    builder_node(&b, "Conv", "a w", "c2");
    builder_node(&b, "HardSigmoid", "c2", "h");
    builder_node(&b, "Mul", "a h", "m");
    builder_node(&b, "Conv", "m w", "c3");
    builder_node(&b, "HardSwish", "c3", "y");
    builder_output(&b, "y", PGY_F32, "N, 3, 4, 4");
    pgy_graph *g = quantize(b, &config, &calibration, 0.1);
    /* x, c1, a, c2, h, m */
    assert_int_equal(count_of(g, "QuantizeLinear"), 6);
    assert_int_equal(count_of(g, "Sigmoid"), 0);
    assert_non_null(pgy_graph_find_value(g, "c1_quantized"));
    assert_null(pgy_graph_find_value(g, "c3_quantized"));
    pgy_graph_destroy(g);
}

static void test_precision__every_calibrator(void **state)
{
    (void)state;
    for (pgy_calibrator kind = PGY_CALIBRATOR_ENTROPY_2; kind <= PGY_CALIBRATOR_LEGACY; kind++) {
        pgy_build_config config = {.size = sizeof config, .int8 = true};
        pgy_calibration calibration = {.size = sizeof calibration, .kind = kind, .quantile = 1};
        pgy_graph_destroy(quantize(residual(), &config, &calibration, 0.3));
    }
}

static void test_precision__exempted_from_int8(void **state)
{
    (void)state;
    static const pgy_type_choice choices[] = {{"c2", PGY_F32}, {"y", PGY_F16}};
    pgy_build_config config = {
        .size = sizeof config, .int8 = true, .layer_types = choices, .layer_type_count = 2};
    pgy_calibration calibration = {.size = sizeof calibration, .kind = PGY_CALIBRATOR_MIN_MAX};
    model_builder b = residual();
    name_nodes(&b);
    pgy_graph *g = quantize(b, &config, &calibration, 0.05);
    assert_int_equal(count_of(g, "QuantizeLinear"), 1); /* x, for c1 */
    assert_int_equal(type_of(g, "w3_f16"), PGY_F16);
    pgy_graph_destroy(g);
}

static void test_precision__int8_for_one_layer(void **state)
{
    (void)state;
    static const pgy_type_choice choices[] = {{"c2", PGY_I8}};
    pgy_build_config config = {.size = sizeof config,
                               .constraints = PGY_CONSTRAINTS_OBEY,
                               .layer_types = choices,
                               .layer_type_count = 1};
    pgy_calibration calibration = {.size = sizeof calibration, .kind = PGY_CALIBRATOR_MIN_MAX};
    model_builder b = residual();
    name_nodes(&b);
    pgy_graph *g = quantize(b, &config, &calibration, 0.05);
    assert_int_equal(count_of(g, "QuantizeLinear"), 1);
    assert_non_null(pgy_graph_find_value(g, "p_quantized"));
    pgy_graph_destroy(g);
}

/* The first run writes the cache, the second one needs no data, and gets the same graph. */
static void test_precision__caches(void **state)
{
    (void)state;
    char *path = NULL;
    assert_int_equal(file_temp_path(&path, ".cache", NULL), PGY_OK);
    pgy_build_config config = {.size = sizeof config, .int8 = true};
    pgy_calibration calibration = {
        .size = sizeof calibration, .kind = PGY_CALIBRATOR_ENTROPY_2, .cache = path};
    pgy_graph_destroy(quantize(residual(), &config, &calibration, 0.1));
    assert_null(calibration.data);
    pgy_graph *g = expect_close(residual(), &config, 0.1);
    assert_int_equal(count_of(g, "QuantizeLinear"), 7);
    pgy_graph_destroy(g);
    file_temp_release(path);
}

static void write_text(const char *path, const char *text)
{
    assert_int_equal(file_write_all(path, text, strlen(text), NULL), PGY_OK);
}

/* A tensor that the cache lacks: its layer stays in float. */
static void test_precision__caches_with_gaps(void **state)
{
    (void)state;
    char *path = NULL;
    assert_int_equal(file_temp_path(&path, ".cache", NULL), PGY_OK);
    write_text(path, "TRT-8601-EntropyCalibration2\nx: 3c810204\nf: 3e000000\n");
    pgy_build_config config = {.size = sizeof config, .int8 = true};
    const pgy_calibration calibration = {.size = sizeof calibration, .cache = path};
    config.calibration = &calibration;
    pgy_graph *g = expect_close(residual(), &config, 0.1);
    assert_int_equal(count_of(g, "QuantizeLinear"), 2);
    assert_non_null(pgy_graph_find_value(g, "x_quantized"));
    assert_non_null(pgy_graph_find_value(g, "f_quantized"));
    pgy_graph_destroy(g);
    file_temp_release(path);
}

static void test_precision__int8_without_ranges(void **state)
{
    (void)state;
    const pgy_build_config config = {.size = sizeof config, .int8 = true};
    model_builder b = residual();
    pgy_error err = {0};
    pgy_graph *g = import(&b);
    assert_int_equal(precision_apply(g, &config, &CALIBRATION_ENGINES, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "calibration.data"));
    assert_non_null(strstr(err.text, "calibration.cache"));
    pgy_graph_destroy(g);
}

/* A model that says itself where int8 is stays as it is. */
static void test_precision__explicit_models_stay(void **state)
{
    (void)state;
    static const float scale = 0.1f;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_floats(&b, "s", "", &scale);
    weights(&b, "w", "3, 3", 9);
    builder_node(&b, "QuantizeLinear", "x s", "q");
    builder_node(&b, "DequantizeLinear", "q s", "d");
    builder_node(&b, "MatMul", "d w", "y");
    builder_output(&b, "y", PGY_F32, "2, 3");
    const pgy_build_config config = {.size = sizeof config, .int8 = true};
    pgy_graph *g = expect_close(b, &config, 1e-9);
    assert_int_equal(g->node_count, 3);
    pgy_graph_destroy(g);
}

/* int8 where it can be, float16 elsewhere: no detour between the two in what is one layer. */
static void test_precision__int8_and_float16(void **state)
{
    (void)state;
    pgy_build_config config = {.size = sizeof config, .int8 = true, .fp16 = true};
    pgy_calibration calibration = {.size = sizeof calibration, .kind = PGY_CALIBRATOR_MIN_MAX};
    model_builder b = residual();
    builder_node(&b, "Neg", "z", "n");
    builder_node(&b, "Abs", "n", "m");
    builder_node(&b, "Tanh", "m", "t");
    builder_output(&b, "t", PGY_F32, "N, 5");
    pgy_graph *g = quantize(b, &config, &calibration, 0.05);
    assert_int_equal(count_of(g, "QuantizeLinear"), 7);
    assert_int_equal(type_of(g, "c1"), PGY_F32);
    assert_int_equal(type_of(g, "r1"), PGY_F32);
    assert_int_equal(type_of(g, "n"), PGY_F16);
    pgy_graph_destroy(g);
}

/* ---- Inputs and outputs --------------------------------------------------------------------- */

static void test_precision__types_of_inputs_and_outputs(void **state)
{
    (void)state;
    static const pgy_type_choice choices[] = {{"x", PGY_F16}, {"z", PGY_BF16}};
    const pgy_build_config config = {
        .size = sizeof config, .tensor_types = choices, .tensor_type_count = 2};
    model_builder b = residual();
    pgy_error err = {0};
    pgy_graph *g = import(&b);
    if (precision_interface(g, &config, &err)) fail_msg("%s", err.text);
    expect_sound(g);
    assert_int_equal(type_of(g, "x"), PGY_F16);
    assert_int_equal(type_of(g, "y"), PGY_F32);
    assert_int_equal(type_of(g, "z"), PGY_BF16);
    assert_int_equal(type_of(g, "c1"), PGY_F32);
    pgy_tensor_map *feed = feed_for(g, 0), *out = execute(g, feed);
    assert_int_equal(pgy_tensor_dtype(pgy_tensor_map_find(out, "z")), PGY_BF16);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    pgy_graph_destroy(g);
}

/* With float16 layers nothing is cast on the way in. */
static void test_precision__float16_from_the_input_on(void **state)
{
    (void)state;
    static const pgy_type_choice choices[] = {{"*", PGY_F16}};
    const pgy_build_config config = {
        .size = sizeof config, .fp16 = true, .tensor_types = choices, .tensor_type_count = 1};
    model_builder b = residual();
    pgy_error err = {0};
    pgy_graph *g = import(&b);
    if (precision_interface(g, &config, &err)) fail_msg("%s", err.text);
    apply(g, &config);
    assert_ptr_equal(pgy_graph_find_value(g, "c1")->producer->inputs[0],
                     pgy_graph_find_value(g, "x"));
    pgy_graph_destroy(g);
}

static void test_precision__types_that_need_scales(void **state)
{
    (void)state;
    static const pgy_type_choice choices[] = {{"x", PGY_I8}};
    const pgy_build_config config = {
        .size = sizeof config, .tensor_types = choices, .tensor_type_count = 1};
    model_builder b = residual();
    pgy_error err = {0};
    pgy_graph *g = import(&b);
    assert_int_equal(precision_interface(g, &config, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "'x' is float32 and cannot become int8"));
    pgy_graph_destroy(g);
}

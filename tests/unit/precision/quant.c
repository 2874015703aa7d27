/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "evaluate/execute.h"
#include "harness/model_builder.h"
#include "precision/quant.h"

/* ---- Numbers -------------------------------------------------------------------------------- */

static void test_quant__rounds_to_the_next_number(void **state)
{
    (void)state;
    const float from[] = {0.24f, 0.25f, 0.75f, -0.75f, 100, -100};
    float to[6];
    quant_round(to, from, 6, PGY_I8, (grid){.scale = 0.5});
    const float expected[] = {0, 0, 1, -1, 63.5f, -64}; /* ties to even; -128 to 127 steps */
    for (size_t i = 0; i < 6; i++) assert_float_equal(to[i], expected[i], 0);
    quant_round(to, from, 6, PGY_F8E4M3FN, (grid){.scale = 0.125});
    const float wider[] = {0.234375f, 0.25f, 0.75f, -0.75f, 56, -56};
    for (size_t i = 0; i < 6; i++) assert_float_equal(to[i], wider[i], 0);
    quant_round(to, from, 6, PGY_I8, (grid){.scale = 0.5, .zero = -128});
    const float above[] = {0, 0, 1, 0, 100, 0}; /* 0 to 255 steps */
    for (size_t i = 0; i < 6; i++) assert_float_equal(to[i], above[i], 0);
}

static void test_quant__neighbours_are_numbers_of_the_type(void **state)
{
    (void)state;
    for (float u = -450; u < 450; u += 0.37f) {
        float low, high, same;
        quant_neighbours(&low, &high, PGY_F8E4M3FN, u);
        quant_round(&same, &low, 1, PGY_F8E4M3FN, (grid){.scale = 1});
        assert_float_equal(same, low, 0);
        quant_round(&same, &high, 1, PGY_F8E4M3FN, (grid){.scale = 1});
        assert_float_equal(same, high, 0);
        if (fabsf(u) > 448) continue;
        assert_true(low <= u && u <= high);
        quant_round(&same, &u, 1, PGY_F8E4M3FN, (grid){.scale = 1});
        assert_true(same == low || same == high);
    }
    float low, high;
    quant_neighbours(&low, &high, PGY_I8, 200);
    assert_true(low == 127 && high == 127);
}

static double scale_of(const histogram *h, pgy_dtype type, pgy_calibrator kind, double quantile)
{
    const quant_method m = {.calibrator = kind, .quantile = quantile};
    return quant_grid(h, type, &m).scale;
}

static void test_quant__range_of_float8_is_not_worse_than_the_whole(void **state)
{
    (void)state;
    static histogram h;
    mt19937 g;
    float x[4096];
    mt19937_seed(&g, 5);
    for (size_t i = 0; i < 4096; i++) x[i] = (float)(mt19937_double(&g) - 0.5);
    x[7] = 40; /* an outlier */
    histogram_add(&h, x, 4096);
    assert_float_equal(scale_of(&h, PGY_F8E4M3FN, PGY_CALIBRATOR_MIN_MAX, 1), 40.0f / 448, 1e-6);
    assert_float_equal(scale_of(&h, PGY_I8, PGY_CALIBRATOR_MIN_MAX, 1), 40.0f / 127, 1e-6);
    assert_true(scale_of(&h, PGY_I8, PGY_CALIBRATOR_LEGACY, 0.999) < 1.0f / 127);
    assert_true(scale_of(&h, PGY_F8E4M3FN, PGY_CALIBRATOR_LEAST_ERROR, 1) <= 40.0f / 448);
}

/* ---- Models --------------------------------------------------------------------------------- */

enum { SAMPLES = 6 };

static const float *noise(size_t count, uint32_t seed, float by)
{
    static float made[16][4096];
    mt19937 g;
    float *to = made[seed % 16];
    mt19937_seed(&g, seed);
    for (size_t i = 0; i < count; i++) to[i] = by * (float)(2 * mt19937_double(&g) - 1);
    return to;
}

/* Convolution with batch normalization, one of channels apart, a sum, a mean, a Gemm without bias
 * and a MatMul of two computed tensors. */
static pgy_model *conv_net(void)
{
    static const int64_t PADS[] = {1, 1, 1, 1};
    const float ones[] = {1, 1.5f, 0.5f, 1, 2, 1, 1, 1};
    model_builder b = builder_start(11);
    builder_input(&b, "x", PGY_F32, "1, 3, 8, 8");
    builder_floats(&b, "w1", "8, 3, 3, 3", noise(216, 1, 0.4f));
    builder_floats(&b, "b1", "8", noise(8, 2, 0.1f));
    builder_floats(&b, "gain", "8", ones);
    builder_floats(&b, "mean", "8", noise(8, 3, 0.1f));
    builder_floats(&b, "wd", "8, 1, 3, 3", noise(72, 4, 0.6f));
    builder_floats(&b, "w2", "8, 8, 1, 1", noise(64, 5, 0.6f));
    builder_floats(&b, "wg", "8, 12", noise(96, 6, 0.5f));
    builder_attr_ints(&b, builder_node(&b, "Conv", "x w1 b1", "c1"), "pads", 4, PADS);
    builder_node(&b, "BatchNormalization", "c1 gain mean mean gain", "n1");
    builder_node(&b, "Relu", "n1", "r1");
    pgy_onnx_node *deep = builder_node(&b, "Conv", "r1 wd", "c2");
    builder_attr_ints(&b, deep, "pads", 4, PADS);
    builder_attr_int(&b, deep, "group", 8);
    builder_node(&b, "Conv", "c2 w2", "c3");
    builder_node(&b, "Add", "c3 c2", "sum");
    builder_node(&b, "GlobalAveragePool", "sum", "pool");
    builder_node(&b, "Flatten", "pool", "flat");
    builder_node(&b, "Gemm", "flat wg", "gemm");
    builder_node(&b, "Transpose", "gemm", "turned");
    builder_node(&b, "MatMul", "turned gemm", "y");
    builder_output(&b, "y", PGY_F32, "12, 12");
    return builder_finish_bytes(&b);
}

/* A product whose first matrix has one channel a hundred times larger than the others. */
static pgy_model *outlier_net(void)
{
    float scales[16];
    for (size_t i = 0; i < 16; i++) scales[i] = i == 3 ? 100 : 1;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "32, 16");
    builder_floats(&b, "scales", "16", scales);
    builder_floats(&b, "w", "16, 24", noise(384, 7, 1));
    builder_floats(&b, "b", "24", noise(24, 8, 1));
    builder_node(&b, "Mul", "x scales", "wide");
    builder_node(&b, "MatMul", "wide w", "product");
    builder_node(&b, "Add", "product b", "y");
    builder_output(&b, "y", PGY_F32, "32, 24");
    return builder_finish_bytes(&b);
}

static pgy_precision *search(pgy_model *model, const pgy_precision_options *o)
{
    pgy_random_options random = pgy_random_options_default();
    pgy_data_loader *data = NULL;
    pgy_precision *p = NULL;
    pgy_error err;
    random.iterations = SAMPLES;
    assert_int_equal(pgy_random_loader_create(&data, &random, &err), PGY_OK);
    const pgy_status st = pgy_precision_search(&p, model, data, o, &err);
    if (st) print_message("%s\n", err.text);
    assert_int_equal(st, PGY_OK);
    pgy_data_loader_destroy(data);
    return p;
}

/* Runs the model by the operators' definitions. */
static pgy_tensor_map *run(pgy_model *model, const pgy_tensor_map *feed)
{
    const execute_limits limits = {.max_bytes = UINT64_MAX};
    pgy_tensor_map *out = NULL;
    graph_plan plan = {0};
    pgy_graph *g = NULL;
    pgy_error err;
    pgy_status st = pgy_graph_import(&g, model, &err);
    if (!st) st = plan_build(&plan, g, &err);
    if (!st) st = pgy_tensor_map_create(&out, &err);
    if (!st) st = execute_graph(&plan, g, feed, out, true, &limits, &err);
    if (st) print_message("%s\n", err.text);
    assert_int_equal(st, PGY_OK);
    graph_plan_deinit(&plan);
    pgy_graph_destroy(g);
    return out;
}

/* Noise divided by signal of the written model, of the worst sample. */
static double written_error(pgy_model *model, const pgy_precision *p, pgy_model *typed)
{
    double worst = 0;
    for (size_t s = 0; s < p->summary.samples; s++) {
        pgy_tensor_map *a = run(model, p->samples[s]), *b = run(typed, p->samples[s]);
        const pgy_tensor *x = pgy_tensor_map_at(a, 0), *y = pgy_tensor_map_at(b, 0);
        double signal = 0, lost = 0;
        for (size_t i = 0; i < pgy_tensor_count(x); i++) {
            const double v = (double)((const float *)pgy_tensor_data(x))[i];
            const double d = v - (double)((const float *)pgy_tensor_data(y))[i];
            signal += v * v;
            lost += d * d;
        }
        worst = fmax(worst, sqrt(lost / signal));
        pgy_tensor_map_destroy(a);
        pgy_tensor_map_destroy(b);
    }
    return worst;
}

/* The error of the written model must be the one that was promised, and it must have 8-bit weights. */
static void check_written(pgy_model *model, const pgy_precision_options *o)
{
    pgy_precision *p = search(model, o);
    pgy_model *typed = NULL;
    pgy_error err;
    assert_int_equal(pgy_precision_model(&typed, p, &err), PGY_OK);
    const double worst = written_error(model, p, typed);
    assert_true(p->summary.narrow > 0 && worst > 0);
    /* float32 sums in another order may move a number to the next step */
    assert_float_equal(worst, p->summary.promised_error, 0.1 * p->summary.promised_error);
    const pgy_onnx_graph *g = pgy_model_proto(typed)->graph;
    size_t narrow = 0;
    for (size_t i = 0; i < g->initializer_count; i++)
        narrow += pgy_dtype_from_onnx(g->initializers[i]->data_type) == o->type &&
                  g->initializers[i]->dim_count > 0;
    assert_int_equal(narrow, p->summary.narrow - (p->summary.layers - 5 + 1));
    pgy_model_destroy(typed);
    pgy_precision_destroy(p);
}

static pgy_precision_options options_for(pgy_dtype type)
{
    pgy_precision_options o = pgy_precision_options_default();
    o.type = type;
    o.criterion = PGY_PRECISION_SNR;
    o.limit = 5;
    o.samples = SAMPLES;
    return o;
}

static void test_quant__written_model_has_the_promised_error(void **state)
{
    (void)state;
    pgy_model *model = conv_net();
    for (int i = 0; i < 4; i++) {
        pgy_precision_options o = options_for(i & 1 ? PGY_F8E4M3FN : PGY_I8);
        if (i & 2) {
            o.smooth = 0.5;
            o.adaptive_rounding = o.bias_correction = true;
            o.asymmetric = o.type == PGY_I8;
        }
        check_written(model, &o);
    }
    pgy_model_destroy(model);
}

static const pgy_precision_method *method(const pgy_precision *p, const char *name)
{
    for (size_t i = 0; i < pgy_precision_method_count(p); i++)
        if (strcmp(pgy_precision_method_at(p, i)->name, name) == 0)
            return pgy_precision_method_at(p, i);
    fail_msg("there is no method '%s'", name);
    return NULL;
}

static void test_quant__methods_gain_where_they_should(void **state)
{
    (void)state;
    pgy_model *model = outlier_net();
    pgy_precision_options o = options_for(PGY_I8);
    o.tries = PGY_PRECISION_TRY_ALL;
    o.limit = 35;
    pgy_precision *p = search(model, &o);
    const pgy_precision_method *plain = method(p, "plain");
    const double smooth = fmin(method(p, "smoothing 0.5")->noise, method(p, "smoothing 0.75")->noise);
    assert_true(smooth < plain->noise / 2);
    assert_true(method(p, "adaptive rounding")->noise < smooth);
    /* what is kept has the least error of all */
    double least = INFINITY, kept = INFINITY;
    for (size_t i = 0; i < pgy_precision_method_count(p); i++) {
        const pgy_precision_method *m = pgy_precision_method_at(p, i);
        least = fmin(least, m->error);
        if (m->kept) kept = m->error;
    }
    assert_float_equal(kept, least, 0);
    pgy_precision_destroy(p);
    pgy_model_destroy(model);
}

/* A convolution of channels apart, after one whose channels have very different sizes. */
static pgy_model *depthwise_net(void)
{
    static const float SIZES[] = {100, 1, 0.1f, 10, 1, 30, 0.3f, 1};
    model_builder b = builder_start(13);
    builder_input(&b, "x", PGY_F32, "1, 8, 6, 6");
    builder_floats(&b, "sizes", "8, 1, 1", SIZES);
    builder_floats(&b, "w", "8, 1, 3, 3", noise(72, 9, 1));
    float inverse[8];
    for (size_t i = 0; i < 8; i++) inverse[i] = 1 / SIZES[i];
    builder_floats(&b, "inverse", "8, 1, 1", inverse);
    builder_node(&b, "Mul", "x sizes", "wide");
    builder_attr_int(&b, builder_node(&b, "Conv", "wide w", "c"), "group", 8);
    builder_node(&b, "Mul", "c inverse", "y");
    builder_output(&b, "y", PGY_F32, "1, 8, 4, 4");
    return builder_finish_bytes(&b);
}

static void test_quant__smoothing_costs_channels_apart_nothing(void **state)
{
    (void)state;
    pgy_model *model = depthwise_net();
    pgy_precision_options o = options_for(PGY_I8);
    o.smooth = 0.5;
    pgy_precision *p = search(model, &o);
    assert_true(method(p, "plain")->noise > 0.1);
    assert_true(method(p, "smoothing 0.5")->noise < 0.01);
    pgy_precision_destroy(p);
    pgy_model_destroy(model);
}

static void test_quant__layers_go_back_after_a_runtime_refuses(void **state)
{
    (void)state;
    pgy_model *model = conv_net();
    pgy_precision_options o = options_for(PGY_I8);
    o.limit = 20;
    pgy_precision *p = search(model, &o);
    pgy_error err;
    const size_t narrow = p->summary.narrow;
    const double promised = p->summary.promised_error;
    assert_int_equal(search_tighten(p, 3 * p->summary.limit_error, "fake", &err), PGY_OK);
    assert_true(p->summary.narrow < narrow);
    assert_true(p->summary.promised_error < promised);
    pgy_precision_destroy(p);
    pgy_model_destroy(model);
}

static void test_quant__quantized_models_are_refused(void **state)
{
    (void)state;
    model_builder b = builder_start(13);
    const float scale = 0.1f;
    builder_input(&b, "x", PGY_F32, "4, 4");
    builder_floats(&b, "scale", "", &scale);
    builder_node(&b, "QuantizeLinear", "x scale", "q");
    builder_node(&b, "DequantizeLinear", "q scale", "y");
    builder_output(&b, "y", PGY_F32, "4, 4");
    pgy_model *model = builder_finish_bytes(&b);
    pgy_data_loader *data = NULL;
    const pgy_random_options random = pgy_random_options_default();
    const pgy_precision_options o = options_for(PGY_I8);
    pgy_precision *p = NULL;
    pgy_error err;
    assert_int_equal(pgy_random_loader_create(&data, &random, &err), PGY_OK);
    assert_int_equal(pgy_precision_search(&p, model, data, &o, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "the model has Q/DQ or integer layers already"));
    pgy_data_loader_destroy(data);
    pgy_model_destroy(model);
}

static void test_quant__baselines_are_all_float16_and_plain_int8(void **state)
{
    (void)state;
    pgy_model *model = conv_net();
    for (int i = 0; i < 2; i++) {
        const pgy_precision_options o = options_for(i ? PGY_I8 : PGY_F16);
        pgy_precision *p = search(model, &o);
        assert_int_equal(pgy_precision_baseline_count(p), 2);
        const pgy_precision_baseline *half = pgy_precision_baseline_at(p, 0);
        const pgy_precision_baseline *byte = pgy_precision_baseline_at(p, 1);
        assert_int_equal(half->type, PGY_F16);
        assert_int_equal(byte->type, PGY_I8);
        assert_true(half->error > 0 && half->error < byte->error);
        assert_true(half->bytes * 2 == p->summary.wide_bytes && byte->bytes < half->bytes * 2);
        if (i) assert_float_equal(byte->error, method(p, "plain")->error, 0);
        pgy_precision_destroy(p);
    }
    pgy_model_destroy(model);
}

static void test_quant__options_out_of_range_are_refused(void **state)
{
    (void)state;
    pgy_model *model = outlier_net();
    pgy_data_loader *data = NULL;
    const pgy_random_options random = pgy_random_options_default();
    pgy_error err;
    assert_int_equal(pgy_random_loader_create(&data, &random, &err), PGY_OK);
    const struct {
        pgy_precision_options o;
        const char *text;
    } CASES[] = {{options_for(PGY_I32), "'options.type' must be"},
                 {options_for(PGY_I8), "'options.smooth' is 2"},
                 {options_for(PGY_I8), "'options.quantile' is 0"},
                 {options_for(PGY_I8), "'options.calibrator': 77"}};
    for (size_t i = 0; i < 4; i++) {
        pgy_precision_options o = CASES[i].o;
        pgy_precision *p = NULL;
        if (i == 1) o.smooth = 2;
        if (i == 2) o.quantile = 0;
        if (i == 3) o.calibrator = (pgy_calibrator)77;
        assert_int_equal(pgy_precision_search(&p, model, data, &o, &err), PGY_E_ARGUMENT);
        assert_non_null(strstr(err.text, CASES[i].text));
    }
    pgy_data_loader_destroy(data);
    pgy_model_destroy(model);
}

/* ---- Mixes ---------------------------------------------------------------------------------- */

static pgy_precision_options mix_options(pgy_dtype type, pgy_dtype rest, double limit)
{
    pgy_precision_options o = options_for(type);
    o.rest_type = rest;
    o.limit = limit;
    return o;
}

static void test_quant__mix_has_both_types_in_the_written_model(void **state)
{
    (void)state;
    static const pgy_dtype EIGHT[] = {PGY_I8, PGY_F8E4M3FN}, HALF[] = {PGY_F16, PGY_BF16};
    pgy_model *model = conv_net();
    for (int i = 0; i < 4; i++) {
        pgy_precision_options o = mix_options(EIGHT[i & 1], HALF[i >> 1], i & 1 ? 27 : 36);
        pgy_error err;
        o.bias_correction = i & 1;
        pgy_precision *p = search(model, &o);
        pgy_model *typed = NULL;
        size_t eight = 0, half = 0, narrow = 0, casts = 0;
        for (size_t k = 0; k < p->summary.layers; k++) {
            const pgy_precision_layer *l = pgy_precision_layer_at(p, k);
            eight += l->type == o.type;
            half += l->type == o.rest_type;
            assert_int_equal(l->narrow, l->type != PGY_F32);
        }
        assert_true(eight && half);
        assert_int_equal(half, p->summary.rest);
        assert_int_equal(eight + half, p->summary.narrow);
        assert_true(p->summary.error <= p->summary.limit_error);
        assert_int_equal(pgy_precision_model(&typed, p, &err), PGY_OK);
        const double worst = written_error(model, p, typed);
        assert_true(worst > 0 && worst <= 1.2 * p->summary.promised_error);
        const pgy_onnx_graph *g = pgy_model_proto(typed)->graph;
        for (size_t k = 0; k < g->node_count; k++) {
            narrow += strcmp(g->nodes[k]->op_type, "QuantizeLinear") == 0;
            casts += strcmp(g->nodes[k]->op_type, "Cast") == 0;
        }
        assert_true(narrow && casts);
        pgy_model_destroy(typed);
        pgy_precision_destroy(p);
    }
    pgy_model_destroy(model);
}

/* Where all layers have one type, the bytes are those of the baselines. */
static void test_quant__mix_counts_each_tensor_in_its_type(void **state)
{
    (void)state;
    pgy_model *model = conv_net();
    const pgy_precision_options o = mix_options(PGY_I8, PGY_F16, 30);
    pgy_precision *p = search(model, &o);
    level set[32] = {0};
    const size_t layers = p->summary.layers;
    assert_true(layers < 32);
    assert_true(mix_bytes(p, set) == p->summary.wide_bytes);
    for (size_t i = 0; i < layers; i++) set[i] = LEVEL_REST;
    assert_true(mix_bytes(p, set) == pgy_precision_baseline_at(p, 0)->bytes);
    for (size_t i = 0; i < layers; i++) set[i] = mix_can(p, i, LEVEL_FIRST);
    assert_true(mix_bytes(p, set) == pgy_precision_baseline_at(p, 1)->bytes);
    /* the Relu between two int8 convolutions passes 8 bits on: 16 bits save nothing there */
    bool added[32];
    (void)mix_fill(p, set, added);
    for (size_t i = 0; i < layers; i++)
        if (strcmp(p->layers[i].op_type, "Relu") == 0) assert_false(added[i]);
    pgy_precision_destroy(p);
    pgy_model_destroy(model);
}

/* The limit is too tight for 8 bits in most layers, and loose enough for 16 in all. */
static void test_quant__mix_costs_less_than_each_of_its_types(void **state)
{
    (void)state;
    pgy_model *model = conv_net();
    const pgy_precision_options mix = mix_options(PGY_I8, PGY_F16, 40);
    const pgy_precision_options types[] = {mix_options(PGY_I8, PGY_DTYPE_NONE, 40),
                                           mix_options(PGY_F16, PGY_DTYPE_NONE, 40)};
    pgy_precision *p = search(model, &mix);
    for (size_t i = 0; i < 2; i++) {
        pgy_precision *alone = search(model, &types[i]);
        assert_true(p->summary.bytes < alone->summary.bytes);
        pgy_precision_destroy(alone);
    }
    pgy_precision_destroy(p);
    pgy_model_destroy(model);
}

static void test_quant__mix_goes_back_in_steps(void **state)
{
    (void)state;
    pgy_model *model = conv_net();
    const pgy_precision_options o = mix_options(PGY_I8, PGY_F16, 20);
    pgy_precision *p = search(model, &o);
    pgy_error err;
    const size_t eight = p->summary.narrow - p->summary.rest, half = p->summary.rest;
    const double promised = p->summary.promised_error;
    assert_int_equal(search_tighten(p, 3 * p->summary.limit_error, "fake", &err), PGY_OK);
    assert_true(p->summary.narrow - p->summary.rest < eight && p->summary.rest > half);
    assert_true(p->summary.promised_error < promised);
    /* a runtime that gives NaN leaves nothing narrow */
    assert_int_equal(search_tighten(p, INFINITY, "fake", &err), PGY_OK);
    assert_int_equal(p->summary.narrow, 0);
    assert_int_equal(p->summary.rest, 0);
    assert_true(p->summary.bytes == p->summary.wide_bytes);
    pgy_precision_destroy(p);
    pgy_model_destroy(model);
}

static void test_quant__mixes_that_are_none_are_refused(void **state)
{
    (void)state;
    pgy_model *model = outlier_net();
    pgy_data_loader *data = NULL;
    const pgy_random_options random = pgy_random_options_default();
    pgy_error err;
    assert_int_equal(pgy_random_loader_create(&data, &random, &err), PGY_OK);
    const struct {
        pgy_dtype type, rest;
        pgy_precision_cost cost;
        const char *text;
    } CASES[] = {{PGY_I8, PGY_F8E4M3FN, PGY_PRECISION_BYTES, "'options.rest_type' must be float16"},
                 {PGY_F16, PGY_BF16, PGY_PRECISION_BYTES, "'options.rest_type' needs"},
                 {PGY_I8, PGY_F16, 7, "'options.cost': 7 is no cost"}};
    for (size_t i = 0; i < 3; i++) {
        pgy_precision_options o = mix_options(CASES[i].type, CASES[i].rest, 30);
        pgy_precision *p = NULL;
        o.cost = CASES[i].cost;
        assert_int_equal(pgy_precision_search(&p, model, data, &o, &err), PGY_E_ARGUMENT);
        assert_non_null(strstr(err.text, CASES[i].text));
    }
    pgy_data_loader_destroy(data);
    pgy_model_destroy(model);
}

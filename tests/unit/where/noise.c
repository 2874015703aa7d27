/* SPDX-License-Identifier: Apache-2.0 */
/* Noise floors that can be calculated by hand, origins of NaN in every kind of subgraph, and headroom
 * of known values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <polygraphy/base.h>
#include <polygraphy/noise.h>

#include "harness/model_builder.h"

enum { TERMS = 4096 };

static void must(pgy_status st, const pgy_error *err)
{
    if (st) fail_msg("%s", err->text);
}

static pgy_tensor_map *feed_of(const char *name, pgy_dtype dtype, size_t count, const float *values)
{
    pgy_error err = {0};
    pgy_tensor_map *feed = NULL;
    pgy_tensor *wide = NULL, *t = NULL;
    const int64_t shape[] = {(int64_t)count};
    must(pgy_tensor_map_create(&feed, &err), &err);
    must(pgy_tensor_create(&wide, PGY_F32, 1, shape, &err), &err);
    if (count) memcpy(pgy_tensor_data(wide), values, count * sizeof *values);
    must(pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, &err), &err);
    must(pgy_tensor_map_set(feed, name, t, &err), &err);
    pgy_tensor_release(t);
    pgy_tensor_release(wide);
    return feed;
}

static pgy_floor *floor_of(pgy_model *model, const pgy_tensor_map *feed, pgy_floor_options o)
{
    pgy_error err = {0};
    pgy_floor *f = NULL;
    o.size = sizeof o;
    must(pgy_floor_create(&f, model, &o, &err), &err);
    must(pgy_floor_add(f, feed, &err), &err);
    pgy_model_destroy(model);
    return f;
}

static pgy_model *chain(const char *op, pgy_dtype dtype, const char *shape)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", dtype, shape);
    builder_node(&b, op, "x", "y")->name = "node";
    builder_output(&b, "y", dtype, NULL);
    return builder_finish_bytes(&b);
}

static void fill(float *x, size_t count, float value)
{
    for (size_t i = 0; i < count; i++) x[i] = value;
}

/* Sums of n equal terms v: partial sums j v, each off by 0.425 u j v. */
static void test_noise__sum_of_equal_terms(void **state)
{
    static float x[TERMS];
    (void)state;
    fill(x, TERMS, 0.1f);
    pgy_tensor_map *feed = feed_of("x", PGY_F32, TERMS, x);
    pgy_floor *f = floor_of(chain("ReduceSum", PGY_F32, "4096"), feed,
                            (pgy_floor_options){.draws = 400});
    const pgy_floor_tensor *t = pgy_floor_find(f, "y");
    assert_non_null(t);
    assert_null(t->unknown_why);
    const double expected = 0.425 * 0x1p-24 * (double)x[0] * sqrt(pow(TERMS, 3) / 3);
    assert_true(t->rms > 0.85 * expected && t->rms < 1.25 * expected);
    assert_true(t->max_abs >= t->rms);
    assert_string_equal(t->node, "node");
    pgy_floor_destroy(f);
    pgy_tensor_map_destroy(feed);
}

/* Values of a type stay in every draw, and so do exact results. */
static void test_noise__exact_results_have_no_floor(void **state)
{
    const float x[] = {1, -2, 0.5f, 1024};
    (void)state;
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 4, x);
    pgy_floor *f = floor_of(chain("Neg", PGY_F32, "4"), feed, (pgy_floor_options){.assume = PGY_F16});
    assert_true(pgy_floor_find(f, "y")->max_abs == 0);
    pgy_floor_destroy(f);
    pgy_tensor_map_destroy(feed);
}

/* 1/3 lies between two float16 values; stochastic rounding takes both, so the mean square error is
 * d1 * d2, the product of the distances. */
static void test_noise__one_rounding(void **state)
{
    static float x[TERMS];
    (void)state;
    fill(x, TERMS, 3);
    pgy_tensor_map *feed = feed_of("x", PGY_F32, TERMS, x);
    pgy_floor *f =
        floor_of(chain("Reciprocal", PGY_F32, "4096"), feed, (pgy_floor_options){.assume = PGY_F16});
    const double below = floor(4096.0 / 3) / 4096, above = below + 1.0 / 4096;
    const double expected = sqrt((1.0 / 3 - below) * (above - 1.0 / 3));
    assert_true(fabs(pgy_floor_find(f, "y")->rms / expected - 1) < 0.02);
    assert_true(fabs(pgy_floor_find(f, "y")->max_abs - (above - 1.0 / 3)) < 1e-12);
    pgy_floor_destroy(f);
    pgy_tensor_map_destroy(feed);
}

/* A limit of memory changes how many draws run together, but not their errors; a seed does. */
static void test_noise__deterministic(void **state)
{
    static float x[TERMS];
    double rms[3];
    (void)state;
    for (size_t i = 0; i < TERMS; i++) x[i] = (float)i / TERMS - 0.3f;
    pgy_tensor_map *feed = feed_of("x", PGY_F32, TERMS, x);
    const pgy_floor_options options[] = {{.seed = 1}, {.seed = 1, .max_bytes = 1}, {.seed = 2}};
    for (size_t i = 0; i < 3; i++) {
        pgy_floor *f = floor_of(chain("Exp", PGY_F32, "4096"), feed, options[i]);
        rms[i] = pgy_floor_find(f, "y")->rms;
        pgy_floor_destroy(f);
    }
    assert_true(fabs(rms[0] / rms[1] - 1) < 1e-12);
    assert_true(fabs(rms[0] / rms[2] - 1) > 1e-9);
    pgy_tensor_map_destroy(feed);
}

static void test_noise__judges_a_difference(void **state)
{
    static float x[TERMS], y[TERMS];
    const int64_t shape[] = {TERMS};
    pgy_floor_verdict v = {0};
    pgy_error err = {0};
    (void)state;
    for (size_t i = 0; i < TERMS; i++) x[i] = 1 + (float)i / TERMS;
    pgy_tensor_map *feed = feed_of("x", PGY_F32, TERMS, x);
    pgy_floor *f = floor_of(chain("Sqrt", PGY_F32, "4096"), feed, (pgy_floor_options){.draws = 16});
    memcpy(y, x, sizeof y);
    const pgy_view a = pgy_view_of(x, PGY_F32, 1, shape), b = pgy_view_of(y, PGY_F32, 1, shape);
    must(pgy_floor_judge(&v, f, "y", a, b, &err), &err);
    assert_true(v.times == 0);
    y[7] *= 1.01f;
    must(pgy_floor_judge(&v, f, "y", a, b, &err), &err);
    assert_true(v.times > 1e4);
    y[7] = NAN;
    must(pgy_floor_judge(&v, f, "y", a, b, &err), &err);
    assert_true(isinf(v.times));
    assert_int_equal(pgy_floor_judge(&v, f, "z", a, b, &err), PGY_E_NOT_FOUND);
    pgy_floor_destroy(f);
    pgy_tensor_map_destroy(feed);
}

/* y = Loop over `acc * acc`, which overflows float16 in the fourth iteration: 3^16 > 65504. */
static pgy_model *squaring_loop(pgy_dtype dtype)
{
    const int64_t trips = 5;
    model_builder b = builder_start(17), body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "cond", PGY_BOOL, "");
    builder_input(&body, "acc", dtype, "1");
    builder_node(&body, "Identity", "cond", "cond_out");
    builder_node(&body, "Mul", "acc acc", "square")->name = "squarer";
    builder_output(&body, "cond_out", PGY_BOOL, "");
    builder_output(&body, "square", dtype, "1");
    builder_input(&b, "x", dtype, "1");
    builder_ints(&b, "trips", "", &trips);
    pgy_onnx_node *loop = builder_node(&b, "Loop", "trips - x", "y");
    loop->name = "loop_3";
    builder_attr_graph(&b, loop, "body", &body);
    builder_output(&b, "y", dtype, "1");
    return builder_finish_bytes(&b);
}

static pgy_nan_search *search(pgy_model *model, const pgy_tensor_map *feed, pgy_nan_options o)
{
    pgy_error err = {0};
    pgy_nan_search *s = NULL;
    o.size = sizeof o;
    must(pgy_nan_create(&s, model, &o, &err), &err);
    must(pgy_nan_add(s, feed, &err), &err);
    pgy_model_destroy(model);
    return s;
}

static void test_noise__nan_inside_a_loop(void **state)
{
    const float x[] = {3};
    (void)state;
    pgy_tensor_map *half = feed_of("x", PGY_F16, 1, x), *single = feed_of("x", PGY_F32, 1, x);
    pgy_nan_search *s = search(squaring_loop(PGY_F16), half, (pgy_nan_options){.model_precision = true});
    assert_int_equal(pgy_nan_count(s), 1);
    const pgy_nan_origin *o = pgy_nan_at(s, 0);
    assert_string_equal(o->name, "loop_3/iter_3/square");
    assert_string_equal(o->node, "squarer");
    assert_true(isinf(o->value));
    assert_int_equal(o->operand_count, 2);
    assert_true(o->operands[0].has_value && o->operands[0].value == 6560);
    pgy_nan_destroy(s);
    s = search(squaring_loop(PGY_F32), single,
               (pgy_nan_options){.model_precision = true, .assume = PGY_F16});
    assert_string_equal(pgy_nan_at(s, 0)->name, "loop_3/iter_3/square");
    pgy_nan_destroy(s);
    s = search(squaring_loop(PGY_F16), half, (pgy_nan_options){0});
    assert_int_equal(pgy_nan_count(s), 0); /* float64 holds 3^32 */
    pgy_nan_destroy(s);
    pgy_tensor_map_destroy(half);
    pgy_tensor_map_destroy(single);
}

static void test_noise__floor_inside_a_loop(void **state)
{
    const float x[] = {1.1f};
    (void)state;
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 1, x);
    pgy_floor *f = floor_of(squaring_loop(PGY_F32), feed, (pgy_floor_options){.draws = 32});
    const pgy_floor_tensor *in = pgy_floor_find(f, "loop_3/iter_2/square");
    const pgy_floor_tensor *out = pgy_floor_find(f, "y");
    assert_true(in && out && in->count == 5 * 32 && out->count == 32);
    assert_true(out->rms > 0 && in->rms > 0 && in->rms < out->rms);
    assert_true(out->rms / out->value_rms < 32 * 0x1p-23);
    pgy_floor_destroy(f);
    pgy_tensor_map_destroy(feed);
}

static void test_noise__nan_by_division_and_in_data(void **state)
{
    const float x[] = {1, 0, 4, -0.0f}, bad[] = {1, NAN, 2, 3};
    (void)state;
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 4, x), *nan = feed_of("x", PGY_F32, 4, bad);
    pgy_nan_search *s = search(chain("Reciprocal", PGY_F32, "4"), feed, (pgy_nan_options){0});
    const pgy_nan_origin *o = pgy_nan_at(s, 0);
    assert_int_equal(pgy_nan_count(s), 1);
    assert_int_equal(o->index[0], 1);
    assert_int_equal(o->inf_count, 2);
    assert_true(o->operands[0].value == 0 && o->operands[0].high == 4);
    pgy_nan_destroy(s);
    s = search(chain("Exp", PGY_F32, "4"), nan, (pgy_nan_options){0});
    assert_int_equal(pgy_nan_count(s), 1);
    assert_true(pgy_nan_at(s, 0)->from_input);
    assert_string_equal(pgy_nan_at(s, 0)->name, "x");
    pgy_nan_destroy(s);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(nan);
}

static void test_noise__headroom_of_known_values(void **state)
{
    const float x[] = {65519, 65520, 465, 464, 1e-8f, 6e-8f, 0, -448};
    pgy_error err = {0};
    pgy_headroom *h = NULL;
    (void)state;
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 8, x);
    pgy_model *model = chain("Neg", PGY_F32, "8");
    must(pgy_headroom_create(&h, model, &err), &err);
    must(pgy_headroom_add(h, feed, &err), &err);
    assert_int_equal(pgy_headroom_count(h), 2);
    const pgy_headroom_tensor *t = pgy_headroom_at(h, 1);
    assert_string_equal(t->name, "y");
    assert_int_equal(t->fits[0].overflows, 1);
    assert_int_equal(t->fits[0].underflows, 1);
    assert_int_equal(t->fits[0].subnormals, 1);
    assert_int_equal(t->fits[1].overflows, 0);
    assert_int_equal(t->fits[2].overflows, 3); /* 464 rounds to 448, as ties go to even */
    assert_int_equal(t->fits[3].overflows, 2);
    assert_true(t->fits[0].bits < 0 && t->max_abs == 65520);
    pgy_headroom_destroy(h);
    pgy_model_destroy(model);
    pgy_tensor_map_destroy(feed);
}

static void test_noise__reports(void **state)
{
    const float x[] = {0, 70000};
    pgy_error err = {0};
    char *text = NULL, *json = NULL;
    pgy_headroom *h = NULL;
    (void)state;
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 2, x);
    pgy_model *model = chain("Reciprocal", PGY_F32, "2");
    must(pgy_headroom_create(&h, model, &err), &err);
    must(pgy_headroom_add(h, feed, &err), &err);
    pgy_nan_search *s = search(model, feed, (pgy_nan_options){0});
    const pgy_noise_reports reports = {.size = sizeof reports, .nan = s, .headroom = h};
    must(pgy_noise_text(&text, &reports, NULL, &err), &err);
    must(pgy_noise_json(&json, &reports, NULL, &err), &err);
    assert_non_null(strstr(text, "Reciprocal 'node' makes 'y' 0 NaN and 1 infinite of 2 elements"));
    assert_non_null(strstr(text, "float16       1 tensor overflows; the first: 'x'"));
    assert_non_null(strstr(json, "\"op_type\": \"Reciprocal\""));
    pgy_text_free(text);
    pgy_text_free(json);
    pgy_nan_destroy(s);
    pgy_headroom_destroy(h);
    pgy_tensor_map_destroy(feed);
}

static void test_noise__refuses_bad_options(void **state)
{
    pgy_error err = {0};
    pgy_floor *f = NULL;
    pgy_nan_search *s = NULL;
    const pgy_floor_options ints = {.size = sizeof ints, .assume = PGY_I8};
    const pgy_nan_options idle = {.size = sizeof idle, .assume = PGY_F16};
    (void)state;
    pgy_model *model = chain("Neg", PGY_F32, "2");
    assert_int_equal(pgy_floor_create(&f, model, &ints, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "floor_options.assume is int8"));
    assert_int_equal(pgy_nan_create(&s, model, &idle, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_floor_create(&f, NULL, NULL, &err), PGY_E_ARGUMENT);
    pgy_model_destroy(model);
}

static void test_noise__stops_on_request(void **state)
{
    const float x[] = {1};
    pgy_error err = {0};
    pgy_floor *f = NULL;
    (void)state;
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 1, x);
    pgy_model *model = squaring_loop(PGY_F32);
    must(pgy_floor_create(&f, model, NULL, &err), &err);
    pgy_cancel();
    const pgy_status st = pgy_floor_add(f, feed, &err);
    pgy_cancel_reset();
    assert_int_equal(st, PGY_E_CANCELLED);
    pgy_floor_destroy(f);
    pgy_model_destroy(model);
    pgy_tensor_map_destroy(feed);
}

/* A step of 1 between a value and its tie takes place in some draw, although its error is 1e-8. */
static void test_noise__a_value_near_a_tie_costs_a_step(void **state)
{
    const float x[] = {2.4999998f, 1, 3, 4.2f};
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_floats(&b, "k", "4", (const float[]){1.0000001f, 1, 1, 1});
    builder_floats(&b, "scale", "", NULL);
    builder_node(&b, "Mul", "x k", "p");
    builder_node(&b, "Exp", "p", "e");
    builder_node(&b, "Log", "e", "l");
    builder_node(&b, "QuantizeLinear", "l scale", "q");
    builder_node(&b, "DequantizeLinear", "q scale", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 4, x);
    pgy_floor *f = floor_of(builder_finish_bytes(&b), feed, (pgy_floor_options){0});
    const pgy_floor_tensor *q = pgy_floor_find(f, "q"), *y = pgy_floor_find(f, "y");
    assert_non_null(q);
    assert_int_equal(q->dtype, PGY_U8);
    assert_true(q->max_abs == 1);
    assert_true(y->max_abs >= 1 && y->max_abs < 1.001);
    pgy_floor_destroy(f);
    pgy_tensor_map_destroy(feed);
}

/* Alone, a node that repeats values has no error; in a chain it passes one on. */
static void test_noise__own_error_of_a_node(void **state)
{
    const float x[] = {1.1f, 2.2f, 3.3f};
    (void)state;
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 3, x);
    for (int own = 0; own < 2; own++) {
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, "3");
        builder_node(&b, "Exp", "x", "e");
        builder_node(&b, "Relu", "e", "y");
        builder_output(&b, "y", PGY_F32, NULL);
        pgy_floor *f =
            floor_of(builder_finish_bytes(&b), feed, (pgy_floor_options){.own = own == 1});
        const double e = pgy_floor_find(f, "e")->rms, y = pgy_floor_find(f, "y")->rms;
        assert_true(e > 0);
        /* the result of Exp in float64 is no float32, so Relu rounds it */
        assert_true(own ? y < e / 2 : y > 0.9 * e);
        pgy_floor_destroy(f);
    }
    pgy_tensor_map_destroy(feed);
}

/* A loop whose condition stays true, and that has no trip count. */
static pgy_model *endless(void)
{
    model_builder b = builder_start(17), body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "c", PGY_BOOL, "");
    builder_input(&body, "s", PGY_F32, "1");
    builder_node(&body, "Identity", "c", "c2");
    builder_node(&body, "Neg", "s", "s2");
    builder_output(&body, "c2", PGY_BOOL, "");
    builder_output(&body, "s2", PGY_F32, "1");
    builder_input(&b, "x", PGY_F32, "1");
    pgy_onnx_node *n = builder_node(&b, "Loop", "- - x", "y");
    n->name = "forever";
    builder_attr_graph(&b, n, "body", &body);
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void test_noise__a_loop_without_end_is_refused(void **state)
{
    const float x[] = {1};
    (void)state;
    pgy_error err = {0};
    pgy_headroom *h = NULL;
    pgy_nan_search *s = NULL;
    pgy_floor *f = NULL;
    pgy_model *model = endless();
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 1, x);
    const char *wanted = "node 'forever' (Loop) still runs at the limit of 500 nodes";
    const pgy_nan_options nan = {.size = sizeof nan, .max_steps = 500};
    const pgy_floor_options floor = {.size = sizeof floor, .max_steps = 500};
    must(pgy_headroom_create(&h, model, &err), &err);
    pgy_headroom_set_max_steps(h, 500);
    assert_int_equal(pgy_headroom_add(h, feed, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, wanted));
    must(pgy_nan_create(&s, model, &nan, &err), &err);
    assert_int_equal(pgy_nan_add(s, feed, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, wanted));
    must(pgy_floor_create(&f, model, &floor, &err), &err);
    assert_int_equal(pgy_floor_add(f, feed, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, wanted));
    pgy_floor_destroy(f);
    pgy_nan_destroy(s);
    pgy_headroom_destroy(h);
    pgy_tensor_map_destroy(feed);
    pgy_model_destroy(model);
}

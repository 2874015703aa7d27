/* SPDX-License-Identifier: Apache-2.0 */
/* All programs of an engine share packed weights: other shapes, profiles, contexts and threads take
 * no memory for weights, and a refit changes all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <polygraphy/graph.h>
#include <polygraphy/refit.h>
#include <polygraphy/runtime.h>
#include <pthread.h>
#include <string.h>

#include "engine/build/engine.h"
#include "harness/model_builder.h"

enum { WIDE = 96, MIDDLE = 160, MOST = 40, THREADS = 4 };

static float weight_at(size_t i, int seed)
{
    return (float)((int)(i * 29 + (size_t)seed * 13) % 17 - 8) * 0.0625F;
}

static void add_weight(model_builder *b, const char *name, const char *shape, size_t count,
                       int seed)
{
    float values[WIDE * MIDDLE];
    for (size_t i = 0; i < count; i++) values[i] = weight_at(i, seed);
    builder_floats(b, name, shape, values);
}

/* Products, a convolution over the rows and a table of which rows are gathered. */
static pgy_model *model_of(int seed)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 96");
    builder_input(&b, "ids", PGY_I64, "N");
    add_weight(&b, "up", "96, 160", WIDE * MIDDLE, seed);
    add_weight(&b, "bias", "160", MIDDLE, seed + 1);
    add_weight(&b, "down", "160, 96", WIDE * MIDDLE, seed + 2);
    add_weight(&b, "rows", "40, 96", MOST * WIDE, seed + 3);
    add_weight(&b, "taps", "8, 1, 3, 3", 8 * 9, seed + 4);
    builder_ints(&b, "image", "4", (const int64_t[]){1, 1, -1, WIDE});
    builder_node(&b, "MatMul", "x up", "a");
    builder_node(&b, "Add", "a bias", "b");
    builder_node(&b, "Relu", "b", "c");
    builder_node(&b, "MatMul", "c down", "d");
    builder_node(&b, "Gather", "rows ids", "e");
    builder_node(&b, "Add", "d e", "f");
    builder_node(&b, "Reshape", "f image", "g");
    pgy_onnx_node *conv = builder_node(&b, "Conv", "g taps", "y");
    builder_attr_ints(&b, conv, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_engine *build_for(size_t profiles, bool refittable)
{
    static const int64_t MIN[] = {1, WIDE}, OPT[2][2] = {{4, WIDE}, {30, WIDE}},
                         MAX[] = {MOST, WIDE};
    pgy_profile_range ranges[2][2];
    pgy_profile all[2];
    for (size_t i = 0; i < 2; i++) {
        ranges[i][0] =
            (pgy_profile_range){.name = "x", .count = 2, .min = MIN, .opt = OPT[i], .max = MAX};
        ranges[i][1] =
            (pgy_profile_range){.name = "ids", .count = 1, .min = MIN, .opt = OPT[i], .max = MAX};
        all[i] = (pgy_profile){.ranges = ranges[i], .range_count = 2};
    }
    const pgy_build_config config = {.size = sizeof config,
                                     .profiles = all,
                                     .profile_count = profiles,
                                     .refittable = refittable,
                                     .has_optimization_level = true};
    pgy_model *model = model_of(0);
    pgy_engine *e = NULL;
    pgy_error err = {0};
    const pgy_status st = pgy_engine_build(&e, model, &config, &err);
    pgy_model_destroy(model);
    if (st) fail_msg("%s", err.text);
    return e;
}

static pgy_context *context_of(pgy_engine *e)
{
    pgy_context *c = NULL;
    pgy_error err = {0};
    const pgy_context_options o = {.size = sizeof o, .threads = 1};
    if (pgy_context_create(&c, e, &o, &err)) fail_msg("%s", err.text);
    return c;
}

/* Runs n rows; y has 8 * n * WIDE numbers. */
static pgy_status try_rows(float *y, pgy_context *c, int64_t n, pgy_error *err)
{
    float x[MOST * WIDE];
    int64_t ids[MOST];
    for (size_t i = 0; i < (size_t)n * WIDE; i++) x[i] = weight_at(i, 7);
    for (int64_t i = 0; i < n; i++) ids[i] = i * 3 % MOST;
    pgy_status st = pgy_context_set_input_shape(c, "x", 2, (const int64_t[]){n, WIDE}, err);
    if (!st) st = pgy_context_set_input_shape(c, "ids", 1, &n, err);
    if (!st) st = pgy_context_set_input(c, "x", x, (size_t)n * WIDE * sizeof *x, err);
    if (!st) st = pgy_context_set_input(c, "ids", ids, (size_t)n * sizeof *ids, err);
    if (!st) st = pgy_context_set_output(c, "y", y, 8 * (size_t)n * WIDE * sizeof *y, err);
    return st ? st : pgy_context_execute(c, err);
}

static void run_rows(float *y, pgy_context *c, int64_t n)
{
    pgy_error err = {0};
    if (try_rows(y, c, n, &err)) fail_msg("%s", err.text);
}

static float y[8 * MOST * WIDE], expected[8 * MOST * WIDE];

static void assert_same(int64_t n)
{
    assert_memory_equal(y, expected, 8 * (size_t)n * WIDE * sizeof *y);
}

static void test_packed__other_shapes_take_no_memory(void **state)
{
    (void)state;
    pgy_engine *e = build_for(1, false);
    pgy_context *c = context_of(e);
    run_rows(y, c, 4);
    const packed_count before = engine_packed(e);
    assert_true(before.bytes >= 2 * WIDE * MIDDLE * sizeof(float) + MOST * WIDE * sizeof(float));
    for (int64_t n = 1; n <= 20; n++) run_rows(y, c, n);
    const packed_count after = engine_packed(e);
    /* Only what depends on sizes is added, such as folded shapes of some numbers. */
    assert_true(after.bytes <= before.bytes + 20 * 64);
    pgy_context_destroy(c);
    pgy_engine_release(e);
}

static void test_packed__profiles_share_weights(void **state)
{
    (void)state;
    pgy_engine *one = build_for(1, false), *two = build_for(2, false);
    pgy_context *c = context_of(one), *d = context_of(two);
    pgy_error err = {0};
    run_rows(expected, c, 30);
    run_rows(y, d, 4);
    assert_int_equal(pgy_context_set_profile(d, 1, &err), PGY_OK);
    run_rows(y, d, 30);
    assert_same(30);
    assert_true(engine_packed(two).bytes <= engine_packed(one).bytes + 64);
    pgy_context_destroy(c);
    pgy_context_destroy(d);
    pgy_engine_release(one);
    pgy_engine_release(two);
}

static void test_packed__results_are_those_of_an_engine_of_their_own(void **state)
{
    (void)state;
    pgy_engine *shared = build_for(1, false);
    pgy_context *c = context_of(shared);
    for (int64_t n = 1; n <= MOST; n += 13) {
        pgy_engine *own = build_for(1, false);
        pgy_context *d = context_of(own);
        run_rows(expected, d, n);
        run_rows(y, c, n);
        assert_same(n);
        pgy_context_destroy(d);
        pgy_engine_release(own);
    }
    pgy_context_destroy(c);
    pgy_engine_release(shared);
}

static void refit(pgy_engine *e, int seed)
{
    pgy_refitter *r = NULL;
    pgy_model *model = model_of(seed);
    pgy_error err = {0};
    pgy_status st = pgy_refitter_create(&r, e, &err);
    if (!st) st = pgy_refitter_set_model(r, model, &err);
    if (!st) st = pgy_refitter_refit(r, &err);
    pgy_refitter_destroy(r);
    pgy_model_destroy(model);
    if (st) fail_msg("%s", err.text);
}

static void test_packed__a_refit_changes_all_programs(void **state)
{
    (void)state;
    pgy_engine *e = build_for(2, true);
    pgy_context *c = context_of(e), *d = context_of(e);
    for (int64_t n = 3; n < 9; n++) run_rows(y, c, n);
    run_rows(y, d, 5);
    refit(e, 1);
    run_rows(expected, c, 5);
    run_rows(y, d, 5);
    assert_same(5);
    refit(e, 0);
    run_rows(y, c, 5);
    assert_memory_not_equal(y, expected, 8 * 5 * WIDE * sizeof *y);
    pgy_context_destroy(c);
    pgy_context_destroy(d);
    pgy_engine_release(e);
}

/* ---- Threads -------------------------------------------------------------------------------- */

typedef struct worker {
    pgy_engine *engine;
    int64_t first;
    pgy_status status;
    bool wrong;
    pgy_error err;
    float y[8 * MOST * WIDE];
} worker;

/* The first 8 rows of each result are those of 8 rows alone, except the last, whose neighbour below
 * the convolution reads. */
static void *run_shapes(void *user)
{
    worker *w = user;
    pgy_context *c = NULL;
    const pgy_context_options o = {.size = sizeof o, .threads = 1};
    w->status = pgy_context_create(&c, w->engine, &o, &w->err);
    for (int64_t n = w->first; !w->status && n < MOST; n += THREADS) {
        w->status = try_rows(w->y, c, n, &w->err);
        w->wrong |= memcmp(w->y, expected, 7 * WIDE * sizeof(float)) != 0;
    }
    pgy_context_destroy(c);
    return NULL;
}

static void test_packed__contexts_in_threads(void **state)
{
    (void)state;
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    pgy_engine *e = build_for(1, false);
    pgy_context *c = context_of(e);
    run_rows(expected, c, 8);
    pgy_context_destroy(c);
    for (int64_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.engine = e, .first = 8 + i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_shapes, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++) {
        if (workers[i].status) fail_msg("%s", workers[i].err.text);
        assert_false(workers[i].wrong);
    }
    pgy_engine_release(e);
}

/* ---- Plans ---------------------------------------------------------------------------------- */

static pgy_engine *reload(pgy_engine *e, size_t *size_bytes)
{
    pgy_engine *loaded = NULL;
    pgy_error err = {0};
    void *bytes = NULL;
    pgy_status st = pgy_engine_serialize(&bytes, size_bytes, e, &err);
    if (!st) st = pgy_engine_load(&loaded, bytes, *size_bytes, false, &err);
    pgy_text_free(bytes);
    if (st) fail_msg("%s", err.text);
    return loaded;
}

static void test_packed__a_plan_holds_weights_once(void **state)
{
    (void)state;
    enum { GRAPH_BYTES = 20000 };
    size_t size_bytes;
    pgy_engine *e = build_for(1, false), *loaded = reload(e, &size_bytes);
    pgy_context *c = context_of(e), *d = context_of(loaded);
    run_rows(expected, c, 4);
    assert_true((double)size_bytes < 1.05 * (double)engine_packed(e).bytes + GRAPH_BYTES);
    for (int64_t n = 3; n < 20; n++) {
        run_rows(expected, c, n);
        run_rows(y, d, n);
        assert_same(n);
    }
    pgy_context_destroy(c);
    pgy_context_destroy(d);
    pgy_engine_release(e);
    pgy_engine_release(loaded);
}

/* One weight for each form that kernels pack, and matrices in both orders. */
static pgy_model *model_of_forms(pgy_dtype dtype)
{
    static float values[64 * 16 * 5 * 5];
    static const struct {
        const char *name;
        int64_t shape[4];
        size_t rank;
    } WEIGHTS[] = {{"plain", {33, 65}, 2},      {"turned", {70, 65}, 2},
                   {"first", {40, 3, 5, 5}, 4}, {"grouped", {64, 16, 5, 5}, 4},
                   {"wide", {50, 40, 1, 1}, 4}, {"up", {50, 9, 2, 2}, 4},
                   {"few", {176, 4, 3, 3}, 4},  {"expand", {200, 64, 1, 1}, 4},
                   {"deep", {200, 1, 3, 3}, 4}};
    model_builder b = builder_start(17);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) values[i] = weight_at(i, 3);
    for (size_t i = 0; i < sizeof WEIGHTS / sizeof *WEIGHTS; i++) {
        pgy_tensor *t = NULL, *own = NULL;
        pgy_error err = {0};
        pgy_status st = pgy_tensor_wrap(&t, values, PGY_F32, WEIGHTS[i].rank, WEIGHTS[i].shape,
                                        NULL, NULL, &err);
        if (!st) st = pgy_tensor_cast(&own, pgy_tensor_view(t), dtype, &err);
        if (st) fail_msg("%s", err.text);
        builder_initializer(&b, WEIGHTS[i].name, own);
        pgy_tensor_release(own);
        pgy_tensor_release(t);
    }
    builder_input(&b, "x", dtype, "N, 33");
    builder_input(&b, "image", dtype, "N, 3, 12, 12");
    builder_input(&b, "channels", dtype, "N, 64, 7, 7");
    builder_input(&b, "large", dtype, "N, 64, 13, 13");
    builder_node(&b, "MatMul", "x plain", "a");
    builder_attr_int(&b, builder_node(&b, "Gemm", "a turned", "b"), "transB", 1);
    builder_node(&b, "Conv", "image first", "c");
    builder_node(&b, "Conv", "c wide", "d");
    builder_node(&b, "ConvTranspose", "d up", "e");
    builder_attr_int(&b, builder_node(&b, "Conv", "channels grouped", "f"), "group", 4);
    builder_attr_int(&b, builder_node(&b, "Conv", "channels few", "g"), "group", 16);
    builder_node(&b, "Conv", "large expand", "h");
    builder_attr_int(&b, builder_node(&b, "Conv", "h deep", "i"), "group", 200);
    builder_output(&b, "b", dtype, NULL);
    builder_output(&b, "e", dtype, NULL);
    builder_output(&b, "f", dtype, NULL);
    builder_output(&b, "g", dtype, NULL);
    builder_output(&b, "i", dtype, NULL);
    return builder_finish_bytes(&b);
}

static void assert_same_weights(pgy_graph *a, pgy_graph *b)
{
    size_t count = 0;
    for (size_t i = 0; i < a->initializer_count; i++) {
        pgy_tensor *x = NULL, *z = NULL;
        pgy_error err = {0};
        pgy_value *other = pgy_graph_find_value(b, a->initializers[i]->name);
        assert_non_null(other);
        pgy_status st = pgy_graph_value_data(&x, a->initializers[i], &err);
        if (!st) st = pgy_graph_value_data(&z, other, &err);
        if (st) fail_msg("%s", err.text);
        assert_int_equal(pgy_tensor_size_bytes(x), pgy_tensor_size_bytes(z));
        assert_memory_equal(pgy_tensor_data(x), pgy_tensor_data(z), pgy_tensor_size_bytes(x));
        pgy_tensor_release(x);
        pgy_tensor_release(z);
        count++;
    }
    assert_true(count >= 9);
}

static size_t assert_restored(pgy_dtype dtype)
{
    static const int64_t SHAPES[4][4] = {{2, 33}, {2, 3, 12, 12}, {2, 64, 7, 7}, {2, 64, 13, 13}},
                         MAX[4][4] = {{9, 33}, {9, 3, 12, 12}, {9, 64, 7, 7}, {9, 64, 13, 13}};
    const pgy_profile_range ranges[] = {
        {.name = "x", .count = 2, .min = SHAPES[0], .opt = SHAPES[0], .max = MAX[0]},
        {.name = "image", .count = 4, .min = SHAPES[1], .opt = SHAPES[1], .max = MAX[1]},
        {.name = "channels", .count = 4, .min = SHAPES[2], .opt = SHAPES[2], .max = MAX[2]},
        {.name = "large", .count = 4, .min = SHAPES[3], .opt = SHAPES[3], .max = MAX[3]}};
    const pgy_profile profile = {.ranges = ranges, .range_count = 4};
    const pgy_build_config config = {.size = sizeof config,
                                     .profiles = &profile,
                                     .profile_count = 1,
                                     .has_optimization_level = true};
    pgy_model *model = model_of_forms(dtype);
    pgy_engine *e = NULL;
    pgy_graph *a = NULL, *b = NULL;
    pgy_error err = {0};
    size_t size_bytes, again;
    pgy_status st = pgy_engine_build(&e, model, &config, &err);
    pgy_model_destroy(model);
    if (st) fail_msg("%s", err.text);
    pgy_engine *loaded = reload(e, &size_bytes), *twice = reload(loaded, &again);
    st = engine_copy_graph(&a, e, &err);
    if (!st) st = engine_copy_graph(&b, twice, &err);
    if (st) fail_msg("%s", err.text);
    assert_same_weights(a, b);
    assert_true(again <= size_bytes + size_bytes / 20);
    pgy_graph_destroy(a);
    pgy_graph_destroy(b);
    pgy_engine_release(e);
    pgy_engine_release(loaded);
    pgy_engine_release(twice);
    return size_bytes;
}

static void test_packed__plans_restore_weights(void **state)
{
    (void)state;
    const size_t wide = assert_restored(PGY_F32), half = assert_restored(PGY_F16);
    /* Kernels without 16-bit weights hold them in float32, beside the steps that convert. */
    if (half > wide + wide / 6)
        fail_msg("the plan has %zu bytes in float16, %zu in float32", half, wide);
}

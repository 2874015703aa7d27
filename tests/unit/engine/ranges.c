/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of ranges beside programs for exact shapes: the same results, bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/build/engine_state.h"
#include "engine/context/context.h"
#include "engine/program/range_parts.h"
#include "harness/model_builder.h"

/* A layer of a decoder: query, key and value of new tokens, a cache of keys and values, a mask made
 * from the lengths, heads that are split by shape arithmetic, a product with weights. */
static pgy_model *decoder(void)
{
    static const int64_t zero[] = {0}, one[] = {1}, two[] = {2}, heads[] = {2}, width[] = {4},
                         all[] = {8}, least[] = {-1}, both[] = {0, 1}, order[] = {0, 2, 1, 3},
                         last[] = {0, 1, 3, 2};
    static const float low[] = {-1000}, high[] = {0}, scale[] = {0.5f};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "batch, rows, 8");
    builder_input(&b, "keys", PGY_F32, "batch, 2, past, 4");
    builder_input(&b, "values", PGY_F32, "batch, 2, past, 4");
    builder_ints(&b, "zero", "", zero);
    builder_ints(&b, "one", "", one);
    builder_ints(&b, "two", "", two);
    builder_ints(&b, "first", "1", zero);
    builder_ints(&b, "second", "1", one);
    builder_ints(&b, "front", "2", both);
    builder_ints(&b, "heads", "1", heads);
    builder_ints(&b, "width", "1", width);
    builder_ints(&b, "all", "1", all);
    builder_ints(&b, "step", "", least);
    builder_floats(&b, "low", "", low);
    builder_floats(&b, "high", "", high);
    builder_floats(&b, "scale", "", scale);
    for (int i = 0; i < 4; i++) {
        static const char *const NAMES[] = {"wq", "wk", "wv", "wo"};
        float w[64];
        for (int k = 0; k < 64; k++) w[k] = (float)((k * 37 + i * 11) % 23) / 23 - 0.4f;
        builder_floats(&b, NAMES[i], "8, 8", w);
    }
    builder_node(&b, "Shape", "x", "xs");
    builder_node(&b, "Shape", "keys", "ks");
    builder_node(&b, "Gather", "xs zero", "b0");
    builder_node(&b, "Gather", "xs one", "n0");
    builder_node(&b, "Gather", "ks two", "p0");
    builder_node(&b, "Add", "p0 n0", "t0");
    builder_node(&b, "Unsqueeze", "b0 first", "b1");
    builder_node(&b, "Unsqueeze", "n0 first", "n1");
    builder_attr_int(&b, builder_node(&b, "Concat", "b1 n1 heads width", "split"), "axis", 0);
    builder_attr_int(&b, builder_node(&b, "Concat", "b1 n1 all", "joined"), "axis", 0);
    builder_node(&b, "Range", "p0 t0 one", "row");
    builder_node(&b, "Range", "zero t0 one", "column");
    builder_node(&b, "Unsqueeze", "row second", "row1");
    builder_node(&b, "Unsqueeze", "column first", "column1");
    builder_node(&b, "LessOrEqual", "column1 row1", "seen");
    builder_node(&b, "Where", "seen high low", "mask0");
    builder_node(&b, "Unsqueeze", "mask0 front", "mask");
    for (int i = 0; i < 3; i++) {
        static const char *const IN[] = {"x wq", "x wk", "x wv"}, *const A[] = {"q0", "k0", "v0"},
                                 *const B[] = {"q0 split", "k0 split", "v0 split"},
                                 *const C[] = {"q1", "k1", "v1"}, *const D[] = {"q", "k2", "v2"};
        builder_node(&b, "MatMul", IN[i], A[i]);
        builder_node(&b, "Reshape", B[i], C[i]);
        builder_attr_ints(&b, builder_node(&b, "Transpose", C[i], D[i]), "perm", 4, order);
    }
    builder_attr_int(&b, builder_node(&b, "Concat", "keys k2", "new_keys"), "axis", 2);
    builder_attr_int(&b, builder_node(&b, "Concat", "values v2", "new_values"), "axis", 2);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "new_keys", "kt"), "perm", 4, last);
    builder_node(&b, "MatMul", "q kt", "scores0");
    builder_node(&b, "Mul", "scores0 scale", "scores1");
    builder_node(&b, "Add", "scores1 mask", "scores");
    builder_attr_int(&b, builder_node(&b, "Softmax", "scores", "weights"), "axis", -1);
    builder_node(&b, "MatMul", "weights new_values", "y0");
    builder_attr_ints(&b, builder_node(&b, "Transpose", "y0", "y1"), "perm", 4, order);
    builder_node(&b, "Reshape", "y1 joined", "y2");
    builder_node(&b, "MatMul", "y2 wo", "y3");
    builder_node(&b, "Add", "y3 x", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "new_keys", PGY_F32, NULL);
    builder_output(&b, "new_values", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static engine *build_in(pgy_model *model, bool ranges, bool half)
{
    /* Estimates choose the same kernels each time. */
    const pgy_build_config config = {.size = sizeof config,
                                     .has_optimization_level = true,
                                     .optimization_level = 1,
                                     .fp16 = half};
    engine *e = NULL;
    pgy_error err = {0};
    setenv("POLYGRAPHY_RANGES", ranges ? "1" : "0", 1);
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    unsetenv("POLYGRAPHY_RANGES");
    return e;
}

static engine *build(pgy_model *model, bool ranges)
{
    return build_in(model, ranges, false);
}

static context *open(engine *e, size_t threads)
{
    context *c = NULL;
    pgy_error err = {0};
    if (context_create(&c, e, threads, &err)) fail_msg("%s", err.text);
    return c;
}

static void give(pgy_tensor_map *feed, const char *name, size_t rank, const int64_t *shape,
                 uint32_t seed)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, rank, shape, NULL), PGY_OK);
    float *x = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    assert_int_equal(pgy_tensor_map_adopt(feed, name, t, NULL), PGY_OK);
}

typedef struct lengths {
    int64_t batch, rows, past;
} lengths;

static pgy_tensor_map *feed_of(lengths n, uint32_t seed)
{
    const int64_t x[] = {n.batch, n.rows, 8}, cache[] = {n.batch, 2, n.past, 4};
    pgy_tensor_map *feed = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    give(feed, "x", 3, x, seed);
    give(feed, "keys", 4, cache, seed + 1);
    give(feed, "values", 4, cache, seed + 2);
    return feed;
}

static pgy_tensor_map *run(context *c, lengths n, uint32_t seed)
{
    pgy_tensor_map *feed = feed_of(n, seed), *out = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    if (context_run(c, feed, out, NULL, &err)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(feed);
    return out;
}

static void expect_same_tensor(const pgy_tensor *x, const pgy_tensor *y)
{
    assert_int_equal(pgy_tensor_rank(x), pgy_tensor_rank(y));
    for (size_t d = 0; d < pgy_tensor_rank(x); d++)
        assert_int_equal(pgy_tensor_shape(x)[d], pgy_tensor_shape(y)[d]);
    assert_memory_equal(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(x));
}

static void expect_same(const pgy_tensor_map *a, const pgy_tensor_map *b)
{
    assert_int_equal(pgy_tensor_map_count(a), pgy_tensor_map_count(b));
    for (size_t i = 0; i < pgy_tensor_map_count(a); i++)
        expect_same_tensor(pgy_tensor_map_at(a, i), pgy_tensor_map_at(b, i));
}

static bool is_of_range(const context *c)
{
    return context_program(c)->range != 0;
}

/* Runs the lengths through a range's program, unless `alone`, and through an exact one. */
static void compare(context *ranged, context *exact, lengths n, bool alone)
{
    const uint32_t seed = (uint32_t)(n.batch * 7919 + n.rows * 104729 + n.past);
    pgy_tensor_map *got = run(ranged, n, seed), *wanted = run(exact, n, seed);
    assert_int_equal(is_of_range(ranged), !alone);
    assert_false(is_of_range(exact));
    expect_same(got, wanted);
    pgy_tensor_map_destroy(got);
    pgy_tensor_map_destroy(wanted);
}

typedef struct pair {
    engine *ranged, *exact;
    context *a, *b;
} pair;

static pair open_pair(size_t threads)
{
    pgy_model *model = decoder();
    pair p = {build(model, true), build(model, false), NULL, NULL};
    p.a = open(p.ranged, threads);
    p.b = open(p.exact, threads);
    pgy_model_destroy(model);
    return p;
}

static void close_pair(pair *p)
{
    context_destroy(p->a);
    context_destroy(p->b);
    engine_release(p->ranged);
    engine_release(p->exact);
}

static void test_ranges__a_cache_that_grows(void **state)
{
    (void)state;
    pair p = open_pair(1);
    for (int64_t past = 5; past < 60; past++) compare(p.a, p.b, (lengths){1, 1, past}, past == 5);
    close_pair(&p);
}

/* How many shapes the engine's latest range has prepared. */
static size_t count_ahead(const engine *e)
{
    assert_true(e->ranges.kept_count > 0);
    return e->ranges.kept[0]->ahead.count;
}

/* Sizes that grow steadily are prepared before they come, more of them each time the guess was
 * right; others are not. Steps of two have other parameters than those of one. */
static void test_ranges__shapes_ahead(void **state)
{
    (void)state;
    pair p = open_pair(1);
    size_t most = 0;
    for (int64_t past = 5; past < 40; past++) {
        compare(p.a, p.b, (lengths){1, 1, past}, past == 5);
        if (past > 5 && count_ahead(p.ranged) > most) most = count_ahead(p.ranged);
    }
    assert_int_equal(most, RANGE_AHEAD_MOST);
    compare(p.a, p.b, (lengths){1, 1, 60}, false);
    assert_int_equal(count_ahead(p.ranged), 0);
    compare(p.a, p.b, (lengths){1, 1, 55}, false);
    assert_int_equal(count_ahead(p.ranged), 0);
    for (int64_t past = 57; past < 75; past += 2) compare(p.a, p.b, (lengths){1, 1, past}, false);
    assert_true(count_ahead(p.ranged) > 0);
    /* Beyond the largest size of a range nothing is prepared. */
    for (int64_t past = 40; past < 160; past++) {
        pgy_tensor_map *got = run(p.a, (lengths){1, 1, past}, 1),
                       *wanted = run(p.b, (lengths){1, 1, past}, 1);
        expect_same(got, wanted);
        pgy_tensor_map_destroy(got);
        pgy_tensor_map_destroy(wanted);
    }
    close_pair(&p);
}

/* A new program is made of the oldest one of its context, so no more programs exist than are kept.
 */
static void test_ranges__programs_take_turns(void **state)
{
    enum { KEPT = 8 };
    (void)state;
    pair p = open_pair(1);
    const program *seen[KEPT + 1] = {0};
    size_t count = 0, i;
    for (int64_t past = 5; past < 60; past++) {
        compare(p.a, p.b, (lengths){1, 1, past}, past == 5);
        for (i = 0; i < count && seen[i] != context_program(p.a);) i++;
        if (i < count || past == 5) continue;
        assert_true(count < KEPT);
        seen[count++] = context_program(p.a);
    }
    close_pair(&p);
}

/* Two sizes that vary independently, in 1000 draws: the fourth range at the latest has them all. */
static void test_ranges__random_sizes(void **state)
{
    (void)state;
    pair p = open_pair(2);
    uint32_t seed = 1;
    size_t ranged = 0;
    for (int i = 0; i < 1000; i++) {
        seed = seed * 1664525u + 1013904223u;
        const lengths n = {1 + (seed >> 28) % 3, 1 + (seed >> 20) % 12, (seed >> 8) % 80};
        pgy_tensor_map *got = run(p.a, n, seed), *wanted = run(p.b, n, seed);
        ranged += is_of_range(p.a);
        assert_false(is_of_range(p.b));
        expect_same(got, wanted);
        pgy_tensor_map_destroy(got);
        pgy_tensor_map_destroy(wanted);
    }
    assert_true(ranged > 700);
    close_pair(&p);
}

static pgy_status try_run(context *c, pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor_map *out = NULL;
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    const pgy_status st = context_run(c, feed, out, NULL, err);
    pgy_tensor_map_destroy(out);
    return st;
}

/* The cache of values is longer than that of keys: the same error as without ranges. */
static void test_ranges__sizes_that_do_not_fit_each_other(void **state)
{
    (void)state;
    const int64_t x[] = {1, 1, 8}, keys[] = {1, 2, 9, 4}, values[] = {1, 2, 11, 4};
    pair p = open_pair(1);
    for (int64_t past = 5; past < 9; past++) compare(p.a, p.b, (lengths){1, 1, past}, past == 5);
    pgy_tensor_map *feed = NULL;
    pgy_error a = {0}, b = {0};
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    give(feed, "x", 3, x, 1);
    give(feed, "keys", 4, keys, 2);
    give(feed, "values", 4, values, 3);
    const pgy_status st = try_run(p.a, feed, &a);
    assert_int_equal(st, PGY_E_SHAPE);
    assert_int_equal(try_run(p.b, feed, &b), st);
    assert_string_equal(a.text, b.text);
    pgy_tensor_map_destroy(feed);
    compare(p.a, p.b, (lengths){1, 1, 10}, false);
    close_pair(&p);
}

/* An axis that must be a multiple of 4: a Reshape beside sizes that are none. */
static void test_ranges__a_size_that_a_rule_refuses(void **state)
{
    static const int64_t shape[] = {-1, 4};
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "n");
    builder_ints(&b, "shape", "2", shape);
    builder_node(&b, "Reshape", "x shape", "rows");
    builder_node(&b, "Exp", "rows", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    engine *e = build(model, true);
    context *c = open(e, 1);
    for (int64_t n = 8; n < 40; n++) {
        pgy_tensor_map *feed = NULL;
        assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
        give(feed, "x", 1, &n, 1);
        assert_int_equal(try_run(c, feed, NULL), n % 4 ? PGY_E_SHAPE : PGY_OK);
        if (n % 4 == 0 && n > 12) assert_true(is_of_range(c));
        pgy_tensor_map_destroy(feed);
    }
    context_destroy(c);
    engine_release(e);
    pgy_model_destroy(model);
}

/* A step that runs by its definition reads a shape that follows from sizes: in each program it lies
 * elsewhere. */
static void test_ranges__shapes_for_a_definition(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "n, m");
    builder_node(&b, "Shape", "x", "shape");
    builder_node(&b, "ConstantOfShape", "shape", "zeros");
    builder_node(&b, "Add", "x zeros", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    engine *e = build(model, true);
    context *c = open(e, 1);
    uint32_t seed = 1;
    for (int i = 0; i < 200; i++) {
        pgy_tensor_map *feed = NULL, *out = NULL;
        pgy_error err = {0};
        seed = seed * 1664525u + 1013904223u;
        const int64_t shape[] = {1 + (seed >> 28) % 9, 1 + (seed >> 20) % 12};
        assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
        assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
        give(feed, "x", 2, shape, seed);
        if (context_run(c, feed, out, NULL, &err)) fail_msg("%s", err.text);
        expect_same_tensor(pgy_tensor_map_at(out, 0), pgy_tensor_map_at(feed, 0));
        pgy_tensor_map_destroy(feed);
        pgy_tensor_map_destroy(out);
    }
    assert_true(is_of_range(c));
    context_destroy(c);
    engine_release(e);
    pgy_model_destroy(model);
}

typedef struct worker {
    engine *e;
    uint32_t seed;
    bool same;
} worker;

static void *work(void *user)
{
    worker *w = user;
    context *c = NULL;
    w->same = context_create(&c, w->e, 1, NULL) == PGY_OK;
    for (int i = 0; w->same && i < 120; i++) {
        const lengths n = {1, 1, 5 + (i * 7 + w->seed) % 40};
        pgy_tensor_map *feed = feed_of(n, 3), *out = NULL;
        w->same = pgy_tensor_map_create(&out, NULL) == PGY_OK &&
                  context_run(c, feed, out, NULL, NULL) == PGY_OK;
        const pgy_tensor *keys = w->same ? pgy_tensor_map_find(out, "new_keys") : NULL;
        w->same &= keys && pgy_tensor_shape(keys)[2] == n.past + 1;
        pgy_tensor_map_destroy(feed);
        pgy_tensor_map_destroy(out);
    }
    context_destroy(c);
    return NULL;
}

/* Contexts side by side share a range; each has programs of its own. */
static void test_ranges__contexts_side_by_side(void **state)
{
    enum { COUNT = 4 };
    (void)state;
    pair p = open_pair(1);
    pthread_t threads[COUNT];
    worker workers[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        workers[i] = (worker){.e = p.ranged, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < COUNT; i++) assert_true(workers[i].same);
    for (int64_t past = 50; past < 60; past++) {
        pgy_tensor_map *got = run(p.a, (lengths){1, 1, past}, 1);
        pgy_tensor_map *wanted = run(p.b, (lengths){1, 1, past}, 1);
        expect_same(got, wanted);
        pgy_tensor_map_destroy(got);
        pgy_tensor_map_destroy(wanted);
    }
    close_pair(&p);
}

typedef struct heard {
    int count;
    float last;
} heard;

static bool hear(void *user, const char *name, pgy_view t)
{
    heard *h = user;
    (void)name;
    h->count++;
    h->last = ((const float *)t.data)[0];
    return true;
}

static void count_layer(void *user, const char *name, double ms)
{
    (void)name, (void)ms;
    ++*(int *)user;
}

/* Debug tensors and profiles of a range's programs are those of exact ones. */
static void test_ranges__debug_tensors_and_profiles(void **state)
{
    (void)state;
    const char *names[] = {"y3"};
    const pgy_build_config config = {.size = sizeof config,
                                     .has_optimization_level = true,
                                     .optimization_level = 1,
                                     .debug_tensors = {names, 1}};
    pgy_model *model = decoder();
    engine *e = NULL;
    pgy_error err = {0};
    int layers = 0;
    heard h = {0};
    const pgy_debug_listener listener = {.size = sizeof listener, .user = &h, .tensor = hear};
    const pgy_profiler profiler = {.size = sizeof profiler, .user = &layers, .layer = count_layer};
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    context *c = open(e, 1);
    assert_int_equal(pgy_context_set_debug_listener(c, &listener, &err), PGY_OK);
    assert_int_equal(pgy_context_set_profiler(c, &profiler, true, &err), PGY_OK);
    for (int64_t past = 5; past < 9; past++) {
        const int before = layers, heard_before = h.count;
        pgy_tensor_map_destroy(run(c, (lengths){1, 1, past}, 1));
        assert_int_equal(is_of_range(c), past > 5);
        assert_int_equal(h.count, heard_before + 1);
        assert_int_equal(layers - before, (int)context_program(c)->step_count);
    }
    context_destroy(c);
    engine_release(e);
    pgy_model_destroy(model);
}

/* A refit drops ranges, which hold the old weights. */
static void test_ranges__after_a_refit(void **state)
{
    (void)state;
    pgy_model *model = decoder();
    const pgy_build_config config = {.size = sizeof config,
                                     .has_optimization_level = true,
                                     .optimization_level = 1,
                                     .refittable = true};
    engine *e = NULL;
    pgy_error err = {0};
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    context *c = open(e, 1);
    for (int64_t past = 5; past < 8; past++)
        pgy_tensor_map_destroy(run(c, (lengths){1, 1, past}, 1));
    assert_true(is_of_range(c));
    if (engine_refit(e, model, 0, &err)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(run(c, (lengths){1, 1, 8}, 1));
    assert_false(is_of_range(c));
    pgy_tensor_map_destroy(run(c, (lengths){1, 1, 9}, 1));
    assert_true(is_of_range(c));
    context_destroy(c);
    engine_release(e);
    pgy_model_destroy(model);
}

/* A plan keeps no range: an engine that opens it builds one for its second shapes. */
static void test_ranges__an_engine_from_a_plan(void **state)
{
    (void)state;
    pair p = open_pair(1);
    void *bytes = NULL;
    size_t size = 0;
    pgy_error err = {0};
    engine *loaded = NULL;
    for (int64_t past = 5; past < 8; past++) compare(p.a, p.b, (lengths){1, 1, past}, past == 5);
    if (engine_serialize(&bytes, &size, p.ranged, &err)) fail_msg("%s", err.text);
    if (engine_load(&loaded, bytes, size, false, &err)) fail_msg("%s", err.text);
    context *c = open(loaded, 1);
    for (int64_t past = 5; past < 20; past++) compare(c, p.b, (lengths){1, 1, past}, past == 5);
    context_destroy(c);
    engine_release(loaded);
    pgy_engine_free_bytes(bytes);
    close_pair(&p);
}

static engine *build_profile(const int64_t bounds[3][3])
{
    static const char *const NAMES[] = {"x", "keys", "values"};
    int64_t corners[3][3][4];
    pgy_profile_range r[3];
    for (int c = 0; c < 3; c++) {
        const int64_t batch = bounds[c][0], rows = bounds[c][1], past = bounds[c][2];
        const int64_t x[] = {batch, rows, 8}, cache[] = {batch, 2, past, 4};
        memcpy(corners[c][0], x, sizeof x);
        memcpy(corners[c][1], cache, sizeof cache);
        memcpy(corners[c][2], cache, sizeof cache);
    }
    for (int i = 0; i < 3; i++)
        r[i] = (pgy_profile_range){.name = NAMES[i],
                                   .count = i ? 4 : 3,
                                   .min = corners[0][i],
                                   .opt = corners[1][i],
                                   .max = corners[2][i]};
    const pgy_profile profile = {r, 3};
    const pgy_build_config config = {.size = sizeof config,
                                     .has_optimization_level = true,
                                     .optimization_level = 1,
                                     .profiles = &profile,
                                     .profile_count = 1};
    pgy_model *model = decoder();
    engine *e = NULL;
    pgy_error err = {0};
    if (pgy_engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    return e;
}

/* The first shapes beside the usual ones need no build: the profile gives the range. */
static void test_ranges__of_a_profile(void **state)
{
    static const int64_t bounds[3][3] = {{1, 1, 2}, {2, 3, 20}, {4, 6, 300}};
    (void)state;
    pair p = open_pair(1);
    engine *e = build_profile(bounds);
    context *c = open(e, 1);
    compare(c, p.b, (lengths){2, 3, 20}, true); /* the usual shapes */
    compare(c, p.b, (lengths){3, 2, 7}, false);
    compare(c, p.b, (lengths){4, 6, 300}, false); /* beyond 16 times the least */
    compare(c, p.b, (lengths){2, 2, 2}, false);
    compare(c, p.b, (lengths){1, 2, 9}, true); /* one row broadcasts */
    context_destroy(c);
    engine_release(e);
    close_pair(&p);
}

/* Usual sizes of 1 are no base; the first shapes beside them are. */
static void test_ranges__of_a_profile_for_one(void **state)
{
    static const int64_t bounds[3][3] = {{1, 1, 2}, {1, 1, 20}, {4, 6, 300}};
    (void)state;
    pair p = open_pair(1);
    engine *e = build_profile(bounds);
    context *c = open(e, 1);
    compare(c, p.b, (lengths){1, 1, 20}, true);
    compare(c, p.b, (lengths){3, 2, 7}, false);
    compare(c, p.b, (lengths){1, 1, 30}, false); /* a range of its own for one token */
    compare(c, p.b, (lengths){1, 1, 31}, false);
    context_destroy(c);
    engine_release(e);
    close_pair(&p);
}

/* A plan keeps its profiles: the first other shapes build the range with the plan's kernels. */
static void test_ranges__of_a_profile_in_a_plan(void **state)
{
    static const int64_t bounds[3][3] = {{1, 1, 2}, {2, 3, 20}, {4, 6, 300}};
    (void)state;
    pair p = open_pair(1);
    engine *e = build_profile(bounds), *loaded = NULL;
    void *bytes = NULL;
    size_t size = 0;
    pgy_error err = {0};
    if (engine_serialize(&bytes, &size, e, &err)) fail_msg("%s", err.text);
    if (engine_load(&loaded, bytes, size, false, &err)) fail_msg("%s", err.text);
    context *c = open(loaded, 1);
    compare(c, p.b, (lengths){2, 3, 20}, true);
    compare(c, p.b, (lengths){3, 2, 7}, false);
    compare(c, p.b, (lengths){4, 6, 300}, false);
    context_destroy(c);
    engine_release(loaded);
    engine_release(e);
    pgy_engine_free_bytes(bytes);
    close_pair(&p);
}

/* The usual shapes of a profile that nobody gave are no sample: all their sizes are 1. */
static void test_ranges__without_a_profile(void **state)
{
    (void)state;
    pair p = open_pair(1);
    pgy_model *model = decoder();
    engine *e = NULL;
    assert_int_equal(pgy_engine_build(&e, model, NULL, NULL), PGY_OK);
    context *c = open(e, 1);
    for (int64_t past = 5; past < 8; past++) {
        pgy_tensor_map_destroy(run(c, (lengths){1, 1, past}, 1));
        assert_int_equal(is_of_range(c), past > 5);
    }
    context_destroy(c);
    engine_release(e);
    pgy_model_destroy(model);
    close_pair(&p);
}

/* The caller gave memory for the largest shapes, so programs must not need more than those. */
static void test_ranges__memory_of_the_caller(void **state)
{
    (void)state;
    pair p = open_pair(1);
    const pgy_context_options o = {
        .size = sizeof o, .threads = 1, .allocation = PGY_ALLOCATION_USER};
    pgy_context *c = NULL;
    pgy_error err = {0};
    void *memory = aligned_alloc(64, 1 << 20);
    assert_non_null(memory);
    if (pgy_context_create(&c, p.ranged, &o, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_context_set_memory(c, memory, 1 << 20, &err), PGY_OK);
    for (int64_t past = 5; past < 9; past++) compare(c, p.b, (lengths){1, 1, past}, true);
    context_destroy(c);
    free(memory);
    close_pair(&p);
}

static void test_ranges__sizes_outside(void **state)
{
    (void)state;
    pair p = open_pair(1);
    compare(p.a, p.b, (lengths){1, 1, 5}, true);
    compare(p.a, p.b, (lengths){1, 1, 6}, false);
    compare(p.a, p.b, (lengths){1, 1, 0}, true);
    compare(p.a, p.b, (lengths){1, 1, 1}, true);
    compare(p.a, p.b, (lengths){1, 1, 96}, false);
    compare(p.a, p.b, (lengths){1, 1, 97}, false); /* the range for longer caches */
    compare(p.a, p.b, (lengths){3, 1, 97}, false);
    compare(p.a, p.b, (lengths){3, 2, 9}, false);
    compare(p.a, p.b, (lengths){2, 7, 30}, false);
    close_pair(&p);
}

static uint64_t arena_after(engine *e, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_error err = {0};
    context *c = open(e, 1);
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    give(feed, "x", 2, shape, 1);
    if (context_run(c, feed, out, NULL, &err)) fail_msg("%s", err.text);
    const uint64_t bytes = pgy_context_describe_memory(c).arena_bytes;
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    context_destroy(c);
    return bytes;
}

/* Large shapes leave no large arena to small ones, and room to grow is no waste of gigabytes. */
static void test_ranges__memory_follows_the_sizes(void **state)
{
    enum { MIB = 1 << 20 };
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "rows, columns");
    builder_node(&b, "Transpose", "x", "turned");
    builder_node(&b, "Softmax", "turned", "shares");
    builder_node(&b, "Transpose", "shares", "back");
    builder_attr_int(&b, builder_node(&b, "Softmax", "back", "y"), "axis", 0);
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish(&b);
    engine *e = build(model, true);
    (void)arena_after(e, 400, 400);
    (void)arena_after(e, 500, 300);
    const uint64_t large = arena_after(e, 2500, 2500), small = arena_after(e, 300, 300);
    assert_true(large >= 2500 * 2500 * sizeof(float));
    assert_true(small <= 20 * MIB);
    assert_true(arena_after(e, 2500, 2500) >= 2500 * 2500 * sizeof(float));
    engine_release(e);
    pgy_model_destroy(model);
}

/* The run that makes a program says so, and no other does. */
static void test_ranges__times_include_preparation(void **state)
{
    (void)state;
    pair p = open_pair(1);
    for (int64_t past = 5; past < 9; past++) {
        for (int again = 0; again < 2; again++) {
            int64_t time_ns = -1;
            pgy_tensor_map *feed = feed_of((lengths){1, 1, past}, 1), *out = NULL;
            pgy_error err = {0};
            assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
            if (context_run(p.a, feed, out, &time_ns, &err)) fail_msg("%s", err.text);
            const pgy_context_times t = pgy_context_describe_times(p.a);
            assert_int_equal(time_ns, t.whole_ns);
            assert_true(t.whole_ns > t.preparation_ns);
            assert_int_equal(t.preparation_ns > 0, !again);
            pgy_tensor_map_destroy(feed);
            pgy_tensor_map_destroy(out);
        }
    }
    close_pair(&p);
}

static void test_ranges__in_16_bits(void **state)
{
    (void)state;
    pgy_model *model = decoder();
    pair p = {build_in(model, true, true), build_in(model, false, true), NULL, NULL};
    p.a = open(p.ranged, 1);
    p.b = open(p.exact, 1);
    for (int64_t past = 5; past < 20; past++) compare(p.a, p.b, (lengths){1, 1, past}, past == 5);
    pgy_model_destroy(model);
    close_pair(&p);
}

/* Runs a model with one input of [rows, 1, 8] in a range and alone. */
static void compare_rows(pgy_model *model, bool ranged)
{
    engine *e[2] = {build(model, true), build(model, false)};
    context *c[2] = {open(e[0], 1), open(e[1], 1)};
    for (int64_t rows = 5; rows < 20; rows++) {
        const int64_t shape[] = {rows, 1, 8};
        pgy_tensor_map *feed = NULL, *out[2] = {NULL, NULL};
        pgy_error err = {0};
        assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
        give(feed, "x", 3, shape, (uint32_t)rows);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pgy_tensor_map_create(&out[i], NULL), PGY_OK);
            if (context_run(c[i], feed, out[i], NULL, &err)) fail_msg("%s", err.text);
        }
        if (ranged) assert_int_equal(is_of_range(c[0]), rows > 5);
        expect_same(out[0], out[1]);
        for (int i = 0; i < 2; i++) pgy_tensor_map_destroy(out[i]);
        pgy_tensor_map_destroy(feed);
    }
    for (int i = 0; i < 2; i++) context_destroy(c[i]);
    for (int i = 0; i < 2; i++) engine_release(e[i]);
    pgy_model_destroy(model);
}

static void put_weights(model_builder *b, const char *name, const char *shape, int count, int seed)
{
    float w[2048];
    assert_true(count <= 2048);
    for (int i = 0; i < count; i++) w[i] = (float)((i * 37 + seed) % 23) / 23 - 0.4f;
    builder_floats(b, name, shape, w);
}

static void test_ranges__recurrent(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "rows, 1, 8");
    put_weights(&b, "w", "1, 64, 8", 64 * 8, 3);
    put_weights(&b, "r", "1, 64, 16", 64 * 16, 5);
    builder_attr_int(&b, builder_node(&b, "LSTM", "x w r", "y"), "hidden_size", 16);
    builder_output(&b, "y", PGY_F32, NULL);
    compare_rows(builder_finish(&b), true);
}

static void test_ranges__of_bytes(void **state)
{
    static const float scale[] = {0.05f};
    static const int64_t rows[] = {0, -1};
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "rows, 1, 8");
    put_weights(&b, "w", "8, 24", 8 * 24, 3);
    builder_floats(&b, "scale", "", scale);
    builder_ints(&b, "whole", "2", rows);
    builder_node(&b, "QuantizeLinear", "x scale", "xq");
    builder_node(&b, "DequantizeLinear", "xq scale", "xd");
    builder_node(&b, "QuantizeLinear", "w scale", "wq");
    builder_node(&b, "DequantizeLinear", "wq scale", "wd");
    builder_node(&b, "MatMul", "xd wd", "m");
    builder_node(&b, "QuantizeLinear", "m scale", "mq");
    builder_node(&b, "DequantizeLinear", "mq scale", "md");
    builder_node(&b, "Reshape", "md whole", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    compare_rows(builder_finish(&b), true);
}

/* A usual size of 1 is no base of a range. The plan has a program for the base, so that the range
 * packs no weights after loading, and has the same kernels. */
static void test_ranges__of_a_profile_for_one_in_a_plan(void **state)
{
    static const int64_t bounds[3][3] = {{1, 1, 2}, {1, 1, 20}, {1, 9, 42}};
    (void)state;
    pair p = open_pair(1);
    engine *e = build_profile(bounds), *loaded = NULL;
    void *bytes = NULL;
    size_t size = 0;
    pgy_error err = {0};
    if (engine_serialize(&bytes, &size, e, &err)) fail_msg("%s", err.text);
    if (engine_load(&loaded, bytes, size, false, &err)) fail_msg("%s", err.text);
    assert_int_equal(loaded->kept_count, 2);
    assert_null(loaded->timing);
    context *c = open(loaded, 1);
    compare(c, p.b, (lengths){1, 1, 20}, true);
    compare(c, p.b, (lengths){1, 5, 7}, false);
    assert_true(engine_packed(loaded).bytes <= engine_packed(e).bytes);
    compare(c, p.b, (lengths){1, 9, 42}, false);
    compare(c, p.b, (lengths){1, 2, 30}, false);
    context_destroy(c);
    engine_release(loaded);
    engine_release(e);
    pgy_engine_free_bytes(bytes);
    close_pair(&p);
}

static pgy_status run_over(pgy_model *model, pgy_error *err)
{
    static const int64_t shape[] = {6, 8};
    float x[48] = {-1, 2, -3};
    engine *e = build(model, true);
    context *c = open(e, 1);
    assert_int_equal(pgy_context_set_input_shape(c, "x", 2, shape, err), PGY_OK);
    assert_int_equal(pgy_context_set_input(c, "x", x, sizeof x, err), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "y", x, sizeof x, err), PGY_OK);
    const pgy_status st = pgy_context_execute(c, err);
    if (!st) assert_true(x[0] == 0 && x[1] == 2 && x[2] == 0);
    context_destroy(c);
    engine_release(e);
    pgy_model_destroy(model);
    return st;
}

/* An output may lie over an input only if the step that reads it works in place. */
static void test_ranges__outputs_over_inputs(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "rows, 8");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    assert_int_equal(run_over(builder_finish(&b), &err), PGY_OK);
    b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "rows, 8");
    put_weights(&b, "w", "8, 8", 64, 3);
    builder_node(&b, "MatMul", "x w", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    assert_int_equal(run_over(builder_finish(&b), &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "output 'y' lies in the memory of input 'x'"));
}

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

#include "engine/context/context.h"
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

static engine *build(pgy_model *model, bool ranges)
{
    /* Estimates choose the same kernels each time. */
    const pgy_build_config config = {
        .size = sizeof config, .has_optimization_level = true, .optimization_level = 1};
    engine *e = NULL;
    pgy_error err = {0};
    setenv("POLYGRAPHY_RANGES", ranges ? "1" : "0", 1);
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    unsetenv("POLYGRAPHY_RANGES");
    return e;
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

static void expect_same(const pgy_tensor_map *a, const pgy_tensor_map *b)
{
    assert_int_equal(pgy_tensor_map_count(a), pgy_tensor_map_count(b));
    for (size_t i = 0; i < pgy_tensor_map_count(a); i++) {
        const pgy_tensor *x = pgy_tensor_map_at(a, i), *y = pgy_tensor_map_at(b, i);
        assert_int_equal(pgy_tensor_rank(x), pgy_tensor_rank(y));
        for (size_t d = 0; d < pgy_tensor_rank(x); d++)
            assert_int_equal(pgy_tensor_shape(x)[d], pgy_tensor_shape(y)[d]);
        assert_memory_equal(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(x));
    }
}

static bool is_of_range(const context *c)
{
    return context_program(c)->ranged;
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

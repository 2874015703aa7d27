/* SPDX-License-Identifier: Apache-2.0 */
/* pgy_cancel at random moments of folding, simplifying, converting, building and running. Each call
 * ends well or as cancelled, and nothing that was broken off shows in what the same objects give
 * afterwards. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <polygraphy/graph.h>
#include <polygraphy/runtime.h>
#include <polygraphy/simplify.h>
#include <polygraphy/transform.h>

#include "base/system.h"
#include "harness/model_builder.h"

enum { ROUNDS = 60 };

/* A convolution, a product, a norm, a sorting, a recurrent layer, constants to fold and a Loop. */
static pgy_model *make_model(int64_t iterations)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 4, 32, 32");
    builder_floats(&b, "w", "8, 4, 3, 3", NULL);
    builder_node(&b, "Conv", "x w", "c");
    builder_ints(&b, "flat", "3", (const int64_t[]){8, 30, 30});
    builder_node(&b, "Reshape", "c flat", "r");
    builder_floats(&b, "m", "30, 30", NULL);
    builder_node(&b, "MatMul", "m m", "mm");
    builder_node(&b, "MatMul", "r mm", "p");
    builder_node(&b, "Softmax", "p", "s");
    builder_ints(&b, "k", "1", (const int64_t[]){30});
    builder_node(&b, "TopK", "s k", "v i");
    builder_floats(&b, "lw", "1, 64, 30", NULL);
    builder_floats(&b, "lr", "1, 64, 16", NULL);
    pgy_onnx_node *lstm = builder_node(&b, "LSTM", "v lw lr", "l");
    builder_attr_int(&b, lstm, "hidden_size", 16);
    builder_node(&b, "ReduceSum", "l", "sum");
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "n", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "a", PGY_F32, NULL);
    builder_node(&body, "Identity", "go", "go_on");
    builder_node(&body, "Tanh", "a", "t");
    builder_node(&body, "Add", "t sum", "a_out");
    builder_output(&body, "go_on", PGY_BOOL, "");
    builder_output(&body, "a_out", PGY_F32, NULL);
    builder_ints(&b, "most", "", &iterations);
    builder_attr_graph(&b, builder_node(&b, "Loop", "most - sum", "y"), "body", &body);
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

/* ---- The other thread ----------------------------------------------------------------------- */

typedef struct canceller {
    pthread_t thread;
    int64_t after_ns;
} canceller;

static void *cancel_after(void *user)
{
    const canceller *k = user;
    nanosleep(&(struct timespec){.tv_nsec = k->after_ns % 1000000000}, NULL);
    pgy_cancel();
    return NULL;
}

static void start(canceller *k, int64_t most_ns)
{
    static uint64_t seed = 12345;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    k->after_ns = (int64_t)((seed >> 33) % (uint64_t)(most_ns + 1));
    assert_int_equal(pthread_create(&k->thread, NULL, cancel_after, k), 0);
}

/* The call has ended with `st`. */
static bool stop(canceller *k, pgy_status st, const pgy_error *err)
{
    pthread_join(k->thread, NULL);
    pgy_cancel_reset();
    if (st && st != PGY_E_CANCELLED) fail_msg("%s: %s", pgy_status_name(st), err->text);
    return st == PGY_E_CANCELLED;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static pgy_status fold(pgy_model *m, pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_status st = pgy_graph_import(&g, m, err);
    if (!st) st = pgy_graph_fold_constants(g, NULL, NULL, err);
    pgy_graph_destroy(g);
    return st;
}

static pgy_status convert(pgy_model *m, pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_status st = pgy_graph_import(&g, m, err);
    if (!st) st = pgy_graph_convert_opset(g, 21, NULL, err);
    pgy_graph_destroy(g);
    return st;
}

static pgy_status simplify(pgy_model *m, pgy_error *err)
{
    pgy_model *out = NULL;
    pgy_simplify_report *report = NULL;
    const pgy_status st = pgy_model_simplify(&out, m, NULL, &report, err);
    pgy_simplify_report_destroy(report);
    pgy_model_destroy(out);
    return st;
}

static pgy_status build(pgy_model *m, pgy_error *err)
{
    const pgy_build_config config = {.size = sizeof config, .threads = 2};
    pgy_engine *e = NULL;
    void *plan = NULL;
    size_t size = 0;
    pgy_status st = pgy_engine_build(&e, m, &config, err);
    if (!st) st = pgy_engine_serialize(&plan, &size, e, err);
    pgy_engine_free_bytes(plan);
    pgy_engine_release(e);
    return st;
}

static void cancel_calls(pgy_status (*call)(pgy_model *m, pgy_error *err))
{
    pgy_model *m = make_model(1000);
    pgy_error err = {0};
    const int64_t begin = clock_ns();
    if (call(m, &err)) fail_msg("%s", err.text);
    const int64_t whole = clock_ns() - begin;
    pgy_cancel();
    assert_int_equal(call(m, &err), PGY_E_CANCELLED);
    pgy_cancel_reset();
    for (int i = 0; i < ROUNDS; i++) {
        canceller k;
        start(&k, whole);
        const pgy_status st = call(m, &err);
        stop(&k, st, &err);
    }
    if (call(m, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(m);
}

static void test_cancel__fold(void **state)
{
    (void)state;
    cancel_calls(fold);
}

static void test_cancel__convert(void **state)
{
    (void)state;
    cancel_calls(convert);
}

static void test_cancel__simplify(void **state)
{
    (void)state;
    cancel_calls(simplify);
}

static void test_cancel__build(void **state)
{
    (void)state;
    cancel_calls(build);
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static pgy_tensor_map *make_feed(void)
{
    const int64_t shape[] = {1, 4, 32, 32};
    pgy_tensor_map *feed = NULL;
    pgy_tensor *x = NULL;
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 4, shape, NULL), PGY_OK);
    float *values = pgy_tensor_data(x);
    for (size_t i = 0; i < pgy_tensor_count(x); i++) values[i] = (float)(i % 7) * 0.125f - 0.25f;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", x, NULL), PGY_OK);
    return feed;
}

static float run(pgy_context *c, const pgy_tensor_map *feed, pgy_status *st, pgy_error *err)
{
    pgy_tensor_map *out = NULL;
    float y = 0;
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    *st = pgy_context_run(c, feed, out, err);
    if (!*st) y = *(const float *)pgy_tensor_data(pgy_tensor_map_find(out, "y"));
    pgy_tensor_map_destroy(out);
    return y;
}

/* Cancels ten runs of a new context; says how many of them ended early. */
static int cancel_runs(pgy_context *c, const pgy_tensor_map *feed, int64_t first, int64_t later,
                       float expected)
{
    pgy_error err = {0};
    int cancelled = 0;
    for (int i = 0; i < 10; i++) {
        canceller k;
        pgy_status st;
        start(&k, i ? later : first);
        const float y = run(c, feed, &st, &err);
        const bool hit = stop(&k, st, &err);
        cancelled += hit;
        if (!hit) assert_true(y == expected);
        assert_true(run(c, feed, &st, &err) == expected);
        assert_int_equal(st, PGY_OK);
    }
    return cancelled;
}

/* The first runs of a context prepare kernels, which it keeps: broken-off work must not be kept. */
static void test_cancel__runs_of_one_context(void **state)
{
    const pgy_build_config config = {.size = sizeof config, .threads = 2};
    pgy_model *m = make_model(300);
    pgy_engine *e = NULL;
    pgy_error err = {0};
    pgy_tensor_map *feed = make_feed();
    int cancelled = 0;
    pgy_status st = pgy_engine_build(&e, m, &config, &err);
    (void)state;
    if (st) fail_msg("%s", err.text);
    pgy_context *c = NULL;
    assert_int_equal(pgy_context_create(&c, e, NULL, &err), PGY_OK);
    const int64_t begin = clock_ns();
    const float expected = run(c, feed, &st, &err);
    const int64_t middle = clock_ns();
    assert_int_equal(st, PGY_OK);
    assert_true(run(c, feed, &st, &err) == expected);
    const int64_t first = middle - begin, later = clock_ns() - middle;
    pgy_context_destroy(c);
    /* On a busy machine the other thread may come after the run: then repeat. */
    for (int i = 0; i < ROUNDS / 10 || (!cancelled && i < 10 * ROUNDS); i++) {
        assert_int_equal(pgy_context_create(&c, e, NULL, &err), PGY_OK);
        cancelled += cancel_runs(c, feed, first, later, expected);
        pgy_context_destroy(c);
    }
    assert_true(cancelled > 0);
    pgy_tensor_map_destroy(feed);
    pgy_engine_release(e);
    pgy_model_destroy(m);
}

/* What would take years ends. */
static void test_cancel__endless_loop(void **state)
{
    pgy_model *m = make_model(INT64_MAX);
    pgy_engine *e = NULL;
    pgy_context *c = NULL;
    pgy_error err = {0};
    pgy_tensor_map *feed = make_feed();
    pgy_status st = pgy_engine_build(&e, m, NULL, &err);
    canceller k;
    (void)state;
    if (!st) st = pgy_context_create(&c, e, NULL, &err);
    if (st) fail_msg("%s", err.text);
    start(&k, 50000000);
    run(c, feed, &st, &err);
    assert_true(stop(&k, st, &err));
    pgy_tensor_map_destroy(feed);
    pgy_context_destroy(c);
    pgy_engine_release(e);
    pgy_model_destroy(m);
}

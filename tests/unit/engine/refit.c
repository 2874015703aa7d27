/* SPDX-License-Identifier: Apache-2.0 */
/* Weights are exchanged in engines and plans: afterwards everything is as if it had been built from
 * the model with these weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <polygraphy/refit.h>
#include <polygraphy/runtime.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "harness/model_builder.h"
#include "harness/plain_plan.h"

enum { CHANNELS = 20 };

static float value_at(size_t i, int seed)
{
    return (float)((int)(i * 37 + (size_t)seed * 11) % 23 - 11) * 0.125F;
}

static void add_weight(model_builder *b, const char *name, const char *shape, size_t count,
                       int seed, float base)
{
    float values[CHANNELS * 20 * 9];
    for (size_t i = 0; i < count; i++) values[i] = base + value_at(i, seed);
    builder_floats(b, name, shape, values);
}

/* Batch normalisation is folded into the convolution, so weights flow together. */
static pgy_model *model_of(int seed)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 20, 6, 6");
    add_weight(&b, "conv.weight", "20, 20, 3, 3", 20 * 20 * 9, seed, 0);
    add_weight(&b, "conv.bias", "20", 20, seed + 1, 0);
    add_weight(&b, "bn.scale", "20", 20, seed + 2, 2);
    add_weight(&b, "bn.bias", "20", 20, seed + 3, 0);
    add_weight(&b, "bn.mean", "20", 20, seed + 4, 0);
    add_weight(&b, "bn.var", "20", 20, seed + 5, 3);
    builder_node(&b, "Conv", "x conv.weight conv.bias", "c");
    builder_node(&b, "BatchNormalization", "c bn.scale bn.bias bn.mean bn.var", "n");
    builder_node(&b, "Relu", "n", "r");
    builder_output(&b, "r", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_engine *build(int seed, bool strip)
{
    static const int64_t MIN[] = {1, 20, 6, 6}, OPT[] = {2, 20, 6, 6}, MAX[] = {8, 20, 6, 6};
    const pgy_profile_range x = {.name = "x", .count = 4, .min = MIN, .opt = OPT, .max = MAX};
    const pgy_profile profile = {.ranges = &x, .range_count = 1};
    const pgy_build_config config = {.size = sizeof config,
                                     .profiles = &profile,
                                     .profile_count = 1,
                                     .refittable = true,
                                     .has_optimization_level = true,
                                     .strip_plan = strip};
    pgy_model *model = model_of(seed);
    pgy_engine *e = NULL;
    pgy_error err = {0};
    if (pgy_engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    return e;
}

/* From a plan of its own, in memory. */
static pgy_engine *reload(pgy_engine *e)
{
    pgy_engine *loaded = NULL;
    pgy_error err = {0};
    void *bytes = NULL;
    size_t size;
    if (pgy_engine_serialize(&bytes, &size, e, &err)) fail_msg("%s", err.text);
    if (pgy_engine_load(&loaded, bytes, size, false, &err)) fail_msg("%s", err.text);
    pgy_engine_free_bytes(bytes);
    pgy_engine_release(e);
    return loaded;
}

/* NULL: it failed. Also on threads of a test's own, which cannot fail the test. */
static pgy_tensor_map *try_run(pgy_context *c, int64_t n, pgy_error *err)
{
    const int64_t shape[] = {n, 20, 6, 6};
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_tensor *x = NULL;
    pgy_status st = pgy_tensor_create(&x, PGY_F32, 4, shape, err);
    for (size_t i = 0; !st && i < pgy_tensor_count(x); i++)
        ((float *)pgy_tensor_data(x))[i] = value_at(i, 7);
    if (!st) st = pgy_tensor_map_create(&feed, err);
    if (!st) st = pgy_tensor_map_create(&out, err);
    if (!st) st = pgy_tensor_map_set(feed, "x", x, err);
    if (!st) st = pgy_context_run(c, feed, out, err);
    pgy_tensor_release(x);
    pgy_tensor_map_destroy(feed);
    if (!st) return out;
    pgy_tensor_map_destroy(out);
    return NULL;
}

static pgy_tensor_map *run(pgy_context *c, int64_t n)
{
    pgy_error err = {0};
    pgy_tensor_map *out = try_run(c, n, &err);
    if (!out) fail_msg("%s", err.text);
    return out;
}

static bool same(const pgy_tensor_map *a, const pgy_tensor_map *b)
{
    const pgy_tensor *x = pgy_tensor_map_at(a, 0), *y = pgy_tensor_map_at(b, 0);
    assert_int_equal(pgy_tensor_size_bytes(x), pgy_tensor_size_bytes(y));
    return memcmp(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(x)) == 0;
}

/* Does the context give what an engine built from weights `seed` gives? */
static bool gives(pgy_context *c, int seed)
{
    pgy_engine *fresh = build(seed, false);
    pgy_context *other = NULL;
    bool all = true;
    assert_int_equal(pgy_context_create(&other, fresh, NULL, NULL), PGY_OK);
    for (int64_t n = 1; n < 4; n++) {
        pgy_tensor_map *a = run(c, n), *b = run(other, n);
        all = all && same(a, b);
        pgy_tensor_map_destroy(a);
        pgy_tensor_map_destroy(b);
    }
    pgy_context_destroy(other);
    pgy_engine_release(fresh);
    return all;
}

static void refit_all(pgy_engine *e, int seed)
{
    pgy_model *model = model_of(seed);
    pgy_refitter *r = NULL;
    pgy_error err = {0};
    if (pgy_refitter_create(&r, e, &err)) fail_msg("%s", err.text);
    if (pgy_refitter_set_model(r, model, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_refitter_missing_count(r), 0);
    pgy_model_destroy(model);
    if (pgy_refitter_refit(r, &err)) fail_msg("%s", err.text);
    pgy_refitter_destroy(r);
}

static void test_refit__is_as_built_from_the_other_weights(void **state)
{
    (void)state;
    for (int loaded = 0; loaded < 2; loaded++) {
        pgy_engine *e = loaded ? reload(build(1, false)) : build(1, false);
        pgy_context *c = NULL;
        assert_int_equal(pgy_context_create(&c, e, NULL, NULL), PGY_OK);
        assert_true(gives(c, 1));
        assert_false(gives(c, 5));
        refit_all(e, 5);
        assert_true(gives(c, 5));
        refit_all(e, 1);
        assert_true(gives(c, 1));
        pgy_context_destroy(c);
        pgy_engine_release(e);
    }
}

static void test_refit__gives_the_same_plan(void **state)
{
    (void)state;
    pgy_engine *a = build(1, false), *b = build(5, false);
    void *x = NULL, *y = NULL;
    size_t x_size, y_size;
    refit_all(a, 5);
    assert_int_equal(pgy_engine_serialize(&x, &x_size, a, NULL), PGY_OK);
    assert_int_equal(pgy_engine_serialize(&y, &y_size, b, NULL), PGY_OK);
    assert_int_equal(x_size, y_size);
    assert_memory_equal(x, y, x_size);
    pgy_engine_free_bytes(x);
    pgy_engine_free_bytes(y);
    pgy_engine_release(a);
    pgy_engine_release(b);
}

/* One weight in a model that is otherwise `from`. */
static void test_refit__one_weight_alone(void **state)
{
    (void)state;
    pgy_engine *e = build(1, false);
    pgy_refitter *r = NULL, *other = NULL;
    pgy_context *c = NULL;
    pgy_engine *source = build(5, false);
    assert_int_equal(pgy_context_create(&c, e, NULL, NULL), PGY_OK);
    assert_int_equal(pgy_refitter_create(&r, e, NULL), PGY_OK);
    assert_int_equal(pgy_refitter_create(&other, source, NULL), PGY_OK);
    assert_int_equal(pgy_refitter_weight_count(r), 6);
    assert_string_equal(pgy_refitter_weight_at(r, 0)->name, "conv.weight");
    assert_int_equal(pgy_refitter_weight_at(r, 0)->rank, 4);
    for (size_t i = 0; i < 6; i++) {
        pgy_tensor *t = NULL;
        const char *name = pgy_refitter_weight_at(r, i)->name;
        assert_int_equal(pgy_refitter_weights(&t, other, name, NULL), PGY_OK);
        assert_int_equal(pgy_refitter_set_weights(r, name, t, NULL), PGY_OK);
        pgy_tensor_release(t);
        assert_int_equal(pgy_refitter_refit(r, NULL), PGY_OK);
        assert_int_equal(gives(c, 5), i == 5);
    }
    pgy_refitter_destroy(r);
    pgy_refitter_destroy(other);
    pgy_context_destroy(c);
    pgy_engine_release(e);
    pgy_engine_release(source);
}

static pgy_status set(pgy_refitter *r, const char *name, pgy_dtype dtype, int64_t size,
                      pgy_error *err)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, dtype, 1, &size, NULL), PGY_OK);
    const pgy_status st = pgy_refitter_set_weights(r, name, t, err);
    pgy_tensor_release(t);
    return st;
}

static void test_refit__names_what_is_wrong(void **state)
{
    (void)state;
    pgy_engine *e = build(1, false), *fixed = NULL;
    pgy_refitter *r = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_refitter_create(&r, e, NULL), PGY_OK);
    assert_int_equal(set(r, "conv.bia", PGY_F32, 20, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "the engine has no weight 'conv.bia'; did you mean 'conv.bias'?");
    assert_int_equal(set(r, "conv.bias", PGY_F16, 20, &err), PGY_E_TYPE);
    assert_string_equal(err.text,
                        "weight 'conv.bias' is float32 in the engine, but float16 was given");
    assert_int_equal(set(r, "conv.bias", PGY_F32, 21, &err), PGY_E_SHAPE);
    assert_string_equal(err.text,
                        "weight 'conv.bias' has shape [20] in the engine, but [21] was given");
    pgy_refitter_destroy(r);
    pgy_engine_release(e);

    pgy_model *model = model_of(1);
    assert_int_equal(pgy_engine_build(&fixed, model, NULL, &err), PGY_OK);
    assert_int_equal(pgy_refitter_create(&r, fixed, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "config.refittable"));
    pgy_engine_release(fixed);
    pgy_model_destroy(model);
}

static void test_refit__another_model_is_refused(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 20, 6, 6");
    builder_node(&b, "Relu", "x", "r");
    builder_output(&b, "r", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    pgy_engine *e = build(1, false);
    pgy_refitter *r = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_refitter_create(&r, e, NULL), PGY_OK);
    assert_int_equal(pgy_refitter_set_model(r, model, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "refit from the same model"));
    pgy_refitter_destroy(r);
    pgy_engine_release(e);
    pgy_model_destroy(model);
}

/* The size of the engine's plan without deflated sections. */
static size_t plain_bytes(pgy_engine *e)
{
    void *bytes = NULL;
    size_t size;
    str plain = {0};
    assert_int_equal(pgy_engine_serialize(&bytes, &size, e, NULL), PGY_OK);
    plain_plan_append(&plain, bytes);
    pgy_engine_free_bytes(bytes);
    size = plain.size;
    str_deinit(&plain);
    return size;
}

static void test_refit__a_stripped_plan_waits_for_its_weights(void **state)
{
    (void)state;
    pgy_engine *whole = reload(build(1, false)), *e = reload(build(1, true));
    pgy_context *c = NULL;
    pgy_refitter *r = NULL;
    pgy_error err = {0};
    assert_true(pgy_engine_is_stripped(e));
    e = reload(e); /* a stripped plan can be saved again */
    assert_true(plain_bytes(e) < plain_bytes(whole) / 2);

    assert_int_equal(pgy_refitter_create(&r, e, NULL), PGY_OK);
    assert_int_equal(pgy_refitter_missing_count(r), 1);
    assert_true(pgy_refitter_is_missing(r, 0));
    assert_int_equal(pgy_refitter_refit(r, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "1 stripped weight(s) are not set yet: 'conv.weight'");
    pgy_refitter_destroy(r);

    assert_int_equal(pgy_context_create(&c, e, NULL, NULL), PGY_OK);
    refit_all(e, 5);
    assert_false(pgy_engine_is_stripped(e));
    assert_true(gives(c, 5));
    pgy_context_destroy(c);
    e = reload(e);
    assert_false(pgy_engine_is_stripped(e));
    assert_int_equal(pgy_context_create(&c, e, NULL, NULL), PGY_OK);
    assert_true(gives(c, 5));
    pgy_context_destroy(c);
    pgy_engine_release(e);
    pgy_engine_release(whole);
}

static void test_refit__stripped_plans_do_not_run(void **state)
{
    (void)state;
    static const int64_t SHAPE[] = {2, 20, 6, 6};
    pgy_engine *e = reload(build(1, true));
    pgy_context *c = NULL;
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_tensor *x = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_context_create(&c, e, NULL, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 4, SHAPE, NULL), PGY_OK);
    memset(pgy_tensor_data(x), 0, pgy_tensor_size_bytes(x));
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", x, NULL), PGY_OK);
    assert_int_equal(pgy_context_run(c, feed, out, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "stripped"));
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    pgy_context_destroy(c);
    pgy_engine_release(e);
}

/* ---- At the same time ------------------------------------------------------------------------ */

typedef struct runner {
    pgy_engine *engine;
    pgy_tensor_map *before, *after; /* what runs may give */
    atomic_bool stop;
    atomic_size_t runs, wrong;
} runner;

static void *run_on(void *user)
{
    runner *r = user;
    pgy_context *c = NULL;
    if (pgy_context_create(&c, r->engine, NULL, NULL)) return NULL;
    while (!atomic_load(&r->stop)) {
        pgy_tensor_map *out = try_run(c, 2, NULL);
        if (!out) atomic_fetch_add(&r->wrong, 1);
        if (!out) break;
        if (!same(out, r->before) && !same(out, r->after)) atomic_fetch_add(&r->wrong, 1);
        atomic_fetch_add(&r->runs, 1);
        pgy_tensor_map_destroy(out);
    }
    pgy_context_destroy(c);
    return NULL;
}

static pgy_tensor_map *result_of(int seed)
{
    pgy_engine *e = build(seed, false);
    pgy_context *c = NULL;
    assert_int_equal(pgy_context_create(&c, e, NULL, NULL), PGY_OK);
    pgy_tensor_map *out = run(c, 2);
    pgy_context_destroy(c);
    pgy_engine_release(e);
    return out;
}

static void test_refit__while_contexts_run(void **state)
{
    (void)state;
    static runner r; /* stays while the threads run, whatever becomes of the test */
    pthread_t threads[2];
    r = (runner){.engine = reload(build(1, false)), .before = result_of(1), .after = result_of(5)};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_on, &r), 0);
    for (int i = 0; i < 6; i++) {
        const size_t before = atomic_load(&r.runs);
        refit_all(r.engine, i % 2 ? 1 : 5);
        while (!atomic_load(&r.wrong) && atomic_load(&r.runs) < before + 4) sched_yield();
    }
    atomic_store(&r.stop, true);
    for (size_t i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&r.wrong), 0);
    pgy_tensor_map_destroy(r.before);
    pgy_tensor_map_destroy(r.after);
    pgy_engine_release(r.engine);
}

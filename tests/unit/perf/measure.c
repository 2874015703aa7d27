/* SPDX-License-Identifier: Apache-2.0 */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <polygraphy/perf.h>

#include <pthread.h>

#include "base/cancel.h"
#include "harness/model_builder.h"

static pgy_engine *engine;
static pgy_tensor_map *feed;

static void prepare(void)
{
    pgy_error err = {0};
    pgy_build_config config = {.size = sizeof config, .threads = 1};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Neg", "x", "y");
    builder_output(&b, "y", PGY_F32, "4");
    pgy_model *model = builder_finish(&b);
    if (pgy_engine_build(&engine, model, &config, &err)) fail_msg("%s", err.text);
    if (pgy_perf_inputs(&feed, engine, 0, NULL, 0, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
}

static void clean_up(pgy_perf_trace *t)
{
    pgy_perf_trace_destroy(t);
    pgy_tensor_map_destroy(feed);
    pgy_engine_release(engine);
}

static void *stop_soon(void *unused)
{
    cancel_sleep_ms(50);
    pgy_cancel();
    return unused;
}

/* An endless loop keeps the last runs, in order, and tells how many it dropped. */
static void test_measure__endless(void **state)
{
    (void)state;
    enum { WINDOW = 8 };
    pgy_error err = {0};
    pgy_perf_trace *t = NULL;
    pthread_t stopper;
    pgy_perf_options o = pgy_perf_options_default();
    o.duration_s = -1;
    o.warm_up_ms = 0;
    o.window = WINDOW;
    prepare();
    for (o.streams = 1; o.streams <= 2; o.streams++) {
        double last = -1;
        assert_int_equal(pthread_create(&stopper, NULL, stop_soon, NULL), 0);
        if (pgy_perf_measure(&t, NULL, engine, feed, &o, &err)) fail_msg("%s", err.text);
        pthread_join(stopper, NULL);
        assert_true(cancel_was_heard()); /* so a program lives until it has shown the figures */
        assert_false(cancel_is_held());
        pgy_cancel_reset();
        assert_int_equal(pgy_perf_trace_count(t), WINDOW);
        assert_true(pgy_perf_dropped_count(t) > WINDOW);
        for (size_t i = 0; i < WINDOW; i++) {
            assert_true(pgy_perf_trace_at(t, i)->compute_start >= last);
            last = pgy_perf_trace_at(t, i)->compute_start;
        }
        assert_true(last > 10);
        pgy_perf_trace_destroy(t);
    }
    clean_up(NULL);
}

static void test_measure__bounded_loops_keep_all(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_perf_trace *t = NULL;
    pgy_perf_options o = pgy_perf_options_default();
    o.duration_s = 0;
    o.warm_up_ms = 0;
    o.iterations = 100;
    o.window = 8;
    prepare();
    if (pgy_perf_measure(&t, NULL, engine, feed, &o, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_perf_trace_count(t), 100);
    assert_int_equal(pgy_perf_dropped_count(t), 0);
    clean_up(t);
}

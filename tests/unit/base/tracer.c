/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/tracer.h"

static void start(int64_t runs, uint64_t records)
{
    const tracer_limits limits = {.runs = runs, .records = records};
    pgy_error err = {0};
    assert_int_equal(tracer_start(&limits, &err), PGY_OK);
}

static tracer_take stop(void)
{
    tracer_take t = {0};
    pgy_error err = {0};
    assert_int_equal(tracer_stop(&t, &err), PGY_OK);
    return t;
}

/* A run of `ns` with `layers` layers. */
static void run(int64_t at, int64_t ns, int layers, bool warm_up)
{
    const uint32_t id = tracer_run_begin("runner");
    const uint32_t row = tracer_row(TRACE_LAYER), label = tracer_name("layer");
    for (int i = 0; i < layers; i++) tracer_span(TRACE_LAYER, label, row, at + i, at + i + 1);
    tracer_run_end(id, at, at + ns, warm_up);
}

static size_t count(const tracer_take *t, trace_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < t->record_count; i++) n += t->records[i].kind == kind;
    return n;
}

static size_t layers_of(const tracer_take *t, uint32_t index)
{
    size_t n = 0;
    for (size_t i = 0; i < t->record_count; i++)
        n += t->records[i].kind == TRACE_LAYER && t->runs[t->records[i].run].index == index;
    return n;
}

static void test_tracer__nothing_without_a_recording(void **state)
{
    (void)state;
    assert_false(tracer_is_on());
    assert_int_equal(tracer_label(&(trace_label){.name = "x"}), TRACE_NONE);
    assert_int_equal(tracer_run_begin("runner"), TRACE_NONE);
    run(0, 10, 2, false);
    start(20, 100);
    tracer_take t = stop();
    assert_int_equal(t.record_count, 0);
    tracer_take_deinit(&t);
    assert_int_equal(tracer_stop(&t, NULL), PGY_E_ARGUMENT);
}

static void test_tracer__rows_runs_and_layers(void **state)
{
    (void)state;
    start(20, 1000);
    run(100, 50, 3, true);
    run(200, 50, 3, false);
    tracer_take t = stop();
    assert_int_equal(count(&t, TRACE_RUN), 2);
    assert_int_equal(count(&t, TRACE_LAYER), 6);
    assert_string_equal(t.rows[1].process_name, "runner 0: runner");
    assert_string_equal(t.rows[1].name, "iterations");
    assert_int_equal(t.rows[1].process, 10);
    assert_true(t.runs[0].is_warm_up);
    assert_int_equal(t.runs[1].index, 1);
    assert_true(t.cost_ns > 0);
    tracer_take_deinit(&t);
}

static void test_tracer__a_second_recording_is_refused(void **state)
{
    const tracer_limits limits = {.runs = 1, .records = 10};
    pgy_error err = {0};
    (void)state;
    start(20, 100);
    assert_int_equal(tracer_start(&limits, &err), PGY_E_ARGUMENT);
    assert_int_equal(tracer_stop(NULL, &err), PGY_OK);
}

/* Of many runs: the first, the slowest, the last, and a sample. */
static void test_tracer__keeps_a_sample_of_runs(void **state)
{
    (void)state;
    start(8, 1000000);
    for (int i = 0; i < 1000; i++) run(i * 1000, i == 637 ? 900 : 100, 50, false);
    tracer_take t = stop();
    size_t kept = 0;
    for (uint32_t i = 0; i < 1000; i++) kept += layers_of(&t, i) == 50;
    assert_int_equal(count(&t, TRACE_RUN), 1000);
    assert_in_range(kept, 4, 8);
    assert_int_equal(count(&t, TRACE_LAYER), kept * 50);
    assert_int_equal(layers_of(&t, 0), 50);
    assert_int_equal(layers_of(&t, 637), 50);
    assert_int_equal(layers_of(&t, 999), 50);
    assert_int_equal(t.left_out, 1000 - kept);
    assert_int_equal(t.dropped, 0);
    tracer_take_deinit(&t);
}

static void test_tracer__keeps_all_runs_on_request(void **state)
{
    (void)state;
    start(-1, 1000000);
    for (int i = 0; i < 300; i++) run(i * 1000, 100, 50, false);
    tracer_take t = stop();
    assert_int_equal(count(&t, TRACE_LAYER), 300 * 50);
    tracer_take_deinit(&t);
}

static void test_tracer__states_what_a_limit_drops(void **state)
{
    (void)state;
    start(-1, 10);
    run(0, 100, 25, false);
    tracer_take t = stop();
    assert_int_equal(t.record_count, 10);
    assert_int_equal(t.dropped, 16);
    tracer_take_deinit(&t);
}

static void test_tracer__a_full_ring_drops_and_counts(void **state)
{
    enum { MANY = 70000, RING = 1 << 16 };
    (void)state;
    start(-1, 1000000);
    run(0, MANY, MANY, false);
    tracer_take t = stop();
    assert_int_equal(t.dropped, MANY + 1 - RING);
    tracer_take_deinit(&t);
}

static void test_tracer__failed_runs_leave_nothing(void **state)
{
    (void)state;
    start(20, 1000);
    const uint32_t id = tracer_run_begin("runner");
    tracer_span(TRACE_LAYER, tracer_name("layer"), tracer_row(TRACE_LAYER), 1, 2);
    tracer_run_drop(id);
    run(10, 5, 1, false);
    tracer_take t = stop();
    assert_int_equal(t.record_count, 2);
    tracer_take_deinit(&t);
}

static void test_tracer__phases_nest(void **state)
{
    (void)state;
    start(20, 1000);
    tracer_phase_begin("outer");
    tracer_phase_begin("inner");
    tracer_phase_end();
    tracer_take t = stop(); /* ends what is open */
    assert_int_equal(count(&t, TRACE_PHASE), 2);
    assert_string_equal(t.labels[t.records[0].label].name, "inner");
    assert_true(t.records[1].start_ns <= t.records[0].start_ns);
    assert_true(t.records[1].end_ns >= t.records[0].end_ns);
    tracer_take_deinit(&t);
}

static void test_tracer__a_pause_records_nothing(void **state)
{
    (void)state;
    start(20, 1000);
    tracer_pause(true);
    run(0, 10, 5, false);
    tracer_pause(false);
    run(20, 10, 5, false);
    tracer_take t = stop();
    assert_int_equal(t.record_count, 6);
    assert_int_equal(t.runs[0].index, 0);
    tracer_take_deinit(&t);
}

enum { THREADS = 4, RUNS = 200, LAYERS = 20 };

static void *run_many(void *user)
{
    (void)user;
    for (int i = 0; i < RUNS; i++) {
        const uint32_t label = tracer_name("part");
        run(i * 100, 50, LAYERS, false);
        tracer_work(label, TRACE_NONE, i, i + 1, 0, 1);
    }
    return NULL;
}

/* Threads that run the same runner have rows of their own, and lose nothing. */
static void test_tracer__threads_record_side_by_side(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    start(-1, 1000000);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_many, NULL), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    tracer_take t = stop();
    assert_int_equal(count(&t, TRACE_LAYER), THREADS * RUNS * LAYERS);
    assert_int_equal(count(&t, TRACE_RUN), THREADS * RUNS);
    assert_int_equal(count(&t, TRACE_WORKER), THREADS * RUNS);
    assert_int_equal(t.dropped, 0);
    for (size_t i = 0; i < t.record_count; i++) {
        const trace_record *r = &t.records[i];
        if (r->kind == TRACE_LAYER) assert_int_equal(t.rows[r->row].thread, t.rows[t.runs[r->run].row].thread + 1);
    }
    tracer_take_deinit(&t);
}

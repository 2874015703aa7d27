/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/system.h"
#include "trace/trace.h"

/* A run that begins `at` after `zero`, with two layers of which the second is done by two threads. */
static void run(const char *runner, int64_t at)
{
    const trace_label first = {.name = "conv", .args = "\"layer_id\":0", .bytes = 4000, .flops = 8000, .live_bytes = 100, .weight_bytes = 50};
    const trace_label second = {.name = "add", .args = "\"layer_id\":1", .live_bytes = 300, .weight_bytes = 50};
    const uint32_t id = tracer_run_begin(runner);
    const uint32_t a = tracer_label(&first), b = tracer_label(&second), row = tracer_row(TRACE_LAYER);
    tracer_span(TRACE_LAYER, a, row, at, at + 400);
    tracer_span(TRACE_LAYER, b, row, at + 400, at + 1000);
    tracer_work(a, id, at, at + 400, 0, 1);
    tracer_work(b, id, at + 400, at + 900, 0, 2);
    tracer_run_end(id, at, at + 1000, false);
}

static pgy_trace *record(bool align, int64_t *zero)
{
    pgy_trace *t = NULL;
    pgy_error err = {0};
    pgy_trace_options o = pgy_trace_options_default();
    o.align = align;
    assert_int_equal(pgy_trace_start(&o, &err), PGY_OK);
    *zero = clock_ns();
    pgy_trace_phase_begin("load");
    pgy_trace_phase_end();
    run("A", *zero + 10000000);
    run("B", *zero + 20000000);
    run("A", *zero + 30000000);
    run("B", *zero + 40000000);
    assert_int_equal(pgy_trace_stop(&t, &err), PGY_OK);
    return t;
}

static size_t find(const pgy_trace *t, const char *name, size_t nth)
{
    for (size_t i = 0; i < pgy_trace_event_count(t); i++)
        if (!strcmp(pgy_trace_event_at(t, i).name, name) && !nth--) return i;
    fail_msg("no event '%s'", name);
    return 0;
}

static void test_record__runs_have_names_and_args(void **state)
{
    int64_t zero;
    pgy_trace *t = record(false, &zero);
    char *args = NULL;
    (void)state;
    const size_t i = find(t, "run 1", 0), layer = find(t, "conv", 0);
    const pgy_trace_event e = pgy_trace_event_at(t, i);
    assert_int_equal(e.duration_ns, 1000);
    assert_string_equal(pgy_trace_row_at(t, e.row)->process_name, "runner 0: A");
    assert_int_equal(pgy_trace_args(&args, t, i, NULL), PGY_OK);
    assert_string_equal(args, "{\"index\":1,\"warmup\":false,\"latency_us\":1.000,\"has_layers\":true}");
    mem_free(args);
    assert_int_equal(pgy_trace_args(&args, t, layer, NULL), PGY_OK);
    assert_string_equal(args, "{\"layer_id\":0,\"gflops_per_s\":20.000,\"gb_per_s\":10.000,\"run\":0}");
    mem_free(args);
    assert_string_equal(pgy_trace_fact(t, "trace_version"), "1");
    assert_string_equal(pgy_trace_fact(t, "dropped_events"), "0");
    assert_null(pgy_trace_fact(t, "align_shift_us"));
    pgy_trace_destroy(t);
}

static void expect_args(const pgy_trace *t, const char *name, size_t nth, const char *expected)
{
    char *args = NULL;
    assert_int_equal(pgy_trace_args(&args, t, find(t, name, nth), NULL), PGY_OK);
    assert_string_equal(args, expected);
    mem_free(args);
}

/* Memory follows the layers and returns to its base; so does the number of busy workers. */
static void test_record__counters_follow_from_the_slices(void **state)
{
    int64_t zero;
    pgy_trace *t = record(false, &zero);
    (void)state;
    expect_args(t, "memory", 0, "{\"live_bytes\":100,\"weights_bytes\":50,\"workspace_bytes\":0}");
    expect_args(t, "memory", 1, "{\"live_bytes\":300,\"weights_bytes\":50,\"workspace_bytes\":0}");
    expect_args(t, "memory", 2, "{\"live_bytes\":0,\"weights_bytes\":50,\"workspace_bytes\":0}");
    expect_args(t, "workers busy", 0, "{\"value\":1}");
    expect_args(t, "workers busy", 2, "{\"value\":0}");
    pgy_trace_destroy(t);
}

/* Run i of both runners starts together, and no slices of a row overlap. */
static void test_record__aligned_runs_start_together(void **state)
{
    int64_t zero;
    pgy_trace *t = record(true, &zero);
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *name = i ? "run 1" : "run 0";
        const pgy_trace_event a = pgy_trace_event_at(t, find(t, name, 0)), b = pgy_trace_event_at(t, find(t, name, 1));
        assert_int_equal(a.start_ns, b.start_ns);
        assert_int_not_equal(a.row, b.row);
    }
    assert_int_equal(pgy_trace_event_at(t, find(t, "run 1", 0)).start_ns - pgy_trace_event_at(t, find(t, "run 0", 0)).start_ns, 2000);
    for (size_t i = 0; i < pgy_trace_event_count(t); i++) {
        const pgy_trace_event e = pgy_trace_event_at(t, i);
        for (size_t k = i + 1; k < pgy_trace_event_count(t); k++) {
            const pgy_trace_event f = pgy_trace_event_at(t, k);
            if (e.row == f.row && e.kind == PGY_TRACE_SLICE && f.kind == PGY_TRACE_SLICE && f.start_ns < e.start_ns + e.duration_ns)
                assert_true(f.start_ns + f.duration_ns <= e.start_ns + e.duration_ns);
        }
    }
    assert_string_equal(pgy_trace_fact(t, "align_shift_us"), "[0.000,-10000.000]");
    pgy_trace_destroy(t);
}

static void test_record__folders_are_left_out(void **state)
{
    pgy_trace *t = NULL;
    (void)state;
    assert_int_equal(pgy_trace_create(&t, NULL), PGY_OK);
    assert_int_equal(pgy_trace_describe(t, "polygraphy run",
                                        "polygraphy run /home/me/net.onnx --load-inputs 'a:/secret dir/in.json' --x=../y/z.json",
                                        "/home/me/absent.onnx", NULL), PGY_OK);
    assert_string_equal(pgy_trace_fact(t, "command"), "\"polygraphy run net.onnx --load-inputs 'a:in.json' --x=z.json\"");
    assert_string_equal(pgy_trace_fact(t, "model"), "\"absent.onnx\"");
    assert_null(pgy_trace_fact(t, "model_xxh64"));
    pgy_trace_destroy(t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded runs: slices of layers and of the threads that compute them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <polygraphy/runtime.h>
#include <string.h>

#include "base/system.h"
#include "base/tracer.h"
#include "harness/model_builder.h"

enum { THREADS = 3, RUNS = 20 };

/* A product that all threads share, an operator of one thread, a product, and a logarithm, which is NaN for some x. */
static pgy_model *model(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "256, 256");
    builder_floats(&b, "w", "256, 256", NULL);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "Softmax", "m", "s");
    builder_node(&b, "MatMul", "s w", "n");
    builder_node(&b, "Log", "x", "l");
    builder_output(&b, "n", PGY_F32, NULL);
    builder_output(&b, "l", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

/* Runs a few times and keeps the first element of both outputs of the last run. */
static void run(float seen[2], float x, int runs)
{
    static float data[256 * 256];
    static const int64_t shape[2] = {256, 256};
    pgy_model *m = model();
    pgy_engine *e = NULL;
    pgy_context *c = NULL;
    pgy_tensor *t = NULL;
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_error err = {0};
    const pgy_build_config config = {.size = sizeof config, .threads = THREADS};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) data[i] = i ? 1 + (float)(i % 7) : x;
    assert_int_equal(pgy_engine_build(&e, m, &config, &err), PGY_OK);
    assert_int_equal(pgy_context_create(&c, e, NULL, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&feed, &err), PGY_OK);
    assert_int_equal(pgy_tensor_wrap(&t, data, PGY_F32, 2, shape, NULL, NULL, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", t, &err), PGY_OK);
    for (int i = 0; i < runs; i++) {
        pgy_tensor_map_destroy(out);
        assert_int_equal(pgy_tensor_map_create(&out, &err), PGY_OK);
        assert_int_equal(pgy_context_run(c, feed, out, &err), PGY_OK);
    }
    seen[0] = *(const float *)pgy_tensor_data(pgy_tensor_map_find(out, "n"));
    seen[1] = *(const float *)pgy_tensor_data(pgy_tensor_map_find(out, "l"));
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    pgy_context_destroy(c);
    pgy_engine_release(e);
    pgy_model_destroy(m);
}

static tracer_take record(float seen[2], float x, int runs)
{
    const tracer_limits limits = {.runs = -1, .records = 100000};
    tracer_take t = {0};
    pgy_error err = {0};
    assert_int_equal(tracer_start(&limits, &err), PGY_OK);
    run(seen, x, runs);
    assert_int_equal(tracer_stop(&t, &err), PGY_OK);
    return t;
}

static bool lies_within(const trace_record *inner, const trace_record *outer)
{
    return inner->run == outer->run && inner->start_ns >= outer->start_ns && inner->end_ns <= outer->end_ns;
}

/* Number of records of a kind that lie within another. */
static size_t count_within(const tracer_take *t, trace_kind kind, const trace_record *outer)
{
    size_t n = 0;
    for (size_t i = 0; i < t->record_count; i++) {
        const trace_record *r = &t->records[i];
        n += r->kind == kind && lies_within(r, outer);
    }
    return n;
}

static void test_traced__each_run_has_its_layers(void **state)
{
    float seen[2], expected[2];
    (void)state;
    run(expected, 2, 1);
    tracer_take t = record(seen, 2, RUNS);
    size_t runs = 0;
    assert_true(seen[0] == expected[0] && seen[1] == expected[1]);
    for (size_t i = 0; i < t.record_count; i++) {
        if (t.records[i].kind != TRACE_RUN) continue;
        runs++;
        assert_int_equal(count_within(&t, TRACE_LAYER, &t.records[i]), 4);
    }
    assert_int_equal(runs, RUNS);
    tracer_take_deinit(&t);
}

/* Every thread that had a part of a layer has a slice inside that of the layer. */
static void test_traced__threads_have_their_parts(void **state)
{
    float seen[2];
    size_t shared = 0;
    (void)state;
    tracer_take t = record(seen, 2, RUNS);
    for (size_t i = 0; i < t.record_count; i++) {
        const trace_record *r = &t.records[i];
        if (r->kind == TRACE_WORKER) {
            shared += r->words[1] > 1;
            assert_true(r->words[0] < r->words[1]);
        }
        if (r->kind != TRACE_LAYER || !strstr(t.labels[r->label].name, "MatMul")) continue;
        assert_non_null(strstr(t.labels[r->label].args, "\"flops\":33554432"));
    }
    assert_true(shared > 0);
    for (size_t i = 0; i < t.record_count; i++) {
        const trace_record *r = &t.records[i];
        if (r->kind != TRACE_WORKER || r->words[0]) continue;
        trace_record layer = {0};
        for (size_t k = 0; k < t.record_count; k++)
            if (t.records[k].kind == TRACE_LAYER && t.records[k].label == r->label && lies_within(r, &t.records[k])) layer = t.records[k];
        assert_int_equal(layer.kind, TRACE_LAYER);
        size_t parts = 0;
        for (size_t k = 0; k < t.record_count; k++)
            parts += t.records[k].kind == TRACE_WORKER && t.records[k].label == r->label && lies_within(&t.records[k], &layer);
        assert_in_range(parts, 1, r->words[1]);
    }
    tracer_take_deinit(&t);
}

/* The logarithm of a negative number: one NaN, at the end of that layer; the run's outputs stay. */
static void test_traced__nan_stands_at_its_layer(void **state)
{
    float seen[2];
    size_t found = 0;
    (void)state;
    tracer_take t = record(seen, -1, 1);
    assert_true(isnan(seen[1]));
    for (size_t i = 0; i < t.record_count; i++) {
        const trace_record *r = &t.records[i];
        if (r->kind != TRACE_CHECK) continue;
        found++;
        assert_string_equal(t.labels[r->label].name, "NaN");
        assert_non_null(strstr(t.labels[r->label].args, "\"tensor\":\"l\""));
        assert_int_equal(r->words[0], 1);
        assert_int_equal(r->words[1], 0);
        for (size_t k = 0; k < t.record_count; k++)
            if (t.records[k].kind == TRACE_LAYER && strstr(t.labels[t.records[k].label].args, "\"op\":\"Log\""))
                assert_int_equal(t.records[k].end_ns, r->start_ns);
    }
    assert_int_equal(found, 1);
    tracer_take_deinit(&t);
}

/* Slices of a build: phases, passes, and timings of kernels. */
static void test_traced__builds_have_phases(void **state)
{
    float seen[2];
    bool passes = false, kernels = false;
    (void)state;
    tracer_take t = record(seen, 2, 1);
    for (size_t i = 0; i < t.record_count; i++) {
        const trace_label *l = &t.labels[t.records[i].label];
        passes |= t.records[i].kind == TRACE_PHASE && !strcmp(l->name, "Rewriting the graph");
        kernels |= t.records[i].kind == TRACE_TIMING && strstr(l->args, "candidates") != NULL;
    }
    assert_true(passes);
    assert_int_equal(kernels, cpu_features() > CPU_PORTABLE); /* portable code has one kernel each */
    tracer_take_deinit(&t);
}

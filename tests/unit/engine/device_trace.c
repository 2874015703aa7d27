/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded runs on fake devices: layers, kernels and copies with the times of the device, and the calls that enqueued them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/tracer.h"
#include "harness/fake_split.h"

enum { DRAWS = 24, THREADS = 2 };
static const char MODEL[] = TEST_SOURCE_DIR "/examples/models/transformer_block.onnx";

static tracer_take record(const fake_split_model *m, engine *e)
{
    const tracer_limits limits = {.runs = -1, .records = 100000};
    tracer_take t = {0};
    context *c = NULL;
    pgy_error err = {0};
    assert_int_equal(context_create(&c, e, THREADS, &err), PGY_OK);
    assert_int_equal(tracer_start(&limits, &err), PGY_OK);
    const char *differs = fake_split_differs(m, c);
    if (differs) fail_msg("%s", differs);
    assert_int_equal(tracer_stop(&t, &err), PGY_OK);
    context_destroy(c);
    return t;
}

static int by_row(const void *a, const void *b)
{
    const trace_record *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static bool is_layer(const trace_record *r)
{
    return r->kind == TRACE_LAYER || r->kind == TRACE_KERNEL || r->kind == TRACE_COPY || r->kind == TRACE_ENQUEUE;
}

/* Slices of a row do not overlap, and lie inside the slice of their run. */
static void check_rows(tracer_take *t)
{
    qsort(t->records, t->record_count, sizeof *t->records, by_row);
    for (size_t i = 0; i < t->record_count; i++) {
        const trace_record *r = &t->records[i];
        if (!is_layer(r)) continue;
        const trace_run *run = &t->runs[r->run];
        assert_true(r->start_ns >= run->start_ns && r->end_ns <= run->end_ns && r->start_ns <= r->end_ns);
        if (i && is_layer(&r[-1]) && r[-1].row == r->row) assert_true(r[-1].end_ns <= r->start_ns);
    }
}

static uint64_t correlation_of(const trace_record *r)
{
    return r->kind == TRACE_COPY ? r->words[1] : r->words[0];
}

/* Each kernel and copy has one call, which began before it, of the same run; its layer has the same time in the row of the device. */
static void check_work(const tracer_take *t, const program *p)
{
    size_t kernels = 0, copies = 0;
    for (size_t i = 0; i < t->record_count; i++) {
        const trace_record *r = &t->records[i];
        size_t calls = 0, layers = 0;
        if (r->kind != TRACE_KERNEL && r->kind != TRACE_COPY) continue;
        *(r->kind == TRACE_KERNEL ? &kernels : &copies) += 1;
        for (size_t k = 0; k < t->record_count; k++) {
            const trace_record *o = &t->records[k];
            if (o->run != r->run) continue;
            calls += o->kind == TRACE_ENQUEUE && correlation_of(o) == correlation_of(r) && o->start_ns <= r->start_ns;
            layers += o->kind == TRACE_LAYER && o->start_ns == r->start_ns && o->end_ns == r->end_ns && t->rows[o->row].thread >= 4;
        }
        assert_int_equal(calls, 1);
        assert_true(layers >= 1);
        assert_true(t->rows[r->row].process >= 100);
        if (r->kind == TRACE_KERNEL) assert_non_null(strstr(t->labels[r->label].args, "\"layer\":"));
    }
    size_t expected = 0;
    for (size_t i = 0; i < p->step_count; i++) expected += p->steps[i].act == PROGRAM_COPY;
    assert_int_equal(kernels, 2 * fake_split_steps(p)); /* two runs */
    assert_int_equal(copies, 2 * expected);
}

static void test_device_trace__work_of_devices_has_rows(void **state)
{
    fake_split_model m;
    pgy_model *model = NULL;
    size_t on_devices = 0;
    int64_t least_ns = INT64_MAX;
    (void)state;
    assert_int_equal(pgy_model_load(&model, MODEL, NULL, NULL), PGY_OK);
    assert_true(fake_split_open(&m, model));
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        fake_split s = fake_split_draw(seed);
        fake_split_build(&s, &m);
        program *p = fake_split_program(&s, &m);
        tracer_take t = record(&m, s.engine);
        check_rows(&t);
        check_work(&t, p);
        on_devices += fake_split_steps(p);
        assert_int_equal(t.residual_ns >= 0, p->space_count > 1);
        if (t.residual_ns >= 0 && t.residual_ns < least_ns) least_ns = t.residual_ns;
        tracer_take_deinit(&t);
        program_release(p);
        fake_split_destroy(&s);
    }
    assert_true(on_devices > 0);
    assert_true(least_ns < 5000); /* the best one, because other work may run between two calls */
    fake_split_close(&m);
}

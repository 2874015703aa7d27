/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "trace/load_args.h"
#include "trace/summary.h"

static pgy_trace *parse(const char *text)
{
    pgy_trace *t = NULL;
    pgy_error err = {0};
    if (trace_parse(&t, span_of(text), "x.json", &err)) fail_msg("%s", err.text);
    return t;
}

static pgy_trace_summary *sum_up(const char *text)
{
    pgy_trace *t = parse(text);
    pgy_trace_summary *s = NULL;
    pgy_error err = {0};
    if (pgy_trace_summary_create(&s, t, NULL, &err)) fail_msg("%s", err.text);
    pgy_trace_destroy(t);
    return s;
}

static void refuse(const char *text, const char *expected)
{
    pgy_trace *t = NULL;
    pgy_error err = {0};
    assert_int_equal(trace_parse(&t, span_of(text), "x.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "x.json: "));
    if (!strstr(err.text, expected)) fail_msg("'%s' lacks '%s'", err.text, expected);
}

static void assert_near(double actual, double expected)
{
    if (!(actual > expected - 1e-6 && actual < expected + 1e-6)) fail_msg("%.9g, expected %.9g", actual, expected);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* In a double, the time of day in microseconds loses a quarter of a microsecond. */
static void test_summary__times_since_1970_are_exact(void **state)
{
    pgy_trace *t = parse("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1700000000000000.125,\"dur\":0.001},"
                         "{\"ph\":\"X\",\"name\":\"b\",\"ts\":1700000000000000.126,\"dur\":1e-3}]");
    (void)state;
    assert_int_equal(pgy_trace_event_at(t, 0).start_ns, 0);
    assert_int_equal(pgy_trace_event_at(t, 1).start_ns, 1);
    assert_int_equal(pgy_trace_event_at(t, 0).duration_ns, 1);
    assert_int_equal(pgy_trace_event_at(t, 1).duration_ns, 1);
    assert_string_equal(pgy_trace_source(t), "unknown");
    pgy_trace_destroy(t);
}

static void test_summary__what_is_no_timeline_is_refused(void **state)
{
    (void)state;
    refuse("", "not a timeline");
    refuse("{}", "no member 'traceEvents'");
    refuse("{\"traceEvents\":[],\"traceEvents\":[]}", "a second 'traceEvents'");
    refuse("[1]", "line 1: an event is not an object");
    refuse("[{\"ph\":\"X\",\"name\":\"a\",\n\"ts\":NaN,\"dur\":1}]", "line 2: 'ts' of an event is 'NaN'");
    refuse("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":9e18,\"dur\":1}]", "'9e18'");
    refuse("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":-1}]", "'dur' of an event is '-1'");
    refuse("[{\"ph\":\"X\",\"name\":7,\"ts\":1,\"dur\":1}]", "'name' of an event is '7'");
    refuse("[{\"ph\":\"b\",\"name\":\"a\",\"ts\":1}]", "'id' of an event is missing");
    refuse("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"pid\":[]}]", "'pid' of an event");
    refuse("[{\"ph\":\"i\",\"name\":\"a\",\"ts\":1", "end of the text");
    refuse("{\"traceEvents\":[{\"ph\":\"i\",\"name\":\"a\",\"ts\":1}", "end of the text");
    refuse("[] x", "text behind the end");
    refuse("[{\"count\":0}]", "'count' of an event is '0'");
    refuse("[{\"count\":3},{\"timeMs\":1}]", "'name' of an event is missing");
    refuse("[{\"startH2dMs\":1,\"endH2dMs\":0,\"startComputeMs\":1}]", "'endH2dMs' of an event is '0'");
}

static void test_summary__times_of_trtexec_are_runs(void **state)
{
    pgy_trace_summary *s = sum_up("[{\"startH2dMs\":1,\"endH2dMs\":2,\"startComputeMs\":2,\"endComputeMs\":3.5,\"startD2hMs\":3.5,\"endD2hMs\":4},"
                                  "{\"startInMs\":5,\"endInMs\":6,\"startComputeMs\":6,\"endComputeMs\":7,\"startOutMs\":7,\"endOutMs\":9}]");
    const pgy_trace_process *p = pgy_trace_summary_at(s, 0);
    (void)state;
    assert_int_equal(pgy_trace_summary_count(s), 1);
    assert_int_equal(p->runs.calls, 2);
    assert_near(p->runs.min_us, 3000);
    assert_near(p->runs.max_us, 4000);
    assert_int_equal(p->layer_count, 0);
    pgy_trace_summary_destroy(s);
}

/* What this library writes, it reads: rows, args, facts and warm-up. */
static void test_summary__a_written_timeline_is_read_back(void **state)
{
    static const char FILE_TEXT[] =
        "{\"traceEvents\":[{\"ph\":\"M\",\"pid\":10,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"layers\"}},"
        "{\"ph\":\"M\",\"pid\":10,\"name\":\"process_name\",\"args\":{\"name\":\"r\"}},"
        "{\"ph\":\"X\",\"pid\":10,\"tid\":0,\"ts\":5,\"dur\":9,\"cat\":\"iteration\",\"name\":\"run 0\",\"args\":{\"index\":0,\"warmup\":true}},"
        "{\"ph\":\"X\",\"pid\":10,\"tid\":1,\"ts\":6,\"dur\":2,\"cat\":\"layer\",\"name\":\"a\\\"b\","
        "\"args\":{\"layer_id\":0,\"op\":\"Conv\",\"bytes_in\":3,\"flops\":8,\"gb_per_s\":1.5,\"run\":0}}],\"otherData\":{\"trace_version\":1}}";
    pgy_trace *t = parse(FILE_TEXT);
    const pgy_trace_event e = pgy_trace_event_at(t, 1);
    char *args = NULL;
    (void)state;
    assert_string_equal(pgy_trace_source(t), "Polygraphy");
    assert_string_equal(pgy_trace_fact(t, "trace_version"), "1");
    assert_string_equal(pgy_trace_row_at(t, e.row)->name, "layers");
    assert_string_equal(pgy_trace_row_at(t, e.row)->process_name, "r");
    assert_string_equal(e.name, "a\"b");
    assert_int_equal(e.start_ns, 6000); /* since the start of the recording, not of the first event */
    assert_true(e.is_warm_up);
    assert_int_equal(e.bytes, 3);
    assert_int_equal(pgy_trace_args(&args, t, 1, NULL), PGY_OK);
    assert_string_equal(args, "{\"layer_id\":0,\"op\":\"Conv\",\"bytes_in\":3,\"flops\":8,\"run\":0}");
    mem_free(args);
    pgy_trace_destroy(t);
}

/* ---- Sums ----------------------------------------------------------------------------------- */

#define SLICE(tid, ts, dur, cat, name) "{\"ph\":\"X\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur ",\"cat\":\"" cat "\",\"name\":\"" name "\"}"

/* An outer layer has the time that the inner ones leave; the other thread counts once in `busy`. */
static void test_summary__inner_layers_are_not_counted_twice(void **state)
{
    pgy_trace_summary *s = sum_up("[" SLICE(0, 0, 20, "iteration", "r") "," SLICE(1, 2, 10, "layer", "outer") "," SLICE(1, 4, 3, "layer", "inner") "," SLICE(
        1, 8, 2, "layer", "inner") "," SLICE(2, 10, 4, "layer", "other") "]");
    const pgy_trace_process *p = pgy_trace_summary_at(s, 0);
    (void)state;
    assert_int_equal(p->layer_count, 3);
    double sum = 0, share = 0;
    for (size_t i = 0; i < 3; i++) {
        sum += p->layers[i].total_us;
        share += p->layers[i].share;
        if (!strcmp(p->layers[i].name, "inner")) {
            assert_int_equal(p->layers[i].calls, 2);
            assert_int_equal(p->layers[i].sample_count, 1); /* of one run */
            assert_near(p->layers[i].samples[0], 5);
            assert_near(p->layers[i].median_us, 2.5);
        }
    }
    assert_near(sum, 14);
    assert_near(share, 1);
    assert_near(p->busy_us, 12);
    assert_near(p->run_us, 20);
    assert_near(p->idle_us, 8);
    pgy_trace_summary_destroy(s);
}

static void test_summary__a_category_that_is_missing_is_an_error(void **state)
{
    pgy_trace *t = parse("[" SLICE(1, 2, 10, "kernel", "k") "]");
    pgy_trace_summary *s = NULL;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_trace_summary_create(&s, t, NULL, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "it has 'kernel'"));
    const pgy_trace_summary_options o = {.size = sizeof o, .category = "kernel"};
    assert_int_equal(pgy_trace_summary_create(&s, t, &o, &err), PGY_OK);
    pgy_trace_summary_destroy(s);
    pgy_trace_destroy(t);
}

/* ---- Differences ---------------------------------------------------------------------------- */

/* Values of scipy.stats.mannwhitneyu(a, b, method='asymptotic'). */
static void test_summary__the_rank_test_is_that_of_others(void **state)
{
    const double a[] = {1, 2, 3, 4, 5, 6, 7, 8}, b[] = {5, 6, 7, 8, 9, 10, 11, 12}, same[] = {1, 1, 1};
    bool greater = false;
    (void)state;
    const double p = trace_rank_test(a, 8, b, 8, &greater);
    assert_true(p > 0.0126 && p < 0.0136);
    assert_true(greater);
    assert_near(trace_rank_test(same, 3, same, 3, &greater), 1);
    assert_false(greater);
}

static pgy_trace_summary *runs_of(int count, double conv_us, double step)
{
    str text = {0};
    for (int i = 0; i < count; i++) {
        str_printf(&text, "%s{\"ph\":\"X\",\"ts\":%d,\"dur\":90,\"cat\":\"iteration\",\"name\":\"r\"}", i ? "," : "[", i * 100);
        str_printf(&text, ",{\"ph\":\"X\",\"ts\":%d,\"dur\":%.3f,\"cat\":\"layer\",\"name\":\"conv\",\"tid\":1}", i * 100, conv_us + i * step);
        str_printf(&text, ",{\"ph\":\"X\",\"ts\":%d,\"dur\":%.3f,\"cat\":\"layer\",\"name\":\"add\",\"tid\":2}", i * 100, 5 + i * step);
    }
    str_append(&text, "]");
    pgy_trace_summary *s = sum_up(str_text(&text));
    str_deinit(&text);
    return s;
}

static pgy_trace_verdict verdict_of(const pgy_trace_summary *a, const pgy_trace_summary *b, const char *layer)
{
    pgy_trace_diff *d = NULL;
    pgy_trace_verdict v = PGY_TRACE_TOO_FEW;
    pgy_error err = {0};
    if (pgy_trace_diff_create(&d, a, b, NULL, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_trace_diff_layer_count(d), 2);
    for (size_t i = 0; i < 2; i++)
        if (!strcmp(pgy_trace_diff_layer_at(d, i)->a->name, layer)) v = pgy_trace_diff_layer_at(d, i)->verdict;
    pgy_trace_diff_destroy(d);
    return v;
}

static void test_summary__only_the_changed_layer_is_accused(void **state)
{
    pgy_trace_summary *a = runs_of(12, 20, 0.1), *b = runs_of(12, 24, 0.1), *few = runs_of(7, 24, 0.1);
    (void)state;
    assert_int_equal(verdict_of(a, b, "conv"), PGY_TRACE_SLOWER);
    assert_int_equal(verdict_of(b, a, "conv"), PGY_TRACE_FASTER);
    assert_int_equal(verdict_of(a, b, "add"), PGY_TRACE_NO_DIFFERENCE);
    assert_int_equal(verdict_of(a, few, "conv"), PGY_TRACE_TOO_FEW);
    pgy_trace_summary_destroy(a);
    pgy_trace_summary_destroy(b);
    pgy_trace_summary_destroy(few);
}

/* ---- Slices that two events make ------------------------------------------------------------- */

static int64_t duration_of(const pgy_trace *t, const char *name)
{
    for (size_t i = 0; i < pgy_trace_event_count(t); i++)
        if (!strcmp(pgy_trace_event_at(t, i).name, name)) return pgy_trace_event_at(t, i).duration_ns;
    return -1;
}

/* An end names the slice that it ends; the one inside, which has no end, is left out. Events of one thread may come in any order. */
static void test_summary__ends_belong_to_their_names(void **state)
{
    pgy_trace *t = parse("[{\"ph\":\"E\",\"name\":\"a\",\"ts\":9},{\"ph\":\"B\",\"name\":\"a\",\"ts\":1},{\"ph\":\"B\",\"name\":\"b\",\"ts\":2},"
                         "{\"ph\":\"B\",\"name\":\"c\",\"ts\":9},{\"ph\":\"E\",\"ts\":12}]");
    (void)state;
    assert_int_equal(pgy_trace_event_count(t), 2);
    assert_int_equal(duration_of(t, "a"), 8000);
    assert_int_equal(duration_of(t, "c"), 3000);
    assert_string_equal(pgy_trace_fact(t, "unmatched_begins"), "1");
    assert_string_equal(pgy_trace_fact(t, "unmatched_ends"), "0");
    assert_string_equal(pgy_trace_fact(t, "unmatched_first"), "\"b\"");
    assert_null(pgy_trace_fact(t, "cut_off"));
    pgy_trace_destroy(t);
}

/* The rows of asynchronous slices that overlap differ; the same id nests, and ids of two processes are two slices. */
static void test_summary__asynchronous_slices_have_rows_of_their_own(void **state)
{
#define ASYNC(ph, pid, id, name, ts) "{\"ph\":\"" ph "\",\"cat\":\"c\",\"pid\":" #pid ",\"id\":\"" id "\",\"name\":\"" name "\",\"ts\":" #ts "}"
    pgy_trace *t = parse("[" ASYNC("b", 1, "x", "a", 0) "," ASYNC("b", 1, "x", "inner", 2) "," ASYNC("e", 1, "x", "inner", 3) "," ASYNC(
        "b", 1, "y", "b", 4) "," ASYNC("b", 2, "x", "d", 5) "," ASYNC("e", 1, "x", "a", 6) "," ASYNC("e", 1, "y", "b", 8) "," ASYNC("e", 2, "x", "d",
                                                                                                                                 9) "]");
    size_t rows[4] = {0};
    static const char *const NAMES[] = {"a", "inner", "b", "d"};
    (void)state;
    assert_int_equal(pgy_trace_event_count(t), 4);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++)
            if (!strcmp(pgy_trace_event_at(t, i).name, NAMES[k])) rows[k] = pgy_trace_event_at(t, i).row;
    assert_int_equal(rows[0], rows[1]);
    assert_int_not_equal(rows[0], rows[2]);
    assert_int_not_equal(rows[0], rows[3]);
    assert_int_equal(pgy_trace_row_at(t, rows[3])->process, 2);
    assert_int_equal(duration_of(t, "a"), 6000);
    assert_int_equal(duration_of(t, "d"), 4000);
    assert_null(pgy_trace_fact(t, "unmatched_begins"));
    pgy_trace_destroy(t);
}

/* ---- Sums and peaks -------------------------------------------------------------------------- */

static void test_summary__a_timeline_of_sums_is_not_saved(void **state)
{
    pgy_trace *t = parse("[{\"count\":3},{\"name\":\"a\",\"timeMs\":1}]");
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_trace_save("/dev/null", t, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "no slices"));
    pgy_trace_destroy(t);
}

/* Peaks of another machine are shown, but the report says that they are. */
static void test_summary__peaks_of_another_machine_are_told(void **state)
{
    static const char FORM[] = "{\"traceEvents\":[" SLICE(1, 2, 10, "layer", "k") "],\"otherData\":{\"cpu\":\"avx2\",\"processors\":%d}}";
    const pgy_machine_peaks peaks = {.gflops = 10, .gb_per_s = 1, .threads = 4, .cpu = "avx2", .processor = "p"};
    const pgy_trace_summary_options o = {.size = sizeof o, .peaks = &peaks};
    (void)state;
    for (int processors = 4; processors < 6; processors++) {
        pgy_trace_summary *s = NULL;
        char json[512], *text = NULL;
        snprintf(json, sizeof json, FORM, processors);
        pgy_trace *t = parse(json);
        assert_int_equal(pgy_trace_summary_create(&s, t, &o, NULL), PGY_OK);
        assert_int_equal(pgy_trace_summary_text(&text, s, NULL, NULL), PGY_OK);
        assert_int_equal(strstr(text, "made on another machine") != NULL, processors != 4);
        mem_free(text);
        pgy_trace_summary_destroy(s);
        pgy_trace_destroy(t);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "perf/perf.h"

/* A trace of runs one after the other with these compute times in ms. */
static pgy_perf_trace *trace_of(const double *compute, size_t count, double enqueue, double copy)
{
    pgy_perf_run *runs = calloc(count + 1, sizeof *runs);
    pgy_perf_trace *t = NULL;
    pgy_error err = {0};
    double now = 0;
    for (size_t i = 0; i < count; i++) {
        pgy_perf_run *r = &runs[i];
        r->h2d_start = now;
        r->h2d_end = r->compute_start = r->enqueue_start = now += copy;
        r->enqueue_end = r->enqueue_start + enqueue;
        r->compute_end = r->d2h_start = now += compute[i];
        r->d2h_end = now += copy;
    }
    assert_int_equal(pgy_perf_trace_create(&t, runs, count, &err), PGY_OK);
    free(runs);
    return t;
}

static double at(const pgy_perf_trace *t, double p, bool like_trtexec)
{
    pgy_error err = {0};
    double v = -1;
    assert_int_equal(pgy_perf_percentile(&v, t, PGY_PERF_COMPUTE, p, like_trtexec, &err), PGY_OK);
    return v;
}

/* Enough times for the radix sort, some of them negative, which another program's files may have.
 */
static void test_stats__many_times_are_sorted(void **state)
{
    enum { COUNT = 100000 };
    pgy_perf_run *runs = calloc(COUNT, sizeof *runs);
    pgy_perf_trace *t = NULL;
    double *sorted = NULL, sum = 0, sorted_sum = 0;
    pgy_error err = {0};
    uint64_t seed = 1;
    (void)state;
    assert_non_null(runs);
    for (size_t i = 0; i < COUNT; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        runs[i].compute_end = ldexp((double)(int64_t)seed, -(int)(seed >> 40) % 70);
        sum += runs[i].compute_end * 0x1p-60;
    }
    assert_int_equal(pgy_perf_trace_create(&t, runs, COUNT, &err), PGY_OK);
    assert_int_equal(perf_sorted(&sorted, t, PGY_PERF_COMPUTE, &err), PGY_OK);
    for (size_t i = 1; i < COUNT; i++) assert_true(sorted[i - 1] <= sorted[i]);
    for (size_t i = 0; i < COUNT; i++) sorted_sum += sorted[i] * 0x1p-60;
    assert_true(sorted[0] < 0 && sorted[COUNT - 1] > 0);
    assert_true(fabs(sum - sorted_sum) < 1e-6);
    mem_free(sorted);
    free(runs);
    pgy_perf_trace_destroy(t);
}

/* The compatible form is computed in float: of 100 times, percentile 99 is the greatest. */
static void test_stats__percentiles_of_both_forms(void **state)
{
    double times[100];
    (void)state;
    for (int i = 0; i < 100; i++) times[i] = 128 - i; /* exact in sums */
    pgy_perf_trace *t = trace_of(times, 100, 0, 0);
    assert_true(at(t, 90, true) == 29 + 89);
    assert_true(at(t, 95, true) == 29 + 94);
    assert_true(at(t, 99, true) == 29 + 99);
    assert_true(at(t, 99, false) == 29 + 98);
    assert_true(at(t, 0, true) == 29 && at(t, 0, false) == 29);
    assert_true(at(t, 100, true) == 128 && at(t, 100, false) == 128);
    pgy_perf_trace_destroy(t);
    t = trace_of(times, 10, 0, 0);
    assert_true(at(t, 99, true) == 128); /* of 10 times the greatest */
    pgy_perf_trace_destroy(t);
}

static void test_stats__refuses_percentiles_outside_0_to_100(void **state)
{
    static const double ONE[] = {1};
    static const double BAD[] = {-1, 100.5, NAN};
    pgy_error err = {0};
    double v;
    (void)state;
    pgy_perf_trace *t = trace_of(ONE, 1, 0, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pgy_perf_percentile(&v, t, PGY_PERF_COMPUTE, BAD[i], true, &err),
                         PGY_E_ARGUMENT);
    pgy_perf_trace_destroy(t);
}

static void test_stats__median_mean_and_throughput(void **state)
{
    static const double TIMES[] = {4, 1, 2, 8};
    pgy_perf_stats s;
    pgy_error err = {0};
    (void)state;
    pgy_perf_trace *t = trace_of(TIMES, 4, 0.5, 0.25);
    assert_int_equal(pgy_perf_summarize(&s, t, PGY_PERF_COMPUTE, &err), PGY_OK);
    assert_true(s.min == 1 && s.max == 8 && s.mean == 3.75 && s.median == 3);
    assert_float_equal(s.variance_percent,
                       sqrt((0.0625 + 7.5625 + 3.0625 + 18.0625) / 4) / 3.75 * 100, 1e-9);
    assert_int_equal(pgy_perf_summarize(&s, t, PGY_PERF_LATENCY, &err), PGY_OK);
    assert_true(s.mean == 4.25);
    assert_true(pgy_perf_wall_ms(t) == 17);
    assert_float_equal(pgy_perf_throughput(t), 4 / 17.0 * 1000, 1e-9);
    pgy_perf_trace_destroy(t);
}

/* Does the warning come at this trace and not at the other? */
static void check_warning(const char *text, double compute, double enqueue, double copy,
                          bool wanted)
{
    const double times[] = {compute, compute, compute};
    pgy_error err = {0};
    char *warnings = NULL;
    pgy_perf_trace *t = trace_of(times, 3, enqueue, copy);
    assert_int_equal(pgy_perf_warnings(&warnings, t, 1, &err), PGY_OK);
    assert_true((strstr(warnings, text) != NULL) == wanted);
    pgy_text_free(warnings);
    pgy_perf_trace_destroy(t);
}

static void test_stats__warnings_at_their_thresholds(void **state)
{
    static const double STEADY[] = {1000, 1000, 1000, 1000}, SHAKY[] = {1000, 1000, 950, 1050};
    pgy_error err = {0};
    char *text = NULL;
    (void)state;
    check_warning("Enqueue Time", 16, 12.75, 0, false);
    check_warning("Enqueue Time", 16, 13, 0, true);
    check_warning("Enqueue Time", 16, 16, 0, false); /* a synchronous call */
    check_warning("host-to-device", 4, 0, 3.5, false);
    check_warning("host-to-device", 4, 0, 4, true);
    check_warning("device-to-host", 4, 0, 3.5, false);
    check_warning("device-to-host", 4, 0, 4, true);
    pgy_perf_trace *t = trace_of(STEADY, 4, 0, 0);
    assert_int_equal(pgy_perf_warnings(&text, t, 2, &err), PGY_OK);
    assert_null(strstr(text, "unstable"));
    assert_non_null(strstr(text, "several streams"));
    pgy_text_free(text);
    pgy_perf_trace_destroy(t);
    t = trace_of(SHAKY, 4, 0, 0); /* 3.5 % */
    assert_int_equal(pgy_perf_warnings(&text, t, 1, &err), PGY_OK);
    assert_non_null(strstr(text, "unstable"));
    assert_null(strstr(text, "several streams"));
    pgy_text_free(text);
    pgy_perf_trace_destroy(t);
}

static size_t lines_with(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) count++;
    return count;
}

static void test_stats__report_text(void **state)
{
    static const double TIMES[] = {1, 2, 4, 8, 1};
    static const double P[] = {50};
    const pgy_perf_text_options o = {.size = sizeof o,
                                     .percentiles = P,
                                     .percentile_count = 1,
                                     .average_runs = 2,
                                     .has_warm_up = true,
                                     .warm_up_ms = 200};
    pgy_error err = {0};
    char *text = NULL;
    (void)state;
    pgy_perf_trace *t = trace_of(TIMES, 5, 0.5, 0.5);
    assert_int_equal(pgy_perf_text(&text, t, &o, &err), PGY_OK);
    assert_string_equal(
        text,
        "Warmup completed 0 queries over 200 ms\n"
        "Timing trace has 5 queries over 0.021 s\n"
        "\n=== Trace details ===\nTrace averages of 2 runs:\n"
        "Average on 2 runs - GPU latency: 1.5 ms - Host latency: 2.5 ms (enqueue 0.5 ms)\n"
        "Average on 2 runs - GPU latency: 6 ms - Host latency: 7 ms (enqueue 0.5 ms)\n"
        "\n=== Performance summary ===\nThroughput: 238.095 qps\n"
        "Latency: min = 2 ms, max = 9 ms, mean = 4.2 ms, median = 3 ms, percentile(50%) = 3 ms\n"
        "Enqueue Time: min = 0.5 ms, max = 0.5 ms, mean = 0.5 ms, median = 0.5 ms, "
        "percentile(50%) = 0.5 ms\n"
        "H2D Latency: min = 0.5 ms, max = 0.5 ms, mean = 0.5 ms, median = 0.5 ms, "
        "percentile(50%) = 0.5 ms\n"
        "GPU Compute Time: min = 1 ms, max = 8 ms, mean = 3.2 ms, median = 2 ms, "
        "percentile(50%) = 2 ms\n"
        "D2H Latency: min = 0.5 ms, max = 0.5 ms, mean = 0.5 ms, median = 0.5 ms, "
        "percentile(50%) = 0.5 ms\n"
        "Total Host Walltime: 0.021 s\nTotal GPU Compute Time: 0.016 s\n"
        "Explanations of the performance metrics are printed in the verbose logs.\n");
    pgy_text_free(text);
    pgy_perf_trace_destroy(t);
}

static void test_stats__long_listings_leave_out_the_middle(void **state)
{
    const pgy_perf_text_options o = {.size = sizeof o, .average_runs = 1};
    double times[405];
    pgy_error err = {0};
    char *text = NULL;
    (void)state;
    for (int i = 0; i < 405; i++) times[i] = 1;
    pgy_perf_trace *t = trace_of(times, 400, 0, 0);
    assert_int_equal(pgy_perf_text(&text, t, &o, &err), PGY_OK);
    assert_int_equal(lines_with(text, "Average on 1 runs"), 400);
    assert_null(strstr(text, "Omitting"));
    pgy_text_free(text);
    pgy_perf_trace_destroy(t);
    t = trace_of(times, 405, 0, 0);
    assert_int_equal(pgy_perf_text(&text, t, &o, &err), PGY_OK);
    assert_int_equal(lines_with(text, "Average on 1 runs"), 400);
    assert_non_null(strstr(text, "Omitting 5 lines"));
    pgy_text_free(text);
    pgy_perf_trace_destroy(t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of drawn times, and comparisons with them: a planted slowdown is found, equal times are
 * not told apart, and damaged files are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rand.h"
#include "harness/test_folder.h"
#include "perf/perf.h"

enum { RUNS = 400 };

/* Runs of about `ms`, with 5 % noise. */
static pgy_perf_trace *draw(double ms, uint32_t seed)
{
    pgy_perf_run runs[RUNS] = {{0}};
    pgy_perf_trace *t = NULL;
    mt19937 g;
    double now = 0;
    mt19937_seed(&g, seed);
    for (size_t i = 0; i < RUNS; i++) {
        const double took = ms * (1 + 0.05 * mt19937_double(&g));
        runs[i].compute_start = runs[i].h2d_start = runs[i].h2d_end = now;
        runs[i].compute_end = runs[i].d2h_start = runs[i].d2h_end = now + took;
        now += took;
    }
    assert_int_equal(pgy_perf_trace_create(&t, runs, RUNS, NULL), PGY_OK);
    return t;
}

static pgy_bench_verdict compare(double before, double after)
{
    char path[TEST_PATH_SIZE];
    pgy_error err = {0};
    pgy_bench_verdict v;
    pgy_perf_trace *old = draw(before, 1), *now = draw(after, 2);
    test_path(path, "report_XXXXXX");
    close(mkstemp(path));
    assert_int_equal(pgy_perf_summary_save(path, old, NULL, &err), PGY_OK);
    assert_int_equal(pgy_perf_summary_compare(&v, now, path, &err), PGY_OK);
    unlink(path);
    pgy_perf_trace_destroy(old);
    pgy_perf_trace_destroy(now);
    return v;
}

static void test_summary__a_slowdown_is_found(void **state)
{
    (void)state;
    const pgy_bench_verdict v = compare(1, 1.1);
    assert_int_equal(v.outcome, PGY_BENCH_SLOWER);
    assert_true(v.low > 0.08 && v.high < 0.12);
    assert_int_equal(compare(1, 0.9).outcome, PGY_BENCH_FASTER);
    assert_int_equal(compare(1, 1).outcome, PGY_BENCH_NO_DIFFERENCE);
}

static void expect_refused(const char *text, const char *why)
{
    pgy_bench *b = NULL;
    pgy_error err = {0};
    assert_int_equal(perf_summary_parse(&b, span_of(text), "file", &err), PGY_E_FORMAT);
    if (!strstr(err.text, why)) fail_msg("%s", err.text);
}

static void test_summary__other_files_are_refused(void **state)
{
    (void)state;
    expect_refused("[]", "file is no report of version 1");
    expect_refused("{\"format\": \"trtexec-report\", \"version\": 2}", "no report of version 1");
    expect_refused("{\"format\": \"trtexec-report\", \"version\": 1, \"latency_slices_ns\": [[1]]}",
                   "no list of 8 to 40 slices");
    expect_refused("{\"format\": \"trtexec-report\", \"version\": 1, \"latency_slices_ns\": "
                   "[[1],[1],[1],[1],[1],[1],[1],[0]]}",
                   "expected a time in ns, an integer of at least 1");
    expect_refused("{\"format\": \"trtexec-report\", \"version\": 1, \"latency_slices_ns\": "
                   "[[1],[1],[1],[1],[1],[1],[1],[]]}",
                   "expected a list of times");
}

static void test_summary__few_runs_are_not_compared(void **state)
{
    char path[TEST_PATH_SIZE];
    static const pgy_perf_run RUN = {0, 1, 0, 0, 0, 1, 1, 1};
    pgy_perf_trace *few = NULL, *many = draw(1, 1);
    pgy_bench_verdict v;
    pgy_error err = {0};
    (void)state;
    test_path(path, "report_XXXXXX");
    close(mkstemp(path));
    assert_int_equal(pgy_perf_trace_create(&few, &RUN, 1, &err), PGY_OK);
    assert_int_equal(pgy_perf_summary_save(path, many, NULL, &err), PGY_OK);
    assert_int_equal(pgy_perf_summary_compare(&v, few, path, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "1 runs are too few to compare; measure at least 8");
    unlink(path);
    pgy_perf_trace_destroy(few);
    pgy_perf_trace_destroy(many);
}

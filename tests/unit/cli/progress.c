/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/progress.h"

static const int64_t SECOND = 1000000000;

static void expect_whole(const pgy_progress_level *levels, size_t count, double fraction,
                         const char *expected)
{
    char text[256], small[8];
    const pgy_progress p = {
        .size = sizeof p, .levels = levels, .level_count = count, .fraction = fraction};
    progress_text(text, sizeof text, &p);
    assert_string_equal(text, expected);
    progress_text(small, sizeof small, &p); /* does not write behind a short buffer */
    assert_memory_equal(small, expected, count ? sizeof small - 1 : 0);
}

static void expect(const pgy_progress_level *levels, size_t count, const char *expected)
{
    expect_whole(levels, count, -1, expected);
}

static void test_progress__without_a_known_total(void **state)
{
    (void)state;
    expect(NULL, 0, "");
    pgy_progress_level l = {.what = "Calibrating", .elapsed_ns = 61 * SECOND};
    expect(&l, 1, "Calibrating, 61 s");
    l.done = 7;
    expect(&l, 1, "Calibrating 7, 61 s");
}

static void test_progress__estimate(void **state)
{
    (void)state;
    pgy_progress_level l = {"Folding nodes", 20, 80, SECOND};
    expect(&l, 1, "Folding nodes 20 of 80, 1 s"); /* too early */
    l.elapsed_ns = 30 * SECOND;
    expect(&l, 1, "Folding nodes 20 of 80, 30 s, about 90 s left");
    l.done = 1, l.total = 100;
    expect(&l, 1, "Folding nodes 1 of 100, 30 s, about 49 min left");
    l.done = 0;
    expect(&l, 1, "Folding nodes 0 of 100, 30 s");
    l.done = 100;
    expect(&l, 1, "Folding nodes 100 of 100, 30 s, about 0 s left");
}

/* Half an iteration is what half of its nodes are; of a phase of unknown size only its part can be
 * foreseen. */
static void test_progress__levels(void **state)
{
    (void)state;
    const pgy_progress_level known[] = {{"Running iterations", 1, 4, 30 * SECOND},
                                        {"Running nodes", 5, 10, 10 * SECOND}};
    expect(known, 2, "Running iterations 1 of 4, Running nodes 5 of 10, 30 s, about 50 s left");
    const pgy_progress_level unknown[] = {{"Building a program", 0, 0, 40 * SECOND},
                                          {"Measuring kernels", 10, 20, 10 * SECOND}};
    expect(unknown, 2, "Building a program, Measuring kernels 10 of 20, 40 s, about 10 s left");
}

/* The estimate is of the whole, however its phases are counted. */
static void test_progress__whole_of_phases(void **state)
{
    (void)state;
    const pgy_progress_level build[] = {{"Building an engine", 0, 0, 40 * SECOND},
                                        {"Building a program", 0, 0, 30 * SECOND},
                                        {"Measuring kernels", 10, 20, 10 * SECOND}};
    expect_whole(build, 3, 0.75,
                 "Building an engine 75 %, Building a program, Measuring kernels 10 of 20, 40 s, "
                 "about 13 s left");
    expect_whole(build, 1, 0.001, "Building an engine 0 %, 40 s");
    expect_whole(build, 1, 1, "Building an engine 100 %, 40 s, about 0 s left");
    const pgy_progress_level counted[] = {{"Running iterations", 1, 4, 30 * SECOND}};
    expect_whole(counted, 1, 0.375, "Running iterations 1 of 4, 30 s, about 50 s left");
}

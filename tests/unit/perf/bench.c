/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on times that are drawn, not measured: noise, drift, and rounds that others disturb. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "perf/bench.h"

enum { RUNS = 9, TRIALS = 100 };
static const char *const NAMES[] = {"a", "b"};

/* About normal, variance 1. */
static double draw_noise(mt19937 *g)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += mt19937_double(g);
    return sum;
}

typedef struct scene {
    double ratio;     /* time of b over that of a */
    double drift;     /* growth of all times from the first to the last round */
    double disturbed; /* share of rounds in which b takes twice as long and is marked */
    bool bursts;      /* another process slows down single slices at random, without a mark */
} scene;

static void add_slice(pgy_bench *b, size_t side, double ns, bool disturbed, mt19937 *g)
{
    int64_t times[RUNS];
    pgy_error err = {0};
    const double offset = 0.01 * draw_noise(g);
    for (size_t i = 0; i < RUNS; i++)
        times[i] = (int64_t)(ns * (1 + offset + 0.005 * fabs(draw_noise(g))));
    assert_int_equal(pgy_bench_add(b, side, times, RUNS, disturbed, &err), PGY_OK);
}

static pgy_bench *draw(const scene *s, uint32_t seed, double least_effect)
{
    mt19937 g;
    pgy_bench *b = NULL;
    pgy_error err = {0};
    pgy_bench_options o = pgy_bench_options_default();
    o.least_effect = least_effect;
    o.seed = seed;
    mt19937_seed(&g, seed);
    assert_int_equal(pgy_bench_create(&b, NAMES, 2, &o, &err), PGY_OK);
    for (size_t k = 0; k < o.slices; k++) {
        const double now = 1e6 * (1 + s->drift * (double)k / (double)o.slices);
        const bool hit = mt19937_double(&g) < s->disturbed;
        for (size_t side = 0; side < 2; side++) {
            const double burst = s->bursts && mt19937_double(&g) < 0.3 ? 1.4 : 1;
            add_slice(b, side, now * burst * (side ? s->ratio * (hit ? 2 : 1) : 1), side && hit,
                      &g);
        }
    }
    return b;
}

/* How many of 100 drawn measurements have this outcome. */
static int count(const scene *s, pgy_bench_outcome outcome, double least_effect)
{
    int found = 0;
    pgy_error err = {0};
    for (uint32_t seed = 0; seed < TRIALS; seed++) {
        pgy_bench_verdict v = {0};
        pgy_bench *b = draw(s, seed, least_effect);
        assert_int_equal(pgy_bench_judge(&v, b, 1, 0, &err), PGY_OK);
        found += v.outcome == outcome;
        pgy_bench_destroy(b);
    }
    return found;
}

static void test_bench__a_planted_slowdown_of_3_percent_is_found(void **state)
{
    (void)state;
    assert_true(count(&(scene){.ratio = 1.03, .drift = 0.2}, PGY_BENCH_SLOWER, 0.01) >= 95);
}

static void test_bench__a_planted_speed_up_is_found_beside_disturbed_rounds(void **state)
{
    (void)state;
    assert_true(count(&(scene){.ratio = 0.97, .disturbed = 0.3}, PGY_BENCH_FASTER, 0.01) >= 95);
}

/* least_effect 0, so that only the interval decides. */
static void test_bench__equal_sides_are_not_told_apart(void **state)
{
    static const scene SCENES[] = {{.ratio = 1},
                                   {.ratio = 1, .drift = 0.5},
                                   {.ratio = 1, .disturbed = 0.3},
                                   {.ratio = 1, .bursts = true}};
    (void)state;
    for (size_t i = 0; i < sizeof SCENES / sizeof *SCENES; i++)
        assert_true(count(&SCENES[i], PGY_BENCH_NO_DIFFERENCE, 0) >= 95);
}

/* Two files, the second 3 % slower: a comparison without pairs sees it, too. */
static void test_bench__measurements_are_compared_without_pairs(void **state)
{
    pgy_error err = {0};
    pgy_bench_verdict v;
    pgy_bench *old = draw(&(scene){.ratio = 1}, 1, 0.01);
    pgy_bench *now = draw(&(scene){.ratio = 1.03}, 2, 0.01);
    (void)state;
    assert_int_equal(pgy_bench_compare(&v, now, 1, old, 1, &err), PGY_OK);
    assert_int_equal(v.outcome, PGY_BENCH_SLOWER);
    assert_true(v.low > 0.01 && v.high < 0.05 && v.low <= v.effect && v.effect <= v.high);
    assert_int_equal(pgy_bench_compare(&v, now, 0, old, 0, &err), PGY_OK);
    assert_int_equal(v.outcome, PGY_BENCH_NO_DIFFERENCE);
    pgy_bench_destroy(now);
    pgy_bench_destroy(old);
}

static void test_bench__disturbed_rounds_are_left_out_while_enough_remain(void **state)
{
    pgy_error err = {0};
    pgy_bench_figures f;
    pgy_bench *b = draw(&(scene){.ratio = 1, .disturbed = 0.2}, 3, 0.01);
    (void)state;
    assert_int_equal(pgy_bench_summarize(&f, b, 1, &err), PGY_OK);
    assert_true(f.disturbed > 0 && f.slices == 40 - f.disturbed && !f.counts_disturbed);
    assert_true(f.high_ms < 1.1 && f.p999_ms < 1.2);
    pgy_bench_destroy(b);
    b = draw(&(scene){.ratio = 1, .disturbed = 0.9}, 3, 0.01);
    assert_int_equal(pgy_bench_summarize(&f, b, 1, &err), PGY_OK);
    assert_true(f.slices == 40 && f.counts_disturbed && f.median_ms > 1.8);
    pgy_bench_destroy(b);
}

static void test_bench__figures_are_those_of_the_times(void **state)
{
    pgy_error err = {0};
    pgy_bench_figures f;
    pgy_bench *b = NULL;
    int64_t times[100];
    (void)state;
    for (int i = 0; i < 100; i++) times[i] = (100 - i) * 1000000;
    assert_int_equal(pgy_bench_create(&b, NAMES, 1, NULL, &err), PGY_OK);
    assert_int_equal(pgy_bench_summarize(&f, b, 0, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_bench_add(b, 0, times, 100, false, &err), PGY_OK);
    assert_int_equal(pgy_bench_summarize(&f, b, 0, &err), PGY_OK);
    assert_true(f.p50_ms == 50 && f.p90_ms == 90 && f.p99_ms == 99 && f.p999_ms == 100);
    assert_true(fabs(f.median_ms - 50.5) < 1e-9 && fabs(f.throughput - 100 / 5.05) < 1e-9);
    assert_true(f.runs == 100 && f.load_ms < 0 && f.peak_bytes == -1);
    pgy_bench_destroy(b);
}

/* Seven pairs cannot show a difference at 99 %, however great it is. */
static void test_bench__few_pairs_claim_nothing(void **state)
{
    pgy_error err = {0};
    pgy_bench_verdict v;
    pgy_bench *b = NULL;
    const int64_t fast = 1000, slow = 2000;
    (void)state;
    assert_int_equal(pgy_bench_create(&b, NAMES, 2, NULL, &err), PGY_OK);
    for (int k = 0; k < 8; k++) {
        assert_int_equal(pgy_bench_add(b, 0, &fast, 1, false, &err), PGY_OK);
        assert_int_equal(pgy_bench_add(b, 1, &slow, 1, false, &err), PGY_OK);
        assert_int_equal(pgy_bench_judge(&v, b, 1, 0, &err), PGY_OK);
        assert_int_equal(v.outcome, k < 7 ? PGY_BENCH_NO_DIFFERENCE : PGY_BENCH_SLOWER);
    }
    pgy_bench_destroy(b);
}

static void test_bench__a_file_gives_the_same_verdict(void **state)
{
    pgy_error err = {0};
    pgy_bench_verdict v, again_v;
    pgy_bench *b = draw(&(scene){.ratio = 1.03, .disturbed = 0.2}, 4, 0.01), *again = NULL;
    char *text = NULL;
    (void)state;
    assert_int_equal(json_to_text(&text, bench_write, b, &err), PGY_OK);
    assert_int_equal(bench_parse(&again, span_of(text), "file", &err), PGY_OK);
    assert_int_equal(pgy_bench_judge(&v, b, 1, 0, &err), PGY_OK);
    assert_int_equal(pgy_bench_judge(&again_v, again, 1, 0, &err), PGY_OK);
    assert_memory_equal(&v, &again_v, sizeof v);
    pgy_text_free(text);
    pgy_bench_destroy(again);
    pgy_bench_destroy(b);
}

static void test_bench__bad_arguments_are_refused(void **state)
{
    static const char *const TWICE[] = {"a", "a"};
    pgy_error err = {0};
    pgy_bench *b = NULL;
    pgy_bench_options o = pgy_bench_options_default();
    const int64_t zero = 0;
    (void)state;
    assert_int_equal(pgy_bench_create(&b, TWICE, 2, NULL, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "two sides have the name 'a'; names must differ");
    o.confidence = 1;
    assert_int_equal(pgy_bench_create(&b, NAMES, 2, &o, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_bench_create(&b, NAMES, 2, NULL, &err), PGY_OK);
    assert_int_equal(pgy_bench_add(b, 0, &zero, 1, false, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "run 0 took 0 ns; expected a time over 0");
    assert_int_equal(pgy_bench_add(b, 2, &zero, 1, false, &err), PGY_E_ARGUMENT);
    pgy_bench_destroy(b);
}

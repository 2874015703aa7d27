/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <pthread.h>
#include <time.h>

#include "base/progress.h"

typedef struct heard {
    size_t calls, ends, deepest;
    uint64_t last_done;
    char what[64];
} heard;

static void hear(const pgy_progress *p, void *user)
{
    heard *h = user;
    assert_int_equal(p->size, sizeof *p);
    h->calls++;
    if (!p->level_count) h->ends++;
    if (p->level_count > h->deepest) h->deepest = p->level_count;
    if (!p->level_count) return;
    h->last_done = p->levels[p->level_count - 1].done;
    snprintf(h->what, sizeof h->what, "%s", p->levels[0].what);
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void test_progress__levels_and_rate(void **state)
{
    (void)state;
    heard h = {0};
    progress_begin("nobody listens", 1);
    progress_advance(1);
    progress_end();
    pgy_set_progress(hear, &h);
    progress_begin("outer", 2);
    assert_string_equal(h.what, "outer");
    progress_begin("inner", 100000);
    for (uint64_t i = 0; i < 100000; i++) progress_advance(i);
    assert_true(h.calls < 1000); /* at most ten a second */
    wait_ms(110);
    progress_advance(7);
    assert_int_equal(h.last_done, 7);
    assert_int_equal(h.deepest, 2);
    progress_end();
    assert_int_equal(h.ends, 0);
    progress_end();
    assert_int_equal(h.ends, 1);
    pgy_set_progress(NULL, NULL);
}

static void test_progress__nested_deeper_than_the_table(void **state)
{
    (void)state;
    heard h = {0};
    pgy_set_progress(hear, &h);
    for (int i = 0; i < 50; i++) progress_begin("level", 1);
    wait_ms(110);
    progress_advance(1);
    for (int i = 0; i < 50; i++) progress_end();
    assert_int_equal(h.ends, 1);
    assert_true(h.deepest <= 8);
    pgy_set_progress(NULL, NULL);
}

static void *report_beside(void *unused)
{
    (void)unused;
    progress_begin("beside", 1);
    wait_ms(110);
    progress_advance(1);
    progress_end();
    return NULL;
}

static void test_progress__one_thread_reports(void **state)
{
    (void)state;
    heard h = {0};
    pthread_t other;
    pgy_set_progress(hear, &h);
    progress_begin("first", 1);
    assert_int_equal(pthread_create(&other, NULL, report_beside, NULL), 0);
    pthread_join(other, NULL);
    progress_advance(1);
    assert_string_equal(h.what, "first");
    progress_end();
    assert_int_equal(h.ends, 1);
    pgy_set_progress(NULL, NULL);
}

/* ---- The fraction of the whole -------------------------------------------------------------- */

typedef struct growth {
    double last, end;
    size_t calls;
} growth;

static void watch(const pgy_progress *p, void *user)
{
    growth *g = user;
    if (!p->level_count) g->end = p->fraction;
    assert_true(p->fraction >= g->last && p->fraction <= 1);
    g->last = p->fraction;
    g->calls++;
}

/* Listeners are called every 100 ms at most: the wait makes this one hear the present state. */
static void expect_fraction(const growth *g, uint64_t done, double wanted)
{
    wait_ms(110);
    progress_advance(done);
    assert_true(g->last > wanted - 1e-6 && g->last < wanted + 1e-6);
}

static void test_progress__phases_add_up(void **state)
{
    (void)state;
    growth g = {.last = -1, .end = -1}; /* nothing is known before the first phase */
    pgy_set_progress(watch, &g);
    progress_begin("whole", 0);
    progress_expect(0.2);
    progress_begin("passes", 10);
    expect_fraction(&g, 5, 0.1);
    progress_begin("of one pass", 4); /* a part of a part */
    expect_fraction(&g, 2, 0.11);
    progress_end();
    expect_fraction(&g, 5, 0.11); /* not back to 0.1 */
    progress_end();
    progress_expect(0.75); /* of the rest, which is 0.8 */
    progress_begin("program", 0);
    progress_expect(0.5);
    progress_begin("kernels", 2);
    expect_fraction(&g, 1, 0.35);
    progress_end();
    progress_begin("nobody expected it", 3);
    expect_fraction(&g, 2, 0.5);
    progress_end();
    progress_expect(1);
    progress_begin("packing", 2);
    expect_fraction(&g, 1, 0.65);
    progress_end();
    progress_end();
    progress_expect(1);
    progress_begin("writing", 0);
    expect_fraction(&g, 3, 0.8);
    progress_end();
    assert_true(g.end < 0);
    progress_end();
    assert_true(g.end > 1 - 1e-6);
    assert_true(g.calls >= 8);
    pgy_set_progress(NULL, NULL);
}

/* A step whose two pieces would each count from the start of the step does not jump back. */
static void test_progress__the_fraction_only_grows(void **state)
{
    (void)state;
    growth g = {.end = -1};
    pgy_set_progress(watch, &g);
    progress_begin("steps", 2);
    for (uint64_t i = 0; i < 2; i++) {
        progress_begin("first piece", 2);
        expect_fraction(&g, 2, 0.5 + 0.5 * (double)i);
        progress_end();
        progress_begin("second piece", 2);
        expect_fraction(&g, 1, 0.5 + 0.5 * (double)i);
        progress_end();
        progress_advance(i + 1);
    }
    progress_end();
    assert_true(g.end > 1 - 1e-6);
    g = (growth){.last = -1, .end = 0};
    progress_begin("nothing is known", 0);
    wait_ms(110);
    progress_advance(1);
    progress_end();
    assert_true(g.end < 0);
    pgy_set_progress(NULL, NULL);
}
